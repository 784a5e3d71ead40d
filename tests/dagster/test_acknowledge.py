"""A conflict that is over, or that somebody has acknowledged, is not red for ever."""

import json
from datetime import UTC, datetime

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.cli.main import run
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.writers import NO_BUCKET_OVERLAP
from maintenance.operations.history import history_table, read_history
from maintenance.project.config import Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.due import Automation
from paimon_maintenance.assets.checks.judging import look_at
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.dagster.conftest import definitions_of

ORDERS = "shop.orders"


def write(project: Project, *users: str) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    for user in users:
        rows = pa.table({"id": pa.array([1], pa.int64()), "status": ["new"]})
        table.write_arrow(rows, commit_user=user)


def overlap(project: Project) -> Judgement:
    catalog = PaimonCatalog(warehouse=project.warehouse, history=project.history)
    judged = look_at(catalog, project.tables[0], datetime.now(UTC), automation=Automation())
    return next(judgement for judgement in judged if judgement.check == NO_BUCKET_OVERLAP)


def acknowledge(project: Project, instance: dg.DagsterInstance, **more: str) -> dg.ExecuteInProcessResult:
    config = {"table": ORDERS, "check": NO_BUCKET_OVERLAP, "name": "Ada", "reason": "a backfill", **more}
    job = definitions_of(project).resolve_job_def(keys.ACKNOWLEDGE)
    return job.execute_in_process(
        {"ops": {keys.ACKNOWLEDGED: {"config": config}}}, instance=instance, raise_on_error=False
    )


def test_an_acknowledged_conflict_passes_until_the_next_one(project: Project, instance: dg.DagsterInstance) -> None:
    write(project, "flink", "spark", "flink")
    assert not overlap(project).passed
    done = acknowledge(project, instance)
    assert done.success
    (written,) = [e for e in done.get_asset_check_evaluations() if e.check_name == NO_BUCKET_OVERLAP]
    assert written.passed
    found = overlap(project)
    assert found.passed
    assert "acknowledged by Ada on " in found.summary
    assert ": a backfill. It was: two writers write the same buckets" in found.summary
    (row,) = read_history(
        PaimonCatalog(warehouse=project.warehouse).open(), history_table("_maintenance"), ORDERS, "acknowledge"
    )
    assert row["run_id"] == done.run_id
    assert row["snapshot_id"] == 3
    write(project, "spark", "flink")
    assert not overlap(project).passed


@pytest.mark.parametrize("wrong", [{"check": "readable"}, {"name": " "}, {"reason": ""}, {"table": "shop.nothing"}])
def test_what_makes_no_sense_is_refused(project: Project, instance: dg.DagsterInstance, wrong: dict[str, str]) -> None:
    write(project, "flink", "spark", "flink")
    assert not acknowledge(project, instance, **wrong).success
    assert not overlap(project).passed


def test_a_table_says_when_a_conflict_is_over(project: Project) -> None:
    write(project, "flink", "spark", "flink", "flink", "flink")
    assert not overlap(project).passed
    checks = project.tables[0].checks.model_copy(update={"settled_commits": 3})
    table = project.tables[0].model_copy(update={"checks": checks})
    sooner = project.model_copy(update={"tables": (table, project.tables[1])})
    found = overlap(sooner)
    assert found.passed
    assert "the last 3 commits show no two writers at it any more" in found.summary


def test_the_command_line_reads_what_was_acknowledged(
    project: Project, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    write(project, "flink", "spark", "flink")

    def of_all_tables() -> str:
        run(["--warehouse", project.warehouse, "--json", "health"])
        lines = map(json.loads, capsys.readouterr().out.splitlines())
        return str(next(line["wrong"] for line in lines if line["table"] == "orders"))

    assert NO_BUCKET_OVERLAP in of_all_tables()
    assert acknowledge(project, instance).success
    assert NO_BUCKET_OVERLAP not in of_all_tables()
    assert run(["--warehouse", project.warehouse, "health", ORDERS]) in (0, 1)
    assert "acknowledged by Ada" in " ".join(capsys.readouterr().out.split())
