"""Which table a run is about, whichever way it was started; and what a run of a job for any table is given."""

import re
from collections.abc import Mapping
from typing import Any

import dagster as dg

from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys

TABLE = "paimon/table"
FAILED_TABLES = "paimon/failed_tables"
"""The tag of a run over many tables that names those that have failed, separated by commas."""
_PARTITION = "dagster/partition"
_NAME = re.compile(r"\w+\.\w+", re.ASCII)


def table_of(run: dg.DagsterRun) -> str:
    """By its tags, the config of its first step, or the partition of a database that it makes; empty: none or many."""
    if tagged := run.tags.get(TABLE):
        return tagged
    steps = run.run_config.get("ops") if isinstance(run.run_config, Mapping) else None
    first: Any = steps.get(keys.CHOOSE) if isinstance(steps, Mapping) else None
    config = first.get("config") if isinstance(first, Mapping) else None
    named = config.get("table") if isinstance(config, Mapping) else None
    if isinstance(named, str) and named:
        return named
    return run.tags.get(_PARTITION, "") if is_of_database(run) else ""


def small_tables_of(run: dg.DagsterRun) -> frozenset[str]:
    """The tables that a run of `keys.COMPACT_SMALL` is given by name; empty: it is none, or has a pattern."""
    if run.job_name != keys.COMPACT_SMALL:
        return frozenset()
    config: Any = run.run_config
    for part in ("ops", keys.IN_TURN, "config", "tables"):
        config = config.get(part) if isinstance(config, Mapping) else None
    names = [name for name in config or () if isinstance(name, str)]
    return frozenset(names) if all(map(_NAME.fullmatch, names)) else frozenset()


def failed_tables_of(run: dg.DagsterRun) -> tuple[str, ...]:
    """The tables that have failed in a run over many, as far as it could say it."""
    return tuple(filter(None, run.tags.get(FAILED_TABLES, "").split(",")))


def is_of_database(run: dg.DagsterRun) -> bool:
    """Whether it makes, or checks, a partition of a database's asset: a table."""
    checks = [check.asset_key for check in run.asset_check_selection or ()]
    selected = {*(run.asset_selection or ()), *checks}
    name = run.tags.get(_PARTITION, "")
    return bool(_NAME.fullmatch(name)) and selected == {keys.database_key(name)}


def run_config(table: TableConfig, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a run of a job on a table is given. `config`: of its steps."""
    given = dict(config or {})
    if not table.grouped:
        return given
    chosen = {keys.CHOOSE: {"config": {"table": table.identifier}}}
    return {**given, "ops": {**chosen, **given.get("ops", {})}}


def run_tags(table: TableConfig) -> dict[str, str]:
    """The tags that a job for any table has not got from its definition."""
    return {TABLE: table.identifier} if table.grouped else {}
