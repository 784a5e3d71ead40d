"""Dagster's storage in PostgreSQL, set up as the documentation shows it: runs, checks and the console work on it."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import dagster as dg
import pyarrow as pa
import pytest
import yaml
from dagster_postgres import PostgresEventLogStorage, PostgresRunStorage

from maintenance.project.config import Project
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.expiring import EXPIRY_DUE
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from tests.console_site import Site
from tests.dagster.conftest import definitions_of, evaluate
from tests.dagster.test_radar import reported
from tests.servers.postgresql import PostgreSQL
from tests.unit.test_layers import ROOT

DOCUMENTED = re.compile(r"```yaml\n(storage:\n  postgres:.*?)```", re.DOTALL)


@pytest.fixture
def on_postgres(
    postgresql: PostgreSQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dg.DagsterInstance]:
    """An instance whose storage is what docs/dagster.md shows, in a new database."""
    found = DOCUMENTED.search((ROOT / "docs" / "dagster.md").read_text())
    assert found is not None
    options = postgresql.new_database()
    address = urlsplit(options["uri"].removeprefix("jdbc:"))
    monkeypatch.setenv("DAGSTER_PG_USER", options["jdbc.user"])
    monkeypatch.setenv("DAGSTER_PG_PASSWORD", options["jdbc.password"])
    settings = yaml.safe_load(found[1])
    where = {"hostname": address.hostname, "port": address.port, "db_name": address.path.strip("/")}
    settings["storage"]["postgres"]["postgres_db"] |= where
    home = tmp_path / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text(yaml.safe_dump({**settings, "telemetry": {"enabled": False}}))
    with dg.DagsterInstance.from_config(str(home)) as instance:
        yield instance


def test_runs_checks_and_the_console_work_on_it(
    project: Project, on_postgres: dg.DagsterInstance, tmp_path: Path
) -> None:
    assert isinstance(on_postgres.run_storage, PostgresRunStorage)
    assert isinstance(on_postgres.event_log_storage, PostgresEventLogStorage)
    table = PaimonCatalog(warehouse=project.warehouse).get_or_create(project.tables[0])
    for number in range(4):
        table.write_arrow(pa.table({"id": pa.array([number], pa.int64()), "status": ["new"]}))
    tick = evaluate(project, on_postgres, "check_radar")
    assert not reported(tick, "shop.orders")[EXPIRY_DUE].passed
    done = definitions_of(project).resolve_job_def("expire_shop_orders").execute_in_process(instance=on_postgres)
    assert done.success
    (run,) = on_postgres.get_runs()
    assert run.run_id == done.run_id
    key = dg.AssetCheckKey(keys.asset_key("shop.orders"), EXPIRY_DUE)
    latest = on_postgres.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
    assert latest.evaluation is not None
    assert latest.evaluation.passed
    tables = tmp_path / "console.yaml"
    tables.write_text(f"warehouse: {project.warehouse}\ntables: [{{identifier: shop.orders}}]\n")
    page = Site(tables, on_postgres).get("/tables/shop.orders")
    assert page.status == 200
    assert "expire snapshots" in page.section("history")
