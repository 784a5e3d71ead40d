"""Compaction of many tables, and object tables."""

from collections.abc import Callable

import pyarrow as pa

from maintenance.errors import SqlError, worst_of
from maintenance.operations import compact_database
from maintenance.operations.compaction.compact import check_groups, due_groups
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.databases.compact_database import (
    COMPACT_DATABASE,
    CompactDatabaseReport,
    TableChoice,
    apply_compact_database,
    plan_compact_database,
)
from maintenance.operations.parameters import Parameter, one_of, options, period, text
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import DRY_RUN, TABLE, Call, Planning, Procedure
from maintenance.sql.result import Result
from maintenance.table.object_table import ObjectTable
from maintenance.table.table import Table


def _compact_database(call: Call) -> Result:
    choice = TableChoice(
        call.get("including_databases", ".*"), call.get("including_tables", ".*"), call.get("excluding_tables")
    )
    report = compact_database(
        call.session.spark,
        call.session.current(),
        choice,
        full=call.get("compact_strategy") == "full",
        opened=_opening(call),
        progress=call.progress,
        **call.passed("partition_idle_time", "dry_run"),
    )
    return _of_tables(report)


def _of_tables(report: CompactDatabaseReport) -> Result:
    if report.errors:
        raise worst_of(report.errors.values())
    for each in report.reports.values():
        check_groups(each)
    changed = any(each.snapshot_ids or (each.dry_run and due_groups(each)) for each in report.reports.values())
    return Result(pa.table({"tables": pa.array([len(report.reports)], pa.int64())}), nothing_to_do=not changed)


def _opening(call: Call) -> Callable[[Table], Table]:
    """Gives each table the options of the call."""
    chosen = call.get("options") or {}
    return lambda table: table.copy(chosen)


def _plan_compact_database(call: Call) -> StoredPlan:
    choice = TableChoice(
        call.get("including_databases", ".*"), call.get("including_tables", ".*"), call.get("excluding_tables")
    )
    request = CompactRequest(full=call.get("compact_strategy") == "full", **call.passed("partition_idle_time"))
    return plan_compact_database(call.session.current(), choice, request, opened=_opening(call))


def _apply_compact_database(call: Call, plan: StoredPlan) -> Result:
    catalog = call.session.current()
    report = apply_compact_database(call.session.spark, catalog, plan, opened=_opening(call), progress=call.progress)
    return _of_tables(report)


def _refresh_object_table(call: Call) -> Result:
    """Object tables list their folder at each read, so there is nothing to refresh."""
    view = call.session.view(path_of(call.get("table")))
    if not isinstance(view, ObjectTable):
        raise SqlError(f"'{call.get('table')}' is not an object table", "sys.refresh_object_table", "Name one.")
    return call.done()


PROCEDURES = (
    Procedure(
        "compact_database",
        (
            Parameter("including_databases", text),
            # Whether Flink runs one job or one for each table; here tables follow each other either way.
            Parameter("mode", one_of("divided", "combined")),
            Parameter("including_tables", text),
            Parameter("excluding_tables", text),
            Parameter("options", options, others=("table_options",)),
            Parameter("partition_idle_time", period),
            Parameter("compact_strategy", one_of("full", "minor")),
            DRY_RUN,
        ),
        _compact_database,
        planning=Planning(COMPACT_DATABASE, _plan_compact_database, _apply_compact_database),
    ),
    Procedure("refresh_object_table", (TABLE,), _refresh_object_table),
)
