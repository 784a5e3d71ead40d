"""What maintenance did, and what is wrong now with all tables: procedure and command `report`, function `fleet_report`.

The history says what was done and what failed. What is wrong now is judged, table by table, as `health` does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from itertools import chain
from typing import Annotated

import pyarrow as pa

from maintenance.metastore.catalog import Catalog
from maintenance.operations.databases.each_table import TableChoice, looked_at, tables_of
from maintenance.operations.fleet.fleet_history import DEED, row_of
from maintenance.operations.fleet.health import BY_OWN_LIMITS, Judge, JudgedBy
from maintenance.operations.history import history_table
from maintenance.operations.operation import BY_HEALTH, Operation, Plan, Run, Shown, Spelling, as_asked
from maintenance.operations.parameters import Param, keywords_of
from maintenance.operations.report import Report, StillOpen, lines_of, open_problems, report
from maintenance.spelling import suggestion

_OPEN = pa.struct([(name, "string") for name in ("table", "problem", "fix", "who")])
_ROW = pa.schema(
    [("since", "string"), ("until", "string"), ("summary", "string"), ("operations", pa.list_(DEED)),
     ("open", pa.list_(_OPEN))]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReportSpan:
    """Of how long. `settings`: by what tables are judged, and whose they are, as tables.yaml says."""

    since: Annotated[timedelta, Param("How far back to look, such as '12 h'; default: one day.")] = timedelta(days=1)
    history: Annotated[str | None, Param("Database of the history; empty: that of tables.yaml, or _maintenance.")] = (
        None
    )
    settings: JudgedBy = BY_OWN_LIMITS


def apply(run: Run, catalog: Catalog, planned: Plan[ReportSpan, None]) -> Report:
    """Read the history, and judge the tables; those that are dropped meanwhile are left out."""
    request, now = planned.request, run.moment
    by = replace(request.settings, history=request.history or request.settings.history)
    names = [name for name in tables_of(catalog, TableChoice()) if name.partition(".")[0] != by.history]
    judge = Judge(catalog, by)

    found = looked_at(names, lambda name: open_problems(name, judge.judgements(name, now), by.owners(name)))
    still_open = [*_missing(by, names), *chain.from_iterable(found)]
    return report(catalog, history_table(by.history), now - request.since, now, still_open)


def _missing(by: JudgedBy, known: Sequence[str]) -> Iterator[StillOpen]:
    for name in by.expected:
        if name not in known:
            problem = f"readable: table '{name}' does not exist.{suggestion(name, known)}"
            yield StillOpen(name, problem, "Correct its name in tables.yaml.", by.owners(name))


def _shown(found: Report) -> Shown:
    """One row with all of it."""
    row = {
        "since": found.since.isoformat(timespec="seconds"),
        "until": found.until.isoformat(timespec="seconds"),
        "summary": found.summary,
        "operations": [row_of(deed) for deed in found.deeds],
        "open": [asdict(each) for each in found.still_open],
    }
    wrong = [f"{deed.table}: {deed.operation} failed: {deed.found}" for deed in found.failed]
    wrong += [f"{each.table}: {each.problem}" for each in found.still_open]
    return Shown(pa.Table.from_pylist([row], _ROW), wrong=tuple(wrong))


OPERATION = Operation(
    "fleet_report",
    "Report what maintenance did, what failed and what is wrong now; fails if something failed or is wrong.",
    ReportSpan,
    as_asked,
    apply,
    _shown,
    said=lines_of,
    is_told=True,
    of_catalog=True,
    looks_only=True,
    by_tables_yaml=BY_HEALTH,
    has_job=False,
    spellings=(
        Spelling("fleet_report", ""),
        Spelling("report", "Report what maintenance did, what failed, and what is wrong now with all tables."),
    ),
)


@keywords_of(ReportSpan)
def fleet_report(catalog: Catalog, request: ReportSpan, *, run: Run | None = None) -> Report:
    """Report what maintenance did in the last hours or days, and what is wrong with tables now.

    Args:
        settings: limits, targets and owners of tables; without them the default limits apply.
        run: as of when.
    Raises: errors of listing the tables and of reading the history.

    >>> fleet_report(catalog).summary
    'Nothing was done; 0 open problems now.'
    """
    return OPERATION.run(run or Run(), catalog, request)
