"""Typed columns from their texts and back, as CSV and JSON files of format tables hold them.

Source: Java `CsvParser`, `JsonFileReader`, `CastExecutors`.
"""

from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError, UnsupportedError
from maintenance.types.arrow import arrow_type
from maintenance.types.casts.cast import STRING, cast
from maintenance.types.casts.zones import UTC
from maintenance.types.data_type import DataField, DataType

Leaf = Callable[[pa.Array, DataType], pa.Array]
AnyLeaf = TypeVar("AnyLeaf", bound=Leaf)
ELEMENT, KEY, VALUE = "element", "key", "value"


def text_type(data_type: DataType, column: str) -> pa.DataType:
    """The Arrow type whose leaves are the texts of a type. Raises: UnsupportedError: files cannot hold it."""
    match data_type.root:
        case "ARRAY":
            assert data_type.element is not None
            return pa.list_(text_type(data_type.element, column))
        case "MAP":
            assert data_type.key is not None
            assert data_type.value is not None
            return pa.map_(pa.string(), text_type(data_type.value, column))
        case "ROW":
            return pa.struct([(field.name, text_type(field.type, column)) for field in data_type.fields])
        case "MULTISET" | "VECTOR" | "VARIANT" | "BLOB" | "BINARY" | "VARBINARY":
            raise UnsupportedError(
                f"column '{column}' of type {data_type} cannot be in a text file", "format table", "Use parquet or orc."
            )
    return pa.string()


def texts_of(column: pa.ChunkedArray, data_type: DataType) -> pa.ChunkedArray:
    """The texts of a column without nested values."""
    if data_type.is_string:
        return column.cast(pa.string())
    return cast(column, data_type.as_nullable(), STRING)


def nested_texts(array: pa.Array, data_type: DataType, column: str) -> pa.Array:
    """A column with texts as its leaves."""

    def leaf(values: pa.Array, of: DataType) -> pa.Array:
        return texts_of(pa.chunked_array([values]), of).combine_chunks()

    return with_leaves(array, data_type, lambda of: text_type(of, column), leaf)


def with_leaves(
    array: pa.Array,
    data_type: DataType,
    arrow_type_of: Callable[[DataType], pa.DataType],
    leaf: AnyLeaf,
    leaf_inside: Callable[[AnyLeaf, str], AnyLeaf] = lambda leaf, _: leaf,
) -> pa.Array:
    """Nested values whose leaves are changed.

    Args: `arrow_type_of`: what a type becomes; `leaf`: what values do; `leaf_inside`: what those of a part do, which
        is ELEMENT, KEY, VALUE or the name of a field.
    """

    def inside(part: pa.Array, of: DataType | None, name: str) -> pa.Array:
        assert of is not None
        return with_leaves(part, of, arrow_type_of, leaf_inside(leaf, name), leaf_inside)

    target = arrow_type_of(data_type)
    mask = array.is_null() if array.null_count else None
    match data_type.root:
        case "ARRAY":
            elements = inside(array.flatten(), data_type.element, ELEMENT)
            return pa.ListArray.from_arrays(_offsets(array), elements, type=target, mask=mask)
        case "MAP":
            start, stop = array.offsets[0].as_py(), array.offsets[-1].as_py()
            keys = inside(array.keys[start:stop], data_type.key, KEY)
            values = inside(array.items[start:stop], data_type.value, VALUE)
            return pa.MapArray.from_arrays(_offsets(array), keys, values, type=target, mask=mask)
        case "ROW":
            parts = [
                inside(pc.struct_field(array, [i]), field.type, field.name) for i, field in enumerate(data_type.fields)
            ]
            return pa.StructArray.from_arrays(parts, fields=list(target), mask=mask)
    return leaf(array, data_type)


def _offsets(array: pa.Array) -> pa.Array:
    return pc.subtract(array.offsets, array.offsets[0])


def cast_texts(texts: pa.Array, data_type: DataType, zone: str = UTC) -> pa.Array:
    """The values of texts. Raises: DataError: a text is not a value of the type."""
    if data_type.is_string:
        return texts.cast(arrow_type(data_type))
    return cast(pa.chunked_array([texts]), STRING, data_type.as_nullable(), zone).combine_chunks()


def typed_or_null(texts: pa.Array, field: DataField, zone: str = UTC) -> tuple[pa.Array, pa.Array]:
    """The values of a column without nested ones, null where a text is not one; and where that is so.

    `zone`: of texts of instants.
    """
    try:
        return cast_texts(texts, field.type, zone), pa.repeat(False, len(texts))
    except DataError:
        bad = _bad_texts(pc.unique(texts.drop_null()), field.type, zone)
    wrong = pc.is_in(texts, bad)
    return cast_texts(pc.if_else(wrong, pa.scalar(None, pa.string()), texts), field.type, zone), wrong


def _bad_texts(distinct: pa.Array, data_type: DataType, zone: str) -> pa.Array:
    """Which of some texts are not values of a type, found by halves."""
    try:
        cast_texts(distinct, data_type, zone)
    except DataError:
        if len(distinct) == 1:
            return distinct
        half = len(distinct) // 2
        return pa.concat_arrays([_bad_texts(part, data_type, zone) for part in (distinct[:half], distinct[half:])])
    return distinct[:0]
