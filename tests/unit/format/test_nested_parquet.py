"""Parquet files of other writers: lists and maps with parts of other names, other kinds of times."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from maintenance.errors import CorruptFileError
from maintenance.format.parquet.reader import PARQUET
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type
from tests.nested_values import values_of


def read(rows: pa.Table, text: str, **how: object) -> pa.ChunkedArray:
    """The column `c` of a file that Arrow writes, read as a column of that type."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, **how)
    field = DataField(0, "c", parse_data_type(text))
    table = PARQUET.open_reader(pa.BufferReader(sink.getvalue()), "memory", {}).read([field])
    assert table.schema.field("c").type == arrow_type(field.type)
    return table.column("c")


def test_lists_whose_elements_have_another_name() -> None:
    rows = pa.table({"c": pa.array([[{"x": [1, None]}], None, []], pa.list_(pa.struct([("x", pa.list_(pa.int32()))])))})
    for compliant in (True, False):
        column = read(rows, "ARRAY<ROW<x ARRAY<INT>>>", use_compliant_nested_type=compliant)
        assert column.to_pylist() == rows.column("c").to_pylist()
        assert column.type.value_field.name == "element"


def test_fields_are_found_by_name_and_others_left_out() -> None:
    rows = pa.table({"c": [{"b": 1, "x": "?", "a": 2}, None]})
    assert read(rows, "ROW<a BIGINT, b BIGINT>").to_pylist() == [{"a": 2, "b": 1}, None]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_of_every_unit(unit: str) -> None:
    times = pa.array([0, 43_200_500, None], pa.int32()).cast(pa.time32("ms"))
    if unit != "ms":
        times = times.cast(pa.time64(unit))
    for text in ("TIME(0)", "TIME(6)"):
        assert read(pa.table({"c": times}), text).cast(pa.int32()).to_pylist() == [0, 43_200_500, None]


def test_int96_at_every_depth() -> None:
    """Beyond what 64 bits of nanoseconds hold: the years 1 and 9999."""
    days = pa.array([-719_162, 2_932_896, None], pa.int32()).cast(pa.date32()).cast(pa.timestamp("ms"))
    struct = pa.StructArray.from_arrays([days], names=["t"])
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 3], pa.int32()), pa.array([1, 2, 3]), struct)
    column = read(pa.table({"c": maps}), "MAP<BIGINT, ROW<t TIMESTAMP(6)>>", use_deprecated_int96_timestamps=True)
    data_type = parse_data_type("MAP<BIGINT, ROW<t TIMESTAMP(6)>>")
    day = 86_400 * 10**9
    assert values_of(column.combine_chunks(), data_type) == [
        [(1, (-719_162 * day,))],
        [(2, (2_932_896 * day,)), (3, (None,))],
    ]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (pa.array([[1]]), "INT"),
        (pa.array([1]), "ARRAY<INT>"),
        (pa.array([["x"]]), "ARRAY<INT>"),
        (pa.array([[1]]), "MAP<INT, INT>"),
        (pa.array([{"a": 1}]), "ROW<a ARRAY<INT>>"),
    ],
)
def test_files_of_another_shape(values: pa.Array, text: str) -> None:
    with pytest.raises(CorruptFileError, match=r"memory"):
        read(pa.table({"c": values}), text)
