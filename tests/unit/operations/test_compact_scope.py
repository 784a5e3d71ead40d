"""What a compaction looks at: partitions, idle ones, batches of groups, tables of a catalog; and that it then rests."""

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import ConflictError, OptionError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.groups import TIME_IS_UP
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.compaction.request import CheckedRequest, CompactRequest
from maintenance.operations.databases.compact_database import TableChoice, compact_database
from maintenance.operations.plan_store import StoredPlan
from tests.kept_plans import apply_compact_database, plan_compact, plan_compact_database
from tests.tables import create_table, keyed, live, open_warehouse

FIELDS = (("id", "INT NOT NULL"), ("day", "INT NOT NULL"))


def filled(folder: Path, **options: str) -> CatalogTable:
    table = create_table(folder, FIELDS, ("day", "id"), {"bucket": "2", **options}, partition_keys=("day",))
    for turn in range(2):
        rows = {
            "id": pa.array(range(12), pa.int32()),
            "day": pa.array([i % 3 + turn * 0 for i in range(12)], pa.int32()),
        }
        table.write_arrow(pa.table(rows))
    return table


def compacted_days(report: CompactReport) -> set[str]:
    return {group.partition for group in report.groups if group.outcome == "committed"}


def test_partitions_by_a_filter(tmp_path: Path) -> None:
    table = filled(tmp_path)
    assert compacted_days(compact(None, table, full=True, where="day >= 1 AND day <> 2")) == {"day=1"}
    assert compacted_days(compact(None, table, full=True, partitions=[{"day": "2"}])) == {"day=2"}
    assert compacted_days(compact(None, table, full=True)) == {"day=0"}
    assert not compact(None, table, full=True).snapshot_ids


def test_a_scope_that_does_not_fit(tmp_path: Path) -> None:
    table = filled(tmp_path)
    with pytest.raises(OptionError, match="id is not a partition column"):
        compact(None, table, where="id = 1")
    with pytest.raises(OptionError, match="month is not a partition column"):
        compact(None, table, partitions=[{"month": "1"}])
    with pytest.raises(OptionError, match="both set"):
        compact(None, table, where="day = 1", partitions=[{"day": "1"}])
    assert len(table.snapshots.list_ids()) == 2


def test_partitions_that_are_not_idle_are_skipped_and_named(tmp_path: Path) -> None:
    table = filled(tmp_path)
    report = compact(None, table, full=True, partition_idle_time=timedelta(hours=1))
    assert report.snapshot_ids == ()
    assert {group.outcome for group in report.groups} == {"skipped"}
    assert all("idle for 1:00:00" in group.message for group in report.groups)
    assert report.compacted_through is None
    assert compacted_days(compact(None, table, full=True, partition_idle_time=timedelta(0))) == {
        "day=0",
        "day=1",
        "day=2",
    }


def test_rows_that_wait_in_a_busy_partition_go_on_waiting(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "-2", "postpone.batch-write-fixed-bucket": "false"})
    table.write_arrow(keyed({1: "a"}))
    assert compact(None, table, partition_idle_time=timedelta(hours=1)).snapshot_ids == ()
    assert [entry.bucket for entry in live(table)] == [-2]


def test_groups_are_committed_in_batches(tmp_path: Path) -> None:
    table = filled(tmp_path)
    report = compact(None, table, full=True, groups_per_commit=2)
    groups = {(entry.partition, entry.bucket) for entry in live(table)}
    assert len(report.snapshot_ids) == -(-len(groups) // 2) > 1
    assert not compact(None, table, full=True).snapshot_ids


def test_tables_of_a_catalog(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        table = create_table(tmp_path, name=f"db.{name}")
        table.write_arrow(keyed({1: name}))
    create_table(tmp_path, name="db.bad").write_arrow(keyed({1: "x"}))
    for path in (tmp_path / "db.db" / "bad" / "manifest").iterdir():
        path.unlink()
    report = compact_database(None, open_warehouse(tmp_path), TableChoice("d.", ".*", r"db\.c"), full=True)
    assert sorted(report.reports) == ["db.a", "db.b"]
    assert all(actual.snapshot_ids == (2,) for actual in report.reports.values())
    assert sorted(report.failed) == ["db.bad"]
    assert "manifest" in report.failed["db.bad"]
    with pytest.raises(OptionError, match="is not a pattern"):
        TableChoice(tables="(")


def test_a_plan_of_several_tables_is_done_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    tables = {name: create_table(tmp_path, name=f"db.{name}") for name in ("a", "b", "c")}
    for table in tables.values():
        table.write_arrow(keyed({1: "x"}))
    catalog, choice = open_warehouse(tmp_path), TableChoice(tables=r"db\.[ab]")
    stored = plan_compact_database(catalog, choice, CompactRequest(full=True))
    plan = StoredPlan.load(tables["a"].file_io, str(tmp_path), stored.store(tables["a"].file_io, str(tmp_path)))
    assert [group.name.split(" ")[0] for group in plan.groups] == ["db.a", "db.b"]
    tables["b"].write_arrow(keyed({2: "y"}))
    with pytest.raises(ConflictError, match=r"db\.b .*bucket 0: 1 file new in it"):
        apply_compact_database(None, catalog, plan)
    assert [table.snapshots.latest_id() for table in tables.values()] == [1, 2, 1]
    again = plan_compact_database(catalog, choice, CompactRequest(full=True))
    tables["c"].write_arrow(keyed({2: "y"}))
    report = apply_compact_database(None, catalog, again, max_concurrent=1)
    assert {name: done.snapshot_ids for name, done in report.reports.items()} == {"db.a": (2,), "db.b": (3,)}
    with pytest.raises(OptionError, match=r"this plan is about compact of db\.a"):
        apply_compact_database(None, catalog, plan_compact(tables["a"], CompactRequest(full=True)))


def test_no_group_is_begun_once_the_time_is_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filled(tmp_path)
    late = compact(None, table, full=True, time_limit=timedelta(0))
    assert (late.snapshot_ids, late.count("skipped"), late.failed) == ((), 6, ())
    assert {group.message for group in late.groups} == {TIME_IS_UP}
    asked = iter([False, True, True])
    with monkeypatch.context() as patched:
        patched.setattr(CheckedRequest, "is_late", property(lambda _: next(asked)))
        half = compact(None, table, full=True, groups_per_commit=2)
    assert (half.count("committed"), half.count("skipped"), len(half.snapshot_ids)) == (2, 4, 1)
    rest = compact(None, table, full=True, time_limit=timedelta(hours=1))
    assert (rest.count("committed"), rest.count("skipped")) == (4, 0)
