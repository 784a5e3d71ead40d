"""Values of loaded files as the columns of a table, and which of them are none.

Texts are read as Spark casts them: an instant is of the zone that stands behind it, else of the session's.
"""

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import SqlError, UnsupportedError
from maintenance.format.plain.texts import typed_or_null
from maintenance.sql.zones import SETTINGS, named_zone
from maintenance.types.arrow import arrow_type, data_type_of_arrow
from maintenance.types.casts.cast import cast
from maintenance.types.data_type import DataField, DataType

_ZONED = r"^(?P<time>.*\d[T ].*?\d)\s*(?P<zone>[A-Za-z].*|[+-]\d.*)$"
_INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_TEXTLESS = ("ARRAY", "MAP", "ROW", "MULTISET", "VECTOR", "VARIANT", "BLOB")


def of_texts(texts: pa.Array, field: DataField, zone: str) -> tuple[pa.Array, pa.Array]:
    """Values of a column, null where a text is not one; and where that is so. Raises: UnsupportedError: no texts."""
    if field.type.root in _TEXTLESS:
        problem = f"column '{field.name}' of type {field.type} cannot be in a text file"
        raise UnsupportedError(problem, "COPY INTO", "Load parquet files, with FILE_FORMAT = (TYPE = PARQUET).")
    if field.type.is_string:
        return texts.cast(arrow_type(field.type)), pa.repeat(False, len(texts))
    values, wrong = _parsed(pc.utf8_trim_whitespace(texts), field, zone)
    # A decimal with too many digits is null rather than an error.
    return values, pc.or_(wrong, pc.and_(values.is_null(), texts.is_valid()))


def _parsed(texts: pa.Array, field: DataField, zone: str) -> tuple[pa.Array, pa.Array]:
    root = field.type.root
    if root in _INTEGERS:
        return _of_matching(texts, r"^[+-]?\d+$", field)
    if root == "DATE":
        return typed_or_null(pc.replace_substring_regex(texts, r"[T ].*$", ""), field)
    if root not in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        return typed_or_null(texts, field)
    parts = pc.extract_regex(texts, _ZONED)
    times = pc.if_else(parts.is_valid(), pc.struct_field(parts, "time"), texts)
    if root == "TIMESTAMP":
        return typed_or_null(times, field)
    return _instants(times, pc.fill_null(pc.struct_field(parts, "zone"), ""), field, zone)


def _instants(times: pa.Array, zones: pa.Array, field: DataField, zone: str) -> tuple[pa.Array, pa.Array]:
    """Instants out of wall clocks. `zones`: the name or distance of each one's zone, '' = `zone`."""
    values, wrong = pa.nulls(len(times), arrow_type(field.type)), pa.repeat(False, len(times))
    for name in pc.unique(zones).to_pylist():
        of_name = pc.equal(zones, name)
        try:
            found, bad = typed_or_null(
                pc.if_else(of_name, times, None), field, named_zone(name, SETTINGS["spark"]) if name else zone
            )
        except SqlError:  # there is no such zone
            found, bad = values, of_name
        values, wrong = pc.if_else(of_name, found, values), pc.or_(wrong, bad)
    return values, wrong


def _of_matching(texts: pa.Array, pattern: str, field: DataField) -> tuple[pa.Array, pa.Array]:
    """Java takes texts with fractions for whole numbers; here they are none."""
    other = pc.invert(pc.fill_null(pc.match_substring_regex(texts, pattern), True))
    values, wrong = typed_or_null(pc.if_else(other, pa.scalar(None, texts.type), texts), field)
    return values, pc.or_(wrong, other)


def of_parquet(column: pa.ChunkedArray, field: DataField, zone: str) -> tuple[pa.Array, pa.Array]:
    """The same of values that have a type. Raises: UnsupportedError: values of that type are cast to no such column."""
    target = arrow_type(field.type)
    array = column.combine_chunks()
    if array.type == target:
        return array, pa.repeat(False, len(array))
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        return of_texts(array.cast(pa.string()), field, zone)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), target), pa.repeat(False, len(array))
    source = data_type_of_arrow(array.type)
    given = pa.chunked_array([array.cast(arrow_type(source))])
    values = cast(given, source, field.type.as_nullable(), zone).combine_chunks()
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
