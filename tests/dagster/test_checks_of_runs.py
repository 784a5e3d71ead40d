"""A run writes all checks of its table by itself, so that Dagster shows none of them as not evaluated."""

import asyncio
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster import AssetCheckKey
from dagster._core.loader import LoadingContextForTest

from maintenance.project.config import Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.asset_checks import FSCK
from paimon_maintenance.assets.checks.closing import EXAMINED
from paimon_maintenance.assets.checks.judgements import DESCRIPTIONS
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.dagster.conftest import definitions_of, evaluate

VISITS = "shop.visits"


def write(project: Project, commits: int) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    for number in range(commits):
        rows = pa.table({"page": ["a"], "seconds": pa.array([number], pa.int32())})
        table.write_arrow(rows, commit_user="somebody")


def stale(instance: dg.DagsterInstance, *more: str) -> list[str]:
    """Checks of shop.visits that Dagster shows as not evaluated."""
    wanted = [AssetCheckKey(keys.asset_key(VISITS), name) for name in (*DESCRIPTIONS, *more)]
    records = instance.event_log_storage.get_latest_asset_check_execution_by_key(wanted)
    context = LoadingContextForTest(instance)
    return [
        key.name
        for key in wanted
        if key not in records or not asyncio.run(records[key].targets_latest_materialization(context))
    ]


def run(project: Project, instance: dg.DagsterInstance, job: str) -> dg.ExecuteInProcessResult:
    return definitions_of(project).resolve_job_def(job).execute_in_process(instance=instance, raise_on_error=False)


@pytest.mark.parametrize("job", ["expire_shop_visits", "compact_shop_visits", "maintain_shop_visits"])
def test_a_run_writes_all_checks_of_its_table_before_it_is_materialised(
    project: Project, instance: dg.DagsterInstance, job: str
) -> None:
    write(project, 3)
    evaluate(project, instance, "check_radar")
    done = run(project, instance, job)
    assert stale(instance) == []
    names = [event.event_type_value for event in done.all_events]
    last_check = max(i for i, name in enumerate(names) if name == "ASSET_CHECK_EVALUATION")
    assert names.count("ASSET_CHECK_EVALUATION") == len(DESCRIPTIONS)
    assert last_check < names.index("ASSET_MATERIALIZATION")


def test_checks_of_a_run_are_written_again_when_somebody_else_commits(
    project: Project, instance: dg.DagsterInstance
) -> None:
    write(project, 3)
    cursor = evaluate(project, instance, "check_radar").cursor
    assert run(project, instance, "fsck_shop_visits").success
    assert run(project, instance, "expire_shop_visits").success
    write(project, 1)
    evaluate(project, instance, "check_radar", cursor)
    assert stale(instance, FSCK) == []


def test_damage_that_an_examination_found_stays_red_over_an_expiry(
    project: Project, instance: dg.DagsterInstance
) -> None:
    write(project, 3)
    table = PaimonCatalog(warehouse=project.warehouse).get_table(VISITS)
    (Path(table.location) / "snapshot" / "snapshot-2").unlink()
    assert run(project, instance, "fsck_shop_visits").success
    key = AssetCheckKey(keys.asset_key(VISITS), FSCK)

    def latest() -> dg.AssetCheckEvaluation:
        record = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
        assert record.evaluation is not None
        return record.evaluation

    found = latest()
    assert not found.passed
    for _ in range(2):
        assert run(project, instance, "compact_shop_visits").success
        assert not latest().passed
        assert str(latest().description).count("Examined on ") == 1
        assert str(latest().description).endswith(str(found.description))
        assert EXAMINED in latest().metadata
    assert stale(instance, FSCK) == []
