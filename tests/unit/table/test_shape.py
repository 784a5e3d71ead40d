"""The numbers of a table: its file indexes, embedded and beside data files."""

from pathlib import Path

from maintenance.operations.compaction.compact import compact
from maintenance.table.shape import LiveRuns, table_shape
from tests.tables import create_table, keyed, live


def test_file_indexes_are_counted_embedded_and_beside_data_files(tmp_path: Path) -> None:
    options = {"bucket": "-1", "file-index.bitmap.columns": "v"}
    table = create_table(tmp_path, primary_keys=(), options=options)
    table.write_arrow(keyed({1: "a"}))
    small = table_shape(table)
    assert (small.index_files, small.index_side_files) == (1, 0)
    assert small.index_bytes > 50
    table.copy({"file-index.in-manifest-threshold": "1 b"}).write_arrow(keyed({2: "b"}))
    (beside,) = Path(table.location).rglob("*.index")
    both = table_shape(table)
    assert (both.index_files, both.index_side_files) == (2, 1)
    assert both.index_bytes == small.index_bytes + beside.stat().st_size


def test_sorted_runs_and_what_a_merge_frees(tmp_path: Path) -> None:
    """Level 0 has a run for each file, a higher level is one; the largest run of a bucket stays."""
    table = create_table(tmp_path, options={"bucket": "2", "write-only": "true"})
    table.write_arrow(keyed({number: "a" * number for number in range(200)}))
    compact(None, table, full=True)
    for number in range(3):
        table.write_arrow(keyed({number: "b"}))
    table.write_arrow(keyed({1: "gone"}), row_kinds=["-D"])
    levels: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    for entry in live(table):
        levels[entry.bucket].append((entry.file.level, entry.file.file_size))
    shape = table_shape(table)
    waiting = [size for files in levels.values() for level, size in files if level == 0]
    assert (shape.files, shape.buckets, shape.level0_files, shape.level0_rows) == (6, 2, 4, 4)
    runs = [len(files) for files in levels.values()]
    assert (shape.sorted_runs_max, shape.sorted_runs_avg) == (max(runs), 3.0)
    assert LiveRuns.of(table, table.latest_snapshot()) == LiveRuns(shape.snapshot_id, 6, max(runs), shape.bytes)
    assert shape.bytes == sum(size for files in levels.values() for _, size in files)
    # One retraction of some two hundred rows may take as much again.
    assert sum(waiting) <= shape.mergeable_bytes < sum(waiting) + shape.bytes // 50
    assert (shape.partitions, shape.rows) == (1, 204)
