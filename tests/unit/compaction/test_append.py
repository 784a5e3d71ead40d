"""Which small files of append tables are put together, and that their rows stay as they are."""

from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.compaction.append import pack_in_order, pack_small_files
from maintenance.operations.compaction.compact import compact
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


def test_good_files_are_left_alone() -> None:
    assert packed(7, 8, 9, 10, 11) == []
    assert packed(7, 6, 8, 6, 9) == [[6, 6]]


def in_order(*sizes: int, full: bool = False) -> list[list[int]]:
    files = [data_file(str(i), size=size, sequence=i) for i, size in enumerate(sizes)]
    groups = pack_in_order(list(reversed(files)), target_size=100, min_files=5, full=full)
    return [[int(file.file_name) for file in group] for group in groups]


def test_neighbours_of_an_ordered_bucket() -> None:
    assert in_order(1, 1, 1, 1) == []
    assert in_order(1, 1, 1, 1, 1, 1) == [[0, 1, 2, 3, 4]]
    assert in_order(150, 60, 1, 1, 1, 1) == [[1, 2, 3, 4, 5]], "a window of two targets slides on"


def test_full_compaction_of_an_ordered_bucket() -> None:
    assert in_order(100, 200, 1, 1, 1, full=True) == [[2, 3, 4]]
    assert in_order(1, 1, full=True) == []
    assert in_order(1, 100, 1, full=True) == [], "most bytes are in good files"
    assert in_order(60, 100, 41, full=True) == [[0, 1, 2]]
    assert in_order(60, 100, 40, full=True) == []


def test_a_full_compaction_of_an_ordered_bucket_takes_all_with_deleted_rows() -> None:
    """From the first file on that is small or has such rows."""
    files = [data_file(str(i), size=200, sequence=i) for i in range(3)]

    def chosen(*with_vectors: str) -> list[list[str]]:
        groups = pack_in_order(files, target_size=100, min_files=5, full=True, with_vectors=with_vectors)
        return [[file.file_name for file in group] for group in groups]

    assert chosen() == []
    assert chosen("0") == [["0", "1", "2"]]
    assert chosen("1") == [["1", "2"]]
    assert chosen("2") == [["2"]]


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
