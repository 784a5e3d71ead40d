"""Incremental reads and the audit log of tables written here, against what was written."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError, PredicateError, UnsupportedError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.refs.create_tag import create_tag
from maintenance.table.system.audit_log import AuditLogView
from tests.tables import create_table, get_table, keyed, open_warehouse


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1, 2: writes; 3: a full compaction with a changelog; 4: a write."""
    table = create_table(tmp_path, options={"changelog-producer": "full-compaction"})
    table.write_arrow(keyed({1: "a", 2: "b", 3: "c"}))
    table.write_arrow(keyed([(2, "B"), (3, "c"), (4, "d")]), ["+I", "-D", "+I"])
    compact(None, table, full=True)
    table.write_arrow(keyed([(1, "A"), (2, "B")]), ["+I", "-D"])
    create_tag(table, "first", snapshot_id=1)
    create_tag(table, "last", snapshot_id=4)
    return table


def log(
    table: CatalogTable, between: str, mode: str = "auto", name: str = "audit_log", **how: Any
) -> list[tuple[object, ...]]:
    view = AuditLogView(table, name)
    options = {"incremental-between": between, "incremental-between-scan-mode": mode}
    rows = view.to_arrow(options=options, **how).to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def test_delta_gives_the_records_of_each_append(table: CatalogTable) -> None:
    assert log(table, "1,4", "delta") == [
        ("+I", 1, "A"),
        ("+I", 2, "B"),
        ("+I", 4, "d"),
        ("-D", 2, "B"),
        ("-D", 3, "c"),
    ]
    options = {"incremental-between": "1,2", "incremental-between-scan-mode": "delta"}
    assert sorted(table.to_arrow(options=options)["id"].to_pylist()) == [2, 3, 4]
    assert log(table, "2,3", "delta") == []


def test_changelog_gives_what_the_full_compaction_logged(table: CatalogTable) -> None:
    assert log(table, "0,4") == [("+I", 1, "a"), ("+I", 2, "B"), ("+I", 4, "d")]
    assert log(table, "0,4", "changelog") == log(table, "0,4")


def test_diff_gives_what_differs_between_two_states(table: CatalogTable) -> None:
    expected = [("+I", 1, "A"), ("+I", 4, "d"), ("-D", 2, "B"), ("-D", 3, "c")]
    assert log(table, "first,last") == expected
    assert log(table, "1,4", "diff") == expected
    assert log(table, "2,3", "diff") == []  # the compaction dropped a deletion, which is not a row that goes
    rows = table.to_arrow(options={"incremental-between": "first,last"}).to_pylist()
    assert sorted(row["id"] for row in rows) == [1, 4]


def test_the_log_is_read_by_filters_and_columns(table: CatalogTable) -> None:
    assert log(table, "1,4", "delta", where="rowkind = '-D' and id > 2") == [("-D", 3, "c")]
    assert log(table, "1,4", "delta", where="id = 4 or rowkind = '-D'", columns=["id"]) == [(2,), (3,), (4,)]
    assert log(table, "first,last", where="v = 'B'", columns=["v", "rowkind"]) == [("B", "-D")]
    with pytest.raises(PredicateError, match="nothing"):
        log(table, "1,2", columns=["nothing"])
    assert AuditLogView(table, "audit_log").to_arrow(columns=[]).num_rows == 3


def test_a_state_shows_deletions_that_it_still_holds(table: CatalogTable) -> None:
    rows = AuditLogView(table, "audit_log").to_arrow().to_pylist()
    assert sorted(map(tuple, (row.values() for row in rows))) == [("+I", 1, "A"), ("+I", 4, "d"), ("-D", 2, "B")]
    at_two = AuditLogView(table, "audit_log").to_arrow(options={"scan.snapshot-id": "2"}).to_pylist()
    assert {row["id"]: row["rowkind"] for row in at_two} == {1: "+I", 2: "+I", 3: "-D", 4: "+I"}


