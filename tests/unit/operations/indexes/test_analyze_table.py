"""ANALYZE publishes statistics and changes no data."""

from pathlib import Path

from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations import analyze_table
from tests.tables import create_table, get_table, keyed, open_warehouse, state


def test_rows_are_counted_after_merging(tmp_path: Path) -> None:
    create_table(tmp_path).write_arrow(keyed({1: "a", 2: "b"}))
    get_table(tmp_path).write_arrow(keyed({2: "c", 3: "d"}))
    report = analyze_table(get_table(tmp_path))
    table = get_table(tmp_path)
    latest = table.latest_snapshot()
    assert latest is not None
    assert (latest.id, latest.commit_kind, latest.delta_record_count) == (report.snapshot_id, CommitKind.ANALYZE, 0)
    found = open_warehouse(tmp_path).get_table("db.t$statistics").to_arrow().to_pylist()
    assert [(row["snapshot_id"], row["mergedRecordCount"], row["mergedRecordSize"]) for row in found] == [
        (report.analyzed_snapshot_id, 3, report.bytes)
    ]
    assert state(table) == {1: "a", 2: "c", 3: "d"}


def test_an_empty_table_gets_none(tmp_path: Path) -> None:
    assert analyze_table(create_table(tmp_path)).snapshot_id is None
    assert get_table(tmp_path).latest_snapshot() is None
