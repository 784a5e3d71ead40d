"""Stored plans of what changes branches."""

from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError, OutdatedPlanError
from maintenance.metadata.branches import Branches
from maintenance.operations import create_branch, create_tag
from maintenance.operations.plan_store import StoredPlan
from tests.kept_plans import apply_delete_branch, apply_fast_forward, plan_delete_branch, plan_fast_forward
from tests.small_tables import put, rows, small_table


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    create_branch(table, "b", snapshot_id=1)
    put(table, {2: "a"})
    put(table.on_branch("b"), {9: "b"})
    return table


def stored(table: CatalogTable, plan: StoredPlan) -> StoredPlan:
    warehouse = str(Path(table.location).parents[1])
    return StoredPlan.load(table.file_io, warehouse, plan.store(table.file_io, warehouse))


def test_a_branch_is_deleted_as_planned_or_not_at_all(table: CatalogTable) -> None:
    plan = stored(table, plan_delete_branch(table, "b"))
    names = [group.name for group in plan.groups]
    assert names == ["snapshot 1 of b", "snapshot 2 of b", "files"]
    assert plan.bytes > 0
    put(table, {3: "main does not matter"})
    put(table.on_branch("b"), {10: "new"})
    with pytest.raises(OutdatedPlanError, match="snapshot 3 of b would be deleted, too"):
        apply_delete_branch(table, plan)
    with pytest.raises(OptionError, match="this plan is about delete_branch"):
        apply_fast_forward(table, plan)
    plan = stored(table, plan_delete_branch(table, "b"))
    put(table, {4: "nor now"})
    assert apply_delete_branch(table, plan).snapshots == (1, 2, 3)
    assert Branches(table.file_io, table.paths).names() == ["main"]


def test_a_branch_becomes_main_as_planned_or_not_at_all(table: CatalogTable) -> None:
    plan = stored(table, plan_fast_forward(table, "b"))
    assert [(group.name, group.reason) for group in plan.groups] == [
        ("snapshot 2 of main", "goes"),
        ("snapshot 2 of b", "comes"),
    ]
    create_tag(table.on_branch("b"), "t", snapshot_id=1)
    with pytest.raises(OutdatedPlanError, match="tag t of b would be deleted, too; branch b has changed"):
        apply_fast_forward(table, plan)
    plan = stored(table, plan_fast_forward(table, "b"))
    assert apply_fast_forward(table, plan).current == 2
    assert rows(table) == [(1, "a"), (9, "b")]
