"""Plans that need an approval, in Dagster: a job approves them, and the history has who did what."""

import json
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.operations.history import history_table, read_history
from maintenance.project.config import Project
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.steps.plans import PERSON_TAG
from paimon_maintenance.definitions import build_definitions

VISITS = "shop.visits"


@pytest.mark.parametrize(
    ("job", "op", "config"),
    [
        ("compact_shop_visits", "compact", {"full": True}),
        ("change_rows", "row_change", {"table": VISITS, "where": "seconds = 2", "delete": True}),
    ],
)
def test_a_plan_waits_for_its_approval(
    project: Project, instance: dg.DagsterInstance, job: str, op: str, config: dict[str, Any]
) -> None:
    strict = project.model_copy(update={"catalog": {**project.catalog, "plans.need-approval": "all"}})
    catalog = PaimonCatalog(warehouse=project.warehouse, history=project.history)
    table = catalog.get_or_create(project.tables[1])
    for number in range(3):
        table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([number], pa.int32())}))
    definitions = build_definitions(strict)

    def launch(job: str, op: str, person: str, **config: Any) -> Any:
        result = definitions.resolve_job_def(job).execute_in_process(
            {"ops": {op: {"config": config}}}, instance=instance, raise_on_error=False, tags={PERSON_TAG: person}
        )
        failed = [each for each in result.all_node_events if each.is_step_failure]
        if failed:
            error = failed[0].step_failure_data.user_failure_data
            assert error is not None
            return error.description
        return {
            label: value.value
            for event in result.all_events
            if event.event_type_value == "STEP_OUTPUT"
            for label, value in event.event_specific_data.metadata.items()  # type: ignore[union-attr]
        }

    plan = launch(job, op, "ana", **config, dry_run=True)["plan id"]
    refused = launch("apply_plan", "plan", "ana", plan_id=plan)
    assert refused.startswith("this plan needs an approval by somebody other than ana, who made it")
    assert "ana has made this plan" in launch("approve_plan", "approval", "ana", plan=plan)
    shown = launch("approve_plan", "approval", "ben", plan=plan, reason="it is due")
    assert (shown["made by"], shown["approved by"], shown["table"]) == ("ana", "ben", VISITS)
    before = table.snapshots.latest_id()
    launch("apply_plan", "plan", "cem", plan_id=plan)
    assert table.snapshots.latest_id() == (before or 0) + 1
    rows = read_history(catalog.open(), history_table("_maintenance"), VISITS)
    done = json.loads(next(row["details"] for row in rows if row["outcome"] == "succeeded"))
    people = {"plan": plan, "made_by": "ana", "approved_by": "ben", "applied_by": "cem"}
    assert people.items() <= done.items()
