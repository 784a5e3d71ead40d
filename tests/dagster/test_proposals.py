"""Advice on tables that ask for it, once a week: what a run shows and keeps, and that it changes nothing."""

import json
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.operations.history import history_table, read_history
from maintenance.operations.tuning import measured
from maintenance.project.config import Project
from maintenance.project.policies import TuningPolicy
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.definitions import build_definitions
from tests.dagster.conftest import definitions_of


def test_tables_that_ask_for_it_get_advice(project: Project, instance: dg.DagsterInstance) -> None:
    orders, visits = project.tables
    visits = visits.model_copy(
        update={"tuning": TuningPolicy(mode="propose"), "options": {"merge-engine": "deduplicate"}}
    )
    project = project.model_copy(update={"tables": (orders, visits)})
    catalog = PaimonCatalog(warehouse=project.warehouse)
    table = catalog.get_or_create(visits)
    table.write_arrow(pa.table({"page": ["a"], "seconds": pa.array([1], pa.int32())}))
    definitions = build_definitions(project)
    assert definitions.resolve_schedule_def("weekly_proposals").job_name == "propose_settings"
    result = definitions.resolve_job_def("propose_settings").execute_in_process(instance=instance)
    (output,) = [each for each in result.all_node_events if each.event_type_value == "STEP_OUTPUT"]
    metadata: Any = output.step_output_data.metadata
    (row,) = metadata["proposals"].records
    assert (row.data["table"], row.data["about"]) == ("shop.visits", "options")
    assert row.data["to_do"] == "ALTER TABLE shop.visits RESET ('merge-engine')"
    (entry,) = read_history(catalog.open(), history_table("_maintenance"), "shop.visits")
    assert entry["operation"] == "advise"
    details = json.loads(entry["details"])
    assert details["reason"] == "1 proposal: launched by hand"
    (kept,) = details["proposals"]
    assert kept["to_do"] == "ALTER TABLE shop.visits RESET ('merge-engine')"
    assert kept["gain"]
    assert table.snapshots.latest_id() == 1
    assert "merge-engine" in catalog.get_table("shop.visits").schema.options


def test_tables_with_tuning_apply_get_what_is_sure(
    project: Project, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "FEWEST_COMMITS", 4)
    orders, visits = project.tables
    kept = "snapshot.num-retained.max"
    tuning = TuningPolicy(mode="apply", bounds={kept: [2, 100], "compaction.min.file-num": [5, 5]})
    options = {"snapshot.num-retained.min": "1", kept: "100", "compaction.min.file-num": "5"}
    visits = visits.model_copy(update={"tuning": tuning, "options": options})
    project = project.model_copy(update={"tables": (orders, visits)})
    catalog = PaimonCatalog(warehouse=project.warehouse)
    table = catalog.get_or_create(visits)
    for number in range(5):
        table.overwrite_arrow(pa.table({"page": ["a"], "seconds": pa.array([number], pa.int32())}))
    job = definitions_of(project).resolve_job_def("propose_settings")
    steps = []
    for _ in range(2):
        result = job.execute_in_process(instance=instance)
        (output,) = [each for each in result.all_node_events if each.event_type_value == "STEP_OUTPUT"]
        metadata: Any = output.step_output_data.metadata
        (row,) = metadata["tuning"].records
        steps.append((row.data["step"], row.data["change"]))
    assert steps == [(step, f"'{kept}' from '100' to '2'") for step in ("watched", "waits")]
    assert catalog.get_table("shop.visits").schema.options[kept] == "2"
    assert len(read_history(catalog.open(), history_table("_maintenance"), "shop.visits", "tune_settings")) == 2


def test_without_such_tables_there_is_no_job(project: Project) -> None:
    jobs = {job.name for job in build_definitions(project).resolve_all_job_defs()}
    assert "propose_settings" not in jobs
