"""The morning's page: what was done in a span of time, what failed, what is open now and whose it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg

from maintenance.errors import OptionError
from maintenance.operations.history import history_table
from maintenance.operations.report import Deed, Report, StillOpen, open_problems, report
from maintenance.options.option import duration
from maintenance.threads import map_in_threads
from paimon_maintenance.assets.checks.judging import see
from paimon_maintenance.assets.pages.fleet import ILL
from paimon_maintenance.console.fleet import Line
from paimon_maintenance.console.lake import Known

# The night ends with the hour in which people come.
_MORNING = 8
_NIGHT = timedelta(hours=14)
_RUNS = 200
# Of so many tables each failing check is told, with its next step.
_JUDGED, _READERS = 30, 8


@dataclass(frozen=True, slots=True)
class LostRun:
    """A failed run that left nothing in the history: it died, or failed before its first step."""

    run_id: str
    job: str
    at: datetime


@dataclass(frozen=True, slots=True)
class NightView:
    """The page. `by_table`: what was done to each table, those with failures first."""

    report: Report
    by_table: Sequence[tuple[str, Sequence[Deed]]]
    lost: Sequence[LostRun]
    since_text: str
    until_text: str


def span_of(query: Mapping[str, str], now: datetime) -> tuple[datetime, datetime]:
    """The span that the address names: `since` as a duration back from now or a moment, `until` a moment.

    Without one, the last night: from 18:00 to 08:00 UTC, or to now while it lasts. Raises: OptionError.
    """
    since, until = query.get("since", "").strip(), query.get("until", "").strip()
    end = _moment(until) if until else now
    if not since and not until:
        morning = now.replace(hour=_MORNING, minute=0, second=0, microsecond=0)
        begun = morning - _NIGHT if now.hour < morning.hour + 10 else morning + timedelta(hours=10)
        return begun, now
    if not since:
        return end - timedelta(days=1), end
    begin = _moment(since) if "-" in since else end - _duration(since)
    if begin >= end:
        raise OptionError(f"{since} is not before {until or 'now'}", "since", "Choose an earlier beginning.")
    return begin, end


def night_view(
    known: Known, instance: dg.DagsterInstance, lines: Sequence[Line], query: Mapping[str, str], now: datetime
) -> NightView:
    """The page. `lines`: all tables as they stand now. Raises: OptionError: of the span."""
    since, until = span_of(query, now)
    still_open = _still_open(known, lines, now)
    history = known.project.history
    if history is None:
        found = Report(since, until, (), still_open)
    else:
        found = report(known.catalog.open(), history_table(history), since, until, still_open)
    by_table: dict[str, list[Deed]] = {}
    for deed in found.deeds:
        by_table.setdefault(deed.table, []).append(deed)
    ranked = sorted(by_table.items(), key=lambda one: (not any(deed.has_failed for deed in one[1]), one[0]))
    lost = _lost(instance, since, until, {deed.run_id for deed in found.deeds})
    return NightView(found, ranked, lost, f"{since:%Y-%m-%dT%H:%M}", f"{until:%Y-%m-%dT%H:%M}")


def _still_open(known: Known, lines: Sequence[Line], now: datetime) -> list[StillOpen]:
    """What is wrong, the most urgent table first: of the first ones each failing check with its next step."""
    ranked = sorted((line for line in lines if line.state in ILL), key=lambda line: line.rank)
    judged = map_in_threads(lambda line: _failing(known, line, now), ranked[:_JUDGED], _READERS)
    return [each for found in judged for each in found] + [_open(line) for line in ranked[_JUDGED:]]


def _failing(known: Known, line: Line, now: datetime) -> list[StillOpen]:
    """The checks of a table that fail now; what the sensor last found where they cannot be judged."""
    try:
        judgements = see(known.catalog, line.config, now, automation=known.automation, zone=known.zone).judgements
    except Exception:  # noqa: BLE001 - what is known of it is told all the same
        return [_open(line)]
    return open_problems(line.name, judgements, ", ".join(line.config.owners))


def _open(line: Line) -> StillOpen:
    problem = "" if line.row is None else line.row.problems or line.state
    fix = "Open the table: each failing check names its next step."
    return StillOpen(line.name, problem, fix, ", ".join(line.config.owners))


def _lost(instance: dg.DagsterInstance, since: datetime, until: datetime, known: set[str]) -> list[LostRun]:
    chosen = dg.RunsFilter(statuses=[dg.DagsterRunStatus.FAILURE], created_after=since, created_before=until)
    records = instance.get_run_records(chosen, limit=_RUNS)
    return [
        LostRun(record.dagster_run.run_id, record.dagster_run.job_name, record.create_timestamp)
        for record in records
        if record.dagster_run.run_id not in known
    ]


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        fix = "Write it as 2026-01-31T18:00, in UTC, or as a duration such as 12 h."
        raise OptionError(f"'{text}' is not a moment", "since or until", fix) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _duration(text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError as error:
        fix = "Write a duration such as 12 h, or a moment such as 2026-01-31T18:00."
        raise OptionError(f"'{text}' is neither a duration nor a moment", "since", fix) from error
