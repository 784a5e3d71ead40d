"""What would be done otherwise than a plan says is not done, and the error says what moved."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError, OutdatedPlanError, UnsupportedError
from maintenance.operations import create_branch, create_tag, delete, expire_snapshots, merge_into
from maintenance.operations.plan_store import StoredPlan
from maintenance.operations.refs.delete_tag import OPERATION as DELETE_TAG
from maintenance.operations.refs.rollback_to import OPERATION as ROLLBACK
from maintenance.operations.refs.rollback_to_as_latest import OPERATION as ROLLBACK_AS_LATEST
from maintenance.operations.repairs.compact_manifest import OPERATION as COMPACT_MANIFEST
from maintenance.operations.repairs.purge_files import OPERATION as PURGE_FILES
from maintenance.operations.repairs.remove_unexisting_files import OPERATION as REMOVE_UNEXISTING_FILES
from maintenance.operations.rows.delete import OPERATION as DELETE
from maintenance.operations.rows.drop_partitions import OPERATION as DROP_PARTITIONS
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.operations.rows.merge_into import merged_by
from maintenance.operations.rows.planned_merge import PlannedWriter, apply_merge_into, plan_merge_into
from maintenance.operations.rows.update import OPERATION as UPDATE
from tests.small_tables import put, rows, small_table


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Three commits; partitions a and b."""
    table = small_table(tmp_path, primary_key=False, partition_keys=("v",))
    for number, value in enumerate(("a", "b", "a")):
        put(table, {number: value})
    return table


def stored(table: CatalogTable, plan: StoredPlan, place: Path) -> StoredPlan:
    return StoredPlan.load(table.file_io, str(place), plan.store(table.file_io, str(place)))


def test_a_rollback_names_what_goes_and_its_age(table: CatalogTable, tmp_path: Path) -> None:
    create_tag(table, "late", snapshot_id=3)
    plan = stored(table, ROLLBACK.dry_run(table, snapshot_id=1), tmp_path)
    assert [group.name for group in plan.groups] == ["snapshot 2", "snapshot 3", "tag late"]
    assert "is after snapshot 1; committed 20" in plan.groups[0].reason
    assert plan.base_snapshot_id == 3
    put(table, {9: "c"})
    with pytest.raises(OutdatedPlanError, match="snapshot 4 would be deleted, too"):
        ROLLBACK.carry_out(table, plan)
    assert table.snapshots.latest_id() == 4
    with pytest.raises(OptionError, match="this plan is about rollback_to"):
        DELETE_TAG.carry_out(table, plan)
    report = ROLLBACK.carry_out(table, ROLLBACK.dry_run(table, snapshot_id=1))
    assert (report.current, rows(table)) == (1, [(0, "a")])


def test_a_state_is_made_the_latest_of_the_one_that_was_planned(table: CatalogTable) -> None:
    plan = ROLLBACK_AS_LATEST.dry_run(table, snapshot_id=1)
    put(table, {9: "c"})
    with pytest.raises(OutdatedPlanError, match="state of snapshot 3"):
        ROLLBACK_AS_LATEST.carry_out(table, plan)
    ROLLBACK_AS_LATEST.carry_out(table, ROLLBACK_AS_LATEST.dry_run(table, snapshot_id=1))
    assert rows(table) == [(0, "a")]


def test_a_tag_that_holds_another_snapshot_stays(table: CatalogTable) -> None:
    create_tag(table, "t", snapshot_id=1)
    plan = DELETE_TAG.dry_run(table, names=["t"])
    assert "of snapshot 1, committed 20" in plan.groups[0].reason
    table.tags.remove("t")
    create_tag(table, "t", snapshot_id=2)
    with pytest.raises(OutdatedPlanError, match=r"was of snapshot 1.*is of snapshot 2"):
        DELETE_TAG.carry_out(table, plan)
    assert table.tags.names() == ["t"]
    expire_snapshots(table, retain_min=1, retain_max=1)
    plan = DELETE_TAG.dry_run(table, names=["t"])
    assert plan.groups[-1].reason == "only they use"
    assert set(DELETE_TAG.carry_out(table, plan).deleted_files) == set(plan.groups[-1].files)


def test_a_partition_with_new_files_stays(table: CatalogTable, tmp_path: Path) -> None:
    plan = stored(table, DROP_PARTITIONS.dry_run(table, partitions=[{"v": "a"}]), tmp_path)
    (group,) = plan.groups
    assert (group.name, len(group.files)) == ("v=a", 2)
    assert "was named; its newest file is of 20" in group.reason
    put(table, {7: "b"})
    fine = DROP_PARTITIONS.dry_run(table, partitions=[{"v": "a"}])
    assert fine.groups == plan.groups, "what comes into other partitions does not matter"
    put(table, {8: "a"})
    with pytest.raises(OutdatedPlanError, match="1 file new in it"):
        DROP_PARTITIONS.carry_out(table, plan)
    assert DROP_PARTITIONS.carry_out(table, DROP_PARTITIONS.dry_run(table, partitions=[{"v": "a"}])).files == 3
    assert rows(table) == [(1, "b"), (7, "b")]


def test_rows_are_deleted_as_planned(table: CatalogTable, tmp_path: Path) -> None:
    put(table, {10: "a", 11: "a", 12: "b"})
    plan = stored(table, DELETE.dry_run(table, where="k IN (10, 0)"), tmp_path)
    reasons = sorted(group.reason.partition(",")[0] for group in plan.groups)
    assert reasons == ["1 of 1 rows match", "1 of 2 rows match"]
    put(table, {20: "b"})
    assert DELETE.dry_run(table, where="k IN (10, 0)").groups == plan.groups, "others write elsewhere"
    put(table, {0: "b"})
    with pytest.raises(OutdatedPlanError, match="would change, too"):
        DELETE.carry_out(table, plan)
    assert DELETE.carry_out(table, DELETE.dry_run(table, where="k IN (10, 0)")).deleted_rows == 3
    change = UPDATE.dry_run(table, assignments={"v": "'c'"}, where="k = 20")
    assert UPDATE.carry_out(table, change).updated_rows == 1
    assert (20, "c") in rows(table)
    with pytest.raises(OutdatedPlanError):
        UPDATE.carry_out(table, change)


