"""DAGs made of a tables.yaml: one for each table or pattern, the chain of a table as separate tasks."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from maintenance.project.chain import operations_of
from maintenance.project.config import Project, TableConfig
from paimon_maintenance.operators.airflow_release import DAG, Asset, TaskGroup, cron_schedule
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
    per: str = "table",
    schedule: Schedule = FROM_FILE,
    wait_for: str | None = None,
    engine: str | None = None,
    pools: bool = True,
    default_args: Mapping[str, Any] | None = None,
) -> dict[str, DAG]:
    """The DAGs of a tables.yaml, by their ids: ``globals().update(dags_of("/opt/tables.yaml"))``.

    Args:
        tables: the path of the file. Patterns ask the catalog each time Airflow reads the DAGs.
        per: ``table``: each has a DAG; ``pattern``: the tables that a pattern finds share one, where each is a group of
            tasks beside the others. Tables with an entry of their own have their own either way.
        schedule: as of a DAG, or what gives one for a table; as the file says where it is left out.
        wait_for: ``new_snapshot`` or ``compaction_due``: a run begins with this sensor, and the next one begins when it
            has ended. The schedule is `@continuous` then.
        engine: what does the work; None: as the file says, else the task's process.
        pools: whether each table has a pool, which `pools_of` lists.
        default_args: of all tasks.
    """
    if wait_for is not None and wait_for not in _SENSORS:
        raise ValueError(f"wait_for '{wait_for}' is not known. Use {' or '.join(_SENSORS)}.")
    if per not in ("table", "pattern"):
        raise ValueError(f"per '{per}' is not known. Use table or pattern.")
    if per == "pattern" and (wait_for is not None or callable(schedule)):
        raise ValueError("With per='pattern' many tables share a run. Leave out wait_for, and give one schedule.")
    described = project_of(tables)
    project = found_tables(tables, described)
    asked = {"engine": engine, "wait_for": wait_for, "pools": pools, "default_args": default_args or {}}
    made = {}
    for name, own in _dags(described, project, per).items():
        chosen = _schedule(schedule, own[0], project) if wait_for is None else "@continuous"
        made[dag_id(name)] = _dag(tables, name, own, chosen, asked)
    return made


def _dags(described: Project, project: Project, per: str) -> dict[str, list[TableConfig]]:
    """The tables of each DAG, by what it is called. `described`: the file without the tables that patterns find."""
    entries = {table.identifier for table in described.tables}
    found: dict[str, list[TableConfig]] = {}
    for table in project.tables:
        shared = per == "pattern" and table.identifier not in entries
        name = _pattern_of(project, table.identifier) if shared else table.identifier
        found.setdefault(name, []).append(table)
    return found


def _pattern_of(project: Project, identifier: str) -> str:
    """The first pattern that is about a table, as an id can have it: ``shop.all`` for ``shop.*``."""
    pattern = next(each.pattern for each in project.patterns if each.matches(identifier))
    return re.sub(r"[^\w.-]+", "_", pattern.replace("*", "all").replace("?", "any"))


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


def _dag(tables: str, name: str, described: Sequence[TableConfig], schedule: Any, asked: Mapping[str, Any]) -> DAG:
    one = described[0] if name == described[0].identifier else None
    about = f"the Paimon table {name}" if one is not None else f"{len(described)} Paimon tables, {name}"
    with DAG(
        dag_id(name),
        description=(one.description if one is not None else "") or f"Maintains {about}",
        schedule=schedule,
        start_date=_START,
        catchup=False,
        max_active_runs=1,
        tags=sorted({"paimon", *(table.identifier.partition(".")[0] for table in described)}),
        default_args={**_RETRIES, **asked["default_args"]},
        doc_md="\n\n".join(map(_page, described)),
    ) as dag:
        if one is not None:
            _tasks(tables, one, asked)
        else:
            for table in described:
                with TaskGroup(table.identifier.replace(".", "_"), tooltip=table.description):
                    _tasks(tables, table, asked)
    return dag


def _tasks(tables: str, table: TableConfig, asked: Mapping[str, Any]) -> None:
    """The chain of a table, in the DAG or group that is open."""
    identifier = table.identifier
    more: dict[str, Any] = {"pool": pool_of(identifier)} if asked["pools"] else {}
    if "on_failure_callback" not in asked["default_args"]:
        more["on_failure_callback"] = TellTargets(tables, identifier)
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
            **more,
        )
        if last is not None:
            last >> step
        last = step


def _page(table: TableConfig) -> str:
    """What the DAG's page says of the table."""
    owners = [f"Owners: {', '.join(table.owners)}"] if table.owners else []
    links = [f"[{name}]({address})" for name, address in table.links.items()]
    parts: Sequence[str] = [f"# {table.identifier}", table.description, *owners, *links]
    return "\n\n".join(part for part in parts if part)
