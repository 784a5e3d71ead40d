"""Which small files of append tables are put together, and that their rows stay as they are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import FrozenBitMap

from maintenance.catalog import CatalogTable
from maintenance.compaction.append import (
    AppendCompaction,
    AppendCompactionTask,
    DeletedRows,
    pack_in_order,
    pack_small_files,
    pack_with_deletions,
    proved_append,
    rewrite_append,
)
from maintenance.compaction.proof.settings import ProofMode, ProofSettings
from maintenance.errors import ProofError
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.deletion_vector import DeletionVector
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.operations.compaction.compact import compact
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.write.rolling import RollingFileWriter
from tests.tables import create_table, data_files, files_on_disk, live_files
from tests.unit.compaction.files import data_file

MIB = 1 << 20


def packed(*sizes: int, everything: bool = False) -> list[list[int]]:
    """Sizes in MiB in groups, for a target of 10 MiB."""
    files = [data_file(str(i), size=size * MIB) for i, size in enumerate(sizes)]
    groups = pack_small_files(files, target_size=10 * MIB, small_ratio=0.7, min_files=5, all_leftovers=everything)
    return [[file.file_size // MIB for file in group] for group in groups]


def test_small_files_are_packed_smallest_first() -> None:
    # Opening a file counts 4 MiB: 4+1, 4+2, 4+3 and 4+4 make 26 MiB, the first three 18.
    assert packed(3, 1, 4, 2) == [[1, 2, 3, 4]]
    assert packed(6, 6, 6, 6) == [[6, 6], [6, 6]]


def test_a_rest_waits_until_it_is_many_files() -> None:
    assert packed(0, 0, 0, 0) == []
    assert packed(0, 0, 0, 0, 0) == [[0, 0, 0, 0, 0]]
    assert packed(0, 0, everything=True) == [[0, 0]]
    assert packed(0, everything=True) == []


@pytest.mark.parametrize(("least", "files", "groups"), [(1, 1, 0), (1, 2, 1), (2, 2, 1), (3, 2, 0), (3, 3, 1)])
def test_one_file_is_never_a_group(least: int, files: int, groups: int) -> None:
    given = [data_file(str(number), size=0) for number in range(files)]
    actual = pack_small_files(given, target_size=100 * MIB, small_ratio=0.5, min_files=least)
    assert len(actual) == groups
    # Where two targets are less than what it takes to open a file, each pair is enough.
    tiny = pack_small_files(given, target_size=2, small_ratio=0.5, min_files=9)
    assert [len(group) for group in tiny] == [2] * (files // 2)


def test_limits_of_packing_are_exact() -> None:
    """Small is below a half; two files of 3 MiB, with 4 MiB for opening each, make two targets of 7 MiB."""

    def sizes(*given: int) -> list[list[int]]:
        files = [data_file(str(number), size=size) for number, size in enumerate(given)]
        groups = pack_small_files(files, target_size=7 * MIB, small_ratio=0.5, min_files=9)
        return [[file.file_size for file in group] for group in groups]

    assert sizes(3 * MIB, 3 * MIB) == [[3 * MIB, 3 * MIB]]
    assert sizes(3 * MIB, 3 * MIB - 1) == []
    assert sizes(*[3 * MIB] * 4) == [[3 * MIB] * 2] * 2
    assert sizes(3 * MIB, 3 * MIB, 3 * MIB, 3 * MIB - 1) == [[3 * MIB - 1, 3 * MIB, 3 * MIB]]
    # Each group is filled for itself.
    few = [2 * MIB] * 3
    assert sizes(*few, 3 * MIB, 3 * MIB) == [few, [3 * MIB] * 2]
    assert sizes(*few, 3 * MIB - 1, 3 * MIB) == [few]
    half = 7 * MIB // 2
    assert sizes(half, half) == []
    assert sizes(half - 1, half - 1) == [[half - 1] * 2]


def test_good_files_are_left_alone() -> None:
    assert packed(7, 8, 9, 10, 11) == []
    assert packed(7, 6, 8, 6, 9) == [[6, 6]]


def in_order(*sizes: int, full: bool = False, deletes: bool = False, min_files: int = 5) -> list[list[int]]:
    files = [data_file(str(i), size=size, sequence=i) for i, size in enumerate(sizes)]
    groups = pack_in_order(
        list(reversed(files)), target_size=100, small_ratio=0.7, min_files=min_files, full=full, deletes=deletes
    )
    return [[int(file.file_name) for file in group] for group in groups]


def test_neighbours_of_an_ordered_bucket() -> None:
    assert in_order(1, 1, 1, 1) == []
    assert in_order(1, 1, 1, 1, 1, 1) == [[0, 1, 2, 3, 4]]
    assert in_order(150, 60, 1, 1, 1, 1) == [[1, 2, 3, 4, 5]], "a window of two targets slides on"
    assert in_order(150, 50, 1, 1, 1) == [], "of two targets exactly, too"
    assert in_order(150, 46, 1, 1, 1) == [[0, 1, 2, 3, 4]]
    assert in_order(150, 50, 0, 0, 0) == []
    assert in_order(150, 49, 0, 0, 0) == [[0, 1, 2, 3, 4]]
    assert in_order(250, 1, 1, 1, 1, 1) == [[1, 2, 3, 4, 5]]


def test_full_compaction_of_an_ordered_bucket() -> None:
    assert in_order(70, 200, 1, 1, 1, full=True) == [[2, 3, 4]]
    assert in_order(69, 1, 1, full=True) == [[0, 1, 2]]
    assert in_order(1, 100, 1, full=True) == [[0, 1, 2]], "most files are small"
    assert in_order(1, 70, 1, 70, full=True) == []
    assert in_order(100, 1, 1, full=True) == [], "two are too few"


def test_full_compaction_of_two_files_goes_by_the_option() -> None:
    assert in_order(1, 1, full=True) == []
    assert in_order(1, 1, full=True, min_files=2) == [[0, 1]]
    assert in_order(150, 50, full=True, min_files=2) == [[0, 1]]
    assert in_order(100, 1, 1, full=True, min_files=2) == []


def test_full_compaction_with_deletion_vectors_puts_two_files_together() -> None:
    assert in_order(1, 1, full=True, deletes=True) == [[0, 1]]
    assert in_order(100, 1, 200, full=True, deletes=True) == [[1, 2]]
    assert in_order(1, full=True, deletes=True) == in_order(100, 1, full=True, deletes=True) == []


def test_a_full_compaction_of_an_ordered_bucket_takes_all_with_deleted_rows() -> None:
    """From the first file on that is small or has such rows."""
    files = [data_file(str(i), size=200, sequence=i) for i in range(3)]

    def chosen(*with_vectors: str) -> list[list[str]]:
        groups = pack_in_order(
            files, target_size=100, small_ratio=0.7, min_files=5, full=True, with_vectors=with_vectors
        )
        return [[file.file_name for file in group] for group in groups]

    assert chosen() == []
    assert chosen("0") == [["0", "1", "2"]]
    assert chosen("1") == [["1", "2"]]
    assert chosen("2") == [["2"]]


def with_vectors(
    sizes: Mapping[str, int], holders: Mapping[str, str], counts: Mapping[str, int | None] | None = None, **how: bool
) -> list[list[str]]:
    """Names of files in groups, for a target of 10 MiB; sizes in MiB. Each file has 10 rows, 3 of them may go."""
    files = [data_file(name, size=size * MIB) for name, size in sizes.items()]
    deleted = DeletedRows(holders, counts or dict.fromkeys(holders, 1), 0.3)
    groups = pack_with_deletions(files, deleted, target_size=10 * MIB, small_ratio=0.7, min_files=5, **how)
    return [[file.file_name for file in group] for group in groups]


def test_files_with_vectors_of_one_index_file_stay_together() -> None:
    """Even one alone is rewritten; the others are packed as ever."""
    assert with_vectors({"a": 1}, {"a": "x"}) == [["a"]]
    assert with_vectors({"a": 1, "b": 1, "c": 1}, {"a": "x", "b": "x", "c": "y"}) == [["c", "a", "b"]]
    assert with_vectors({"a": 3, "b": 4, "c": 1}, {"a": "x", "b": "x", "c": "y"}) == [["c", "a", "b"]]
    assert with_vectors({"a": 0, "b": 0}, {"b": "x"}) == [["b"]]
    assert with_vectors({"a": 0, "b": 0, "c": 0}, {"b": "x"}, all_leftovers=True) == [["b"], ["a", "c"]]


def test_groups_with_vectors_are_closed_at_two_targets() -> None:
    """Opening a file counts 4 MiB: 6+4 twice is two targets of 10 MiB."""
    assert with_vectors({"a": 6, "b": 6, "c": 6}, {"a": "x", "b": "y", "c": "z"}) == [["a", "b"], ["c"]]
    assert with_vectors({"a": 6, "b": 5, "c": 6}, {"a": "x", "b": "y", "c": "z"}) == [["b", "a", "c"]]
    # One file alone closes no group, however large it is.
    assert with_vectors({"a": 90, "b": 99}, {"a": "x", "b": "y"}, {"a": 9, "b": 9}) == [["a", "b"]]


@pytest.mark.parametrize(("deleted", "chosen"), [(0, []), (3, []), (4, [["a"]]), (None, [["a"]])])
def test_a_large_file_with_many_deleted_rows_is_rewritten(deleted: int | None, chosen: list[list[str]]) -> None:
    """More than the share; where an old index does not say how many, it may be many."""
    assert with_vectors({"a": 50, "b": 50}, {"a": "x"}, {"a": deleted}) == chosen


def test_small_is_below_the_share_of_a_target() -> None:
    assert with_vectors({"a": 7, "b": 6}, {"a": "x", "b": "x"}) == [["b"]]


def planned(table: CatalogTable, **how: Any) -> AppendCompactionTask:
    """All files of the table's only bucket as one task."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    write = table.write_context()
    read = ReadContext(table.file_io, {0: table.schema}, write.row_fields, keyed=False)
    compaction = AppendCompaction(EMPTY_ROW, 0, 1, tuple(live_files(table)), **how)
    return AppendCompactionTask(write, read, compaction, ProofSettings(ProofMode.FULL), snapshot.id)


