"""Row groups that threads encode make the same file, to the byte, as those that are encoded one after the other."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.format.data_format import FileSettings
from maintenance.format.parquet.row_groups import Encoder, RowGroupsWriter
from maintenance.format.parquet.writer import ParquetOptions, open_writer, physical_schema, prepare_writer
from maintenance.types.data_type import DataField
from maintenance.types.nanos import array_of
from maintenance.types.type_text import parse_data_type

FIELDS = [
    DataField(number, name, parse_data_type(text))
    for number, (name, text) in enumerate(
        {
            "id": "BIGINT NOT NULL",
            "text": "STRING",
            "nanos": "TIMESTAMP(9)",
            "score": "DOUBLE",
            "flag": "BOOLEAN",
            "lists": "ARRAY<INT>",
            "row": "ROW<a INT, b STRING>",
        }.items()
    )
]
SCHEMA = physical_schema(FIELDS)
START = b"what is in the sink before the file"


def rows_of(count: int, first: int = 0) -> pa.Table:
    numbers = range(first, first + count)
    columns = {
        "id": list(numbers),
        "text": [None if n % 3 == 0 else f"text {n % 5}" for n in numbers],
        "nanos": array_of([None if n % 7 == 0 else n * 10**15 + n for n in numbers]),
        "score": [n / 7 for n in numbers],
        "flag": [n % 2 == 0 for n in numbers],
        "lists": [[n] * (n % 4) for n in numbers],
        "row": [{"a": n, "b": str(n)} for n in numbers],
    }
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns.values(), SCHEMA, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def groups_of(sizes: Sequence[int]) -> list[pa.Table]:
    return [rows_of(size, int(start)) for size, start in zip(sizes, np.cumsum([0, *sizes]), strict=False)]


def file_of(groups: Sequence[pa.Table], dictionaries: Sequence[str], threads: int) -> bytes:
    sink = pa.BufferOutputStream()
    sink.write(START)
    open_ = partial(open_writer, schema=SCHEMA, options=ParquetOptions(), dictionary_columns=dictionaries)
    held = pa.BufferOutputStream()  # positions count from the beginning of the file
    writer = open_(held) if threads == 1 else RowGroupsWriter(sink, open_, threads)
    for group in groups:
        writer.write_table(group, row_group_size=max(1, group.num_rows))
    writer.close()
    return START + held.getvalue().to_pybytes() if threads == 1 else sink.getvalue().to_pybytes()


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=20),
    st.sampled_from([(), ("text", "nanos"), ("id", "text", "nanos", "score")]),
    st.integers(2, 4),
)
def test_threads_make_the_same_file_to_the_byte(sizes: list[int], dictionaries: Sequence[str], threads: int) -> None:
    groups = groups_of(sizes)
    assert file_of(groups, dictionaries, threads) == file_of(groups, dictionaries, 1)


def through_format(groups: Sequence[pa.Table], settings: FileSettings) -> tuple[bytes, list[bool]]:
    """The file, and after which row groups it had its target size."""
    sink = pa.BufferOutputStream()
    writer = prepare_writer(FIELDS, settings)(sink)
    full = []
    for group in groups:
        writer.write(group)
        full.append(writer.size >= settings.target_bytes)
    writer.close()
    return sink.getvalue().to_pybytes(), full


@pytest.mark.parametrize("size", [100, 10_000])
def test_files_have_their_target_size_after_the_same_row_group(size: int) -> None:
    """Files end after the same row group whatever the number of threads is."""
    groups = groups_of([size] * 6)
    whole, _ = through_format(groups, FileSettings())
    target = len(whole) // 2
    one = through_format(groups, FileSettings(target_bytes=target))
    assert one[0] == whole
    assert one[1] not in ([False] * 6, [True] * 6)
    assert through_format(groups, FileSettings(target_bytes=target, threads=3)) == one


def test_an_error_in_a_thread_is_raised_by_the_writer() -> None:
    """What a thread meets is raised where rows are given or the file is closed."""

    def open_(sink: pa.NativeFile) -> RowGroupsWriter:
        raise OSError("no space")

    writer = RowGroupsWriter(pa.BufferOutputStream(), open_, 2)
    writer.write_table(rows_of(1), 1)
    with pytest.raises(OSError, match="no space"):
        writer.close()


def test_files_that_are_written_at_a_time_share_threads() -> None:
    """Three files are written, and no more threads encode them than one may have."""
    used: set[int] = set()
    together = threading.Barrier(3)

    def open_(sink: pa.NativeFile) -> Encoder:
        used.add(threading.get_ident())
        # With a third thread nobody waits in vain.
        with suppress(threading.BrokenBarrierError):
            together.wait(0.2)
        return open_writer(sink, SCHEMA, ParquetOptions(), ())

    writers = [RowGroupsWriter(pa.BufferOutputStream(), open_, 2) for _ in range(3)]
    for writer in writers:
        for _ in range(2):
            writer.write_table(rows_of(10), 10)
    for writer in writers:
        writer.close()
    assert len(used) == 2
