"""Hashes of rows, and digests of sets of rows that do not depend on their order.

A value becomes a *word* of 64 bits: numbers their own (floats their bits, with one NaN of all there are and two zeros,
as Java has it), texts and bytes a hash, nested values a hash of what they hold with its places, maps one of their
entries in any order (Java's Avro reader gives them in another one than the file has), null a constant. A row's hash
binds the words of its columns to one another, each column with a factor of its own. A digest is the sum of the hashes
in two lanes, so rows may come in any order and in any number of parts; a row that is lost, doubled or changed shows but
for a chance of 2^-64. Words and hashes hold within one version of this program.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.types.lists import elements, lengths, valid

_U64 = np.uint64
NULL = _U64(0x9D39247E33776D41)
"""The word of null."""
_ODD = _U64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = _U64(0xBF58476D1CE4E5B9), _U64(0x94D049BB133111EB)
_LOW = _U64(0xFFFFFFFF)
_NAN = _U64(0x7FF8000000000000)
BLOCK_ROWS = 1 << 15
"""Rows that are hashed at a time."""
_MASK = 2**64 - 1
# Unscaled decimals of up to this many digits fit 64 bits.
SHORT_DECIMAL = 18


@dataclass(frozen=True, slots=True)
class Digest:
    """The sum of the hashes of some rows. `low`, `high`: two lanes, each modulo 2^64."""

    rows: int = 0
    low: int = 0
    high: int = 0

    @classmethod
    def of(cls, hashes: np.ndarray) -> "Digest":
        """The digest of rows with these hashes. `hashes`: uint64, shape (n,)."""
        low, high = _U64(0), _U64(0)
        with np.errstate(over="ignore"):
            for start in range(0, len(hashes), BLOCK_ROWS):
                part = hashes[start : start + BLOCK_ROWS]
                low += np.add.reduce(part)
                high += np.add.reduce(((part >> _U64(32)) | _U64(1)) * (part & _LOW))
        return cls(len(hashes), int(low), int(high))

    def __add__(self, other: "Digest") -> "Digest":
        return Digest(self.rows + other.rows, (self.low + other.low) & _MASK, (self.high + other.high) & _MASK)

    def __sub__(self, other: "Digest") -> "Digest":
        return Digest(self.rows - other.rows, (self.low - other.low) & _MASK, (self.high - other.high) & _MASK)

    @property
    def text(self) -> str:
        """32 hexadecimal digits."""
        return f"{self.high:016x}{self.low:016x}"

    def __str__(self) -> str:
        return f"{self.rows} rows {self.text}"


WordsOf = Callable[["pa.ChunkedArray | pa.Array"], np.ndarray]
"""How the words of a column are made."""


@dataclass(frozen=True, slots=True)
class HashOf:
    """What to hash of each row.

    Attributes:
        names: columns, at least one.
        places: which column of the row each is, which gives it its factor; None = the word of the only column as it is.
        words: of the only column, made in another way; None = as `column_words` makes them.
        of_changes: values between which Paimon sees no change have one word: see `column_words`.
    """

    names: tuple[str, ...]
    places: tuple[int, ...] | None = None
    words: WordsOf | None = None
    of_changes: bool = False


def row_hashes(
    rows: pa.Table, hashes_of: Mapping[str, HashOf], into: Mapping[str, np.ndarray] | None = None
) -> Mapping[str, np.ndarray]:
    """Hashes of each row, by name of the requested hash. uint64, shape (n,).

    Works in steps that fit a processor's cache. `into`: arrays for the results; None = new ones.
    """
    hashes = {name: np.empty(rows.num_rows, _U64) for name in hashes_of} if into is None else into
    for start in range(0, rows.num_rows, BLOCK_ROWS):
        part = rows.slice(start, BLOCK_ROWS)
        words: dict[tuple[str, bool], np.ndarray] = {}
        for name, hash_of in hashes_of.items():
            if hash_of.words is not None:
                hashes[name][start : start + BLOCK_ROWS] = hash_of.words(part.column(hash_of.names[0]))
                continue
            found = []
            for column in hash_of.names:
                key = column, hash_of.of_changes and _is_loose(part.schema.field(column).type)
                if key not in words:
                    words[key] = column_words(part.column(column), of_changes=key[1])
                found.append(words[key])
            target = hashes[name][start : start + BLOCK_ROWS]
            if hash_of.places is None:
                target[:] = found[0]
            else:
                _mix(combined(found, hash_of.places), target)
    return hashes


def combined(words: Sequence[np.ndarray], places: Sequence[int]) -> np.ndarray:
    """What `mixed` makes the hashes of: the words of each row with the factors of their places, added up."""
    total = np.zeros(len(words[0]), _U64)
    spare = np.empty(min(BLOCK_ROWS, len(total)), _U64)
    factors = [_factor(place) for place in places]
    for start in range(0, len(total), BLOCK_ROWS):
        into = total[start : start + BLOCK_ROWS]
        part = spare[: len(into)]
        for column, factor in zip(words, factors, strict=True):
            np.multiply(column[start : start + BLOCK_ROWS], factor, out=part)
            np.add(into, part, out=into)
    return total


def mixed(values: np.ndarray) -> np.ndarray:
    """Each value with its bits spread; different values stay different. uint64, shape (n,)."""
    out = np.empty(len(values), _U64)
    _mix(values, out)
    return out


def _mix(values: np.ndarray, out: np.ndarray) -> None:
    spare = np.empty(min(BLOCK_ROWS, len(values)), _U64)
    for start in range(0, len(values), BLOCK_ROWS):
        into = out[start : start + BLOCK_ROWS]
        part = spare[: len(into)]
        np.right_shift(values[start : start + BLOCK_ROWS], _U64(30), out=part)
        np.bitwise_xor(part, values[start : start + BLOCK_ROWS], out=into)
        np.multiply(into, _MIX1, out=into)
        np.right_shift(into, _U64(27), out=part)
        np.bitwise_xor(into, part, out=into)
        np.multiply(into, _MIX2, out=into)
        np.right_shift(into, _U64(31), out=part)
        np.bitwise_xor(into, part, out=into)


@cache
def _factor(place: int) -> np.uint64:
    return np.uint64(mixed(np.array([place + 1], _U64) * _ODD)[0] | _U64(1))


def column_words(column: pa.ChunkedArray | pa.Array, *, of_changes: bool = False) -> np.ndarray:
    """The word of each value. uint64, shape (n,); not to be written to.

    Args: `of_changes`: 0.0 has the word of -0.0, as where Paimon looks for changes.
    """
    if isinstance(column, pa.ChunkedArray):
        if column.num_chunks != 1:
            parts = [column_words(chunk, of_changes=of_changes) for chunk in column.chunks]
            return np.concatenate(parts) if parts else np.empty(0, _U64)
        column = column.chunk(0)
    words = _words(column, of_changes=of_changes)
    if column.null_count:
        words = np.where(valid(column), words, NULL)
    return words


def _is_loose(kind: pa.DataType) -> bool:
    """Whether values of a type may have one word where Paimon looks for changes, though they differ."""
    if pa.types.is_floating(kind):
        return True
    return any(_is_loose(kind.field(number).type) for number in range(kind.num_fields))


def _words(column: pa.Array, *, of_changes: bool) -> np.ndarray:
    """Words of the values that are there; anything where there is none."""
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), NULL)
    if pa.types.is_dictionary(kind):
        return _words(column.dictionary_decode(), of_changes=of_changes)
    if pa.types.is_struct(kind):
        parts = [column_words(part, of_changes=of_changes) for part in column.flatten()]
        return mixed(combined(parts, range(kind.num_fields)))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return _list_words(column, of_changes=of_changes)
    if pa.types.is_fixed_size_list(kind):
        return _list_words(column.cast(pa.list_(kind.value_type)), of_changes=of_changes)
    if pa.types.is_decimal(kind):
        return _decimal_words(column)
    if pa.types.is_floating(kind):
        return _float_words(column, of_changes=of_changes)
    if pa.types.is_boolean(kind):
        return np.asarray(column.cast(pa.uint8()).fill_null(0).to_numpy(zero_copy_only=False).astype(_U64))
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return np.asarray(integers(column).view(_U64))
    if pa.types.is_fixed_size_binary(kind):
        column = column.cast(pa.binary())
    import polars as pl  # not at the top: it starts threads, and the process may be one that forks others

    # Of a series: the hashes of a frame are made by threads that a forked process does not have.
    return np.asarray(pl.Series(column).hash().to_numpy())


def integers(column: pa.Array) -> np.ndarray:
    """Numbers of integers, dates, times and instants, whatever their width; 0 for null. int64, shape (n,)."""
    if pa.types.is_temporal(column.type):
        column = column.view(pa.int32() if column.type.bit_width == 32 else pa.int64())
    if column.null_count:
        column = column.fill_null(0)
    return np.asarray(column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False))


def unscaled(column: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The halves of the unscaled integers of decimals of 128 bits: the lower, the upper. int64, shape (n,) each."""
    halves = np.frombuffer(column.buffers()[1], np.int64)[2 * column.offset : 2 * (column.offset + len(column))]
    return halves[0::2], halves[1::2]


