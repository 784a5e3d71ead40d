"""What `paimonctl report` prints: what maintenance did, and what is wrong now with the tables of the catalog."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from shutil import get_terminal_size
from typing import Any

from maintenance.catalog import Catalog
from maintenance.cli.described import Described
from maintenance.cli.fleet import Name, for_each
from maintenance.cli.judged import Judge
from maintenance.errors import NotFoundError
from maintenance.operations.history import history_table
from maintenance.operations.report import Deed, Report, StillOpen, lines_of, open_problems, past_lines, report
from maintenance.spelling import suggestion

_COLUMNS = 100


def report_since(
    catalog: Catalog, database: str, back: timedelta, names: Iterable[Name], file: Described | None = None
) -> Report:
    """The report of a time up to now.

    Args: `database`: of the history; `names`: of all tables; `file`: a tables.yaml, which names owners and limits.
    """
    now = datetime.now(UTC)
    found = report(catalog, history_table(database), now - back, now)
    others = [name for name in names if name[0] != database]
    judge = Judge(catalog, database, file)

    def look(name: Name) -> list[StillOpen]:
        identifier = ".".join(name)
        who = "" if file is None else ", ".join(file.owners(identifier))
        try:
            judgements = judge(identifier)
        except NotFoundError:
            return []  # it was dropped since
        return open_problems(identifier, judgements, who)

    missing = [] if file is None else list(_missing(file, [".".join(name) for name in others]))
    still_open = [*missing, *(each for open_here in for_each(look, others) for each in open_here)]
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


def _missing(file: Described, known: Sequence[str]) -> Iterator[StillOpen]:
    """Tables that the file names and the catalog has not."""
    for name in file.maintained():
        if name not in known:
            problem = f"readable: table '{name}' does not exist.{suggestion(name, known)}"
            yield StillOpen(name, problem, "Correct its name in tables.yaml.", ", ".join(file.owners(name)))
