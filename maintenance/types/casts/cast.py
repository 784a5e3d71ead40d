"""Cast columns from one type to another, and old rows to a newer form of a nested type.

A rule is one function of a whole array, registered for the roots of the types it joins; `cast` looks it up. Rules take
and return natural Arrow types (`types/arrow.py`). Source: Java `CastExecutors`, `SchemaEvolutionUtil`.
"""

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError
from maintenance.types.arrow import arrow_type
from maintenance.types.casts import moment_text, moments, number_text, numbers, text
from maintenance.types.casts.zones import UTC
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType

Rule = Callable[[pa.Array, DataType, DataType, str], pa.Array]

STRING = DataType("VARCHAR", length=MAX_LENGTH)

_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_FLOATS = ("FLOAT", "DOUBLE")
_STRINGS = ("CHAR", "VARCHAR")
_BYTES = ("BINARY", "VARBINARY")
_STAMPS = ("TIMESTAMP", "TIMESTAMP_LTZ")


def _zoneless(rule: Callable[[pa.Array, DataType, DataType], pa.Array]) -> Rule:
    return lambda array, source, target, _zone: rule(array, source, target)


def _joining(sources: Iterable[str], targets: Iterable[str], rule: Rule) -> dict[tuple[str, str], Rule]:
    return {(source, target): rule for source in sources for target in targets}


_RULES: Mapping[tuple[str, str], Rule] = {
    **_joining((*_INTEGERS, *_FLOATS, "BOOLEAN"), (*_INTEGERS, *_FLOATS), _zoneless(numbers.to_number)),
    **_joining(_INTEGERS, ("BOOLEAN",), _zoneless(numbers.to_boolean)),
    **_joining((*_INTEGERS, "BOOLEAN"), ("DECIMAL",), _zoneless(numbers.integer_to_decimal)),
    **_joining(_FLOATS, ("DECIMAL",), _zoneless(numbers.float_to_decimal)),
    **_joining(("DECIMAL",), ("DECIMAL",), _zoneless(numbers.decimal_to_decimal)),
    **_joining(("DECIMAL",), _INTEGERS, _zoneless(numbers.decimal_to_integer)),
    **_joining(("DECIMAL",), _FLOATS, _zoneless(numbers.decimal_to_float)),
    **_joining((*_INTEGERS, *_FLOATS, "DECIMAL"), _STRINGS, _zoneless(text.number_to_text)),
    **_joining(("BOOLEAN",), _STRINGS, _zoneless(text.boolean_to_text)),
    **_joining(_STRINGS, _STRINGS, _zoneless(text.text_to_text)),
    **_joining(_STRINGS, _BYTES, _zoneless(text.text_to_bytes)),
    **_joining(_BYTES, _BYTES, _zoneless(text.bytes_to_bytes)),
    **_joining(_BYTES, _STRINGS, _zoneless(text.bytes_to_text)),
    **_joining(_STRINGS, ("BOOLEAN",), _zoneless(number_text.to_boolean)),
    **_joining(_STRINGS, _INTEGERS, _zoneless(number_text.to_integer)),
    **_joining(_STRINGS, _FLOATS, _zoneless(number_text.to_float)),
    **_joining(_STRINGS, ("DECIMAL",), _zoneless(number_text.to_decimal)),
    **_joining(_STRINGS, ("DATE",), moment_text.text_to_date),
    **_joining(_STRINGS, ("TIME",), moment_text.text_to_time),
    **_joining(_STRINGS, _STAMPS, moment_text.text_to_timestamp),
    **_joining(("DATE",), ("VARCHAR",), moment_text.date_to_text),
    **_joining(("TIME",), ("VARCHAR",), moment_text.time_to_text),
    **_joining(_STAMPS, ("VARCHAR",), moment_text.timestamp_to_text),
    **_joining(_STAMPS, _STAMPS, moments.timestamp_to_timestamp),
    **_joining(_STAMPS, ("DATE",), moments.timestamp_to_date),
    **_joining(_STAMPS, ("TIME",), moments.timestamp_to_time),
    **_joining(_STAMPS, ("INT", "BIGINT"), moments.timestamp_to_integer),
    **_joining(("INT", "BIGINT"), _STAMPS, moments.integer_to_timestamp),
    **_joining(("DATE",), _STAMPS, moments.date_to_timestamp),
    **_joining(("TIME",), _STAMPS, moments.time_to_timestamp),
}