def is_short_decimal(kind: pa.DataType) -> bool:
    """Whether the lower half of `unscaled` is the number."""
    return bool(pa.types.is_decimal(kind) and kind.precision <= SHORT_DECIMAL)


def _decimal_words(column: pa.Array) -> np.ndarray:
    if not len(column):
        return np.empty(0, _U64)
    low, high = unscaled(column)
    if is_short_decimal(column.type):
        return low.view(_U64)
    return mixed(combined([low.view(_U64), high.view(_U64)], (0, 1)))


def _floats(column: pa.Array) -> np.ndarray:
    if column.type.bit_width == 16:
        column = column.cast(pa.float32())
    if column.null_count:
        column = column.fill_null(0.0)
    return np.asarray(column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False))


def _float_words(column: pa.Array, *, of_changes: bool) -> np.ndarray:
    values = _floats(column)
    if of_changes:
        values = values + 0.0  # which makes 0.0 of -0.0
    # The upper bits of a word reach the upper bits of a product alone: a sign must reach lower ones, too.
    bits = _float_bits(values)
    return np.asarray(bits ^ (bits >> _U64(32)))


def _float_bits(values: np.ndarray) -> np.ndarray:
    bits = values.view(_U64)
    nan = np.isnan(values)
    return np.where(nan, _NAN, bits) if nan.any() else bits


