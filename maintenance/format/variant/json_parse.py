"""Variants out of JSON texts, as Paimon and Spark parse them. Source: Java `GenericVariant.fromJson`.

All texts are one array of bytes, with a line break behind each. Quotation marks tell what is inside a string, brackets
how deep each token is. Sorted by depth, the tokens of each object or array lie together, and what may follow what is a
question of their numbers: in an object every fourth one is a name. Values are built from the deepest level up.

Integers take the least bytes; other numbers are decimals if they are written without an exponent and have at most 38
digits, else doubles. A name that is twice in an object is refused.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.format.bytes.ragged import Ragged, ends, interleaved, spread
from maintenance.format.variant import binary, scalars
from maintenance.format.variant.dictionary import bytes_of, metadata_of, ranks
from maintenance.format.variant.stored import storage_of

_INTEGER = r"^-?(0|[1-9][0-9]*)$"
_NUMBER = r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$"
_LITERALS = {"null": binary.NULL, "true": binary.TRUE, "false": binary.FALSE}
_BLANK, _MARK, _PLAIN = range(3)
_CLASSES = np.full(256, _PLAIN, np.uint8)
_CLASSES[list(b" \t\r\n")] = _BLANK
_CLASSES[list(b"{}[],:")] = _MARK
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_LONG_DIGITS = 18
_MOST_AT_ONCE = 64 << 20


class _Faults:
    """Which texts are not JSON."""

    def __init__(self, texts: pa.Array) -> None:
        self._texts = texts

    def refuse(self, rows: np.ndarray, problem: str) -> None:
        """Raises: DataError: some rows are given."""
        if len(rows):
            text = self._texts[int(rows.min())].as_py()
            shown = text if len(text) <= 80 else f"{text[:80]}…"
            raise DataError(f"{shown!r} is not JSON: {problem}", "a VARIANT", "Write JSON texts, or null.")


def parse_json(texts: pa.Array, *, keeps_last: bool = False) -> pa.Array:
    """Variants, null where the text is null: a struct of `value` and `metadata`.

    Args: `keeps_last`: of fields of the same name.
    Raises: DataError: a text is not JSON, or a name is twice in an object.
    """
    pieces = []
    step = max(1, len(texts) * _MOST_AT_ONCE // max(texts.nbytes, 1))
    for start in range(0, max(1, len(texts)), step):
        pieces.append(_parsed(texts.slice(start, step), keeps_last=keeps_last))
    return pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)


def _parsed(texts: pa.Array, *, keeps_last: bool) -> pa.Array:
    nulls = texts.is_null().to_numpy(zero_copy_only=False)
    texts = pc.fill_null(texts.cast(pa.string()), "null")
    faults = _Faults(texts)
    tokens = _tokens(texts, faults)
    levels = _nodes(tokens, len(texts), faults)
    return storage_of(*_built(levels, tokens, len(texts), faults, keeps_last=keeps_last), nulls)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Brackets, commas, colons and values in the order of the texts.

    Attributes:
        data: the bytes of all texts.
        starts, ends: of each token; int64.
        first: its first byte; uint8.
        rows: the text it is in; int64.
        depths: in how many objects and arrays it is, brackets those of what they enclose outside; int64.
    """

    data: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    first: np.ndarray
    rows: np.ndarray
    depths: np.ndarray


def _tokens(texts: pa.Array, faults: _Faults) -> _Tokens:
    breaks = Ragged(np.full(len(texts), ord("\n"), np.uint8), np.arange(len(texts) + 1, dtype=np.int64))
    lines = interleaved(bytes_of(texts), breaks)
    data, line_ends = lines.data, lines.offsets[1:] - 1
    quotes = (data == _QUOTE) & ~_escaped(data)
    inside = np.cumsum(quotes) & 1 == 1
    faults.refuse(np.flatnonzero(inside[line_ends]), "a string does not end")
    text = inside | quotes
    classes = np.where(text, np.uint8(_PLAIN), _CLASSES[data])
    opening = quotes & inside
    closing = quotes & ~inside
    plain = classes == _PLAIN
    before = np.concatenate(([False], plain[:-1] & ~closing[:-1]))
    starting = (classes == _MARK) | (plain & (~before | opening))
    following = np.concatenate((starting[1:] | ~plain[1:], [True]))
    starts = np.flatnonzero(starting)
    token_ends = np.flatnonzero((classes == _MARK) | (plain & following)) + 1
    first = data[starts]
    rows = np.searchsorted(line_ends, starts)
    opens, closes = np.isin(first, list(b"{[")), np.isin(first, list(b"}]"))
    depth = np.cumsum(opens.astype(np.int64) - closes)
    last = np.searchsorted(rows, np.arange(len(texts)), "right") - 1
    faults.refuse(np.flatnonzero(np.diff(last, prepend=-1) == 0), "the text is empty")
    faults.refuse(np.flatnonzero(depth[last] != 0), "brackets do not match")
    faults.refuse(rows[depth < 0], "brackets do not match")
    return _Tokens(data, starts, token_ends, first, rows, depth - opens)


