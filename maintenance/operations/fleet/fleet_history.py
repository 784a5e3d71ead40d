"""What runs did to a table, or to all tables: procedure and command `history`, function `fleet_history`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from shutil import get_terminal_size
from typing import Annotated, Any

import pyarrow as pa

from maintenance.amounts import seconds_text
from maintenance.metastore.catalog import Catalog
from maintenance.operations.fleet.health import BY_OWN_LIMITS, JudgedBy
from maintenance.operations.history import history_table
from maintenance.operations.operation import BY_HEALTH, Operation, Plan, Run, Shown, Spelling, as_asked
from maintenance.operations.parameters import Param, keywords_of
from maintenance.operations.report import Deed, past_lines, report

_COLUMNS = 100
_PAIR = pa.list_(pa.int64())
DEED = pa.struct(
    [("table", "string"), ("at", "string"), ("operation", "string"), ("outcome", "string"), ("why", "string"),
     ("seconds", "float64"), ("files", _PAIR), ("bytes", _PAIR), ("freed", "int64"), ("proof", "string"),
     ("run_id", "string"), ("found", "string"), ("fix", "string")]
)  # fmt: skip
"""An operation that was done, as a row."""


@dataclass(frozen=True, slots=True)
class FleetHistory:
    """What was done to which table, and since when. `settings`: as tables.yaml says, where the history is."""

    table: Annotated[str | None, Param("Only this table, as database.table; empty: all tables.", by_position=True)] = (
        None
    )
    since: Annotated[timedelta, Param("How far back to look, such as '12 h'; default: 7 days.")] = timedelta(days=7)
    history: Annotated[str | None, Param("Database of the history; empty: that of tables.yaml, or _maintenance.")] = (
        None
    )
    settings: JudgedBy = BY_OWN_LIMITS


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """Operations, newest first. `request`: what was asked for, with the database of the history."""

    deeds: Sequence[Deed]
    request: FleetHistory


def apply(run: Run, catalog: Catalog, planned: Plan[FleetHistory, None]) -> HistoryReport:
    """Read what the history has of it."""
    request, now = planned.request, run.moment
    database = request.history or request.settings.history
    table = None if request.table is None else run.table_name(catalog, request.table)[1]
    found = report(catalog, history_table(database), now - request.since, now, table=table)
    return HistoryReport(found.deeds, replace(request, history=database))


def row_of(deed: Deed) -> dict[str, Any]:
    """An operation as `DEED` has it."""
    return {**asdict(deed), "at": deed.at.isoformat(timespec="seconds")}


def _said(found: HistoryReport) -> list[str]:
    """Lines as wide as the terminal, of 100 columns at most."""
    lines = list(past_lines(found.deeds, min(_COLUMNS, get_terminal_size((_COLUMNS, 24)).columns)))
    where, since = history_table(str(found.request.history)), seconds_text(found.request.since.total_seconds())
    return lines or [f"{where} has nothing of the last {since}. Runs of Dagster and Airflow write it."]


OPERATION = Operation(
    "fleet_history",
    "List what runs of Dagster and Airflow did to a table, or to all tables, newest first.",
    FleetHistory,
    as_asked,
    apply,
    lambda found: Shown(pa.Table.from_pylist([row_of(deed) for deed in found.deeds], pa.schema(DEED.fields))),
    said=_said,
    is_told=True,
    of_catalog=True,
    looks_only=True,
    by_tables_yaml=BY_HEALTH,
    has_job=False,
    spellings=(
        Spelling("fleet_history", ""),
        Spelling("history", "List what runs of Dagster and Airflow did to a table, or to all tables, newest first."),
    ),
)


@keywords_of(FleetHistory, only=("table", "since", "history"))
def fleet_history(catalog: Catalog, request: FleetHistory, *, run: Run | None = None) -> HistoryReport:
    """List the operations in the history, newest first.

    Args: `run`: as of when.

    >>> fleet_history(catalog, table="db.t").deeds
    []
    """
    return OPERATION.run(run or Run(), catalog, request)