def test_the_binlog_packs_an_update_into_one_row(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"changelog-producer": "full-compaction"})
    for rows, kinds in (({1: "a", 2: "b"}, ["+I", "+I"]), ({1: "A", 2: "b"}, ["+I", "-D"])):
        table.write_arrow(keyed(rows), kinds)
        compact(None, table, full=True)
    assert log(table, "2,4") == [("+U", 1, "A"), ("-D", 2, "b"), ("-U", 1, "a")]
    assert log(table, "2,4", name="binlog") == [("+U", [1, 1], ["a", "A"]), ("-D", [2], ["b"])]
    assert log(table, "2,4", name="binlog", where="rowkind = '+U'", columns=["v"]) == [(["a", "A"],)]
    state = AuditLogView(table, "binlog").to_arrow()
    assert state.to_pylist() == [{"rowkind": "+I", "id": [1], "v": ["A"]}]
    assert AuditLogView(table, "binlog").to_arrow(where="rowkind = 'none'").schema == state.schema


def test_sequence_numbers_are_shown_if_the_table_says_so(tmp_path: Path) -> None:
    options = {"table-read.sequence-number.enabled": "true"}
    table = create_table(tmp_path, options=options)
    table.write_arrow(keyed({1: "a", 2: "b"}))
    table.write_arrow(keyed({1: "A"}))
    rows = AuditLogView(table, "audit_log").to_arrow()
    assert rows.schema.names == ["rowkind", "_SEQUENCE_NUMBER", "id", "v"]
    assert sorted(rows.drop_columns("rowkind").to_pylist(), key=str) == [
        {"_SEQUENCE_NUMBER": 1, "id": 2, "v": "b"},
        {"_SEQUENCE_NUMBER": 2, "id": 1, "v": "A"},
    ]
    packed = AuditLogView(table, "binlog").to_arrow(where="_SEQUENCE_NUMBER > 1")
    assert packed.to_pylist() == [{"rowkind": "+I", "_SEQUENCE_NUMBER": 2, "id": [1], "v": ["A"]}]
    with pytest.raises(UnsupportedError, match="one read"):
        AuditLogView(table, "audit_log").to_arrow(options=options)
    append = create_table(tmp_path, primary_keys=(), name="db.a")
    append = replace(append, schema=replace(append.schema, options=options))
    with pytest.raises(OptionError, match="no primary key"):
        AuditLogView(append, "audit_log").to_arrow()


def test_changes_of_an_append_table_are_its_inserts(tmp_path: Path) -> None:
    table = create_table(tmp_path, primary_keys=())
    for i in range(3):
        table.write_arrow(keyed({i: str(i)}))
    for mode in ("delta", "diff"):
        assert log(table, "1,3", mode) == [("+I", 1, "1"), ("+I", 2, "2")]
    assert sorted(AuditLogView(table, "audit_log").to_arrow(columns=["id", "rowkind"]).to_pylist(), key=str) == [
        {"id": i, "rowkind": "+I"} for i in range(3)
    ]


def test_scan_options_of_the_table_itself(tmp_path: Path) -> None:
    create_table(tmp_path, options={"scan.snapshot-id": "1"})
    writer = get_table(tmp_path)
    writer.write_arrow(keyed({1: "a"}))
    writer.write_arrow(keyed({2: "b"}))
    assert get_table(tmp_path).to_arrow()["id"].to_pylist() == [1]
    assert writer.snapshots.latest_id() == 2


def test_files_made_before_the_given_time_are_left_out(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    made = table.manifests.live_entries(table.snapshots.get(1))[0].file.creation_time
    assert made is not None
    actual = open_warehouse(tmp_path).get_table("db.t$files").to_arrow()["creation_time"].cast(pa.int64())
    moment = table.snapshots.get(1).time_millis
    assert abs(actual[0].as_py() - made) == 0
    for millis, rows in ((moment - 10_000, 1), (moment + 60_000, 0)):
        assert table.to_arrow(options={"scan.file-creation-time-millis": str(millis)}).num_rows == rows
