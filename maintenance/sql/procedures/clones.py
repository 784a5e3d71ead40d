"""Clones of tables and databases."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maintenance.errors import SqlError, worst_of
from maintenance.fs.settings import settings_of
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.open import open_metastore
from maintenance.operations import clone
from maintenance.operations.databases.clone import CloneReport
from maintenance.operations.databases.clone_database import CloneDatabaseReport, clone_database
from maintenance.operations.databases.clone_plan import (
    CLONE,
    CLONE_DATABASE,
    apply_clone,
    apply_clone_database,
    plan_clone,
    plan_clone_database,
)
from maintenance.operations.parameters import Parameter, names, number, options, text, truth
from maintenance.operations.plan_store import StoredPlan
from maintenance.options.environment import from_environment
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import DRY_RUN, Call, Planning, Procedure
from maintenance.sql.result import Result
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

_CONFS = ("catalog_conf", "target_catalog_conf")
_SECRET = re.compile(r"secret|password|token|credential|access.?key|\bkey$|account\.key")
_VARIABLE = re.compile(r"(\$\{\w+\})+")


def _clone(call: Call) -> Result:
    _check(call)
    given = call.passed("parallelism", "dry_run", "meta_only", "clone_if_exists")
    arguments = {**given, "spark": call.session.spark, "progress": call.progress}
    source, target = catalogs_of(call.values, call.session)
    if call.get("table") is None:
        return _of_tables(clone_database(source, call.get("database"), target, **_choice(call), **arguments))
    table, goal = _named(call, source)
    return _shown([clone(table, target, goal, **arguments, **call.passed("snapshot_id", "tag", "where"))])


def _copy(call: Call) -> Result:
    """Java's `CopyFilesProcedure`: the newest state takes the place of what the target has."""
    source, target = (call.session.table_name(path_of(call.get(name))) for name in ("source_table", "target_table"))
    table = _table(call.session.catalog_of(source.catalog), source.identifier)
    goal = call.session.catalog_of(target.catalog)
    arguments = {**call.passed("where"), "spark": call.session.spark, "progress": call.progress}
    return _shown([clone(table, goal, target.identifier, replace_others=True, **arguments)])


def _choice(call: Call) -> dict[str, Any]:
    """The tables of a database, or of all, and what they are called in the target."""
    if call.get("where"):
        raise SqlError("a condition is over the partitions of one table", "sys.clone", "Add table => '…'.")
    chosen = {"included": call.get("included_tables", ()), "excluded": call.get("excluded_tables", ())}
    return {"target_database": call.get("target_database"), **chosen}


def _of_tables(report: CloneDatabaseReport) -> Result:
    if report.errors:
        raise worst_of(report.errors.values())
    return _shown(list(report.reports.values()))


def _named(call: Call, source: Catalog) -> tuple[Table, str]:
    """The table of a call, and the name of its copy."""
    database, table = call.get("database"), call.get("table")
    if database is None:
        raise SqlError("a table is named without its database", "sys.clone", "Add database => '…'.")
    goal = f"{call.get('target_database') or database}.{call.get('target_table') or table}"
    return _table(source, f"{database}.{table}"), goal


def _table(source: Catalog, name: str) -> Table:
    table = source.get_table(name)
    if not isinstance(table, Table):
        raise SqlError(f"'{name}' has no files of its own", "sys.clone", "Name a table of Paimon.")
    return table


def _plan(call: Call) -> StoredPlan:
    _check(call)
    confs = {name: call.get(name) or {} for name in _CONFS}
    _check_secrets(confs)
    source, target = catalogs_of(confs, call.session)
    shape = call.passed("meta_only", "clone_if_exists")
    if call.get("table") is None:
        plan = plan_clone_database(source, call.get("database"), target, **_choice(call), **shape)
    else:
        table, goal = _named(call, source)
        plan = plan_clone(table, target, goal, **shape, **call.passed("snapshot_id", "tag", "where"))
    return replace(plan, arguments={**plan.arguments, **confs})


def _apply(call: Call, plan: StoredPlan) -> Result:
    source, target = catalogs_of(plan.arguments, call.session)
    table = _table(source, plan.table)
    return _shown([apply_clone(table, target, plan, spark=call.session.spark, progress=call.progress)])


