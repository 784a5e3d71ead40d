"""Materialized tables in Dagster: FRESHNESS refreshes them, a suspended one rests, and a failed refresh is seen."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from maintenance.options.materialized import Freshness
from maintenance.project.config import Project
from maintenance.sql import Session
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.automation import QUIET, Due, Refreshes, due, freshness_policy
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.warehouse.discovery import discover
from paimon_maintenance.definitions import build_definitions
from paimon_maintenance.sensors.alerts import run_faults

TOTALS = "shop.totals"
HOUR = Freshness("1", "HOUR")
SPARK = {  # a Java that starts fast
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session({"warehouse": str(tmp_path / "warehouse")}, dialect="flink")
    session.sql("CREATE DATABASE shop")
    session.sql("USE shop")
    session.sql("CREATE TABLE orders (id INT, ds STRING, n INT) PARTITIONED BY (ds)")
    session.sql("INSERT INTO orders VALUES (1, 'd1', 10), (2, 'd2', 20)")
    # With a freshness of nothing it is due whenever a source has changed.
    session.sql(
        "CREATE MATERIALIZED TABLE totals PARTITIONED BY (ds) FRESHNESS = INTERVAL '0' SECOND"
        " AS SELECT ds, count(*) AS c, sum(100 / n) AS t FROM orders GROUP BY ds"
    )
    return session


@pytest.fixture
def project(tmp_path: Path, session: Session) -> Project:
    described = {"warehouse": str(tmp_path / "warehouse"), "patterns": [{"pattern": "shop.*"}]}
    return Project.model_validate({**described, "spark": {"options": SPARK}})


@pytest.fixture
def definitions(project: Project) -> dg.Definitions:
    return build_definitions(project)


# Why ticks of a test asked for nothing, None = they did.
silences: list[str | None] = []
Tick = Callable[[], list[dg.RunRequest]]


@pytest.fixture
def tick(definitions: dg.Definitions, instance: dg.DagsterInstance, project: Project) -> Tick:
    """One tick of the table's sensor, which goes on where the last one ended, as the daemon does it."""
    cursor: list[str | None] = [None]
    silences.clear()

    def evaluated() -> list[dg.RunRequest]:
        resources = {"catalog": PaimonCatalog(warehouse=project.warehouse)}
        sensor = definitions.resolve_sensor_def(keys.refresh_sensor(TOTALS))
        with dg.build_sensor_context(instance, cursor[0], definitions=definitions, resources=resources) as context:
            data = sensor.evaluate_tick(context)
        cursor[0] = data.cursor
        silences.append(data.skip_message)
        return list(data.run_requests or ())

    return evaluated


def run(definitions: dg.Definitions, instance: dg.DagsterInstance, request: dg.RunRequest) -> dg.ExecuteInProcessResult:
    """What the daemon launches for a request, here in this process."""
    job = definitions.resolve_implicit_global_asset_job_def()
    assert request.asset_check_keys == [], "a refresh checks no files"
    return job.execute_in_process(
        instance=instance, asset_selection=list(request.asset_selection or ()), tags=dict(request.tags),
        raise_on_error=False,
    )  # fmt: skip


def rows(session: Session) -> list[dict[str, Any]]:
    return session.sql("SELECT * FROM totals ORDER BY ds").to_arrow().to_pylist()


def test_the_asset_says_what_the_table_is(definitions: dg.Definitions) -> None:
    asset = definitions.resolve_assets_def(keys.asset_key(TOTALS))
    (spec,) = asset.specs
    assert {dep.asset_key for dep in spec.deps} == {keys.asset_key("shop.orders")}
    lineage = spec.metadata["dagster/column_lineage"].deps_by_column
    assert lineage["t"] == [dg.TableColumnDep(keys.asset_key("shop.orders"), "n")]
    assert lineage["ds"] == [dg.TableColumnDep(keys.asset_key("shop.orders"), "ds")]
    assert (spec.description or "").startswith(
        "Materialized from shop.orders, within 0 seconds of a change (continuous"
    )
    assert spec.metadata["refresh status"] == "ACTIVATED"
    assert "GROUP BY ds" in spec.metadata["definition"].value
    assert spec.freshness_policy == freshness_policy(Freshness("0", "SECOND"))
    assert spec.automation_condition is not None
    assert "FRESHNESS = INTERVAL '0' SECOND" in (spec.automation_condition.get_label() or "")
    assert spec.tags["paimon/written-by"] == "refresh"


def test_its_jobs_refresh_compact_and_record_it(definitions: dg.Definitions) -> None:
    def steps(job: str) -> list[str]:
        return [node.name for node in definitions.resolve_job_def(job).graph.nodes_in_topological_order]

    asset = definitions.resolve_assets_def(keys.asset_key(TOTALS))
    assert isinstance(asset.node_def, dg.GraphDefinition)
    assert [node.name for node in asset.node_def.nodes_in_topological_order] == [
        "refresh_materialized_table",
        "describe",
    ]
    assert steps("compact_shop_totals") == ["compact", "record"]
    assert steps("maintain_shop_totals")[:1] == ["compact"]
    assert definitions.resolve_job_def("refresh_shop_totals").tags["paimon/action"] == "refresh"
    assert not definitions.get_repository_def().has_job("refresh_shop_orders")


