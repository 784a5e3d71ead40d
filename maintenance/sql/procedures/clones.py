"""Clones of tables and databases."""

from typing import Any

import pyarrow as pa

from maintenance.errors import SqlError, worst_of
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
)
from maintenance.sql.result import Result


def _clone(call: Call) -> Result:
    target, arguments = _target(call), {**call.passed("parallelism", "dry_run"), "progress": call.progress}
    database, table = call.get("database"), call.get("table")
    if table is None:
        choice = {"included": call.get("included_tables", ()), "excluded": call.get("excluded_tables", ())}
        report = clone_database(
            call.session.current(), database, target, call.get("target_database"), **choice, **arguments
        )
        if report.errors:
            raise worst_of(report.errors.values())
        return _shown(list(report.reports.values()))
    if database is None:
        raise SqlError("a table is named without its database", "sys.clone", "Add database => '…'.")
    goal = f"{call.get('target_database') or database}.{call.get('target_table') or table}"
    source = call.session.table((database, table))
    return _shown([clone(source, target, goal, **arguments, **call.passed("snapshot_id", "tag"))])


def _target(call: Call) -> Catalog:
    """The catalog of the target; without a configuration it is the source's."""
    given: dict[str, str] = call.get("target_catalog_conf") or {}
    return open_metastore({**call.session.current().options, **given}) if given else call.session.current()


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
            Parameter("target_database", text),
            Parameter("target_table", text),
            Parameter("target_catalog_conf", options),
            Parameter("parallelism", number),
            Parameter("included_tables", names),
            Parameter("excluded_tables", names),
            Parameter("snapshot_id", number),
            Parameter("tag", text),
            DRY_RUN,
        ),
        _clone,
    ),
)
