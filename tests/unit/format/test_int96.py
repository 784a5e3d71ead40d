"""INT96 for single columns: Arrow reads from a file what was written, and the other columns stay as they are."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.format.parquet import open_reader, wraps_around
from maintenance.format.parquet_writer import ParquetOptions, open_writer
from maintenance.format.thrift import values_of

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("ns", pa.timestamp("ns"), metadata={"PARQUET:field_id": "7"}),
        pa.field("ms", pa.timestamp("ms")),
        pa.field("ltz", pa.timestamp("ns", "UTC")),
    ]
)
NANOS = st.none() | st.integers(-(2**63) + 1, 2**63 - 1) | st.sampled_from([0, -1, 86_400 * 10**9, -86_400 * 10**9 - 1])


def written(tables: list[pa.Table], dictionaries: list[str]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    writer = open_writer(sink, SCHEMA, ParquetOptions(), dictionaries)
    for table in tables:
        writer.write_table(table, row_group_size=max(1, table.num_rows))
    writer.close()
    return sink.getvalue()


def table_of(values: list[int | None]) -> pa.Table:
    nanos = pa.array(values, pa.int64())
    millis = pa.array([None if value is None else value // 10**6 for value in values], pa.int64())
    columns = [pa.array(range(len(values)), pa.int64()), nanos, millis, nanos]
    return pa.Table.from_arrays([c.cast(t) for c, t in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA)


@given(st.lists(st.lists(NANOS, min_size=1, max_size=20), min_size=1, max_size=3), st.booleans())
def test_reads_back_in_any_number_of_row_groups(groups: list[list[int | None]], dictionary: bool) -> None:
    tables = [table_of(values) for values in groups]
    file = written(tables, ["ns", "ms", "ltz"] if dictionary else [])
    found = open_reader(pa.BufferReader(file), "memory").read()
    whole = pa.concat_tables(tables)
    for name in ("id", "ns", "ms", "ltz"):
        assert found.column(name).cast(pa.int64()).equals(whole.column(name).cast(pa.int64())), name


def test_only_nanoseconds_are_int96() -> None:
    metadata = pq.ParquetFile(pa.BufferReader(written([table_of([1, None]), table_of([2])], []))).metadata
    types = {"id": "INT64", "ns": "INT96", "ms": "INT64", "ltz": "INT96"}
    assert {column.path: column.physical_type for column in map(metadata.schema.column, range(4))} == types
    for group in range(2):
        chunks = [metadata.row_group(group).column(i) for i in range(4)]
        assert {chunk.path_in_schema: chunk.physical_type for chunk in chunks} == types
        assert [chunk.path_in_schema for chunk in chunks if chunk.is_stats_set] == ["id", "ms"]


def test_a_file_without_nanoseconds_is_left_to_arrow() -> None:
    schema = pa.schema([("ms", pa.timestamp("ms"))])
    assert isinstance(open_writer(pa.BufferOutputStream(), schema, ParquetOptions(), []), pq.ParquetWriter)


@pytest.mark.parametrize("year", [1, 1300, 2600, 2840, 9999])
def test_years_that_nanoseconds_cannot_hold_are_noticed(year: int) -> None:
    seconds = pa.array([None, f"{year:04d}-06-01 12:00:00"]).cast(pa.timestamp("s"))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"t": seconds}), sink, use_deprecated_int96_timestamps=True)
    nanos, micros = (
        open_reader(pa.BufferReader(sink.getvalue()), "memory", int96_unit=unit).read().column("t")
        for unit in ("ns", "us")
    )
    assert wraps_around(nanos, micros)


@given(st.lists(NANOS, min_size=1))
def test_times_that_nanoseconds_can_hold_are_not_taken_for_others(values: list[int | None]) -> None:
    file = written([table_of(values)], [])
    nanos, micros = (
        open_reader(pa.BufferReader(file), "m", int96_unit=unit).read().column("ns") for unit in ("ns", "us")
    )
    assert not wraps_around(nanos, micros)


def test_numbers_and_texts_of_a_struct_are_found() -> None:
    # {1: i32 -3, 2: "ab", 4: [i64 1, i64 300], 25: {1: true, 2: double, 3: i32 7}}
    data = bytes.fromhex("150518026162292602d8040c321117" + "00" * 8 + "150e0000")
    found = {path: (value, data[offset : offset + 1]) for path, offset, value in values_of(data)}
    assert found == {
        (1,): (-3, b"\x05"),
        (2,): (b"ab", b"a"),
        (4, 0): (1, b"\x02"),
        (4, 1): (300, b"\xd8"),
        (25, 3): (7, b"\x0e"),
    }
