"""What `paimonctl report` prints: what maintenance did, and what is wrong now with the tables that it worked on."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from shutil import get_terminal_size
from typing import Any

from maintenance.catalog import Catalog, CatalogTable
from maintenance.cli.fleet import judged
from maintenance.errors import NotFoundError, PaimonError
from maintenance.monitor.triggers import judge
from maintenance.operations.history import history_table
from maintenance.operations.report import Deed, Report, StillOpen, lines_of, past_lines, report
from maintenance.table.shape import table_shape

_COLUMNS = 100


def report_since(catalog: Catalog, database: str, back: timedelta) -> Report:
    """The report of a time up to now. `database`: of the history."""
    now = datetime.now(UTC)
    found = report(catalog, history_table(database), now - back, now)
    still_open = [each for name in found.tables for each in _open(catalog, name, database)]
    return Report(found.since, found.until, found.deeds, still_open, found.left_out)


def past(catalog: Catalog, database: str, back: timedelta, table: str | None) -> Sequence[Deed]:
    """The operations of a time up to now, newest first. `database`: of the history; `table`: of this one alone."""
    now = datetime.now(UTC)
    found = report(catalog, history_table(database), now - back, now)
    return [deed for deed in found.deeds if table in (None, deed.table)]


def past_text(deeds: Sequence[Deed]) -> str:
    """Operations as text for a terminal, of 100 columns at most."""
    return "\n".join(past_lines(deeds, min(_COLUMNS, get_terminal_size((_COLUMNS, 24)).columns)))


def past_rows(deeds: Sequence[Deed]) -> list[dict[str, Any]]:
    """Operations as JSON can hold them."""
    return [{**asdict(deed), "at": deed.at.isoformat(timespec="seconds")} for deed in deeds]


def text_of(found: Report) -> str:
    """The report as text."""
    return "\n".join(lines_of(found))


def content_of(found: Report) -> dict[str, Any]:
    """The report as JSON can hold it."""
    return {
        "since": found.since.isoformat(timespec="seconds"),
        "until": found.until.isoformat(timespec="seconds"),
        "summary": found.summary,
        "operations": past_rows(found.deeds),
        "open": [asdict(each) for each in found.still_open],
    }


def _open(catalog: Catalog, identifier: str, history: str) -> Iterator[StillOpen]:
    try:
        table = catalog.get_table(identifier)
        if not isinstance(table, CatalogTable):
            return
        judgements = judged(catalog, table, None, history)
        need = judge(table, table_shape(table))
    except NotFoundError:
        return  # it was dropped since
    except PaimonError as error:
        yield StillOpen(identifier, error.found, error.fix)
        return
    for judgement in judgements:
        if not judgement.passed:
            yield StillOpen(identifier, f"{judgement.check}: {judgement.summary}", judgement.fix)
    if need.due:
        yield StillOpen(identifier, f"a compaction is due: {need.reason}", f"Run paimonctl compact {identifier}.")