def test_a_merge_is_done_with_the_rows_that_were_planned(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    put(table, {1: "a", 2: "b"})
    put(table, {3: "c"})
    clauses = [Clause("matched", "update", {"v": "s.w"}), Clause("not_matched", "insert", {"k": "s.k", "v": "s.w"})]
    source = pa.table({"k": pa.array([2, 9], pa.int32()), "w": ["x", "y"]})
    looked = merge_into(None, table, source, "t.k = s.k", clauses, dry_run=True)
    assert (looked.updated_rows, looked.inserted_rows, looked.snapshot_ids, looked.touched_files) == (1, 1, (), 1)
    plan = stored(table, plan_merge_into(None, table, source, "t.k = s.k", clauses), tmp_path)
    changed, new = plan.groups
    assert (len(changed.files), changed.reason[:40]) == (1, "1 of 2 rows are deleted or replaced, by ")
    assert new.reason.startswith("1 updated, 1 inserted; what is written has the digest ")
    put(table, {4: "d"})
    other = source.set_column(1, "w", pa.array(["x", "z"]))
    with pytest.raises(OutdatedPlanError, match="new rows: was 1 updated"):
        apply_merge_into(None, table, plan, other)
    done = apply_merge_into(None, table, plan, source.take([1, 0]))
    assert (done.updated_rows, done.inserted_rows) == (1, 1)
    assert rows(table) == [(1, "a"), (2, "x"), (3, "c"), (4, "d"), (9, "y")]
    with pytest.raises(OutdatedPlanError, match="would change, too"):
        apply_merge_into(None, table, plan, source)


def test_a_merge_that_another_commit_overtakes_is_refused(tmp_path: Path) -> None:
    """The rows were found as planned, then another writer took their file: it is planned again, and differs."""
    table = small_table(tmp_path, primary_key=False)
    put(table, {1: "a", 2: "b"})
    source, clauses = pa.table({"k": pa.array([2], pa.int32())}), [Clause("matched", "delete")]
    plan = plan_merge_into(None, table, source, "t.k = s.k", clauses)
    writer = PlannedWriter(table, plan)
    seen: list[object] = []

    class Overtaken(PlannedWriter):
        def in_files(self, *changes: Any) -> Any:
            if not seen:
                seen.append(delete(None, table, "k = 1"))
            return writer.in_files(*changes)

    with pytest.raises(OutdatedPlanError):
        merged_by(Overtaken(table, plan), None, table, source, "t.k = s.k", clauses)
    assert rows(table) == [(2, "b")]


def test_a_plan_is_of_the_tables_own_rows_where_a_branch_stands_in(table: CatalogTable) -> None:
    create_branch(table, "b", snapshot_id=1)
    put(table.on_branch("b"), {7: "c"})
    both = table.copy({"scan.fallback-branch": "b"})
    (group,) = DELETE.dry_run(both, where="v = 'b'").groups
    assert len(group.files) == 1
    with pytest.raises(UnsupportedError, match="selects rows of branch 'b'"):
        DELETE.dry_run(both, where="v = 'c'")
    assert DELETE.carry_out(both, DELETE.dry_run(both, where="v = 'b'")).deleted_rows == 1
    assert rows(both) == [(0, "a"), (2, "a"), (7, "c")]


def test_rows_of_a_key_are_counted_in_one_snapshot(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a", 2: "b"})
    plan = DELETE.dry_run(table, where="k = 1")
    ((name, reason),) = [(group.name, group.reason) for group in plan.groups]
    assert name == "rows of snapshot 1"
    assert reason.startswith("1 row matches, by their keys ")
    put(table, {3: "c"})
    with pytest.raises(OutdatedPlanError, match="rows of snapshot 1: nothing left to do"):
        DELETE.carry_out(table, plan)
    assert DELETE.carry_out(table, DELETE.dry_run(table, where="k = 1")).deleted_rows == 1
    assert rows(table) == [(2, "b"), (3, "c")]


def test_repairs_do_what_was_planned(table: CatalogTable) -> None:
    merge = COMPACT_MANIFEST.dry_run(table)
    put(table, {5: "a"})
    with pytest.raises(OutdatedPlanError, match="3 manifests with 3 entries are merged"):
        COMPACT_MANIFEST.carry_out(table, merge)
    lost = sorted(Path(table.location).rglob("data-*"))
    lost[0].unlink()
    plan = REMOVE_UNEXISTING_FILES.dry_run(table)
    assert [group.reason for group in plan.groups] == ["does not exist"]
    lost[1].unlink()
    with pytest.raises(OutdatedPlanError, match="would be deleted, too"):
        REMOVE_UNEXISTING_FILES.carry_out(table, plan)
    assert len(REMOVE_UNEXISTING_FILES.carry_out(table, REMOVE_UNEXISTING_FILES.dry_run(table)).paths) == 2
    purge = PURGE_FILES.dry_run(table)
    put(table, {6: "a"})
    with pytest.raises(OutdatedPlanError, match="would be deleted, too"):
        PURGE_FILES.carry_out(table, purge)
    assert not PURGE_FILES.carry_out(table, PURGE_FILES.dry_run(table)).is_empty
    assert rows(table) == []
