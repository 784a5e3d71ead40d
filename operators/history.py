"""What tasks did, as rows of the history table that Dagster's runs write, too; that never fails a task."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from datetime import UTC, datetime
from typing import Any

from maintenance.catalog import Catalog, CatalogTable
from maintenance.errors import PaimonError
from maintenance.operations.history import (
    FAILED,
    HistoryEntry,
    Used,
    bytes_of,
    history_table,
    history_unless_it_fails,
)
from maintenance.table.shape import TableShape, table_shape
from paimon_maintenance.assets.runs.summary import report_numbers

_LOG = logging.getLogger(__name__)


@contextmanager
def kept_in_history(
    catalog: Catalog, database: str | None, table: CatalogTable, operation: str, run: str
) -> Iterator[Callable[[Any], None]]:
    """While an operation works on a table: what is noted of it, or that it failed, becomes a row of the history.

    Args: `database`: of the history; None: there is none; `run`: what did it.
    Gives: what notes the operation's report; where nothing is noted, nothing is written.
    """
    if database is None or table.identifier.partition(".")[0] == database:
        yield lambda _: None
        return
    reports: list[Any] = []
    started, used, before = time.monotonic(), Used.so_far(), _shape(table)
    try:
        yield reports.append
    except Exception as error:
        found = f"{error.found} ({error.where})" if isinstance(error, PaimonError) else str(error)
        failed = HistoryEntry(datetime.now(UTC), table.identifier, operation, FAILED, run, details={"found": found})
        _write(catalog, database, failed)
        raise
    for report in reports:
        after, numbers = _shape(table), report_numbers(report) if is_dataclass(report) else {}
        done = HistoryEntry(
            datetime.now(UTC),
            table.identifier,
            operation,
            run_id=run,
            seconds=numbers.get("seconds", time.monotonic() - started),
            snapshot_id=getattr(after, "snapshot_id", None),
            input_bytes=bytes_of(numbers),
            files_before=getattr(before, "files", None),
            files_after=getattr(after, "files", None),
            bytes_before=getattr(before, "bytes", None),
            bytes_after=getattr(after, "bytes", None),
            details={**used.until_now(), **numbers, "reason": run},
        )
        _write(catalog, database, done)


def _shape(table: CatalogTable) -> TableShape | None:
    """The table now; None where it cannot be read, which the operation itself is to tell."""
    try:
        return table_shape(table)
    except (PaimonError, OSError):
        return None


def _write(catalog: Catalog, database: str, entry: HistoryEntry) -> None:
    unwritten = history_unless_it_fails(catalog, history_table(database), [entry])
    if unwritten:
        _LOG.warning(unwritten)