def _apply_database(call: Call, plan: StoredPlan) -> Result:
    source, target = catalogs_of(plan.arguments, call.session)
    return _of_tables(apply_clone_database(source, target, plan, spark=call.session.spark, progress=call.progress))


def _check_secrets(confs: Mapping[str, Mapping[str, str]]) -> None:
    """Raises: SqlError: a plan, which lies in the warehouse for others to read, would have a secret in it."""
    for name, conf in confs.items():
        for key, value in conf.items():
            if _SECRET.search(key.lower()) and not _VARIABLE.fullmatch(value):
                raise SqlError(
                    f"'{key}' of {name} is a secret, and a plan is read by others",
                    "sys.clone",
                    "Write ${NAME}: the environment variable NAME is read when the plan is made and applied.",
                )


def _check(call: Call) -> None:
    """Raises: SqlError: a parameter of Paimon's that this clone cannot honour is set."""
    if call.get("clone_from", "paimon").lower() != "paimon":
        raise SqlError("tables of Paimon alone are cloned", "sys.clone", "Use CALL sys.migrate_table for Hive's.")
    for name in ("prefer_file_format", "target_table_conf"):
        if call.get(name):
            raise SqlError(
                f"'{name}' is not possible: files and schemas are copied as they are",
                "sys.clone",
                "Leave it out, or write the rows: CREATE TABLE … AS SELECT.",
            )


def catalogs_of(arguments: Mapping[str, Any], session: "SessionState") -> tuple[Catalog, Catalog]:
    """The catalogs of the source and of the target, by their configurations."""
    source, target = (_catalog(session, name, arguments.get(name) or {}) for name in _CONFS)
    return source, target


def _catalog(session: "SessionState", name: str, given: Mapping[str, str]) -> Catalog:
    """The catalog of a configuration; the session's without one. Settings of stores are the session's, if not given.

    ${NAME} in a value is an environment variable.
    """
    current = session.current()
    if not given:
        return current
    shared = {key: text for key, text in current.options.items() if settings_of({key: text})}
    return open_metastore({**shared, **{key: from_environment(text, f"{name}: {key}") for key, text in given.items()}})


def _shown(reports: list[CloneReport]) -> Result:
    """A row for each table. A dry run says what would be copied."""
    rows: list[dict[str, Any]] = [
        {
            "source": report.table,
            "target": report.target,
            "source_snapshot_id": report.source_snapshot,
            "snapshot_id": report.snapshot_id,
            "files": report.files,
            "bytes": report.bytes,
            "copied_files": report.new_files if report.dry_run else report.copied_files,
            "copied_bytes": report.new_bytes if report.dry_run else report.copied_bytes,
            "leaving_files": report.leaving_files,
            "rows": report.rows,
            "digest": report.digest,
        }
        for report in reports
    ]
    done = any(report.snapshot_id is not None or (report.dry_run and report.new_files) for report in reports)
    return Result(pa.Table.from_pylist(rows, pa.schema(_COLUMNS.items())), nothing_to_do=not done)


_COLUMNS = {
    "source": pa.string(),
    "target": pa.string(),
    "source_snapshot_id": pa.int64(),
    "snapshot_id": pa.int64(),
    "files": pa.int64(),
    "bytes": pa.int64(),
    "copied_files": pa.int64(),
    "copied_bytes": pa.int64(),
    "leaving_files": pa.int64(),
    "rows": pa.int64(),
    "digest": pa.string(),
}

PROCEDURES = (
    Procedure(
        "copy",
        (
            Parameter("source_table", text, required=True),
            Parameter("target_table", text, required=True),
            Parameter("where", text),
        ),
        _copy,
    ),
    Procedure(
        "clone",
        (
            Parameter("database", text),
            Parameter("table", text),
            Parameter("catalog_conf", options),
            Parameter("target_database", text),
            Parameter("target_table", text),
            Parameter("target_catalog_conf", options),
            Parameter("parallelism", number),
            Parameter("where", text),
            Parameter("included_tables", names),
            Parameter("excluded_tables", names),
            Parameter("prefer_file_format", text),
            Parameter("clone_from", text),
            Parameter("meta_only", truth),
            Parameter("clone_if_exists", truth),
            Parameter("target_table_conf", options),
            Parameter("snapshot_id", number),
            Parameter("tag", text),
            DRY_RUN,
        ),
        _clone,
        planning=Planning(CLONE, _plan, _apply, others={CLONE_DATABASE: _apply_database}),
    ),
)
