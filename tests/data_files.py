"""Data files in memory: rows of any types, written and read by one format."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from maintenance.format.data_format import DataReader, FileSettings
from maintenance.format.data_formats import DATA_FORMATS, open_data_file
from maintenance.types.arrow import arrow_schema, element_of, has_nanos, map_parts
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nanos import NANOS
from maintenance.types.nested import Path, Rebuild, retyped
from maintenance.types.values import NANOS_PER_UNIT, Value
from tests.strategies import bits, data_types, nested_types, present_values

_FAR = st.integers(-(10**21), 10**21) | st.integers(-(10**18), 10**18).map(lambda micros: micros * 1000)
_UNITS = {0: "ms", 1: "us", 2: "ns"}


def written(rows: pa.Table, fields: Sequence[DataField], settings: FileSettings, pieces: int = 1) -> bytes:
    """A file of the rows, handed over in pieces."""
    sink = pa.BufferOutputStream()
    writer = DATA_FORMATS[settings.format].prepare_writer(fields, settings)(sink)
    step = max(1, -(-rows.num_rows // pieces))
    for start in range(0, rows.num_rows, step):
        writer.write(rows.slice(start, step))
    writer.close()
    content: bytes = sink.getvalue().to_pybytes()
    return content


def opened(
    content: bytes, extension: str, columns: Sequence[DataField] = (), options: Mapping[str, str] | None = None
) -> DataReader:
    """A reader of a file named `memory`. `columns`: all of the file."""
    return open_data_file(pa.BufferReader(content), f"memory.{extension}", options or {}, columns)


def table_of(fields: Sequence[DataField], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Rows of what `stored_values` makes, as a table of natural types."""
    schema = arrow_schema(fields)
    columns = [
        _WIDENED.array(pa.array([row[i] for row in rows], _made_as(part.type)), part.type)
        for i, part in enumerate(schema)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _made_as(arrow: pa.DataType) -> pa.DataType:
    """The type with numbers in place of nanoseconds, which Python's numbers do not become."""
    return retyped(arrow, lambda leaf: _NANOS_AS_NUMBERS if leaf == NANOS else None)


def _same_digits(array: pa.Array, target: pa.DataType, _: Path) -> pa.Array:
    if array.type == target or {array.type, target} != {NANOS, _NANOS_AS_NUMBERS}:
        return array if array.type == target else array.cast(target)
    return pa.Array.from_buffers(target, len(array), array.buffers(), offset=array.offset)


def comparable(table: pa.Table) -> list[Any]:
    """Rows to compare by: floats by their bits."""
    return [tuple(_comparable(value) for value in row.values()) for row in as_numbers(table).to_pylist()]


def as_numbers(table: pa.Table) -> pa.Table:
    """Times and days as their numbers, since Python has not all of their years."""
    columns = [_NUMBERS.column(column, _number(column.type)) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _number(arrow: pa.DataType) -> pa.DataType:
    if arrow == NANOS:
        return _NANOS_AS_NUMBERS
    if pa.types.is_timestamp(arrow):
        return pa.int64()
    if pa.types.is_date32(arrow) or pa.types.is_time32(arrow):
        return pa.int32()
    if pa.types.is_list(arrow):
        return pa.list_(_number(arrow.value_type))
    if pa.types.is_map(arrow):
        return pa.map_(_number(arrow.key_type), _number(arrow.item_type))
    return pa.struct([(part.name, _number(part.type)) for part in arrow]) if pa.types.is_struct(arrow) else arrow


_NANOS_AS_NUMBERS = pa.decimal128(38, 0)
_NUMBERS = _WIDENED = Rebuild(_same_digits)


def _comparable(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_comparable(part) for part in value]
    if isinstance(value, dict):
        return {name: _comparable(part) for name, part in value.items()}
    return bits(value)


def stored_values(data_type: DataType, keep: Callable[[DataType, Value], bool]) -> st.SearchStrategy[Any]:
    """What Arrow makes values of a type from, null among them if the type has it. `keep`: which values may be there."""
    match data_type.root:
        case "ARRAY":
            actual: st.SearchStrategy[Any] = st.lists(stored_values(element_of(data_type), keep), max_size=4)
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            entry = st.tuples(stored_values(key.as_nullable(False), keep), stored_values(value, keep))
            actual = st.lists(entry, max_size=4)
        case "ROW":
            actual = st.fixed_dictionaries({f.name: stored_values(f.type, keep) for f in data_type.fields})
        case _:
            unit = _UNITS[(max(1, data_type.precision or 0) - 1) // 3] if data_type.is_timestamp else "ns"
            values = present_values(data_type) | _FAR if has_nanos(data_type) else present_values(data_type)
            plain = values.filter(lambda value: keep(data_type, value))
            actual = plain.map(lambda value: _in_unit(value, unit)) if data_type.is_timestamp else plain
    return st.none() | actual if data_type.nullable else actual


def _in_unit(nanos: Value, unit: str) -> int:
    assert isinstance(nanos, int)
    return nanos // NANOS_PER_UNIT[unit]


def tables(
    holds: Callable[[DataType], bool],
    keep: Callable[[DataType, Value], bool] = lambda data_type, value: True,
    *,
    nested: bool = True,
) -> st.SearchStrategy[tuple[list[DataField], pa.Table]]:
    """Columns and rows. `holds`: types there may be; `keep`: values of them there may be."""
    types = (nested_types() if nested else data_types()).filter(holds)
    columns = st.lists(types, min_size=1, max_size=4).map(
        lambda found: [DataField(i, f"c{i}", data_type) for i, data_type in enumerate(found)]
    )
    return columns.flatmap(
        lambda fields: st.tuples(
            st.just(fields),
            st.lists(st.tuples(*(stored_values(field.type, keep) for field in fields)), min_size=1, max_size=12).map(
                lambda rows: table_of(fields, rows)
            ),
        )
    )


def holds_everywhere(test: Callable[[DataType], bool]) -> Callable[[DataType], bool]:
    """Whether a type and all inside it pass a test."""

    def holds(data_type: DataType) -> bool:
        inner = [part for part in (data_type.element, data_type.key, data_type.value) if part is not None]
        return test(data_type) and all(map(holds, [*inner, *(field.type for field in data_type.fields)]))

    return holds
