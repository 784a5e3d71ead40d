"""A deletion vector of a file that does not live is refused by name, by reads and compactions of its bucket alike."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.format.metadata.index_manifest import DELETION_VECTORS_INDEX
from maintenance.monitor.vectors import deletion_vectors_intact
from maintenance.operations.checks.audit_changelog import audit_changelog
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.checks.way_back import way_back
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.operations.rows.delete import delete
from maintenance.scan.vectors import dead_vectors
from tests.deletion_vectors import ENABLED, copied, delete_rows, set_index
from tests.kept_plans import plan_compact
from tests.tables import create_table, live

FIELDS = (("day", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "INT"))
OPTIONS = {**ENABLED, "changelog-producer": "lookup", "num-sorted-run.compaction-trigger": "9"}


def put(table: CatalogTable, value: int, ids: range, user: str = "etl") -> None:
    rows = [(day, i, value) for day in range(2) for i in ids]
    columns = [pa.array(column, pa.int32()) for column in zip(*rows, strict=True)]
    table.write_arrow(pa.table(columns, [name for name, _ in FIELDS]), commit_user=user)


def rows(table: CatalogTable, **how: Any) -> list[tuple[int, ...]]:
    return sorted(tuple(row.values()) for row in table.to_arrow(**how).to_pylist())


@pytest.fixture
def damaged(tmp_path: Path) -> tuple[CatalogTable, str]:
    """Day 1 names, since snapshot 6 by `flink`, a vector of a file that snapshot 5 has replaced: the second value."""
    table = create_table(tmp_path, FIELDS, ("day", "id"), OPTIONS, partition_keys=("day",))
    put(table, 1, range(100))
    compact(None, table, full=True)
    put(table, 2, range(10))
    compact(None, table)
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    before = table.manifests.read_index(snapshot)
    assert len(rows(table)) == 200
    compact(None, table, full=True)
    put(table, 3, range(10, 20), "flink")
    (stale,) = (entry for entry in before if table.paths.spec_of(entry.partition) == {"day": "1"})
    assert stale.index_type == DELETION_VECTORS_INDEX
    latest = table.latest_snapshot()
    assert latest is not None
    others = [e for e in table.manifests.read_index(latest) if e.partition != stale.partition]
    set_index(table, [*others, copied(table, stale)])
    put(table, 4, range(20, 30))
    assert table.snapshots.list_ids() == [*range(1, 8)]
    assert stale.dv_ranges is not None
    return table, stale.dv_ranges[0].data_file_name


WAYS: dict[str, Callable[[CatalogTable], object]] = {
    "read": lambda table: table.to_arrow(),
    "read of a filter": lambda table: table.to_arrow(where="day = 1 AND id = 5"),
    "compact": lambda table: compact(None, table),
    "full compaction": lambda table: compact(None, table, full=True),
    "dry run": lambda table: compact(None, table, full=True, dry_run=True),
    "plan": plan_compact,
    "changelog": lambda table: produce_changelog(None, table),
    "delete": lambda table: delete(None, table, "v = 1"),
    "difference": lambda table: table.to_arrow(
        options={"incremental-between": "5,7", "incremental-between-scan-mode": "diff"}
    ),
    "audit": lambda table: audit_changelog(None, table),
}


@pytest.mark.parametrize("way", WAYS)
def test_damage_is_refused_and_nothing_is_changed(damaged: tuple[CatalogTable, str], way: str) -> None:
    table, victim = damaged
    with pytest.raises(CorruptFileError) as caught:
        WAYS[way](table)
    reported = str(caught.value)
    assert f"names data file {victim}, which is no longer part of the table" in reported
    assert "day=1 bucket 0 of snapshot 7, index file " in reported
    assert "since snapshot 6 by commit user 'flink'" in reported
    assert "such vectors" not in reported
    assert "Roll back to snapshot 5" in reported
    assert "'write-only' = 'true'" in reported
    assert table.snapshots.latest_id() == 7


def test_what_is_whole_is_read_and_compacted(damaged: tuple[CatalogTable, str]) -> None:
    table, _ = damaged
    assert len(rows(table, where="day = 0")) == 100
    assert compact(None, table, partitions=[{"day": "0"}], full=True).count("committed") == 1
    assert len(rows(table, options={"scan.snapshot-id": "5"})) == 200
    assert not fsck(table.file_io, table.location).healthy
    rollback_to(table, snapshot_id=5)
    assert len(rows(table)) == 200
    compact(None, table, full=True)
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_the_way_back_leads_before_the_damage(damaged: tuple[CatalogTable, str]) -> None:
    """The state before it needs the old data file no more than the newest one does."""
    table, _ = damaged
    with pytest.raises(CorruptFileError) as caught:
        table.to_arrow()
    back = way_back(table.file_io, table.location, caught.value)
    assert back is not None
    assert back.snapshot_id == 5


def test_where_the_origin_has_expired_it_is_read_as_java_reads_it_and_told(
    damaged: tuple[CatalogTable, str],
) -> None:
    table, _ = damaged
    for snapshot_id in range(1, 6):
        Path(table.paths.snapshot(snapshot_id)).unlink()
    assert len(rows(table)) == 200
    judgement = deletion_vectors_intact(table)
    assert not judgement.passed
    assert "deleted rows may be back: the snapshots that would tell have expired" in judgement.summary
    faults = fsck(table.file_io, table.location).faults
    assert faults
    assert any("its rows may be back" in fault.detail for fault in faults)


@pytest.fixture
def spent(tmp_path: Path) -> CatalogTable:
    """As releases of Java leave it: snapshot 3 writes files without the rows that their vectors delete; these stay."""
    table = create_table(tmp_path, FIELDS, ("day", "id"), OPTIONS, partition_keys=("day",))
    put(table, 1, range(100))
    compact(None, table, full=True)
    delete_rows(table, {entry.file.file_name: range(10) for entry in live(table)})
    before = table.latest_snapshot()
    assert before is not None
    index = table.manifests.read_index(before)
    assert len(compact(None, table, full=True).snapshot_ids) == 1
    set_index(table, index)
    return table


def test_a_spent_vector_is_no_damage(spent: CatalogTable) -> None:
    left = [(day, i, 1) for day in range(2) for i in range(10, 100)]
    assert rows(spent) == left
    assert deletion_vectors_intact(spent).passed
    report = fsck(spent.file_io, spent.location, deep=True)
    assert report.healthy
    assert all("its rows were left out when that was rewritten" in note.detail for note in report.notes)
    assert len(report.notes) == 2


@pytest.mark.parametrize("expired", [False, True])
def test_the_next_change_takes_a_spent_vector_away(spent: CatalogTable, expired: bool) -> None:
    put(spent, 2, range(5))
    if expired:
        for snapshot_id in (1, 2, 3):
            Path(spent.paths.snapshot(snapshot_id)).unlink()
    assert compact(None, spent, full=True).failed == ()
    assert rows(spent) == [(day, i, 2 if i < 5 else 1) for day in range(2) for i in [*range(5), *range(10, 100)]]
    delete(None, spent, "id < 3")
    assert compact(None, spent).failed == ()
    assert len(rows(spent)) == 184
    latest = spent.latest_snapshot()
    assert latest is not None
    assert dead_vectors(spent.manifests, latest, spent.manifests.live_entries(latest)) == []
    assert expired or deletion_vectors_intact(spent).passed


def test_a_vector_that_grew_before_its_file_went_is_damage(spent: CatalogTable) -> None:
    """The compaction left out fewer rows than the vector deletes."""
    for snapshot in (spent.snapshots.get(2), spent.snapshots.get(3)):
        entries = [
            replace(entry, dv_ranges=tuple(replace(part, cardinality=11) for part in entry.dv_ranges or ()))
            for entry in spent.manifests.read_index(snapshot)
        ]
        set_index(spent, entries, snapshot)
    with pytest.raises(CorruptFileError, match="deleted rows would be read"):
        spent.to_arrow()
    assert not deletion_vectors_intact(spent).passed


def test_a_vector_of_a_file_that_batch_reads_hide_is_no_damage(tmp_path: Path) -> None:
    table = create_table(tmp_path, FIELDS, ("day", "id"), OPTIONS, partition_keys=("day",))
    put(table, 1, range(100))
    compact(None, table, full=True)
    put(table, 2, range(10))
    hidden = [entry.file.file_name for entry in live(table) if entry.file.level == 0]
    delete_rows(table, {name: [3] for name in hidden})
    assert len(rows(table)) == 200
    assert compact(None, table).failed == ()
