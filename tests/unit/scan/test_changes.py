"""Splits of what snapshots brought, and of how two of them differ."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.errors import CorruptFileError, NotFoundError, UnsupportedError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.rescale import rescale
from maintenance.predicate.tree import Predicate
from maintenance.scan.changes import plan_appended, plan_changes, plan_difference, plan_overwritten
from maintenance.scan.plan import ScanPlan
from maintenance.scan.split import DiffSplit
from maintenance.scan.target import Difference, RecordChanges
from tests.tables import create_table, get_table, keyed, open_warehouse, splits_of

ONE_FILE = {"source.split.target-size": "1 b"}


def snapshots(table: CatalogTable, *ids: int) -> tuple[Snapshot, ...]:
    return tuple(table.snapshots.get(i) for i in ids)


def brought(table: CatalogTable, *ids: int, changelog: bool = False, where: str | None = None) -> ScanPlan:
    predicate: Predicate | None = table.predicate(where)
    return plan_changes(table.scan_source(), RecordChanges(snapshots(table, *ids), changelog), predicate)


def difference(table: CatalogTable, before: int, after: int, where: str | None = None) -> ScanPlan:
    one, other = snapshots(table, before, after)
    return plan_difference(table.scan_source(), Difference(one, other), table.predicate(where))


def sides(plan: ScanPlan) -> list[tuple[int, int]]:
    """Files before and after, of each bucket that differs."""
    pairs = [split for split in plan.splits if isinstance(split, DiffSplit)]
    assert len(pairs) == len(plan.splits)
    return [(pair.before.file_count, pair.after.file_count) for pair in pairs]


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> CatalogTable:
    """Two buckets: snapshots 1 to 3 write keys, 4 compacts in full, 5 writes one key."""
    table = create_table(tmp_path_factory.mktemp("changed"), options={"bucket": "2"})
    for start in (0, 100, 200):
        table.write_arrow(keyed({start + i: str(start) for i in range(20)}))
    compact(None, table, full=True)
    table.write_arrow(keyed({7: "new"}))
    return table


def test_files_that_snapshots_added(changed: CatalogTable) -> None:
    plan = brought(changed, 2, 3)
    assert [(s.snapshot_id, s.file_count, s.raw, s.changes) for s in splits_of(plan)] == [(2, 2, True, True)] * 2
    assert (plan.live_files, plan.skipped_by_stats, plan.skipped_by_index) == (4, 0, 0)
    assert set(plan.schemas) == {0}


def test_each_split_has_the_oldest_of_its_snapshots(changed: CatalogTable) -> None:
    plan = brought(changed.copy(ONE_FILE), 2, 3)
    assert sorted(s.snapshot_id for s in splits_of(plan)) == [2, 2, 3, 3]


def test_files_of_changes_are_ruled_out_one_by_one(changed: CatalogTable) -> None:
    plan = brought(changed, 1, 2, 3, where="v = '100'")
    assert [(s.snapshot_id, s.file_count) for s in splits_of(plan)] == [(2, 1)] * 2
    assert (plan.live_files, plan.skipped_by_stats) == (6, 4)
    assert brought(changed, 1, where="id > 50").splits == ()


def test_without_snapshots_nothing_was_brought(changed: CatalogTable) -> None:
    assert brought(changed) == ScanPlan((), {0: changed.schema})


def test_snapshots_that_remove_files_brought_no_records(changed: CatalogTable) -> None:
    with pytest.raises(CorruptFileError, match="snapshot 4 is of kind COMPACT and removes file"):
        brought(changed, 4)


def test_files_that_both_snapshots_have_are_not_compared(changed: CatalogTable) -> None:
    assert sides(difference(changed, 1, 3)) == [(0, 2), (0, 2)]
    assert sides(difference(changed, 3, 4)) == [(3, 1), (3, 1)]
    assert sides(difference(changed, 4, 5)) == [(0, 1)]
    assert difference(changed, 4, 4).splits == ()
    plan = difference(changed, 3, 4)
    assert (plan.live_files, plan.skipped_by_stats) == (8, 0)
    assert {(s.before.snapshot_id, s.after.snapshot_id) for s in plan.splits if isinstance(s, DiffSplit)} == {(3, 4)}


def test_statistics_rule_out_no_side(changed: CatalogTable) -> None:
    """Only the bucket may: with a file less on one side, rows of the other would look changed."""
    assert sides(difference(changed, 1, 3, "v = 'nothing like it'")) == [(0, 2), (0, 2)]
    assert sides(difference(changed, 1, 3, "id = 7")) == [(0, 2)]


def test_changes_by_changelog_are_read_from_changelog_files(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"changelog-producer": "input"})
    table.write_arrow(keyed({1: "a"}))
    compact(None, table, full=True)
    table.write_arrow(keyed({1: "b"}))
    plan = brought(table, 1, 2, 3, changelog=True)
    (split,) = splits_of(plan)
    assert [file.file_name.startswith("changelog-") for file in split.files] == [True, True]


def test_new_files_without_a_key_are_new_rows(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT")], ())
    for i in range(3):
        table.write_arrow(pa.table({"a": pa.array([i], pa.int32())}))
    plan = difference(table, 1, 3)
    assert [(s.snapshot_id, s.file_count, s.raw) for s in splits_of(plan)] == [(3, 2, True)]
    assert plan.live_files == 2


def test_buckets_that_changed_their_number(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"bucket": "1"})
    table.write_arrow(keyed({1: "a"}))
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("bucket", "2")])
    rescale(None, get_table(tmp_path))
    with pytest.raises(UnsupportedError, match="changed from 1 to 2 between the snapshots"):
        difference(get_table(tmp_path), 1, 2)


@pytest.mark.parametrize("option", ["pk-clustering-override", "data-evolution.enabled"])
def test_tables_whose_states_are_not_compared(changed: CatalogTable, option: str) -> None:
    source = changed.scan_source()
    other = replace(source, options={**source.options, option: "true"})
    with pytest.raises(UnsupportedError, match=f"with '{option}' is not supported yet"):
        plan_difference(other, Difference(*snapshots(changed, 1, 3)), None)


def taken_and_brought(plan: ScanPlan) -> list[tuple[int, int, bool, bool]]:
    """Bucket, snapshot, whether its rows are taken back, whether they are brought."""
    return [(s.bucket, s.snapshot_id, s.taken_back, s.changes) for s in splits_of(plan)]


def test_an_overwrite_takes_back_rows_and_brings_others(tmp_path: Path) -> None:
    """Bucket by bucket; a bucket without files on one side has a split for the other alone."""
    table = create_table(tmp_path, options={"bucket": "2"})
    table.write_arrow(keyed(dict.fromkeys(range(20), "old")))
    table.overwrite_arrow(keyed({7: "new"}))
    (before, after) = snapshots(table, 1, 2)
    (where,) = {entry.bucket for entry in table.manifests.live_entries(after)}
    plan = plan_overwritten(table.scan_source(), before, after)
    assert sorted(taken_and_brought(plan)) == sorted(
        [(0, 1, True, False), (1, 1, True, False), (where, 2, False, True)]
    )
    of_bucket = [split for split in splits_of(plan) if split.bucket == where]
    assert [split.taken_back for split in of_bucket] == [True, False]
    assert plan.live_files == 3
    with pytest.raises(NotFoundError, match="snapshot 1 expired, and with it the rows that snapshot 2 has overwritten"):
        plan_overwritten(table.scan_source(), None, after)


def test_an_overwrite_of_nothing_needs_no_snapshot_before(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.overwrite_arrow(keyed({7: "new"}))
    plan = plan_overwritten(table.scan_source(), None, table.snapshots.get(1))
    assert taken_and_brought(plan) == [(0, 1, False, True)]


def test_what_an_overwrite_of_an_append_table_adds(tmp_path: Path) -> None:
    table = create_table(tmp_path, [("a", "INT")], ())
    table.write_arrow(pa.table({"a": pa.array([1], pa.int32())}))
    table.overwrite_arrow(pa.table({"a": pa.array([2], pa.int32())}))
    plan = plan_appended(table.scan_source(), table.snapshots.get(2))
    assert [(s.snapshot_id, s.file_count, s.changes) for s in splits_of(plan)] == [(2, 1, True)]
    assert plan.live_files == 1
