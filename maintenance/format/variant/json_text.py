"""Variants as JSON texts, as Paimon and Spark print them. Source: Java `GenericVariant.toJson`.

Fields stand in the order of their names, without blanks. What JSON has no type for is a text: bytes in base 64, dates
and timestamps (of TIMESTAMP with `+00:00`), numbers that are not finite.
"""

import base64

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.bytes.ragged import Ragged, ends
from maintenance.format.variant import binary, scalars
from maintenance.format.variant.dictionary import Names, bytes_of, texts_of
from maintenance.format.variant.stored import present, spread_over
from maintenance.types.casts.float_text import float_texts

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_CONTROLS = {chr(code): f"\\u{code:04X}" for code in range(32) if chr(code) not in _ESCAPES}
_TO_ESCAPE = r'["\\\x00-\x1f]'


def json_texts(column: pa.Array) -> pa.Array:
    """The JSON texts of variants, null where null. `column`: struct of `value` and `metadata`.

    Raises: CorruptFileError: bytes that are not a variant.
    """
    rows, values, metadata = present(column)
    return spread_over(texts_of_values(values, np.arange(len(rows)), Names.of(metadata)), rows, len(column))


def texts_of_values(values: Ragged, rows: np.ndarray, names: Names) -> pa.Array:
    """Texts of values. `rows`: number of the variant that each is in."""
    levels = []
    while True:
        inner = binary.children(values) if len(values) else None
        levels.append((values, rows, inner))
        if inner is None or not len(inner.parents):
            break
        values, rows = inner.values, rows[inner.parents]
    below = pa.array([], pa.string())
    for at_level, of_rows, inner in reversed(levels):
        below = _level(at_level, of_rows, inner, names, below)
    return below


def _level(values: Ragged, rows: np.ndarray, inner: binary.Children | None, names: Names, below: pa.Array) -> pa.Array:
    """Texts of one level. `below`: of what its objects and arrays hold."""
    kinds = binary.kinds(values)
    holders = np.flatnonzero(kinds >= binary.OBJECT)
    texts = _primitives(values)
    if not len(holders) or inner is None:
        return texts
    is_field = inner.names >= 0
    if is_field.any():
        fields = names.of_fields(rows[inner.parents[is_field]], inner.names[is_field])
        quoted = pc.binary_join_element_wise(_quoted(names.texts).take(pa.array(fields)), below.filter(is_field), ":")
        below = pc.replace_with_mask(below, pa.array(is_field), quoted)
    counts = inner.counts(len(values))[holders]
    lists = pa.ListArray.from_arrays(pa.array(ends(counts).astype(np.int32)), below)
    joined = pc.binary_join(lists, ",")
    is_object = pa.array(kinds[holders] == binary.OBJECT)
    shown = pc.binary_join_element_wise(pc.if_else(is_object, "{", "["), joined, pc.if_else(is_object, "}", "]"), "")
    return pc.replace_with_mask(texts, pa.array(kinds >= binary.OBJECT), shown)


def _primitives(values: Ragged) -> pa.Array:
    """Texts of the values that hold no others."""
    kinds, types = binary.kinds(values), binary.types(values)
    types = np.where(kinds == binary.SHORT_TEXT, binary.TEXT, np.where(kinds >= binary.OBJECT, 255, types))
    parts = []
    for primitive in np.unique(types).tolist():
        rows = np.flatnonzero(types == primitive)
        if primitive != 255:
            parts.append((rows, bytes_of(_shown(values.take(rows), primitive))))
    return texts_of(scalars.joined(parts, len(values)))


def _shown(values: Ragged, primitive: int) -> pa.Array:
    if primitive in (binary.NULL, binary.TRUE, binary.FALSE):
        word = {binary.NULL: "null", binary.TRUE: "true", binary.FALSE: "false"}[primitive]
        return pa.repeat(pa.scalar(word), len(values))
    if primitive in (binary.INT8, binary.INT16, binary.INT32, binary.INT64):
        return pa.array(scalars.integers(values)).cast(pa.string())
    if primitive in (binary.DECIMAL4, binary.DECIMAL8, binary.DECIMAL16):
        return scalars.decimal_texts(values)
    if primitive in (binary.DOUBLE, binary.FLOAT):
        numbers = scalars.fixed_values(values, primitive)
        shown = float_texts(numbers)
        return pc.if_else(pc.is_finite(numbers), shown, _enclosed(shown))
    if primitive == binary.TEXT:
        return _quoted(texts_of(scalars.texts(values)))
    return _enclosed(plain_texts(values, primitive))


def plain_texts(values: Ragged, primitive: int) -> pa.Array:
    """Texts without quotation marks of dates, timestamps, bytes or UUIDs. `values`: of that type alone."""
    if primitive == binary.DATE:
        return scalars.fixed_values(values, primitive).cast(pa.string())
    if primitive in (binary.TIMESTAMP, binary.TIMESTAMP_NTZ):
        moments = scalars.fixed_values(values, primitive)
        text = _moments(moments)
        return pc.binary_join_element_wise(text, "+00:00", "") if primitive == binary.TIMESTAMP else text
    content = scalars.texts(values)
    if primitive == binary.BINARY:
        return pa.array([base64.b64encode(content[n]).decode() for n in range(len(content))], pa.string())
    digits = pa.array([content[n].hex() for n in range(len(content))], pa.string())
    parts = [pc.utf8_slice_codeunits(digits, *span) for span in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))]
    return pc.binary_join_element_wise(*parts, "-")


def _moments(moments: pa.Array) -> pa.Array:
    """Timestamps as ``2024-02-29 12:00:00`` with the digits of the fraction that are not zeros at its end."""
    whole = pc.floor_temporal(moments.cast(pa.timestamp("us")), unit="second")
    clock = whole.cast(pa.timestamp("s")).cast(pa.string())
    micros = pc.subtract(moments.cast(pa.int64()), whole.cast(pa.int64())).cast(pa.string())
    fraction = pc.utf8_rtrim(pc.utf8_lpad(micros, 6, "0"), "0")
    return pc.if_else(pc.equal(fraction, ""), clock, pc.binary_join_element_wise(clock, fraction, "."))


def _enclosed(texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _quoted(texts: pa.Array) -> pa.Array:
    """Texts as JSON has them."""
    if pc.any(pc.match_substring_regex(texts, _TO_ESCAPE)).as_py():
        for character, escape in {**_ESCAPES, **_CONTROLS}.items():
            texts = pc.replace_substring(texts, character, escape)
    return _enclosed(texts)
