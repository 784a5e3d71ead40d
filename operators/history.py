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
from maintenance.operations.history import FAILED, HistoryEntry, Used, history_table, write_history
from maintenance.table.shape import table_shape
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
    started, used, before = time.monotonic(), Used.so_far(), table_shape(table)
    try:
        yield reports.append
    except Exception as error:
        found = f"{error.found} ({error.where})" if isinstance(error, PaimonError) else str(error)
        failed = HistoryEntry(datetime.now(UTC), table.identifier, operation, FAILED, run, details={"found": found})
        _write(catalog, database, failed)
        raise
    for report in reports:
        after, numbers = table_shape(table), report_numbers(report) if is_dataclass(report) else {}
        done = HistoryEntry(
            datetime.now(UTC),
            table.identifier,
            operation,
            run_id=run,
            seconds=numbers.get("seconds", time.monotonic() - started),
            snapshot_id=after.snapshot_id,
            input_bytes=_bytes_of(numbers),
            files_before=before.files,
            files_after=after.files,
            bytes_before=before.bytes,
            bytes_after=after.bytes,
            details={**used.until_now(), **numbers, "reason": run},
        )
        _write(catalog, database, done)


def _bytes_of(numbers: dict[str, int | float]) -> int | None:
    """What an operation has read or deleted, as its report calls it."""
    found = next((numbers[name] for name in ("input_bytes", "deleted_bytes", "bytes") if name in numbers), None)
    return None if found is None else int(found)


def _write(catalog: Catalog, database: str, entry: HistoryEntry) -> None:
    history = history_table(database)
    try:
        write_history(catalog, history, [entry])
    except Exception as error:  # noqa: BLE001 - the work is done, whether or not it could be written down
        _LOG.warning("The history table %s could not be written: %s", history, error)
