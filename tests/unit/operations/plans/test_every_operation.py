"""Whatever deletes or rewrites has a dry run, a plan that is kept, and an apply by the id of the plan alone."""

from inspect import signature

import pytest

import maintenance.operations
from maintenance.operations.databases.clone_plan import CLONE
from maintenance.operations.ingestion.ingest_landed import INGEST
from maintenance.operations.operation import all_operations
from maintenance.operations.rows.planned_merge import MERGE_INTO
from maintenance.sql.planned_rows import CHANGE_ROWS
from maintenance.sql.plans import planned_operations

# Plans that are called otherwise than their operation.
NAMES = {
    **{name: operation.key for name, operation in all_operations().items()},
    "merge_into": CHANGE_ROWS,
}
LOOKS_ONLY = "it changes nothing"
ADDS_ONLY = "it adds, and nothing is deleted or rewritten"
ONE_DEFINITION = "it changes one definition, which the call names"
ROWS_GIVEN = "the rows are in the caller's hands, and a plan cannot keep them"
WITHOUT_PLAN = {
    "advise_file_index": LOOKS_ONLY,
    "audit_changelog": LOOKS_ONLY,
    "explain": LOOKS_ONLY,
    "fleet_costs": LOOKS_ONLY,
    "fleet_history": LOOKS_ONLY,
    "fleet_report": LOOKS_ONLY,
    "plan_fleet": "what it chooses depends on the budget that is left; each action that it begins plans for itself",
    "explain_scan": LOOKS_ONLY,
    "forecast": LOOKS_ONLY,
    "fsck": LOOKS_ONLY,
    "health": LOOKS_ONLY,
    "held_bytes": LOOKS_ONLY,
    "probe_file_index": LOOKS_ONLY,
    "prove_compactions": LOOKS_ONLY,
    "restorable_partitions": LOOKS_ONLY,
    "advise": LOOKS_ONLY,
    "simulate_settings": LOOKS_ONLY,
    "table_figures": LOOKS_ONLY,
    "tune_settings": "a step goes by what the history has by then; the dry run says it",
    "what_if": LOOKS_ONLY,
    "acknowledge": ADDS_ONLY,
    "approve_plan": ADDS_ONLY,
    "alter_column_default_value": ONE_DEFINITION,
    "alter_view_dialect": ONE_DEFINITION,
    "analyze_table": ADDS_ONLY,
    "create_branch": ADDS_ONLY,
    "create_global_index": ADDS_ONLY,
    "mark_partition_done": ADDS_ONLY,
    "refresh_object_table": LOOKS_ONLY,
    "repair": ADDS_ONLY,
    "ingest": ROWS_GIVEN,
    "ingest_stream": ROWS_GIVEN,
}
# The plan says it without an argument of the operation: a condition is all there is to look at.
WITHOUT_DRY_RUN = {"delete", "update"}


def test_each_public_operation_is_known_here() -> None:
    assert set(WITHOUT_PLAN) <= set(maintenance.operations.__all__)


@pytest.mark.parametrize("name", sorted(set(maintenance.operations.__all__) - set(WITHOUT_PLAN)))
def test_what_deletes_or_rewrites_is_planned_and_applied_by_an_id(name: str) -> None:
    applied = {*planned_operations(), "delete", "update", CHANGE_ROWS}
    assert NAMES.get(name, name) in applied, (
        f"{name} has no plan: give it one, or say in WITHOUT_PLAN why it needs none"
    )
    operation = getattr(maintenance.operations, name)
    assert (name in WITHOUT_DRY_RUN) != ("dry_run" in signature(operation).parameters)


def test_no_reason_is_left_over() -> None:
    planned = {*planned_operations()}
    # Plans of `ingest_landed` are called as another function is.
    assert not (planned - {INGEST}) & set(WITHOUT_PLAN)
    assert {CLONE, "rollback_to"} <= planned
    assert MERGE_INTO not in planned, "a merge of Python is applied with the rows of its source"