def cast(column: pa.ChunkedArray, source: DataType, target: DataType, zone: str = UTC) -> pa.ChunkedArray:
    """A column in another type, as Paimon casts its values; rows of a nested type are matched by field id.

    Args: `column`: natural Arrow type of `source`; `zone`: name of the time zone of TIMESTAMP_LTZ's wall clock.
    Raises: DataError: a text or bytes that are not a value of the target; UnsupportedError: no such cast.
    """
    if source.as_nullable() == target.as_nullable():
        return column
    kind = arrow_type(target)
    # A rule computes on the array itself, so values before an offset must be dropped.
    chunks = [_cast_array(chunk, source, target, zone) for chunk in column.chunks]
    return pa.chunked_array(chunks, kind)


def _cast_array(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    if _is_same(source, target):
        return array
    if source.root == target.root and source.root in _EVOLVING:
        return _EVOLVING[source.root](array, source, target, zone)
    if target.is_string and source.root in _NESTED_TEXTS:
        return _NESTED_TEXTS[source.root](array, source, zone)
    rule = _RULES.get((source.root, target.root))
    if rule is None:
        raise UnsupportedError(
            f"{source} cannot be cast to {target}", "cast", "Give the column its former type, or leave it out."
        )
    return rule(array, source, target, zone)


def _is_same(source: DataType, target: DataType) -> bool:
    """Whether values and their Arrow form are the same; names of nested fields are part of that form."""
    return source.as_nullable() == target.as_nullable() or (
        source.root == target.root and not source.is_nested and source.as_nullable(True) == target.as_nullable(True)
    )


# Nested types: the same rows in a newer form


def _evolved_row(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    own = {field.id: i for i, field in enumerate(source.fields)}
    columns = [_evolved_field(array, source, own.get(field.id), field, zone) for field in target.fields]
    kind = arrow_type(target)
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=mask)


def _evolved_field(array: pa.Array, source: DataType, position: int | None, field: DataField, zone: str) -> pa.Array:
    if position is None:
        return pa.nulls(len(array), arrow_type(field.type, f"field {field.name}"))
    return _cast_array(pc.struct_field(array, [position]), source.fields[position].type, field.type, zone)


def _evolved_list(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    assert source.element is not None
    assert target.element is not None
    elements = _cast_array(array.flatten(), source.element, target.element, zone)
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(_offsets(array), elements, type=arrow_type(target), mask=mask)


def _evolved_map(array: pa.Array, source: DataType, target: DataType, zone: str) -> pa.Array:
    assert source.key is not None
    assert target.key is not None
    assert source.value is not None
    assert target.value is not None
    if source.key.as_nullable() != target.key.as_nullable():
        raise UnsupportedError(
            f"{source} cannot be cast to {target}: the keys differ", "cast", "Leave the column out of the read."
        )
    keys, items = _entries(array)
    values = _cast_array(items, source.value, target.value, zone)
    mask = array.is_null() if array.null_count else None
    return pa.MapArray.from_arrays(_offsets(array), keys, values, type=arrow_type(target), mask=mask)


_EVOLVING: Mapping[str, Rule] = {"ROW": _evolved_row, "ARRAY": _evolved_list, "MAP": _evolved_map}


def _offsets(array: pa.Array) -> pa.Array:
    """Where each list begins among those elements that lists hold: int32, shape (n + 1,)."""
    lengths = pc.list_value_length(_as_lists(array)).fill_null(0).cast(pa.int32())
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])


def _as_lists(array: pa.Array) -> pa.Array:
    if not pa.types.is_map(array.type):
        return array
    return array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))


def _entries(array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Keys and values of those entries that maps hold."""
    entries = _as_lists(array).flatten()
    return pc.struct_field(entries, [0]), pc.struct_field(entries, [1])


# Nested types as texts


def _row_text(array: pa.Array, source: DataType, zone: str) -> pa.Array:
    parts = [
        _cast_array(pc.struct_field(array, [i]), field.type, STRING, zone) for i, field in enumerate(source.fields)
    ]
    return text.row_texts(parts, array)


def _list_text(array: pa.Array, source: DataType, zone: str) -> pa.Array:
    assert source.element is not None
    return text.list_texts(_cast_array(array.flatten(), source.element, STRING, zone), _offsets(array), array)


def _map_text(array: pa.Array, source: DataType, zone: str) -> pa.Array:
    assert source.key is not None
    assert source.value is not None
    keys, values = _entries(array)
    entries = text.entry_texts(
        _cast_array(keys, source.key, STRING, zone), _cast_array(values, source.value, STRING, zone)
    )
    return text.list_texts(entries, _offsets(array), array, "{}")


_NESTED_TEXTS: Mapping[str, Callable[[pa.Array, DataType, str], pa.Array]] = {
    "ROW": _row_text,
    "ARRAY": _list_text,
    "MAP": _map_text,
}
