"""Values of loaded files as the columns of a table, and which of them are none.

Texts are read as Spark casts them, with the signs of a time zone that its own writers put behind times.
"""

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError
from maintenance.format.plain.texts import typed_or_null
from maintenance.types.arrow import arrow_type, data_type_of_arrow
from maintenance.types.casts.cast import cast
from maintenance.types.data_type import DataField, DataType

_ZONED = r"^(?P<time>.*[T ].*?)\s*(?:Z|(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d{2})?)$"
_INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_TEXTLESS = ("ARRAY", "MAP", "ROW", "MULTISET", "VECTOR", "VARIANT", "BLOB")


def of_texts(texts: pa.Array, field: DataField) -> tuple[pa.Array, pa.Array]:
    """Values of a column, null where a text is not one; and where that is so. Raises: UnsupportedError: no texts."""
    if field.type.root in _TEXTLESS:
        raise UnsupportedError(
            f"column '{field.name}' of type {field.type} cannot be in a text file", "COPY INTO", "Load parquet files."
        )
    if field.type.is_string:
        return texts.cast(arrow_type(field.type)), pa.repeat(False, len(texts))
    values, wrong = _parsed(pc.utf8_trim_whitespace(texts), field)
    # A decimal with too many digits is null rather than an error.
    return values, pc.or_(wrong, pc.and_(values.is_null(), texts.is_valid()))


def _parsed(texts: pa.Array, field: DataField) -> tuple[pa.Array, pa.Array]:
    root = field.type.root
    if root in _INTEGERS:
        return _of_matching(texts, r"^[+-]?\d+$", field)
    if root == "DATE":
        return typed_or_null(pc.replace_substring_regex(texts, r"[T ].*$", ""), field)
    if root not in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return typed_or_null(texts, field)
    parts = pc.extract_regex(texts, _ZONED)
    zoned = parts.is_valid()
    values, wrong = typed_or_null(pc.if_else(zoned, pc.struct_field(parts, "time"), texts), field)
    if root == "TIMESTAMP" or not pc.any(zoned).as_py():
        return values, wrong
    return _earlier(values, parts), wrong


def _of_matching(texts: pa.Array, pattern: str, field: DataField) -> tuple[pa.Array, pa.Array]:
    """Java takes texts with fractions for whole numbers; here they are none."""
    other = pc.invert(pc.fill_null(pc.match_substring_regex(texts, pattern), True))
    values, wrong = typed_or_null(pc.if_else(other, pa.scalar(None, texts.type), texts), field)
    return values, pc.or_(wrong, other)


def _earlier(values: pa.Array, parts: pa.Array) -> pa.Array:
    """Instants out of wall clocks and the distances of their zones."""
    hours, minutes = (
        pc.fill_null(pc.if_else(pc.equal(text, ""), None, text).cast(pa.int64()), 0)
        for text in (pc.struct_field(parts, "hours"), pc.struct_field(parts, "minutes"))
    )
    total = pc.add(pc.multiply(hours, 60), minutes)
    signed = pc.if_else(pc.fill_null(pc.equal(pc.struct_field(parts, "sign"), "-"), False), pc.negate(total), total)
    return pc.subtract(values, pc.multiply(signed, 60).cast(pa.duration("s")).cast(pa.duration(values.type.unit)))


def of_parquet(column: pa.ChunkedArray, field: DataField) -> tuple[pa.Array, pa.Array]:
    """The same of values that have a type. Raises: UnsupportedError: values of that type are cast to no such column."""
    target = arrow_type(field.type)
    array = column.combine_chunks()
    if array.type == target:
        return array, pa.repeat(False, len(array))
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return of_texts(array.cast(pa.string()), field)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target), pa.repeat(False, len(array))
    source = data_type_of_arrow(array.type)
    values = cast(pa.chunked_array([array.cast(arrow_type(source))]), source, field.type.as_nullable()).combine_chunks()
    wrong = pc.and_(values.is_null(), array.is_valid())
    return values, pc.or_(wrong, _beyond(array, field.type))


def _beyond(array: pa.Array, kind: DataType) -> pa.Array:
    """Where a number is too large for a column of whole numbers, and would be another one there."""
    bits = _INTEGERS.get(kind.root)
    numeric = pa.types.is_integer(array.type) or pa.types.is_floating(array.type) or pa.types.is_decimal(array.type)
    if bits is None or not numeric:
        return pa.repeat(False, len(array))
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if pa.types.is_integer(array.type):
        if array.type.bit_width <= bits:
            return pa.repeat(False, len(array))
        outside = pc.or_(pc.less(array, low), pc.greater(array, high))
    else:
        doubles = array.cast(pa.float64())
        outside = pc.invert(pc.and_(pc.greater(doubles, float(low) - 1), pc.less(doubles, float(high) + 1)))
    return pc.fill_null(outside, False)