def test_freshness_refreshes_and_a_suspended_table_rests(
    session: Session, definitions: dg.Definitions, instance: dg.DagsterInstance, tick: Tick
) -> None:
    assert tick() == [], "no source has changed"
    session.sql("INSERT INTO orders VALUES (3, 'd2', 5)")
    session.sql("ALTER MATERIALIZED TABLE totals SUSPEND")
    assert tick() == [], "it rests"
    session.sql("ALTER MATERIALIZED TABLE totals RESUME")
    (request,) = tick()
    assert silences == ["no source has changed", "its status is SUSPENDED", None]
    assert request.tags["paimon/table"] == TOTALS
    result = run(definitions, instance, request)
    assert result.success
    assert rows(session) == [{"ds": "d1", "c": 1, "t": 10}, {"ds": "d2", "c": 2, "t": 25}]
    latest = instance.get_latest_materialization_event(keys.asset_key(TOTALS))
    assert latest is not None
    assert latest.asset_materialization is not None
    assert latest.asset_materialization.metadata["refresh status"].value == "ACTIVATED"
    (output,) = [
        event.step_output_data for event in result.all_events
        if event.is_successful_output and "refresh_materialized_table" in (event.step_key or "")
    ]  # fmt: skip
    shown = {name: entry.value for name, entry in output.metadata.items()}
    assert (shown["kind"], shown["reason"]) == ("partitions", "changed: shop.orders")
    assert shown["partitions"] == ["ds=d2"]
    assert tick() == [], "nothing has changed since"


def test_a_failed_refresh_is_seen_and_leaves_the_rows(
    session: Session,
    project: Project,
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    tick: Tick,
) -> None:
    before = rows(session)
    session.sql("DROP TABLE orders")
    session.sql("CREATE TABLE orders (id INT, ds STRING) PARTITIONED BY (ds)")
    (request,) = tick()
    result = run(definitions, instance, request)
    assert not result.success
    assert rows(session) == before
    actual = discover(project, PaimonCatalog(warehouse=project.warehouse)).project
    faults = run_faults(instance, actual.tables, "http://dagster")
    (fault,) = faults.values()
    assert (fault.subject, fault.tables) == ("Run of refresh_shop_totals", (TOTALS,))
    assert "column" in fault.summary
    assert tick() == [], "it is tried again after a pause"
    assert silences[-1] == "its last refresh failed"


def test_a_dry_run_says_what_would_be_refreshed(
    session: Session, definitions: dg.Definitions, instance: dg.DagsterInstance
) -> None:
    session.sql("INSERT INTO orders VALUES (3, 'd2', 5)")
    before = rows(session)
    config = {"ops": {"shop__totals": {"ops": {"refresh_materialized_table": {"config": {"dry_run": True}}}}}}
    result = definitions.resolve_job_def("refresh_shop_totals").execute_in_process(run_config=config, instance=instance)
    assert result.success
    assert rows(session) == before
    (output,) = [
        event.step_output_data for event in result.all_events
        if event.is_successful_output and "refresh_materialized_table" in (event.step_key or "")
    ]  # fmt: skip
    plan = output.metadata["plan"]
    assert isinstance(plan, dg.TableMetadataValue)
    assert [record.data["group"] for record in plan.records] == ["ds=d2"]


@pytest.mark.parametrize(
    ("past", "minutes", "changed", "expected"),
    [
        (Refreshes(0.0, None, 0.0, 0), 59, True, Due(False, "fresh for 60 s more")),
        (Refreshes(0.0, None, 0.0, 0), 60, True, Due(True, "it is older than 1 hour")),
        (Refreshes(0.0, 3000.0, 0.0, 0), 60, True, Due(False, "fresh for 3000 s more")),
        (Refreshes(None, None, 0.0, 0), 1e6, False, Due(True, "it is older than 1 hour")),
        (Refreshes(0.0, 3600.0, 3600.0, 1), 60, True, Due(False, "its last refresh failed")),
        (Refreshes(0.0, 3600.0, 3600.0, 1), 61, True, Due(True, "its last refresh failed")),
        (Refreshes(0.0, 3600.0, 3600.0, 3), 61, True, Due(False, "its last 3 refreshes failed")),
        (Refreshes(0.0, 3600.0, 3600.0, 3), 62, True, Due(True, "its last 3 refreshes failed")),
    ],
)
def test_when_a_table_is_due(past: Refreshes, minutes: float, changed: bool, expected: Due) -> None:
    assert due(HOUR, past, minutes * 60, lambda: changed) == expected


def test_a_fresh_table_without_changes_is_confirmed_once_in_a_while() -> None:
    quick, past = Freshness("30", "SECOND"), Refreshes(0.0, None, 0.0, 0)
    assert due(quick, past, 29.0, lambda: True).now is False
    assert due(quick, past, 30.0, lambda: True) == Due(True, "a source has changed")
    assert due(quick, past, 30.0, lambda: False) == Due(False, "no source has changed")
    quiet = QUIET.total_seconds()
    assert due(quick, past, quiet, lambda: False).now
    assert not due(quick, replace(past, asked=quiet), quiet + 30, lambda: False).now


def test_the_policy_allows_for_the_refresh_itself() -> None:
    assert freshness_policy(HOUR) == dg.FreshnessPolicy.time_window(fail_window=2 * HOUR.interval)
    quick = Freshness("1", "MINUTE")
    assert freshness_policy(quick).fail_window.to_timedelta() > QUIET  # type: ignore[attr-defined]
