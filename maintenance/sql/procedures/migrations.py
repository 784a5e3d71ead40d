"""Other tables become tables of Paimon."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from maintenance.errors import NotFoundError, SqlError, worst_of
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.warehouse import known_folder
from maintenance.operations import migrate_database, migrate_table
from maintenance.operations.bin.run import BinRun
from maintenance.operations.databases.migrate_database import (
    MIGRATE_DATABASE,
    Into,
    MigrateDatabaseReport,
    apply_migrate_database,
    plan_migrate_database,
)
from maintenance.operations.databases.migrate_table import apply_migrate_table, finish_migration, plan_migrate_table
from maintenance.operations.databases.migrated_origin import MIGRATE_TABLE
from maintenance.operations.databases.migration import MigrateReport
from maintenance.operations.parameters import Parameter, names, number, options, text, truth
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import DRY_RUN, INTO_BIN, Call, Planning, Procedure
from maintenance.sql.result import Result
from maintenance.table.format_table import FormatTable

_SOURCES = ("hive",)
_WHERE = "sys.migrate_table"


def _check_connector(call: Call) -> None:
    kind = call.get("connector")
    if kind.lower() not in _SOURCES:
        raise SqlError(f"tables of '{kind}' cannot be migrated", "sys", "Use 'hive', for format tables and Hive's own.")


def _migrate_table(call: Call) -> Result:
    _check_connector(call)
    try:
        source, catalog, target = _named(call)
    except NotFoundError:
        report = None if call.get("dry_run") else finish_migration(*_place(call, call.get("source_table")))
        if report is None:
            raise
        return _shown([report])
    arguments = call.passed("delete_origin", "parallelism", "dry_run")
    into = _into(call)(source) if _takes_bin(call) else None
    report = migrate_table(
        source, catalog, target, options=_options(call), into=into, progress=call.progress, **arguments
    )
    return _shown([report])


def _plan_table(call: Call) -> StoredPlan:
    _check_connector(call)
    source, catalog, target = _named(call)
    return plan_migrate_table(source, catalog, target, options=_options(call), **call.passed("delete_origin"))


def _apply_table(call: Call, plan: StoredPlan) -> Result:
    source, catalog = _source(call, plan.table)
    into = _into(call)(source) if call.get(INTO_BIN.name) and plan.arguments["delete_origin"] else None
    return _shown([apply_migrate_table(source, catalog, plan, into=into, progress=call.progress)])


def _migrate_database(call: Call) -> Result:
    _check_connector(call)
    catalog, database = _database(call)
    report = migrate_database(
        catalog,
        database,
        **_of_database(call),
        **call.passed("parallelism", "dry_run"),
        into=_into(call) if _takes_bin(call) else None,
        progress=call.progress,
    )
    return _of_tables(report)


def _plan_database(call: Call) -> StoredPlan:
    _check_connector(call)
    return plan_migrate_database(*_database(call), **_of_database(call))


def _apply_database(call: Call, plan: StoredPlan) -> Result:
    into = _into(call) if call.get(INTO_BIN.name) else None
    return _of_tables(apply_migrate_database(call.session.current(), plan, into=into, progress=call.progress))


def _of_database(call: Call) -> dict[str, Any]:
    chosen = {"included": call.get("included_tables", ()), "excluded": call.get("excluded_tables", ())}
    return {"options": _options(call), **chosen, **call.passed("delete_origin")}


def _named(call: Call) -> tuple[FormatTable, Catalog, str | None]:
    """Source, catalog and target of a call; no target: the new table takes the name of the source."""
    source, catalog = _source(call, call.get("source_table"))
    target = call.get("target_table")
    if target is None:
        if not call.get("delete_origin"):
            problem = "the source stays, so the new table needs another name"
            raise SqlError(problem, _WHERE, "Add target_table => 'database.table', or delete_origin => true.")
        return source, catalog, None
    there, goal = _place(call, target)
    if there is not catalog:
        raise SqlError("the target is in another catalog", _WHERE, "Name a table of the source's catalog.")
    return source, catalog, goal


def _source(call: Call, name: str) -> tuple[FormatTable, Catalog]:
    catalog, identifier = _place(call, name)
    source = catalog.get_table(identifier)
    if not isinstance(source, FormatTable):
        raise SqlError(f"'{name}' is not a format table", _WHERE, "Name a table of plain files.")
    return source, catalog


def _place(call: Call, name: str) -> tuple[Catalog, str]:
    found = call.session.table_name(path_of(name))
    return call.session.catalog_of(found.catalog), found.identifier


def _database(call: Call) -> tuple[Catalog, str]:
    catalog, database = call.session.database_name(path_of(call.get("source_database")))
    return call.session.catalog_of(catalog), database


def _options(call: Call) -> Mapping[str, str]:
    return {**(call.get("options") or {}), **(call.get("options_map") or {})}


def _takes_bin(call: Call) -> bool:
    return bool(call.get(INTO_BIN.name) and call.get("delete_origin") and not call.get("dry_run"))


def _into(call: Call) -> Into:
    return lambda source: BinRun.begin(source, known_folder(call.session.current()), MIGRATE_TABLE)


def _of_tables(report: MigrateDatabaseReport) -> Result:
    if report.errors:
        raise worst_of(report.errors.values())
    return _shown(list(report.reports.values()))


def _shown(reports: Sequence[MigrateReport]) -> Result:
    """A row for each table. A dry run says what would be copied."""
    rows = [{key: value for key, value in asdict(report).items() if key in _COLUMNS} for report in reports]
    done = any(
        report.snapshot_id is not None or report.origin_deleted or (report.dry_run and report.copied_files)
        for report in reports
    )
    return Result(pa.Table.from_pylist(rows, pa.schema(_COLUMNS.items())), nothing_to_do=not done)


_COLUMNS = {
    "source": pa.string(),
    "target": pa.string(),
    "snapshot_id": pa.int64(),
    "files": pa.int64(),
    "bytes": pa.int64(),
    "rows": pa.int64(),
    "copied_files": pa.int64(),
    "copied_bytes": pa.int64(),
    "digest": pa.string(),
    "origin_deleted": pa.bool_(),
    "bin_run": pa.string(),
}
_CONNECTOR = Parameter("connector", text, required=True, others=("source_type",))
_DELETE_ORIGIN = Parameter("delete_origin", truth)

PROCEDURES = (
    Procedure(
        "migrate_table",
        (
            _CONNECTOR,
            Parameter("source_table", text, required=True, others=("table",)),
            Parameter("target_table", text),
            Parameter("options", options),
            Parameter("parallelism", number),
            _DELETE_ORIGIN,
            Parameter("options_map", options),
            DRY_RUN,
            INTO_BIN,
        ),
        _migrate_table,
        planning=Planning(MIGRATE_TABLE, _plan_table, _apply_table),
    ),
    Procedure(
        "migrate_database",
        (
            _CONNECTOR,
            Parameter("source_database", text, required=True, others=("database",)),
            Parameter("options", options),
            Parameter("parallelism", number),
            Parameter("options_map", options),
            _DELETE_ORIGIN,
            Parameter("included_tables", names),
            Parameter("excluded_tables", names),
            DRY_RUN,
            INTO_BIN,
        ),
        _migrate_database,
        planning=Planning(MIGRATE_DATABASE, _plan_database, _apply_database),
    ),
)
