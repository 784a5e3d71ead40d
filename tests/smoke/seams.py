"""What must work wherever the product is installed, a function for each seam; each is given an empty folder."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from maintenance import open_catalog
from maintenance.catalog import CatalogTable, Schema
from maintenance.operations import compact, expire_snapshots, ingest
from maintenance.sql.session import Session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS = 3
ROWS = 1000
FORMATS = ("parquet", "orc", "avro")
SPARK = 'spark: {master: "local[2]"}'
TABLES_YAML = f"""
warehouse: warehouse
{SPARK}
tables:
  - identifier: smoke.orders
    columns: {{id: BIGINT NOT NULL, amount: "DECIMAL(9, 2)", at: TIMESTAMP(3)}}
    primary_keys: [id]
    options: {{bucket: 2, write-only: true, changelog-producer: full-compaction, file-index.bloom-filter.columns: id}}
    landing: {{path: landing, commit_user: smoke}}
"""
AIRFLOW_DAGS = ("paimon_smoke.orders", "operators")
DAGS = """
import os

from paimon_maintenance.operators import (
    ApplyPlanOperator,
    ExpireSnapshotsOperator,
    NewSnapshotSensor,
    PlanOperator,
    dags_of,
)
from paimon_maintenance.operators.airflow_release import DAG

globals().update(dags_of(os.environ["PAIMON_TABLES"], schedule=None))
with DAG("operators", schedule=None):
    new = NewSnapshotSensor(task_id="new", table="smoke.orders", since=1, deferrable=False)
    arguments = {"table": "smoke.orders", "compact_strategy": "full"}
    plan = PlanOperator(task_id="plan", operation="compact", arguments=arguments)
    apply = ApplyPlanOperator(task_id="apply", plan_id=plan.output)
    expire = ExpireSnapshotsOperator(
        task_id="expire", table="smoke.orders", retain_max=1, retain_min=1, trigger_rule="none_failed"
    )
    new >> plan >> apply >> expire
"""


def engine(folder: Path) -> None:
    """Write, merge, compact, expire and query in this process, in each format of data files."""
    for each in FORMATS:
        table = _table(folder, f"smoke.{each}", {"file.format": each})
        for number in range(ROUNDS):
            table.write_arrow(_rows(number), commit_user="smoke")
        _check(table.to_arrow())
        compact(None, table, full=True)
        expire_snapshots(table, retain_max=1, retain_min=1)
        _check(table.to_arrow())
        _check_total(Session(_catalog(folder)), f"smoke.{each}")


def spark(folder: Path) -> None:
    """Ingestion, compaction, expiry, reading and SQL through a session of this process."""
    with _session() as session:
        _through(session, folder)


def connect(folder: Path) -> None:
    """The same through a Spark Connect server."""
    with _connected(folder) as session:
        _through(session, folder)


def connector(folder: Path) -> None:
    """``format("paimon")``: written and read by frames."""
    from maintenance.connector import register

    with _session() as session:
        register(session)
        table = _table(folder)
        for number in range(ROUNDS):
            _frame(session, number).write.format("paimon").mode("append").save(table.location)
        _check(table.to_arrow())
        read = session.read.format("paimon").load(table.location)
        assert read.count() == ROWS


def streams(folder: Path) -> None:
    """A stream that reads a table and writes another one."""
    from maintenance.connector import register

    with _session() as session:
        register(session)
        table = _table(folder)
        table.write_arrow(_rows(ROUNDS - 1), commit_user="smoke")
        copied = _table(folder, "smoke.copied")
        query = (
            session.readStream.format("paimon")
            .load(table.location)
            .writeStream.format("paimon")
            .option("checkpointLocation", str(folder / "checkpoint"))
            .trigger(availableNow=True)
            .start(copied.location)
        )
        query.awaitTermination()
        _check(copied.to_arrow())


def dagster(folder: Path) -> None:
    """The definitions of tables.yaml, a run of a table's chain, and a tick of its sensor."""
    import dagster as dg

    from maintenance.project.config import load_project
    from paimon_maintenance.assets import keys
    from paimon_maintenance.assets.resources.catalog import PaimonCatalog
    from paimon_maintenance.definitions import build_definitions

    (folder / "landing").mkdir()
    for number in range(ROUNDS):
        pq.write_table(_rows(number), folder / "landing" / f"{number:05d}-batch-{number:05d}.parquet")
    (folder / "tables.yaml").write_text(TABLES_YAML)
    project = load_project(folder / "tables.yaml", folder)
    definitions = build_definitions(project)
    # Called otherwise in older releases.
    resolve: Any = getattr(definitions, "resolve_implicit_global_asset_job_def", None) or (
        definitions.get_implicit_global_asset_job_def
    )
    key = keys.asset_key("smoke.orders")
    with dg.instance_for_test() as instance:
        assert resolve().execute_in_process(asset_selection=[key], instance=instance).success
        event = instance.get_latest_materialization_event(key)
        assert event is not None
        assert event.asset_materialization is not None
        assert event.asset_materialization.metadata["dagster/row_count"].value == ROWS
        catalog = PaimonCatalog(warehouse=project.warehouse, options=project.catalog)
        with dg.build_sensor_context(instance, definitions=definitions, resources={"catalog": catalog}) as context:
            sensor: Any = getattr(definitions, "resolve_sensor_def", None) or definitions.get_sensor_def
            sensor(keys.LATEST_SENSOR).evaluate_tick(context)
    _check(open_catalog({"warehouse": str(folder / "warehouse")}).get_table("smoke.orders").to_arrow())


