"""Paimon's types as Arrow types, the natural ones: `timestamp[us]` for TIMESTAMP(6), `decimal128` for DECIMAL.

TIMESTAMP(7..9) is `NANOS`, which has all years; reads of a table show Arrow's nanoseconds where these hold the values.
TIME is `time32[ms]` whatever its precision, since Paimon keeps milliseconds of the day. A MULTISET is a map from its
elements to how often each is there. Nested fields that are NOT NULL are so in Arrow too; map keys always are.
A VARIANT is a struct of the two byte strings `value` and `metadata`; reads of a table show it as `VariantType`.
A VECTOR is a list, as its files have it; reads of a table show it as Arrow's list of fixed size.
This is the only place that says which types this engine can hold; every other one is refused here by name.
"""

from collections.abc import Sequence
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError
from maintenance.types.data_type import MAX_LENGTH, VECTOR_ELEMENTS, DataField, DataType
from maintenance.types.nanos import NANOS

MULTISET_COUNT = DataType("INT", nullable=False)

_FIXED = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIME": pa.time32("ms"),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "BLOB": pa.large_binary(),
}
# As Paimon stores it, and as pypaimon shows it.
VARIANT = pa.struct([pa.field(name, pa.binary(), nullable=False) for name in ("value", "metadata")])
VARIANT_NAME = "paimon.variant"
# How users get timestamps of seven to nine digits that Arrow's nanoseconds do not hold.
FAR_TIMESTAMP_NAME = "paimon.timestamp"
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_UNIT_NAMES = {"s": "second", "ms": "millisecond", "us": "microsecond"}

C = TypeVar("C", pa.Array, pa.ChunkedArray)


def timestamp_unit(precision: int) -> str:
    """Arrow's unit for a timestamp of that precision: the coarsest that loses nothing and that parquet has."""
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


def timestamp_type(data_type: DataType) -> pa.TimestampType:
    """Arrow's timestamp for a timestamp type; of nanoseconds, it does not hold all years."""
    tz = "UTC" if data_type.root == "TIMESTAMP_LTZ" else None
    return pa.timestamp(timestamp_unit(data_type.precision or 0), tz=tz)


def has_nanos(data_type: DataType) -> bool:
    """Whether it is a timestamp finer than microseconds."""
    return data_type.is_timestamp and (data_type.precision or 0) > 6


def arrow_type(data_type: DataType, where: str = "a column") -> pa.DataType:
    """The Arrow type of a Paimon type. Raises: UnsupportedError naming `where` with the path inside it."""
    if data_type.root in _FIXED:
        return _FIXED[data_type.root]
    if data_type.root == "VARIANT":
        return VARIANT
    if data_type.root == "DECIMAL":
        return pa.decimal128(data_type.precision or 10, data_type.scale or 0)
    if data_type.is_timestamp:
        return NANOS if has_nanos(data_type) else timestamp_type(data_type)
    if data_type.root in ("ARRAY", "MAP") and data_type.is_blobs:
        return _of_blobs(data_type, where)
    if is_list_of_lists_of_blobs(data_type):
        inner = element_of(data_type)
        return pa.list_(pa.field("element", arrow_type(inner, f"{where}.element"), inner.nullable))
    if data_type.root in ("ARRAY", "VECTOR"):
        return pa.list_(_nested("element", element_of(data_type), where))
    if data_type.root in ("MAP", "MULTISET"):
        key, value = map_parts(data_type)
        return pa.map_(arrow_type(key, f"{where}.key"), _nested("value", value, where))
    if data_type.root == "ROW" and data_type.fields:  # neither parquet nor Arrow's kernels hold rows without fields
        return pa.struct([_nested(field.name, field.type, where) for field in data_type.fields])
    raise UnsupportedError(
        f"type {data_type} is not supported yet", where, "Leave this column out of the table or of the read."
    )


def _of_blobs(data_type: DataType, where: str) -> pa.DataType:
    """Lists and maps of blobs, which columns are and nothing inside a column is."""
    held = data_type.value or element_of(data_type)
    if data_type.key is None:
        return pa.list_(pa.field("element", _FIXED["BLOB"], held.nullable))
    return pa.map_(arrow_type(data_type.key, f"{where}.key"), pa.field("value", _FIXED["BLOB"], held.nullable))


def is_list_of_lists_of_blobs(data_type: DataType) -> bool:
    """Whether it is an ARRAY of lists or maps of blobs: what the binlog shows of a column of those."""
    if data_type.root != "ARRAY":
        return False
    inner = element_of(data_type)
    return inner.root in ("ARRAY", "MAP") and inner.is_blobs


def _nested(name: str, data_type: DataType, where: str) -> pa.Field:
    if data_type.is_blobs:
        raise UnsupportedError(
            f"type {data_type} inside another type than a column's ARRAY or MAP",
            f"{where}.{name}",
            "Leave this column out of the read.",
        )
    return pa.field(name, arrow_type(data_type, f"{where}.{name}"), data_type.nullable)