def _escaped(data: np.ndarray) -> np.ndarray:
    """Which bytes stand behind an odd number of backslashes."""
    slashes: np.ndarray = data == _BACKSLASH
    if not slashes.any():
        return slashes
    places = np.arange(len(data))
    last_other = np.maximum.accumulate(np.where(slashes, -1, places))
    run = np.where(slashes, places - last_other, 0)
    return np.concatenate(([False], run[:-1] & 1 == 1))


@dataclass(frozen=True, slots=True)
class _Level:
    """The values of one depth, those of each object or array together.

    Attributes:
        tokens: number of the token with which each begins; int64.
        parents: which value of the level above it is in; int64.
        names: token of its name, -1 outside objects; int64.
    """

    tokens: np.ndarray
    parents: np.ndarray
    names: np.ndarray


def _nodes(tokens: _Tokens, rows: int, faults: _Faults) -> list[_Level]:
    """The values of each depth, from the outside in."""
    closes = np.isin(tokens.first, list(b"}]"))
    order = np.argsort(tokens.depths, kind="stable")
    bounds = np.searchsorted(tokens.depths[order], np.arange(int(tokens.depths.max(initial=0)) + 2))
    levels: list[_Level] = []
    holders, is_object = np.empty(0, np.int64), np.empty(0, bool)
    for depth in range(len(bounds) - 1):
        here = order[bounds[depth] : bounds[depth + 1]]
        content = here[~closes[here]]
        parents = tokens.rows[content] if depth == 0 else np.searchsorted(holders, content) - 1
        level = _checked_level(tokens, content, parents, rows if depth == 0 else is_object, faults)
        if depth:
            above = np.flatnonzero(np.isin(tokens.first[levels[-1].tokens], list(b"{[")))
            level = _Level(level.tokens, above[level.parents], level.names)
        levels.append(level)
        opened = level.tokens[np.isin(tokens.first[level.tokens], list(b"{["))]
        shut = here[closes[here]]
        faults.refuse(tokens.rows[shut[tokens.first[shut] != tokens.first[opened] + 2]], "brackets do not match")
        holders, is_object = opened, tokens.first[opened] == ord("{")
    return levels


def _checked_level(
    tokens: _Tokens, content: np.ndarray, parents: np.ndarray, holders: "int | np.ndarray", faults: _Faults
) -> _Level:
    """The values among tokens of one depth. `holders`: how many texts, or for each bracket whether of an object."""
    count = holders if isinstance(holders, int) else len(holders)
    counts = np.bincount(parents, minlength=count)
    place = np.arange(len(content)) - ends(counts)[parents]
    first = tokens.first[content]
    is_value = ~np.isin(first, list(b",:"))
    if isinstance(holders, int):
        faults.refuse(np.flatnonzero(counts != 1), "it holds more than one value")
        wrong = ~is_value
        names = np.full(len(content), -1)
        chosen = np.ones(len(content), bool)
    else:
        of_object = holders[parents] if len(holders) else np.zeros(len(content), bool)
        step = np.where(of_object, 4, 2)
        uneven = (counts > 0) & (counts % np.where(holders, 4, 2) != np.where(holders, 3, 1))
        part = place % step
        is_comma, is_colon = first == ord(","), first == ord(":")
        wrong = np.where(
            of_object,
            np.choose(part, (first != _QUOTE, ~is_colon, ~is_value, ~is_comma)),
            np.where(part == 0, ~is_value, ~is_comma),
        ).astype(bool)
        wrong |= uneven[parents]
        chosen = part == np.where(of_object, 2, 0)
        names = np.where(of_object, content[np.maximum(np.arange(len(content)) - 2, 0)], -1)
    faults.refuse(tokens.rows[content[wrong]], "a value, comma or colon is missing or too many")
    return _Level(content[chosen], parents[chosen], names[chosen])


