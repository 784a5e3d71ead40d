"""Data evolution: columns of rows are written alone, by row id; both engines see the same rows, compacted or not."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import UnsupportedError
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.merge_into import merge_into
from maintenance.operations.rows.update import update
from tests.java.process import JavaProcess
from tests.tables import create_table, get_table, live_files

FIELDS = (("id", "INT"), ("v", "STRING"), ("tags", "ARRAY<STRING>"))
EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "compaction.min.file-num": "2"}
Rows = list[tuple[object, ...]]


def rows_of(*rows: tuple[int, str, list[str] | None]) -> pa.Table:
    ids, texts, tags = zip(*rows, strict=True)
    return pa.table(
        {"id": pa.array(ids, pa.int32()), "v": pa.array(texts), "tags": pa.array(tags, pa.list_(pa.string()))}
    )


def assert_both_see(java: JavaProcess, table: CatalogTable, rows: Sequence[tuple[object, ...]]) -> None:
    warehouse = table.location.rsplit("/db.db", 1)[0]
    columns = ["id", "v", "tags", "_ROW_ID", "_SEQUENCE_NUMBER"]
    actual = get_table(warehouse).to_arrow(columns=columns)
    assert sorted(zip(*(column.to_pylist() for column in actual.columns), strict=True)) == rows
    theirs = [
        (i, v, None if t is None else list(t), r, n) for i, v, t, r, n in java.rows(warehouse, "db.t$row_tracking")
    ]
    assert sorted(theirs) == rows
    assert fsck(table.file_io, table.location, deep=True).faults == ()


def test_columns_are_written_alone(java: JavaProcess, tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), EVOLVING)
    table.write_arrow(rows_of((1, "a", ["x"]), (2, "b", None), (3, "c", [])))
    java.write(str(tmp_path), "db.t", [(4, "d", ["y"]), (5, "e", None)])
    assert_both_see(
        java,
        table,
        [(1, "a", ["x"], 0, 1), (2, "b", None, 1, 1), (3, "c", [], 2, 1), (4, "d", ["y"], 3, 2), (5, "e", None, 4, 2)],
    )
    report = update(None, table, {"v": "'B'"}, "id = 2 OR id = 4")
    assert (report.updated_rows, report.touched_files, report.method) == (2, 2, "columns")
    added = [file for file in live_files(table) if file.write_cols is not None]
    assert [(file.write_cols, file.first_row_id, file.row_count) for file in added] == [(("v",), 0, 3), (("v",), 3, 2)]
    # The number of the newest file that has a row, whichever of its columns changed.
    changed = [
        (1, "a", ["x"], 0, 3),
        (2, "B", None, 1, 3),
        (3, "c", [], 2, 3),
        (4, "B", ["y"], 3, 3),
        (5, "e", None, 4, 3),
    ]
    assert_both_see(java, table, changed)
    source = pa.table({"id": pa.array([1, 9], pa.int32()), "w": ["A", "n"]})
    clauses = [Clause("matched", "update", {"v": "s.w"}), Clause("not_matched", "insert", {"id": "s.id", "v": "s.w"})]
    merged = merge_into(None, table, source, "t.id = s.id", clauses)
    assert (merged.updated_rows, merged.inserted_rows) == (1, 1)
    later = [
        (1, "A", ["x"], 0, 4), (2, "B", None, 1, 4), (3, "c", [], 2, 4), (4, "B", ["y"], 3, 3), (5, "e", None, 4, 3),
        (9, "n", None, 5, 4),
    ]  # fmt: skip
    assert_both_see(java, table, later)
    assert compact(None, table, full=True).snapshot_ids == (5,)
    (file,) = live_files(table)
    assert (file.first_row_id, file.row_count, file.write_cols) == (0, 6, None)
    assert_both_see(java, table, [(*row[:4], 4) for row in later])
    with pytest.raises(UnsupportedError, match="deletion vectors alone"):
        delete(None, table, "id = 3")


def test_java_compacts_what_we_wrote_column_by_column(java: JavaProcess, tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, (), EVOLVING)
    table.write_arrow(rows_of((1, "a", ["x"]), (2, "b", None)))
    update(None, table, {"v": "'B'"}, "id = 2")
    java.compact(str(tmp_path), "db.t")
    (file,) = live_files(get_table(tmp_path))
    assert (file.first_row_id, file.row_count) == (0, 2)
    assert_both_see(java, table, [(1, "a", ["x"], 0, 2), (2, "B", None, 1, 2)])
    update(None, get_table(tmp_path), {"tags": "NULL"}, "id = 1")
    assert_both_see(java, table, [(1, "a", None, 0, 4), (2, "B", None, 1, 4)])