def numbers(folder: Path) -> CatalogTable:
    """Two files of a bucket: rows 3 to 5, and then 0 to 2."""
    table = create_table(folder, [("a", "INT")], (), {"bucket": "1", "bucket-key": "a"})
    for start in (3, 0):
        table.write_arrow(pa.table({"a": pa.array(range(start, start + 3), pa.int32())}))
    return table


def rows_of(table: CatalogTable, files: Sequence[DataFileMeta]) -> list[int]:
    read = ReadContext(table.file_io, {0: table.schema}, table.write_context().row_fields, keyed=False)
    readers = [DataFileReader(read, table.paths.data_file(EMPTY_ROW, 0, file), file, {}) for file in files]
    return [value for each in readers for batch in each.batches(10) for value in batch["a"].to_pylist()]


def test_a_task_puts_its_files_together_in_the_order_they_were_written(tmp_path: Path) -> None:
    table = numbers(tmp_path)
    task = planned(table)
    message, proof = proved_append(task)
    assert message.compact_before == task.compaction.files
    (file,) = message.compact_after
    assert rows_of(table, [file]) == [3, 4, 5, 0, 1, 2]
    assert (file.min_sequence_number, file.max_sequence_number, file.file_source) == (0, 5, FileSource.COMPACT)
    assert (proof.mode, proof.rows_in, proof.rows_out, proof.read_back) == ("full", 6, 6, 6)
    assert (message.partition, message.bucket, message.total_buckets) == (EMPTY_ROW, 0, 1)
    turned = replace(task, compaction=replace(task.compaction, files=task.compaction.files[::-1]))
    assert rows_of(table, rewrite_append(turned).compact_after) == [3, 4, 5, 0, 1, 2]


