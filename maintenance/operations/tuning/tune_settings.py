"""Set what is sure to be better, watch it for a week, and take it back where it is measured worse: `tune_settings`.

Each call goes one step: it begins a change, finishes one that was interrupted, or judges one whose week is over. All
that a step needs stands in the history before anything is altered, so it can be called again after any failure. Who
sets the option meanwhile has the last word: it is left alone from then on.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any

from maintenance.errors import OptionError, SchemaError
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.schema_change import ExpectOption, RemoveOption, SetOption
from maintenance.operations.history import (
    HISTORY_DATABASE,
    HistoryEntry,
    history_table,
    read_history,
    read_span,
    write_history,
)
from maintenance.operations.operation import Operation, OperationReport, Run, Shown
from maintenance.operations.parameters import Param, Value, text
from maintenance.operations.tuning.measured import FEWEST_COMMITS, Measured, measure
from maintenance.operations.tuning.simulate_settings import SNAPSHOTS
from maintenance.operations.tuning.sure_settings import RETENTION, Bounds, bounds_of, choose
from maintenance.operations.tuning.watched import TUNE_SETTINGS, Change, Step, changes_of
from maintenance.table.table import Table

WATCH = timedelta(days=7)
_LONGEST = timedelta(days=28)
"""What cannot be judged by then is taken back."""
_NOT_AGAIN = timedelta(days=180)
"""For so long a value that was taken back is not set again."""
_ROWS = 2000
NONE, WAITS = "nothing", "waits"


def bounds_from(value: Value) -> dict[str, Bounds]:
    """``option=least,most;other=least,most``; or a list of such texts, or a mapping. Raises: ValueError."""
    if isinstance(value, Mapping):
        return bounds_of({str(key): pair.split(",") if isinstance(pair, str) else pair for key, pair in value.items()})
    parts = [part for each in (value if isinstance(value, list) else [value]) for part in text(each).split(";")]
    pairs = [part.partition("=") for part in parts if part.strip()]
    return bounds_of({key.strip(): bounds.split(",") for key, _, bounds in pairs})


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """Of which table, and within which bounds. `leave`: options that are not set, and why."""

    table: Annotated[str, Param("The table, as database.table.")]
    bounds: Annotated[
        Mapping[str, Bounds] | None,
        Param(
            "Least and most of options: snapshot.time-retained=1 h,7 d;num-sorted-run.compaction-trigger=3,8. What is "
            "retained is only tuned within such bounds.",
            read=bounds_from,
            repeats=True,
        ),
    ] = None
    snapshots: Annotated[int, Param("How many of the newest snapshots to try settings on.", least=1)] = SNAPSHOTS
    history: Annotated[str, Param("The database of the history.")] = HISTORY_DATABASE
    leave: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class TuningReport(OperationReport):
    """What is done, or would be.

    Attributes:
        step: of a change, in words; ``waits``: its week is not over; ``nothing``: there is nothing to do.
        change: what; empty: there is none. reason: why.
    """

    table: str
    step: str
    reason: str
    change: str = ""


@dataclass(frozen=True, slots=True)
class TuningPlan:
    """What is to be done to a table. `change`: with the step that comes next; None = nothing is."""

    request: TuneSettings
    report: TuningReport
    table: Table
    change: Change | None = None
    more: Mapping[str, Any] | None = None
    others: Sequence[Change] = ()
    of = None
    warnings = ()

    def groups(self) -> tuple[()]:
        return ()


def plan(run: Run, catalog: Catalog, request: TuneSettings) -> TuningPlan:
    """What comes next."""
    table = _table(catalog, request)
    changes = changes_of(read_history(catalog, history_table(request.history), request.table, TUNE_SETTINGS, _ROWS))
    unfinished = [each for each in changes if not each.step.is_last]
    if not unfinished:
        return _new(run, catalog, request, table, changes)
    active, *others = unfinished
    step, reason, more = _following(run, catalog, request, table, active)
    report = TuningReport(table.identifier, WAITS if step is None else step.text, reason, active.text)
    following = None if step is None else replace(active, step=step)
    return TuningPlan(request, report, table, following, more, others)


def _table(catalog: Catalog, request: TuneSettings) -> Table:
    table = catalog.get_table(request.table)
    if not isinstance(table, Table):
        raise OptionError("it is no table of Paimon with data of its own", request.table, "Name another table.")
    return table


def _new(run: Run, catalog: Catalog, request: TuneSettings, table: Table, changes: Sequence[Change]) -> TuningPlan:
    """A change to begin."""

    def nothing(why: str) -> TuningPlan:
        return TuningPlan(request, TuningReport(table.identifier, NONE, why), table)

    before = _measure(run, catalog, request, table, since=run.moment - WATCH)
    if before is None or not before.is_enough:
        found = 0 if before is None else before.commits
        return nothing(f"the snapshots of the last week hold {found} commits: fewer than {FEWEST_COMMITS} say nothing")
    refused = [
        (each.key, each.after) for each in changes if each.step == Step.TAKEN_BACK and run.moment - each.at < _NOT_AGAIN
    ]
    leave = {each.key: "somebody has set it while it was watched" for each in changes if each.by_others}
    run.progress("settings are tried")
    choice = choose(table, request.bounds or {}, {**(request.leave or {}), **leave}, refused, request.snapshots)
    if not choice.key:
        return nothing(choice.reason)
    now = run.moment
    change = Change(
        f"{choice.key}@{now.isoformat(timespec='milliseconds')}",
        choice.key,
        table.schema.options.get(choice.key),
        choice.value,
        Step.APPLYING,
        now,
        table.schema.id,
        table.snapshots.latest_id() or 0,
        before,
        now,
    )
    report = TuningReport(table.identifier, Step.APPLYING.text, choice.reason, change.text)
    more = {"measured": asdict(before), "options": dict(table.schema.options)}
    return TuningPlan(request, report, table, change, more)


def _following(
    run: Run, catalog: Catalog, request: TuneSettings, table: Table, change: Change
) -> tuple[Step | None, str, Mapping[str, Any]]:
    """The step of a change that comes next, None = none yet; why; and what is written down with it."""
    value, others = table.schema.options.get(change.key), {"by_others": True}
    found = "unset" if value is None else f"'{value}'"
    by_others = Step.ENDED, f"somebody else has set it: it is {found} now, and is left alone from here on", others
    if change.step == Step.APPLYING:
        if value == change.after:
            return Step.WATCHED, "it was set, and then the run was interrupted", {}
        if value != change.before or change.was_set(table, change.after):
            return by_others
        return Step.WATCHED, "the run was interrupted before it was set", {}
    if change.step == Step.TAKING_BACK:
        if value == change.before:
            return Step.TAKEN_BACK, "it was taken back, and then the run was interrupted", {}
        if value != change.after or change.was_set(table, change.before):
            return by_others
        return Step.TAKEN_BACK, "the run was interrupted before it was taken back", {}
    if value != change.after:
        return by_others
    return _judged(run, catalog, request, table, change)


def _judged(
    run: Run, catalog: Catalog, request: TuneSettings, table: Table, change: Change
) -> tuple[Step | None, str, Mapping[str, Any]]:
    began = change.applied_at or change.begun_at
    until = began + WATCH
    if run.moment < until:
        return None, f"it is watched until {until:%Y-%m-%d %H:%M} UTC", {}
    after = _measure(run, catalog, request, table, first_id=change.snapshot_id + 1)
    before = change.measured
    told = {} if after is None else {"measured": asdict(after)}
    if after is None or not after.is_enough or not after.is_like(before):
        few = after is None or not after.is_enough
        why = "too few commits came since then" if few else "commits are of another size than before"
        if run.moment - began < _LONGEST:
            return None, f"{why} to judge it: it is watched on", told
        return Step.TAKING_BACK, f"in {_LONGEST.days} days it could not be judged: {why}", told
    if change.key not in RETENTION:
        # What is retained goes by the time of day and the last expiry.
        after = replace(after, retained=before.retained)
    worse = after.worse_than(before)
    if worse:
        return Step.TAKING_BACK, f"measured worse: {'; '.join(worse)}", told
    return Step.KEPT, f"measured no worse: {after.text}; before: {before.text}", told


def _measure(
    run: Run, catalog: Catalog, request: TuneSettings, table: Table, *, first_id: int = 1, since: datetime | None = None
) -> Measured | None:
    history = history_table(request.history)
    past = read_span(catalog, history, run.moment - _LONGEST, table_name=table.identifier)[0]
    return measure(table, past, first_id, 0 if since is None else int(since.timestamp() * 1000))


def apply(run: Run, catalog: Catalog, planned: TuningPlan) -> TuningReport:
    """Go that step."""
    change = planned.change
    for other in planned.others:
        reason = "another change was begun at the same time"
        _write(catalog, planned, [other.entry(planned.table, Step.ENDED, reason, run.moment)])
    if change is None:
        return planned.report
    try:
        done = _gone(run, catalog, planned, change)
    except SchemaError:
        # Somebody else was faster, or such a value is not allowed.
        table = _table(catalog, planned.request)
        if table.schema.options.get(change.key) in (change.before, change.after):
            raise
        reason = "somebody else has set it meanwhile: it is left alone from here on"
        _write(catalog, planned, [change.entry(planned.table, Step.ENDED, reason, run.moment, by_others=True)])
        done = replace(planned.report, step=Step.ENDED.text, reason=reason)
    return done


def _gone(run: Run, catalog: Catalog, planned: TuningPlan, change: Change) -> TuningReport:
    report, table, now = planned.report, planned.table, run.moment

    def write(step: Step, reason: str, **more: Any) -> None:
        _write(catalog, planned, [change.entry(_table(catalog, planned.request), step, reason, now, **more)])

    if change.step == Step.APPLYING:
        write(Step.APPLYING, report.reason, **(planned.more or {}))
        first = next(each for each in _changes(catalog, planned) if not each.step.is_last)
        if first.id != change.id:
            reason = f"another change was begun at the same time: {first.text}"
            write(Step.ENDED, reason)
            return replace(report, step=Step.ENDED.text, reason=reason)
        _set(catalog, table, change.key, change.before, change.after)
        write(Step.WATCHED, report.reason)
        return replace(report, step=Step.WATCHED.text)
    if change.step == Step.WATCHED:
        if table.schema.options.get(change.key) != change.after:
            _set(catalog, table, change.key, change.before, change.after)
        write(Step.WATCHED, report.reason)
        return report
    if change.step in (Step.TAKING_BACK, Step.TAKEN_BACK):
        if change.step == Step.TAKING_BACK:
            write(Step.TAKING_BACK, report.reason, **(planned.more or {}))
        if table.schema.options.get(change.key) != change.before:
            _set(catalog, table, change.key, change.after, change.before)
        write(Step.TAKEN_BACK, report.reason)
        return replace(report, step=Step.TAKEN_BACK.text)
    write(change.step, report.reason, **(planned.more or {}))
    return report


def _changes(catalog: Catalog, planned: TuningPlan) -> list[Change]:
    history = history_table(planned.request.history)
    return changes_of(read_history(catalog, history, planned.request.table, TUNE_SETTINGS, _ROWS))


def _write(catalog: Catalog, planned: TuningPlan, entries: Sequence[HistoryEntry]) -> None:
    write_history(catalog, history_table(planned.request.history), entries)


def _set(catalog: Catalog, table: Table, key: str, expected: str | None, value: str | None) -> None:
    """Raises: SchemaError: the option has another value than expected."""
    change = RemoveOption(key) if value is None else SetOption(key, value)
    catalog.alter_table(table.identifier, [ExpectOption(key, expected), change])


def _shown(report: TuningReport) -> Shown:
    row = {name: getattr(report, name) for name in ("table", "step", "change", "reason")}
    return Shown.one(row, nothing_to_do=report.step in (NONE, WAITS))


def _said(report: TuningReport) -> Iterable[str]:
    yield f"{report.change or 'No change'}: {report.step}, {report.reason}."


OPERATION = Operation(
    "tune_settings",
    "Set an option that is sure to be better, watch it for a week, and revert it if it is measured worse.",
    TuneSettings,
    plan,
    apply,
    _shown,
    said=_said,
    of_catalog=True,
    has_plans=False,
    has_job=False,
)


def tune_settings(
    catalog: Catalog,
    table: str,
    bounds: Mapping[str, Sequence[str]] | None = None,
    *,
    snapshots: int = SNAPSHOTS,
    history: str = HISTORY_DATABASE,
    leave: Mapping[str, str] | None = None,
    dry_run: bool = False,
    now: datetime | None = None,
) -> TuningReport:
    """Take one step in tuning a table: make a change, watch it, then keep it or revert it.

    Args: `bounds`: least and most of options, without which what is retained is left alone; `snapshots`: how many of
        the last ones settings are tried on; `history`: its database; `leave`: options that are not set, and why;
        `now`: None = the current time.
    Raises: OptionError: bounds that are none; NotFoundError: no such table; as writing the history.
    """
    try:
        read = bounds_of(bounds or {})
    except ValueError as error:
        raise OptionError(str(error), "bounds of tune_settings", "Correct them.") from error
    request = TuneSettings(table, read, snapshots, history, leave)
    return OPERATION.run(Run(now=now), catalog, request, dry_run=dry_run)
