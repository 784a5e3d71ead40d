"""Other tables become tables of Paimon."""

from dataclasses import asdict
from typing import Any

import pyarrow as pa

from maintenance.errors import SqlError
from maintenance.operations import migrate_table
from maintenance.sql.procedures.procedure import DRY_RUN, Call, Parameter, Procedure, number, options, text, truth
from maintenance.sql.result import Result
from maintenance.table.format_table import FormatTable

_SOURCES = ("hive",)
_WHERE = "sys.migrate_table"


def _migrate(call: Call) -> Result:
    kind = call.get("connector")
    if kind.lower() not in _SOURCES:
        raise SqlError(
            f"tables of '{kind}' cannot be migrated", _WHERE, "Use 'hive', for format tables and Hive's own."
        )
    path = tuple(call.get("source_table").split("."))
    source, name = call.session.view(path), call.session.table_name(path)
    if not isinstance(source, FormatTable):
        raise SqlError(f"'{'.'.join(path)}' is not a format table", _WHERE, "Name a table of plain files.")
    target = call.get("target_table")
    if target is None:
        problem = "the new table has no name: it does not take that of its source here"
        raise SqlError(problem, _WHERE, "Add target_table => 'database.table', and rename it later.")
    goal = call.session.table_name(tuple(target.split(".")))
    if goal.catalog != name.catalog:
        raise SqlError("the target is in another catalog", _WHERE, "Name a table of the source's catalog.")
    given = {**(call.get("options") or {}), **(call.get("options_map") or {})}
    arguments = call.passed("delete_origin", "parallelism", "dry_run")
    catalog = call.session.catalog_of(name.catalog)
    report = migrate_table(source, catalog, goal.identifier, options=given, **arguments)
    row: dict[str, Any] = {key: value for key, value in asdict(report).items() if key in _COLUMNS}
    done = report.snapshot_id is not None or report.origin_deleted or (report.dry_run and report.files)
    return Result(pa.Table.from_pylist([row], pa.schema(_COLUMNS.items())), nothing_to_do=not done)


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
}

PROCEDURES = (
    Procedure(
        "migrate_table",
        (
            Parameter("connector", text, required=True, others=("source_type",)),
            Parameter("source_table", text, required=True, others=("table",)),
            Parameter("options", options),
            Parameter("target_table", text),
            Parameter("delete_origin", truth),
            Parameter("options_map", options),
            Parameter("parallelism", number),
            DRY_RUN,
        ),
        _migrate,
        spark=(
            "connector",
            "source_table",
            "options",
            "delete_origin",
            "target_table",
            "options_map",
            "parallelism",
        ),
    ),
)
