"""Row tracking: rows keep their ids and sequence numbers through compactions and changes, for both engines."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.merge_into import merge_into
from maintenance.operations.rows.update import update
from tests.java.process import JavaProcess
from tests.tables import create_table, get_table, keyed

TRACKED = {"row-tracking.enabled": "true", "compaction.min.file-num": "2"}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "copy on write": TRACKED,
    "deletion vectors": {**TRACKED, "deletion-vectors.enabled": "true"},
    "orc": {**TRACKED, "file.format": "orc"},
    "avro": {**TRACKED, "file.format": "avro"},
}


def tracked(table: CatalogTable) -> list[tuple[object, ...]]:
    rows = get_table(table.location.rsplit("/db.db", 1)[0]).to_arrow(columns=["id", "v", "_ROW_ID", "_SEQUENCE_NUMBER"])
    return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def assert_both_see(java: JavaProcess, table: CatalogTable, rows: Sequence[tuple[object, ...]]) -> None:
    assert tracked(table) == rows
    warehouse = table.location.rsplit("/db.db", 1)[0]
    if table.options.get("file.format") == "avro":  # of which Java 1.4 reads no ids, not even those of its own files
        assert sorted(java.rows(warehouse, "db.t")) == [row[:2] for row in rows]
    else:
        assert sorted(java.rows(warehouse, "db.t$row_tracking")) == rows
    assert fsck(table.file_io, table.location, deep=True).faults == ()


@pytest.mark.parametrize("name", OPTIONS)
def test_ids_stay_through_compactions_and_changes(java: JavaProcess, tmp_path: Path, name: str) -> None:
    table = create_table(tmp_path, primary_keys=(), options=OPTIONS[name])
    table.write_arrow(keyed({1: "a", 2: "b"}))
    java.write(str(tmp_path), "db.t", [(3, "c"), (4, "d")])
    table.write_arrow(keyed({5: "e"}))
    first = [(1, "a", 0, 1), (2, "b", 1, 1), (3, "c", 2, 2), (4, "d", 3, 2), (5, "e", 4, 3)]
    assert_both_see(java, table, first)
    assert compact(None, table, full=True).snapshot_ids == (4,)
    assert_both_see(java, table, first)
    assert update(None, table, {"v": "'B'"}, "id = 2 OR id = 5").updated_rows == 2
    assert_both_see(java, table, [(1, "a", 0, 1), (2, "B", 1, 5), (3, "c", 2, 2), (4, "d", 3, 2), (5, "B", 4, 5)])
    assert delete(None, table, "id = 3").deleted_rows == 1
    table.write_arrow(keyed({6: "f"}))
    later = [(1, "a", 0, 1), (2, "B", 1, 5), (4, "d", 3, 2), (5, "B", 4, 5), (6, "f", 5, 7)]
    assert_both_see(java, table, later)
    source = pa.table({"id": pa.array([4, 9], pa.int32()), "w": ["D", "n"]})
    clauses = [
        Clause("matched", "update", {"v": "s.w"}),
        Clause("not_matched", "insert", {"id": "s.id", "v": "s.w"}),
    ]
    report = merge_into(None, table, source, "t.id = s.id", clauses)
    assert (report.updated_rows, report.inserted_rows) == (1, 1)
    merged = [(1, "a", 0, 1), (2, "B", 1, 5), (4, "D", 3, 8), (5, "B", 4, 5), (6, "f", 5, 7), (9, "n", 6, 8)]
    assert_both_see(java, table, merged)
    compact(None, table, full=True)
    assert_both_see(java, table, merged)
    java.write(str(tmp_path), "db.t", [(10, "j")])
    newest = table.latest_snapshot()
    assert newest is not None
    assert newest.next_row_id == 8
    table.write_arrow(keyed({11: "k"}))
    end = [*merged, (10, "j", 7, newest.id), (11, "k", 8, newest.id + 1)]
    assert_both_see(java, table, sorted(end))