def airflow(folder: Path) -> None:
    """The DAG of a table in tables.yaml, run from ingestion to expiry, and operators with a plan."""
    (folder / "landing").mkdir()
    for number in range(ROUNDS):
        pq.write_table(_rows(number), folder / "landing" / f"{number:05d}-batch-{number:05d}.parquet")
    # The tasks' processes do the work.
    (folder / "tables.yaml").write_text(TABLES_YAML.replace(SPARK, ""))
    (folder / "dags").mkdir()
    (folder / "dags/made.py").write_text(DAGS)
    variables = {
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "PAIMON_TABLES": str(folder / "tables.yaml"),
    }
    for words in (("db", "migrate"), ("dags", "reserialize"), *(("dags", "test", dag) for dag in AIRFLOW_DAGS)):
        command = [sys.executable, "-m", "airflow", *words]
        done = subprocess.run(
            command, env={**os.environ, **variables}, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    table = open_catalog({"warehouse": str(folder / "warehouse")}).get_table("smoke.orders")
    _check(table.to_arrow())
    assert isinstance(table, CatalogTable)
    # Of ingestion, the changelog, and nothing after the expiry of the second DAG.
    assert table.snapshots.earliest_id() == table.snapshots.latest_id()


SEAMS: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (engine, spark, connect, connector, streams, dagster, airflow)
}


def _through(session: "SparkSession", folder: Path) -> None:
    table = _table(folder)
    for number in range(ROUNDS):
        ingest(session, table, _frame(session, number), commit_user="smoke")
    compact(session, table, full=True)
    expire_snapshots(table, retain_max=1, retain_min=1)
    _check(table.to_arrow())
    assert table.to_spark(session).count() == ROWS
    _check_total(Session(_catalog(folder), session), "smoke.t")


def _catalog(folder: Path) -> Any:
    return open_catalog({"warehouse": str(folder / "warehouse")})


def _table(folder: Path, name: str = "smoke.t", options: dict[str, str] | None = None) -> CatalogTable:
    catalog = _catalog(folder)
    catalog.create_database("smoke", ignore_if_exists=True)
    columns = [("id", "BIGINT NOT NULL"), ("amount", "DECIMAL(9, 2)"), ("at", "TIMESTAMP(3)")]
    catalog.create_table(
        name, Schema(columns, primary_keys=["id"], options={"bucket": "2", "write-only": "true", **(options or {})})
    )
    found: CatalogTable = catalog.get_table(name)
    return found


def _rows(number: int) -> pa.Table:
    """The rows of a round: all keys again, each with the number of the round."""
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "amount": pa.array([Decimal(number)] * ROWS, pa.decimal128(9, 2)),
            "at": pa.array(range(number, number + ROWS), pa.timestamp("ms")),
        }
    )


def _frame(session: "SparkSession", number: int) -> Any:
    """The same as a DataFrame."""
    return session.range(ROWS).selectExpr(
        "id",
        f"cast({number} as decimal(9, 2)) as amount",
        f"cast(timestamp_millis(id + {number}) as timestamp_ntz) as at",
    )


def _check(rows: pa.Table) -> None:
    """The table holds the last round."""
    assert rows.sort_by("id").to_pylist() == _rows(ROUNDS - 1).to_pylist()


def _check_total(session: Session, table: str) -> None:
    (result,) = session.execute(f"SELECT COUNT(*) AS n, SUM(amount) AS total FROM {table}")
    (row,) = result.rows.to_pylist()
    assert (row["n"], row["total"]) == (ROWS, (ROUNDS - 1) * ROWS), row


@contextmanager
def _session() -> Iterator["SparkSession"]:
    from maintenance.spark.session import get_session

    os.environ["TZ"] = "UTC"
    session = get_session(master="local[2]")
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _connected(folder: Path) -> Iterator["SparkSession"]:
    from maintenance.spark.connect_server import connect_server
    from maintenance.spark.session import get_session

    os.environ["TZ"] = "UTC"
    with connect_server({}, log=folder / "connect.log", master="local[2]") as server:
        os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
        session = get_session(remote=server.remote)
        try:
            yield session
        finally:
            session.stop()
