"""What `paimonctl report` prints: what maintenance did, and what is wrong now with the tables of the catalog."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from maintenance.catalog import Catalog
from maintenance.cli.fleet import Name, for_each
from maintenance.errors import NotFoundError
from maintenance.operations.fleet.health import Judge, JudgedBy
from maintenance.operations.history import history_table
from maintenance.operations.report import Deed, Report, StillOpen, open_problems, past_lines, report
from maintenance.spelling import suggestion

if TYPE_CHECKING:
    from maintenance.project.config import Project

_COLUMNS = 100


def report_since(
    catalog: Catalog, database: str, back: timedelta, names: Iterable[Name], project: "Project | None" = None
) -> Report:
    """The report of a time up to now.

    Args: `database`: of the history; `names`: of all tables; `project`: names owners and limits.
    """
    now = datetime.now(UTC)
    others = [name for name in names if name[0] != database]
    judge = Judge(catalog, _judged_by(project, database))

    def look(name: Name) -> list[StillOpen]:
        identifier = ".".join(name)
        described = None if project is None else project.table(identifier)
        who = "" if described is None else ", ".join(described.owners)
        try:
            judgements = judge.judgements(identifier, now)
        except NotFoundError:
            return []  # it was dropped since
        return open_problems(identifier, judgements, who)

    missing = [] if project is None else list(_missing(project, [".".join(name) for name in others]))
    still_open = [*missing, *(each for open_here in for_each(look, others) for each in open_here)]
    return report(catalog, history_table(database), now - back, now, still_open)


def _judged_by(project: "Project | None", history: str) -> JudgedBy:
    if project is None:
        return JudgedBy(history=history)
    from maintenance.project.given import judged_by

    return replace(judged_by(project), history=history)


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


def content_of(found: Report) -> dict[str, Any]:
    """The report as JSON can hold it."""
    return {
        "since": found.since.isoformat(timespec="seconds"),
        "until": found.until.isoformat(timespec="seconds"),
        "summary": found.summary,
        "operations": past_rows(found.deeds),
        "open": [asdict(each) for each in found.still_open],
    }


def _missing(project: "Project", known: Sequence[str]) -> Iterator[StillOpen]:
    """Tables that tables.yaml names and the catalog has not, except those that a first run creates."""
    for table in project.tables:
        name = table.identifier
        if name not in known and not table.columns:
            problem = f"readable: table '{name}' does not exist.{suggestion(name, known)}"
            yield StillOpen(name, problem, "Correct its name in tables.yaml.", ", ".join(table.owners))
