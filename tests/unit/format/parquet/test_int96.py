"""INT96 for single columns: Arrow reads from a file what was written, and the other columns stay as they are."""

import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.errors import UnsupportedError
from maintenance.format.data_format import natural
from maintenance.format.parquet import reader
from maintenance.format.parquet.int96 import packed, unpacked, without_int96
from maintenance.format.parquet.reader import open_reader
from maintenance.format.parquet.thrift import values_of
from maintenance.format.parquet.writer import ParquetOptions, open_writer
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nanos import NANOS, array_of, list_of
from maintenance.types.values import NANOS_PER_UNIT, values_of_arrow

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("ns", NANOS, metadata={"PARQUET:field_id": "7"}),
        pa.field("ms", pa.timestamp("ms")),
        pa.field("ltz", NANOS),
    ]
)
MOMENTS = (
    st.none() | st.integers(-(2**63) + 1, 2**63 - 1) | st.sampled_from([0, -1, 86_400 * 10**9, -86_400 * 10**9 - 1])
)


def written(tables: list[pa.Table], dictionaries: list[str]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    writer = open_writer(sink, SCHEMA, ParquetOptions(), dictionaries)
    for table in tables:
        writer.write_table(table, row_group_size=max(1, table.num_rows))
    writer.close()
    return sink.getvalue()


def table_of(values: list[int | None]) -> pa.Table:
    moments = array_of(values)
    millis = pa.array([None if value is None else value // 10**6 for value in values], pa.int64())
    columns = [pa.array(range(len(values)), pa.int64()), moments, millis.cast(pa.timestamp("ms")), moments]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


@given(st.lists(st.lists(MOMENTS, min_size=1, max_size=20), min_size=1, max_size=3), st.booleans())
def test_arrow_reads_what_is_written(groups: list[list[int | None]], dictionary: bool) -> None:
    tables = [table_of(values) for values in groups]
    file = written(tables, ["ns", "ms", "ltz"] if dictionary else [])
    rows = pq.ParquetFile(pa.BufferReader(file)).read()
    whole = pa.concat_tables(tables)
    for name in ("id", "ns", "ms", "ltz"):
        assert values_of_arrow(rows.column(name)) == values_of_arrow(whole.column(name)), name


@given(st.lists(st.lists(MOMENTS, min_size=1, max_size=20), min_size=1, max_size=3), st.booleans())
def test_reads_back_in_any_number_of_row_groups(groups: list[list[int | None]], dictionary: bool) -> None:
    tables = [table_of(values) for values in groups]
    file = written(tables, ["ns", "ms", "ltz"] if dictionary else [])
    rows = open_reader(pa.BufferReader(file), "memory").read()
    for name, precision in (("ns", 9), ("ltz", 9), ("ms", 3)):
        root = "TIMESTAMP_LTZ" if name == "ltz" else "TIMESTAMP"
        column = natural(rows.column(name), DataField(0, name, DataType(root, precision=precision)))
        assert column.equals(pa.concat_tables(tables).column(name)), name


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


@given(
    st.lists(
        st.none() | st.tuples(st.integers(-(2**31) + 2_440_588 + 1, 2**31 - 1), st.integers(-(2**63), 2**63 - 1)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from(["ms", "us"]),
    st.integers(0, 2),
)
def test_every_day_and_time_of_day(stored: list[tuple[int, int] | None], unit: str, start: int) -> None:
    """Also times of day below zero and beyond a day, as bytes hold them; what does not fit is refused."""
    array = pa.array([None if v is None else struct.pack("<qi", v[1], v[0]) for v in stored], pa.binary(12))[start:]
    step = NANOS_PER_UNIT[unit]
    expected = [None if v is None else ((v[0] - 2_440_588) * 86_400 * 10**9 + v[1]) // step for v in stored][start:]
    target = pa.timestamp(unit)
    if any(value is not None and not -(2**63) <= value < 2**63 for value in expected):
        with pytest.raises(UnsupportedError, match=r"cannot hold"):
            unpacked(array, target)
    else:
        assert unpacked(array, target).cast(pa.int64()).to_pylist() == expected


@pytest.mark.parametrize("year", [1, 1300, 1677, 1969, 2262, 2600, 2840, 9999])
@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_every_year_in_files_of_arrow(year: int, version: str) -> None:
    """Arrow stores its own schema too, which says that the bytes are timestamps."""
    seconds = pa.array([None, f"{year:04d}-06-01 12:00:00", "1970-01-01 00:00:00"]).cast(pa.timestamp("s"))
    sink = pa.BufferOutputStream()
    rows = pa.table({"t": seconds, "i": [1, 2, 3], "l": pa.array([[s] for s in seconds], pa.list_(pa.timestamp("s")))})
    pq.write_table(rows, sink, use_deprecated_int96_timestamps=True, version=version)
    actual = open_reader(pa.BufferReader(sink.getvalue()), "memory").read()
    micros = DataType("TIMESTAMP", precision=6)
    assert natural(actual.column("t"), DataField(0, "t", micros)).equals(
        pa.chunked_array([seconds.cast(pa.timestamp("us"))])
    )
    listed = natural(actual.column("l"), DataField(0, "l", DataType("ARRAY", element=micros)))
    assert listed.combine_chunks().values.equals(seconds.cast(pa.timestamp("us")))
    assert actual.column("i").to_pylist() == [1, 2, 3]
    wide = natural(actual.column("t"), DataField(0, "t", DataType("TIMESTAMP", precision=9)))
    assert list_of(wide) == [None if s is None else s * 10**9 for s in seconds.cast(pa.int64()).to_pylist()]


@given(st.lists(st.none() | st.integers(-(2**63) * 1000, 2**63 * 1000 - 1), min_size=1, max_size=9), st.integers(0, 2))
def test_nanoseconds_of_all_years(values: list[int | None], start: int) -> None:
    assert list_of(unpacked(packed(array_of(values)[start:]), NANOS)) == values[start:]


def test_numbers_and_texts_of_a_struct_are_found() -> None:
    # {1: i32 -3, 2: "ab", 4: [i64 1, i64 300], 25: {1: true, 2: double, 3: i32 7}}
    data = bytes.fromhex("150518026162292602d8040c321117" + "00" * 8 + "150e0000")
    actual = {path: (value, data[offset : offset + 1]) for path, offset, value in values_of(data)}
    assert actual == {
        (1,): (-3, b"\x05"),
        (2,): (b"ab", b"a"),
        (4, 0): (1, b"\x02"),
        (4, 1): (300, b"\xd8"),
        (25, 3): (7, b"\x0e"),
    }
    wanted = {path: value for path, _, value in values_of(data, {4: {}, 25: {3: {}}, 26: {}})}
    assert wanted == {(4, 0): 1, (4, 1): 300, (25, 3): 7}
    assert [path for path, _, _ in values_of(data, {25: {3: {}}})] == [(25, 3)]


def test_files_are_opened_as_they_are_where_no_such_column_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = pa.BufferOutputStream()
    moments = pa.array([0], pa.timestamp("ns"))
    rows = pa.table({"a": [1], "t": moments, "t.u": [1], "s": pa.array([{"x": moments[0]}])})
    pq.write_table(rows, sink, use_deprecated_int96_timestamps=True)
    asked: list[object] = []

    def counted(source: pa.NativeFile) -> pa.NativeFile:
        asked.append(source)
        return without_int96(source)

    monkeypatch.setattr(reader, "without_int96", counted)
    for columns, count in ((["a", "t.u"], 0), ([], 0), (["t"], 1), (["s"], 2), (None, 3)):
        open_reader(pa.BufferReader(sink.getvalue()), "memory", columns=columns)
        assert len(asked) == count, columns