def test_a_task_leaves_out_deleted_rows_and_says_what_it_wrote(tmp_path: Path) -> None:
    table = numbers(tmp_path)
    first, second = (file.file_name for file in live_files(table))
    vectors = {name: DeletionVector(FrozenBitMap(rows)) for name, rows in ((first, [0]), (second, [1, 2]))}
    task = planned(table, deleted=vectors, source=FileSource.APPEND)
    assert task.compaction.gone == {first: 1, second: 2}
    assert task.compaction.input_files == task.compaction.files
    message, proof = proved_append(task)
    (file,) = message.compact_after
    assert rows_of(table, [file]) == [4, 5, 0]
    assert (file.file_source, proof.rows_in, proof.rows_out) == (FileSource.APPEND, 3, 3)


@pytest.mark.parametrize("mode", ["off", "auto", "full"])
def test_a_task_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    table = numbers(tmp_path)
    task = replace(planned(table), proof=ProofSettings.of(mode))
    assert proved_append(task)[1].mode == ("off" if mode == "off" else "full")
    before = files_on_disk(table)
    right = RollingFileWriter.close

    def failing(self: RollingFileWriter) -> tuple[DataFileMeta, ...]:
        right(self)
        raise OSError("full")

    monkeypatch.setattr(RollingFileWriter, "close", failing)
    with pytest.raises(OSError, match="full"):
        proved_append(task)
    assert files_on_disk(table) == before


def test_a_task_that_is_proved_wrong_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = numbers(tmp_path)
    right = RollingFileWriter.write
    monkeypatch.setattr(RollingFileWriter, "write", lambda self, rows: right(self, rows.slice(1)))
    with pytest.raises(ProofError, match="compaction failed verification"):
        proved_append(planned(table))
    assert proved_append(replace(planned(table), proof=ProofSettings(ProofMode.OFF)))[1].text == ""


@pytest.mark.parametrize("options", [{}, {"bucket": "1", "bucket-key": "a"}], ids=["unaware", "bucketed"])
def test_rows_stay_and_old_files_go_with_their_snapshot(tmp_path: Path, options: dict[str, str]) -> None:
    table = create_table(tmp_path, [("a", "INT"), ("b", "STRING")], (), options)
    expected = []
    for i in range(6):
        rows = pa.table({"a": pa.array([i, None], pa.int32()), "b": [f"row {i}", None]})
        table.write_arrow(rows)
        expected += rows.to_pylist()
    report = compact(None, table, full=True)
    assert report.count("committed") == 1
    assert len(live_files(table)) == 1
    assert table.to_arrow().to_pylist() == expected
    assert files_on_disk(table) == data_files(table)
    assert compact(None, table, full=True).snapshot_ids == ()