def _built(
    levels: list[_Level], tokens: _Tokens, rows: int, faults: _Faults, *, keeps_last: bool
) -> tuple[Ragged, Ragged]:
    """The values and the metadata."""
    named = [level.names[level.names >= 0] for level in levels]
    name_tokens = np.concatenate(named)
    encoded = _strings(tokens, name_tokens, faults).dictionary_encode()
    texts, numbers = encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    metadata, fields = metadata_of(rows, tokens.rows[name_tokens], numbers, texts)
    order = ranks(texts)
    spans = ends(np.array([len(part) for part in named], np.int64))
    below, inner = Ragged(np.empty(0, np.uint8), np.zeros(1, np.int64)), None
    for depth in reversed(range(len(levels))):
        level = levels[depth]
        values = _level_values(tokens, level, below, inner, faults)
        ids = np.full(len(level.tokens), -1)
        rank = np.arange(len(level.tokens))
        is_field = level.names >= 0
        ids[is_field] = fields[spans[depth] : spans[depth + 1]]
        rank[is_field] = order[numbers[spans[depth] : spans[depth + 1]]]
        sorting = np.lexsort((rank, level.parents))
        parents = level.parents[sorting]
        twice = is_field[sorting][1:] & (parents[1:] == parents[:-1]) & (rank[sorting][1:] == rank[sorting][:-1])
        if keeps_last:
            is_last = ~np.append(twice, np.zeros(min(1, len(sorting)), bool))
            sorting, parents = sorting[is_last], parents[is_last]
        else:
            faults.refuse(tokens.rows[level.tokens[sorting[1:][twice]]], "a name is twice in an object")
        inner = binary.Children(parents, ids[sorting], values.take(sorting)) if depth else None
        below = values
    return below, metadata


def _level_values(
    tokens: _Tokens, level: _Level, below: Ragged, inner: binary.Children | None, faults: _Faults
) -> Ragged:
    """The values of one depth. `inner`: what its objects and arrays hold, in the order of names."""
    first = tokens.first[level.tokens]
    parts = []
    if inner is None:
        nothing = np.empty(0, np.int64)
        inner = binary.Children(nothing, nothing, Ragged(np.empty(0, np.uint8), np.zeros(1, np.int64)))
    counts = inner.counts(len(level.tokens))
    for bracket in (ord("{"), ord("[")):
        rows = np.flatnonzero(first == bracket)
        if len(rows):
            own = inner.take(np.flatnonzero(first[inner.parents] == bracket))
            made = (
                binary.objects(counts[rows], own.names, own.values)
                if bracket == ord("{")
                else binary.arrays(counts[rows], own.values)
            )
            parts.append((rows, made))
    is_string = first == _QUOTE
    rows = np.flatnonzero(is_string)
    if len(rows):
        parts.append((rows, scalars.of_texts(_strings(tokens, level.tokens[rows], faults))))
    rows = np.flatnonzero(~(is_string | np.isin(first, list(b"{["))))
    if len(rows):
        parts.extend((rows[of], made) for of, made in _words(tokens, level.tokens[rows], faults))
    return scalars.joined(parts, len(level.tokens))


def _contents(tokens: _Tokens, numbers: np.ndarray, within: int = 0) -> Ragged:
    """The bytes of tokens. `within`: how many to leave out at both ends."""
    starts, sizes = tokens.starts[numbers] + within, tokens.ends[numbers] - tokens.starts[numbers] - 2 * within
    return Ragged(tokens.data[spread(starts, sizes)], ends(sizes))


def _strings(tokens: _Tokens, numbers: np.ndarray, faults: _Faults) -> pa.Array:
    """What strings of JSON mean."""
    raw = _contents(tokens, numbers, within=1)
    parents = np.repeat(np.arange(len(raw)), raw.sizes)
    faults.refuse(tokens.rows[numbers[parents[raw.data < 32]]], "a control character in a string is not escaped")
    texts = _utf8(raw)
    escaped = np.unique(parents[raw.data == _BACKSLASH])
    if not len(escaped):
        return texts
    import polars as pl  # not at the top: it starts threads, and the process may be one that forks others

    quoted = pc.binary_join_element_wise('"', texts.take(pa.array(escaped)), '"', "")
    try:
        decoded = pl.Series(quoted).str.json_decode(pl.String).to_arrow().cast(pa.string())
    except pl.exceptions.ComputeError:
        decoded = pa.nulls(len(quoted), pa.string())
    bad = decoded.is_null().to_numpy(zero_copy_only=False)
    faults.refuse(tokens.rows[numbers[escaped[bad]]], "an escape in a string is not one of JSON")
    mask = np.zeros(len(texts), bool)
    mask[escaped] = True
    return pc.replace_with_mask(texts, pa.array(mask), decoded)


