"""DAGs made of a tables.yaml: one for each table, its chain as separate tasks."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from paimon_maintenance.assets.project.chain import operations_of
from paimon_maintenance.assets.project.config import Project, TableConfig
from paimon_maintenance.operators.airflow_release import DAG, Asset, cron_schedule
from paimon_maintenance.operators.alerts import TellTargets
from paimon_maintenance.operators.described import found_tables, project_of
from paimon_maintenance.operators.sensors import CompactionDueSensor, NewSnapshotSensor
from paimon_maintenance.operators.step import TableStepOperator

_START = datetime(2024, 1, 1)
_RETRIES = {"retries": 3, "retry_delay": timedelta(seconds=30), "retry_exponential_backoff": True}
# What brings rows; where nothing here does, the compaction stands for the table.
_BRINGS_ROWS = ("ingest_landed", "refresh_materialized_table")
_SENSORS = {"new_snapshot": NewSnapshotSensor, "compaction_due": CompactionDueSensor}
Schedule = str | Callable[[TableConfig], Any] | None
FROM_FILE = "tables.yaml"
"""The schedule that the file gives the expiry, in its time zone."""


def dags_of(
    tables: str,
    *,
    schedule: Schedule = FROM_FILE,
    wait_for: str | None = None,
    engine: str | None = None,
    pools: bool = True,
    default_args: Mapping[str, Any] | None = None,
) -> dict[str, DAG]:
    """The DAGs of a tables.yaml, by their ids: ``globals().update(dags_of("/opt/tables.yaml"))``.

    Args:
        tables: the path of the file. Patterns ask the catalog each time Airflow reads the DAGs.
        schedule: as of a DAG, or what gives one for a table; as the file says where it is left out.
        wait_for: ``new_snapshot`` or ``compaction_due``: a run begins with this sensor, and the next one begins when it
            has ended. The schedule is `@continuous` then.
        engine: what does the work; None: as the file says, else the task's process.
        pools: whether each table has a pool, which `pools_of` lists.
        default_args: of all tasks.
    """
    if wait_for is not None and wait_for not in _SENSORS:
        raise ValueError(f"wait_for '{wait_for}' is not known. Use {' or '.join(_SENSORS)}.")
    project = found_tables(tables, project_of(tables))
    asked = {"engine": engine, "wait_for": wait_for, "pools": pools, "default_args": default_args or {}}
    made = {}
    for table in project.tables:
        chosen = _schedule(schedule, table, project) if wait_for is None else "@continuous"
        made[dag_id(table.identifier)] = _dag(tables, table, chosen, asked)
    return made


def dag_id(identifier: str) -> str:
    """The id of a table's DAG: ``paimon_shop.orders``."""
    return f"paimon_{identifier}"


def asset_of(identifier: str) -> Asset:
    """The asset (in Airflow 2 the dataset) of a table: ``paimon://shop/orders``."""
    return Asset(f"paimon://{identifier.replace('.', '/')}")


def pool_of(identifier: str) -> str:
    """The pool of a table: it has one slot, so that two tasks never work on one table at the same time."""
    return f"paimon_{identifier}"


def pools_of(tables: str) -> dict[str, dict[str, Any]]:
    """The pools of a tables.yaml, as `airflow pools import` reads them from a file."""
    project = found_tables(tables, project_of(tables))
    return {
        pool_of(table.identifier): {
            "slots": 1,
            "description": f"Work on the Paimon table {table.identifier}",
            "include_deferred": False,
        }
        for table in project.tables
    }


def _schedule(schedule: Schedule, table: TableConfig, project: Project) -> Any:
    if callable(schedule):
        return schedule(table)
    return cron_schedule(project.expiry.cron, project.expiry.time_zone) if schedule == FROM_FILE else schedule


def _dag(tables: str, table: TableConfig, schedule: Any, asked: Mapping[str, Any]) -> DAG:
    identifier = table.identifier
    pool = {"pool": pool_of(identifier)} if asked["pools"] else {}
    told = {"on_failure_callback": TellTargets(tables, identifier)}
    with DAG(
        dag_id(identifier),
        description=table.description or f"Maintains the Paimon table {identifier}",
        schedule=schedule,
        start_date=_START,
        catchup=False,
        max_active_runs=1,
        tags=["paimon", identifier.partition(".")[0]],
        default_args={**_RETRIES, **told, **asked["default_args"]},
        doc_md=_page(table),
    ) as dag:
        last: Any = None
        if asked["wait_for"] is not None:
            # Waiting takes no slot: neither of a worker nor of the pool.
            last = _SENSORS[asked["wait_for"]](task_id="wait", tables=tables, table=identifier)
        names = operations_of(table)
        brings = [name for name in names if name in _BRINGS_ROWS] or ["compact"]
        for name in names:
            step = TableStepOperator(
                task_id=name,
                tables=tables,
                table=identifier,
                operation=name,
                engine=asked["engine"],
                # A step that had nothing to do is skipped, and holds up none after it.
                trigger_rule="none_failed",
                outlets=[asset_of(identifier)] if name in brings else [],
                **pool,
            )
            if last is not None:
                last >> step
            last = step
    return dag


def _page(table: TableConfig) -> str:
    """What the DAG's page says of the table."""
    owners = [f"Owners: {', '.join(table.owners)}"] if table.owners else []
    links = [f"[{name}]({address})" for name, address in table.links.items()]
    parts: Sequence[str] = [f"# {table.identifier}", table.description, *owners, *links]
    return "\n\n".join(part for part in parts if part)