def _list_words(column: pa.Array, *, of_changes: bool) -> np.ndarray:
    """Of lists and maps: what they hold, in lists each with its place, and how much it is."""
    words = np.full(len(column), mixed(np.zeros(1, _U64))[0])
    length = lengths(column)
    rows = np.flatnonzero(length)
    if len(rows):
        inner = elements(column.take(pa.array(rows)))
        counts = length[rows]
        starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
        place = np.arange(len(inner)) - np.repeat(starts, counts)
        if pa.types.is_map(column.type):
            place[:] = 0
        hashed = mixed(combined([column_words(inner, of_changes=of_changes), place.astype(_U64)], (0, 1)))
        words[rows] = mixed(np.add.reduceat(hashed, starts) + counts.astype(_U64) * _ODD)
    return words


def total(digests: Iterable[Digest]) -> Digest:
    """The digest of all the rows together."""
    return sum(digests, Digest())


def order_codes(column: pa.Array) -> np.ndarray | None:
    """Numbers that sort as the values do, wherever they come from, 0 for null; None for types without. int64, (n,)."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        return integers(column)
    if is_short_decimal(kind):
        return unscaled(column)[0] if len(column) else np.empty(0, np.int64)
    if pa.types.is_boolean(kind):
        return _words(column, of_changes=False).view(np.int64)
    if pa.types.is_floating(kind):
        bits = _float_bits(_floats(column)).view(np.int64)
        return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)
    return None


def strictly_ascending(columns: Sequence[pa.Array]) -> bool:
    """Whether each row is larger than the one before it, by its columns one after the other; null is the smallest."""
    undecided: np.ndarray | None = None
    for column in (part for whole in columns for part in _without_nulls(whole)):
        codes = order_codes(column)
        if codes is not None:
            above, same = codes[1:] > codes[:-1], codes[1:] == codes[:-1]
        else:
            left, right = column.slice(0, max(0, len(column) - 1)), column.slice(1)
            above = pc.greater(right, left).to_numpy(zero_copy_only=False)
            same = np.zeros(len(above), bool)
            if not above.all():
                same = pc.equal(right, left).to_numpy(zero_copy_only=False)
        if undecided is None:
            if above.all():
                return True
            undecided = np.ones(len(above), bool)
        if (undecided & ~above & ~same).any():
            return False
        undecided &= same
    return undecided is None or not undecided.any()


def _without_nulls(column: pa.Array) -> Iterator[pa.Array]:
    """Columns without nulls that sort as this one: whether there is a value, and the values."""
    if not column.null_count:
        yield column
        return
    yield column.is_valid().cast(pa.int8())
    values = column.drop_null()
    if len(values):
        yield column.fill_null(values[0])
