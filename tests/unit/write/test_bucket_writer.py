"""The buffer of a bucket: however often it is flushed, the table reads the same."""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.bucket.fixed import assign_buckets
from maintenance.catalog import CatalogTable
from maintenance.commit.commit import append_or_abort
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import DataError
from maintenance.format.rows.key import key_reader
from maintenance.types.row_kind import kinds_of_texts
from maintenance.write.rows import conform
from maintenance.write.state import WriteState
from maintenance.write.table_write import TableWrite
from tests.examples import examples
from tests.tables import create_table, data_files, files_on_disk, keyed, live, live_files, state

KINDS = ["+I", "-U", "+U", "-D"]
Row = tuple[int, str | None, str]


def write_pieces(table: CatalogTable, rows: list[Row], piece: int) -> None:
    context = table.write_context()
    writer = TableWrite(context, table.write_state("u"))
    for start in range(0, len(rows), piece):
        part = rows[start : start + piece]
        kinds = kinds_of_texts([kind for _, _, kind in part])
        writer.write(conform(keyed([(key, v) for key, v, _ in part]), kinds, context))

    append_or_abort(table.commit_target(), writer.finish(), CommitIdentity("me"))


@settings(max_examples=examples(20))
@given(
    st.lists(
        st.tuples(st.integers(0, 6), st.sampled_from(["a", "b", None]), st.sampled_from(KINDS)), min_size=1, max_size=20
    ),
    st.integers(1, 20),
    st.sampled_from(["1 b", "200 b", "1 mb"]),
)
def test_flushes_do_not_matter(rows: list[Row], piece: int, buffer: str) -> None:
    expected: dict[int, str | None] = {}
    for key, v, kind in rows:
        if kind in ("+I", "+U"):
            expected[key] = v
        else:
            expected.pop(key, None)
    with tempfile.TemporaryDirectory() as folder:
        table = create_table(folder, options={"write-buffer-size": buffer, "bucket": "2"})
        write_pieces(table, rows, piece)
        assert state(table) == expected
        numbers = [n for file in live_files(table) for n in (file.min_sequence_number, file.max_sequence_number)]
        assert max(numbers) < len(rows)


def test_each_flush_is_a_run(tmp_path: Path) -> None:
    rows = conform(keyed({3: "x", 1: "x"}), None, create_table(tmp_path, name="db.other").write_context())
    table = create_table(tmp_path, options={"write-buffer-size": f"{rows.nbytes} b"})
    write_pieces(table, [(key, "x", "+I") for key in (3, 1, 2, 1)], 2)
    assert [(f.row_count, f.min_sequence_number, f.max_sequence_number) for f in live_files(table)] == [
        (2, 0, 1),
        (2, 2, 3),
    ]


def test_a_run_is_sorted_and_holds_each_key_once(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    write_pieces(table, [(key, str(i), "+I") for i, key in enumerate([5, -2, 5, 9, -2])], 5)
    (file,) = live_files(table)
    read = pq.read_table(table.paths.data_file(live(table)[0].partition, 0, file))
    assert read.column("_KEY_id").to_pylist() == [-2, 5, 9]
    assert read.column("_SEQUENCE_NUMBER").to_pylist() == [4, 2, 3]
    low, high = (key_reader([table.schema.key_fields[0].type])(key) for key in (file.min_key, file.max_key))
    assert (low[0][1], high[0][1]) == (-2, 9)


def test_numbers_go_on_in_each_bucket(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    for expected in (0, 3, 6):
        write_pieces(table, [(key, "x", "+I") for key in (1, 1, 2)], 3)
        assert max(file.max_sequence_number for file in live_files(table)) == expected + 2


def test_rows_are_spread_over_partitions_and_buckets(tmp_path: Path) -> None:
    fields = [("p", "STRING"), ("id", "INT"), ("v", "STRING")]
    table = create_table(
        tmp_path, fields, (), {"bucket": "3", "bucket-key": "id"}, partition_keys=["p"], name="db.append"
    )
    ids = pa.array(range(60), pa.int32())
    partitions = [[None, "", "x", "y/z"][i % 4] for i in range(60)]
    table.write_arrow(pa.table({"p": partitions, "id": ids, "v": [str(i) for i in range(60)]}))
    buckets = assign_buckets(pa.table({"id": ids}), table.schema.bucket_fields, 3)
    assert len(live(table)) == len(set(zip(partitions, buckets.tolist(), strict=True)))
    read = table.to_arrow().to_pylist()
    assert sorted((str(row["p"]), row["id"]) for row in read) == sorted(
        (str(p), i) for p, i in zip(partitions, range(60), strict=True)
    )
    for bucket in range(3):
        rows = {i for i in range(60) if buckets[i] == bucket}
        actual: set[int] = set()
        for entry in live(table):
            if entry.bucket == bucket:
                path = table.paths.data_file(entry.partition, entry.bucket, entry.file)
                actual |= set(pq.read_table(path).column("id").to_pylist())
        assert actual == rows


def test_a_failing_write_leaves_no_file(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"write-buffer-size": "1 b"})
    context = table.write_context()
    writer = TableWrite(context, WriteState())
    writer.write(conform(keyed({1: "a"}), None, context))
    assert files_on_disk(table)
    writer.abort()
    assert files_on_disk(table) == set()
    with pytest.raises(DataError):
        table.write_arrow(pa.table({"id": ["no number"], "v": ["x"]}))
    assert files_on_disk(table) == data_files(table) == set()


def test_a_buffer_is_written_when_it_is_full(tmp_path: Path) -> None:
    rows = conform(keyed({1: "a", 2: "b"}), None, create_table(tmp_path).write_context())
    for number, (buffer, runs) in enumerate([(rows.nbytes, 2), (2 * rows.nbytes + 1, 1)]):
        table = create_table(tmp_path, name=f"db.t{number}", options={"write-buffer-size": f"{buffer} b"})
        write_pieces(table, [(1, "a", "+I"), (2, "b", "+I"), (3, "c", "+I"), (4, "d", "+I")], 2)
        assert len(live_files(table)) == runs


@pytest.mark.parametrize("options", [{}, {"bucket": "-1"}, {"changelog-producer": "input"}])
def test_rows_that_come_at_once_fill_the_buffer_as_often(tmp_path: Path, options: dict[str, str]) -> None:
    count = 3000
    rows = keyed({key: f"value {key % 7} " * (key % 13) for key in range(count)})
    table = create_table(tmp_path, options={**options, "write-buffer-size": "16 kb"})
    table.write_arrow(rows)
    files = live_files(table)
    runs = conform(rows, None, table.write_context()).nbytes // (16 << 10)
    assert runs > 8
    assert 0.7 * runs <= len(files) <= 1.2 * runs
    assert {file.level for file in files} == {0}
    assert sorted((file.min_sequence_number, file.max_sequence_number) for file in files)[0][0] == 0
    assert sum(file.row_count for file in files) == count
    assert state(table) == dict(zip(*rows.to_pydict().values(), strict=True))


def test_a_write_larger_than_the_buffer_keeps_the_newest_row_of_a_key(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"write-buffer-size": "1 kb", "write-only": "false"})
    table.write_arrow(keyed([(number % 10, str(number)) for number in range(500)]))
    assert state(table) == {number % 10: str(number) for number in range(490, 500)}
    assert table.snapshots.latest_id() == 2, "its writer compacts the runs that it left"