def _utf8(content: Ragged) -> pa.Array:
    # Parts of valid texts, cut at ASCII characters.
    offsets = pa.py_buffer(content.offsets.astype(np.int32))
    return pa.Array.from_buffers(pa.string(), len(content), [None, offsets, pa.py_buffer(content.data)])


def _words(tokens: _Tokens, numbers: np.ndarray, faults: _Faults) -> list[tuple[np.ndarray, Ragged]]:
    """Numbers, true, false and null: which tokens they are, and the values."""
    texts = _utf8(_contents(tokens, numbers))
    literal = pc.index_in(texts, pa.array(list(_LITERALS)))
    is_literal = literal.is_valid().to_numpy(zero_copy_only=False)
    is_number = pc.match_substring_regex(texts, _NUMBER).to_numpy(zero_copy_only=False)
    faults.refuse(tokens.rows[numbers[~(is_literal | is_number)]], "a word or number is not one of JSON")
    is_integer = pc.match_substring_regex(texts, _INTEGER).to_numpy(zero_copy_only=False)
    digits = pc.utf8_length(pc.utf8_ltrim(texts, "-")).to_numpy(zero_copy_only=False)
    parts = []
    rows = np.flatnonzero(is_literal)
    if len(rows):
        codes = np.array(list(_LITERALS.values()))[literal.take(pa.array(rows)).to_numpy(zero_copy_only=False)]
        parts.append((rows, scalars.of_constants(codes)))
    is_long = is_integer & (digits <= _LONG_DIGITS)
    is_long[np.flatnonzero(is_integer & (digits == _LONG_DIGITS + 1))] = _fits_long(
        texts.filter(pa.array(is_integer & (digits == _LONG_DIGITS + 1)))
    )
    rows = np.flatnonzero(is_long)
    if len(rows):
        parts.append((rows, scalars.of_integers(texts.take(pa.array(rows)).cast(pa.int64()).to_numpy())))
    rest = np.flatnonzero(is_number & ~is_long)
    if len(rest):
        parts.extend((rest[of], made) for of, made in _fractions(texts.take(pa.array(rest))))
    return parts


def _fits_long(texts: pa.Array) -> np.ndarray:
    """Which integers of 19 digits a long can hold. bool, shape (n,)."""
    wide = texts.cast(pa.decimal128(scalars.MAX_DECIMAL_DIGITS, 0))
    low, high = (pa.scalar(bound, pa.decimal128(19, 0)) for bound in (-(2**63), 2**63 - 1))
    fits: np.ndarray = pc.and_(pc.greater_equal(wide, low), pc.less_equal(wide, high)).to_numpy(zero_copy_only=False)
    return fits


def _fractions(texts: pa.Array) -> list[tuple[np.ndarray, Ragged]]:
    """Decimals and doubles: which numbers they are, and the values."""
    parts = pc.extract_regex(texts, r"^(?P<sign>-?)(?P<whole>[0-9]+)(?:\.(?P<fraction>[0-9]+))?(?P<rest>.*)$")
    sign, whole, fraction, exponent = (pc.struct_field(parts, n) for n in range(4))
    scales = pc.utf8_length(fraction).to_numpy(zero_copy_only=False)
    digits = pc.utf8_ltrim(pc.binary_join_element_wise(whole, fraction, ""), "0")
    digits = pc.if_else(pc.equal(digits, ""), "0", digits)
    most = pc.utf8_length(digits).to_numpy(zero_copy_only=False)
    plain = pc.equal(exponent, "").to_numpy(zero_copy_only=False)
    fits = plain & (scales <= scalars.MAX_DECIMAL_DIGITS) & (most <= scalars.MAX_DECIMAL_DIGITS)
    tokens = []
    rows = np.flatnonzero(fits)
    if len(rows):
        signed = pc.binary_join_element_wise(sign, digits, "").take(pa.array(rows))
        unscaled = signed.cast(pa.decimal128(scalars.MAX_DECIMAL_DIGITS, 0))
        tokens.append((rows, scalars.of_decimals(unscaled, scales[rows].astype(np.int64))))
    rows = np.flatnonzero(~fits)
    if len(rows):
        tokens.append((rows, scalars.of_fixed(texts.take(pa.array(rows)).cast(pa.float64()), binary.DOUBLE)))
    return tokens
