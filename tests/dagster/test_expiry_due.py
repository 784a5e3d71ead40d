"""A table with something to expire is told of while the schedule that expires is off."""

from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pyarrow as pa
import pytest

from maintenance.project.config import Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.due import Automation
from paimon_maintenance.assets.checks.expiring import EXPIRY_DUE
from paimon_maintenance.assets.pages.fleet import UNHEALTHY, fleet_row
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.dagster.conftest import definitions_of, evaluate, switch_on
from tests.dagster.test_radar import reported

UTC = ZoneInfo("UTC")


@pytest.fixture
def filled(project: Project) -> Project:
    """Four commits to a table that keeps two snapshots."""
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    for number in range(4):
        table.write_arrow(pa.table({"id": pa.array([number], pa.int64()), "status": ["new"]}))
    return project


def test_what_can_expire_is_told_while_the_schedule_is_off(filled: Project, instance: dg.DagsterInstance) -> None:
    found = reported(evaluate(filled, instance, "check_radar"), "shop.orders")[EXPIRY_DUE]
    assert not found.passed
    assert "2 snapshots of 4 can expire, and the schedule daily_expiry is off" in str(found.description)
    assert "expire_shop_orders" in str(found.description)
    catalog = PaimonCatalog(warehouse=filled.warehouse)
    row = fleet_row(catalog, filled.tables[0], UTC, automation=Automation(compacts=True))
    assert row.state == UNHEALTHY
    assert EXPIRY_DUE in row.problems


def test_the_schedule_or_an_expiry_ends_it(filled: Project, instance: dg.DagsterInstance) -> None:
    switch_on(instance, keys.EXPIRY_SCHEDULE)
    found = reported(evaluate(filled, instance, "check_radar"), "shop.orders")[EXPIRY_DUE]
    assert found.passed
    assert "the schedule daily_expiry does it" in str(found.description)
    job = definitions_of(filled).resolve_job_def("expire_shop_orders")
    done = job.execute_in_process(instance=instance)
    (after,) = [e for e in done.get_asset_check_evaluations() if e.check_name == EXPIRY_DUE]
    assert after.passed
    assert "nothing has to expire: 0 snapshots of 2 can expire" in str(after.description)


def test_bytes_that_old_snapshots_hold_are_told_where_nothing_is_due(
    project: Project, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[1])
    rows = pa.table({"page": ["a"] * 1000, "seconds": pa.array(range(1000), pa.int32())})
    for _ in range(4):
        table.overwrite_arrow(rows)
    checks = project.tables[1].checks.model_copy(update={"max_retained_share": 0.5})
    visits = project.tables[1].model_copy(update={"checks": checks})
    strict = project.model_copy(update={"tables": (visits,)})
    found = reported(evaluate(strict, instance, "check_radar"), "shop.visits")[EXPIRY_DUE]
    assert not found.passed
    assert "more than max_retained_share, 50%" in str(found.description)
    assert "0 snapshots of 4 can expire, old snapshots hold " in str(found.description)