def element_of(data_type: DataType) -> DataType:
    """The type of the elements of an ARRAY, MULTISET or VECTOR."""
    assert data_type.element is not None
    return data_type.element


def vector_type(data_type: DataType, element: pa.Field) -> pa.FixedSizeListType:
    """Arrow's list of fixed size that users get for a VECTOR."""
    return pa.list_(element, data_type.length or 0)


def map_parts(data_type: DataType) -> tuple[DataType, DataType]:
    """The types of keys and values of a MAP, or of the map from elements to counts that a MULTISET is stored as."""
    if data_type.root == "MULTISET":
        return element_of(data_type), MULTISET_COUNT
    assert data_type.key is not None
    assert data_type.value is not None
    return data_type.key, data_type.value


def in_unit(column: C, unit: str) -> C:
    """A timestamp column in another unit: finer digits are cut off towards the past, as Java's `Timestamp` has them.

    Raises: pa.ArrowInvalid: a value is out of the unit's range.
    """
    if _DIGITS[unit] < _DIGITS[column.type.unit]:
        column = pc.floor_temporal(column, unit=_UNIT_NAMES[unit])
    return column.cast(pa.timestamp(unit, column.type.tz))


def arrow_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The Arrow schema of columns. Raises: UnsupportedError naming the first column that cannot be held."""
    return pa.schema([pa.field(f.name, arrow_type(f.type, f"column {f.name}"), f.type.nullable) for f in fields])


def data_type_of_arrow(arrow: pa.DataType, nullable: bool = True, where: str = "data") -> DataType:
    """The Paimon type that holds an Arrow type, for tables made from data; fields of a ROW get ids from 0.

    Raises: UnsupportedError naming `where`, with the path inside it.
    """
    if pa.types.is_dictionary(arrow):
        arrow = arrow.value_type
    if isinstance(arrow, pa.BaseExtensionType):
        root = _root_of_extension(arrow)
        if root is not None:
            return DataType(root, nullable, precision=None if root == "VARIANT" else 9)
        arrow = arrow.storage_type
    for root in ("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE"):
        if arrow == _FIXED[root]:
            return DataType(root, nullable)
    if pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow):
        return DataType("VARCHAR", nullable, length=MAX_LENGTH)
    if pa.types.is_binary(arrow) or pa.types.is_large_binary(arrow) or pa.types.is_binary_view(arrow):
        return DataType("VARBINARY", nullable, length=MAX_LENGTH)
    if pa.types.is_fixed_size_binary(arrow):
        return DataType("BINARY", nullable, length=arrow.byte_width)
    if pa.types.is_decimal128(arrow) and arrow != NANOS:
        return DataType("DECIMAL", nullable, precision=arrow.precision, scale=arrow.scale)
    if pa.types.is_time(arrow):
        return DataType("TIME", nullable, precision=_DIGITS[arrow.unit])
    if pa.types.is_timestamp(arrow):
        precision = _DIGITS[arrow.unit]
        return DataType("TIMESTAMP_LTZ" if arrow.tz else "TIMESTAMP", nullable, precision=precision)
    return _nested_of_arrow(arrow, nullable, where)


def _root_of_extension(arrow: pa.BaseExtensionType) -> str | None:
    """What an extension type of this engine is for, None of others."""
    if arrow.extension_name == VARIANT_NAME:
        return "VARIANT"
    if arrow.extension_name == FAR_TIMESTAMP_NAME:
        return "TIMESTAMP_LTZ" if arrow.storage_type.field("micros").type.tz else "TIMESTAMP"
    return None


def _nested_of_arrow(arrow: pa.DataType, nullable: bool, where: str) -> DataType:
    if is_list(arrow):
        element = data_type_of_arrow(arrow.value_type, arrow.value_field.nullable, f"{where}.element")
        if pa.types.is_fixed_size_list(arrow) and arrow.list_size and element.root in VECTOR_ELEMENTS:
            return DataType("VECTOR", nullable, length=arrow.list_size, element=element)
        return DataType("ARRAY", nullable, element=element)
    if pa.types.is_map(arrow):
        key = data_type_of_arrow(arrow.key_type, False, f"{where}.key")
        value = data_type_of_arrow(arrow.item_type, arrow.item_field.nullable, f"{where}.value")
        return DataType("MAP", nullable, key=key, value=value)
    if pa.types.is_struct(arrow) and arrow.num_fields:
        fields = tuple(
            DataField(number, part.name, data_type_of_arrow(part.type, part.nullable, f"{where}.{part.name}"))
            for number, part in enumerate(arrow)
        )
        return DataType("ROW", nullable, fields=fields)
    raise UnsupportedError(f"Arrow type {arrow} has no supported Paimon type", where, "Cast the column first.")


def is_list(arrow: pa.DataType) -> bool:
    """Whether an Arrow type is one of the five kinds of lists."""
    return bool(
        pa.types.is_list(arrow)
        or pa.types.is_large_list(arrow)
        or pa.types.is_fixed_size_list(arrow)
        or pa.types.is_list_view(arrow)
        or pa.types.is_large_list_view(arrow)
    )
