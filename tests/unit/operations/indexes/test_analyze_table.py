"""ANALYZE publishes statistics and changes no data."""

import json
from pathlib import Path

import pytest

from maintenance.errors import NotFoundError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations import analyze_table
from maintenance.sql import Session
from tests.tables import create_table, get_table, keyed, open_warehouse, state


def test_rows_are_counted_after_merging(tmp_path: Path) -> None:
    create_table(tmp_path).write_arrow(keyed({1: "a", 2: "b"}))
    get_table(tmp_path).write_arrow(keyed({2: "c", 3: "d"}))
    report = analyze_table(get_table(tmp_path))
    table = get_table(tmp_path)
    latest = table.latest_snapshot()
    assert latest is not None
    assert (latest.id, latest.commit_kind, latest.delta_record_count) == (report.snapshot_id, CommitKind.ANALYZE, 0)
    rows = open_warehouse(tmp_path).get_table("db.t$statistics").to_arrow().to_pylist()
    assert [(row["snapshot_id"], row["mergedRecordCount"], row["mergedRecordSize"]) for row in rows] == [
        (report.analyzed_snapshot_id, 3, report.bytes * 3 // 4)
    ]
    assert state(table) == {1: "a", 2: "c", 3: "d"}


def test_columns_are_counted_over_all_files(tmp_path: Path) -> None:
    create_table(tmp_path).write_arrow(keyed({1: "a", 2: "b"}))
    get_table(tmp_path).write_arrow(keyed({2: "ccc", 3: "a"}))
    name = get_table(tmp_path).schema.field_names[0]
    session = Session({"warehouse": str(tmp_path)})
    session.sql(f"ANALYZE TABLE db.t COMPUTE STATISTICS FOR COLUMNS {name}")
    (row,) = open_warehouse(tmp_path).get_table("db.t$statistics").to_arrow().to_pylist()
    (column,) = json.loads(row["colstat"]).values()
    assert (column["distinctCount"], column["min"], column["max"], column["nullCount"]) == (3, "1", "3", 0)
    analyze_table(get_table(tmp_path), all_columns=True)
    (row,) = open_warehouse(tmp_path).get_table("db.t$statistics").to_arrow().to_pylist()
    text = [part for part in json.loads(row["colstat"]).values() if part["maxLen"] == 3]
    assert [(part["distinctCount"], part["avgLen"]) for part in text] == [(2, 2)]
    with pytest.raises(NotFoundError, match="column 'nope' does not exist"):
        analyze_table(get_table(tmp_path), columns=["nope"])


def test_an_empty_table_gets_none(tmp_path: Path) -> None:
    assert analyze_table(create_table(tmp_path)).snapshot_id is None
    assert get_table(tmp_path).latest_snapshot() is None
