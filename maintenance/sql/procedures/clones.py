"""Clones of tables and databases."""

from typing import Any

import pyarrow as pa

from maintenance.errors import SqlError, worst_of
from maintenance.fs.settings import settings_of
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.open import open_metastore
from maintenance.operations import clone
from maintenance.operations.databases.clone import CloneReport
from maintenance.operations.databases.clone_database import clone_database
from maintenance.sql.procedures.procedure import (
    DRY_RUN,
    Call,
    Parameter,
    Procedure,
    names,
    number,
    options,
    text,
    truth,
)
from maintenance.sql.result import Result
from maintenance.table.table import Table


def _clone(call: Call) -> Result:
    _check(call)
    given = call.passed("parallelism", "dry_run", "meta_only", "clone_if_exists")
    source, target = _catalog(call, "catalog_conf"), _catalog(call, "target_catalog_conf")
    arguments = {**given, "spark": call.session.spark, "progress": call.progress}
    database, table = call.get("database"), call.get("table")
    if table is None:
        choice = {"included": call.get("included_tables", ()), "excluded": call.get("excluded_tables", ())}
        if call.get("where"):
            raise SqlError("a condition is over the partitions of one table", "sys.clone", "Add table => '…'.")
        report = clone_database(source, database, target, call.get("target_database"), **choice, **arguments)
        if report.errors:
            raise worst_of(report.errors.values())
        return _shown(list(report.reports.values()))
    if database is None:
        raise SqlError("a table is named without its database", "sys.clone", "Add database => '…'.")
    goal = f"{call.get('target_database') or database}.{call.get('target_table') or table}"
    table_there = source.get_table(f"{database}.{table}")
    if not isinstance(table_there, Table):
        raise SqlError(f"'{database}.{table}' has no files of its own", "sys.clone", "Name a table of Paimon.")
    return _shown([clone(table_there, target, goal, **arguments, **call.passed("snapshot_id", "tag", "where"))])


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


def _catalog(call: Call, parameter: str) -> Catalog:
    """The catalog of a configuration; the session's without one. Settings of stores are the session's, if not given."""
    given: dict[str, str] = call.get(parameter) or {}
    current = call.session.current()
    if not given:
        return current
    shared = {key: text for key, text in current.options.items() if settings_of({key: text})}
    return open_metastore({**shared, **given})


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
    ),
)
