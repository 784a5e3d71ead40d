"""What maintenance does next, over all tables within one budget: procedure `plan_fleet`, command `paimonctl fleet`.

Metadata alone say what could be done to each table (`actions`), the history how long it takes (`estimates`), and
`ranking` what the budget is spent on. Each action that is left out has its reason, and the period in which its turn
comes. The chosen ones are carried out one after another as the operations that they are, and each is recorded.
What the history has of this period counts as spent, whoever started it.
"""

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa

from maintenance.amounts import number_of, seconds_text, size_text, time_text
from maintenance.errors import NotFoundError, OptionError, PaimonError, worst_of
from maintenance.metastore.catalog import Catalog
from maintenance.operations.bin.run import BinRun
from maintenance.operations.compaction.compact import check_groups
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.databases.each_table import Opened, TableChoice, tables_of
from maintenance.operations.fleet.actions import (
    COMPACT,
    EXPIRE,
    INDEX,
    MANIFESTS,
    Action,
    AskExpiry,
    Possible,
    not_before,
    possible,
)
from maintenance.operations.fleet.estimates import Estimate, Experience
from maintenance.operations.fleet.ranking import Allowance, Candidate, Spent, owed, ranked, spend, turns
from maintenance.operations.fleet.settings import PERIODS, Budget, FleetSettings, Gain, Weights, budget_of
from maintenance.operations.history import (
    FAILED,
    HISTORY_DATABASE,
    SUCCEEDED,
    HistoryEntry,
    Used,
    history_table,
    read_span,
    write_history,
)
from maintenance.operations.operation import BY_FLEET, Operation, OperationReport, Run, Shown, Spelling, operation
from maintenance.operations.parameters import Param, one_of
from maintenance.operations.retention.next_expiry import next_expiry
from maintenance.spark.errors import as_paimon_error
from maintenance.table.shape import table_shape
from maintenance.table.table import Table
from maintenance.threads import map_in_threads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAN_FLEET = "plan_fleet"
NOW, LATER, REFUSED, UNREAD = "now", "later", "refused", "unread"
_READERS = 4
_LEARNT_FROM = timedelta(days=90)
# Of the history, what spends the budget.
_SPENDING = (COMPACT, "compact_database", "produce_changelog", "file_index", MANIFESTS, EXPIRE)
_IN_HISTORY: Mapping[str, str] = {INDEX: "file_index"}
# What the history says of the actions of these plans.
_PLANNED = "budget of all tables"


@dataclass(frozen=True, slots=True)
class PlanFleet:
    """Which tables, and within which budget; what is left out is as `settings` say, those of tables.yaml.

    `only`: names of tables; None = all that match.
    """

    databases: Annotated[str, Param("Databases whose names match.", name="including_databases")] = ".*"
    tables: Annotated[str, Param("Tables that match, as database.table.", name="including_tables")] = ".*"
    excluded: Annotated[str | None, Param("Leave out tables that match this.", name="excluding_tables")] = None
    seconds: Annotated[int | None, Param("Maximum seconds of work in a period.", least=1)] = None
    bytes: Annotated[str | None, Param("Maximum bytes to rewrite in a period, such as 200 gb.")] = None
    per: Annotated[str | None, Param("The period: hour, day or week.", read=one_of(*PERIODS))] = None
    windows: Annotated[Sequence[str] | None, Param("Hours in which work may start, such as 22:00-06:00.")] = None
    history: Annotated[str | None, Param("Database of the history.")] = HISTORY_DATABASE
    settings: FleetSettings | None = None
    only: Sequence[str] | None = None

    @property
    def choice(self) -> TableChoice:
        return TableChoice(self.databases, self.tables, self.excluded)

    def checked(self) -> FleetSettings:
        """The settings, with what the request says in place of theirs. Raises: OptionError."""
        settings = self.settings or FleetSettings()
        given = {name: getattr(self, name) for name in ("seconds", "bytes", "per", "windows")}
        own = {name: value for name, value in given.items() if value is not None}
        try:
            budget = budget_of(own, settings.budget.time_zone)
        except ValueError as error:
            raise OptionError(str(error), "budget of plan_fleet", "Correct it.") from error
        chosen = {name: getattr(budget, name) for name in own}
        return replace(settings, budget=replace(settings.budget, **chosen))


@dataclass(frozen=True, slots=True)
class FleetLine:
    """An action of the plan.

    Attributes:
        value: its gain as one number. waited: seconds since it could have been done first.
        decision: ``now``, ``later``, ``refused``, or ``unread`` of a table that cannot be read; `reason`: why.
        purpose: why it is worth doing, whenever it is done.
        turn: when it begins, or the period in which its turn comes if nothing else comes; None: not soon.
        outcome: of an action that was carried out: ``done``, ``failed``, or ``not begun``.
        took: seconds, of one that was carried out; error: what went wrong.
        partitions: that it is limited to, columns to texts; none: it is about the table.
    """

    table: str
    operation: str
    scope: str
    gain: Gain
    value: float
    expected: Estimate
    input_bytes: int
    waited: float
    decision: str
    reason: str
    turn: datetime | None
    outcome: str = ""
    took: float | None = None
    error: PaimonError | None = None
    partitions: tuple[Mapping[str, str | None], ...] = ()
    purpose: str = ""

    @property
    def is_action(self) -> bool:
        """Whether there is something to do, now or later."""
        return self.decision in (NOW, LATER)


@dataclass(frozen=True, slots=True)
class FleetReport(OperationReport):
    """The plan, and what became of it.

    Attributes:
        begins, ends: the period. spent: of its budget, before this plan. owed: what plans of earlier periods took
            beyond their budgets, which is taken off this one.
        tables: how many were looked at.
    """

    moment: datetime
    begins: datetime
    ends: datetime
    budget: Budget
    spent_seconds: float
    spent_bytes: int
    tables: int
    lines: tuple[FleetLine, ...]
    seconds: float = 0.0
    owed: Spent = field(default_factory=Spent)

    @property
    def left(self) -> Allowance:
        """Of the budget, before this plan."""
        return self.budget.allowance.less(self.spent_seconds + self.owed.seconds, self.spent_bytes + self.owed.bytes)

    @property
    def worked(self) -> str:
        """What has spent the budget, in words."""
        before = f", and {self.owed.seconds:,.0f} s too many before it" if self.owed.seconds else ""
        return f"{self.spent_seconds:,.0f} s were worked{before}"

    @property
    def chosen(self) -> Sequence[FleetLine]:
        return [line for line in self.lines if line.decision == NOW]

    @property
    def left_out(self) -> Sequence[FleetLine]:
        return [line for line in self.lines if line.decision != NOW]

    @property
    def summary(self) -> str:
        """In one sentence."""
        actions = sum(line.is_action for line in self.lines)
        if not actions:
            return f"Nothing is to be done to {number_of(self.tables, 'table')}."
        if not self.chosen:
            first = next(line for line in self.lines if line.is_action)
            return f"None of {number_of(actions, 'action')} over {number_of(self.tables, 'table')} now: {first.reason}."
        seconds = sum(line.expected.seconds for line in self.chosen)
        gain = sum((line.gain for line in self.chosen), Gain())
        return (
            f"{len(self.chosen):,} of {number_of(actions, 'action')} over {number_of(self.tables, 'table')}, in"
            f" about {seconds:,.0f} s: readers open {number_of(gain.files, 'file')} less and"
            f" {size_text(gain.bytes)} are freed."
        )


@dataclass(frozen=True)
class FleetPlan:
    """What would be done. `actions`: those chosen, in the order of the report's lines; `names`: tables looked at."""

    request: PlanFleet
    report: FleetReport
    actions: Sequence[Action]
    opened: Opened | None
    names: Sequence[str] = ()
    of = None
    warnings = ()

    def groups(self) -> tuple[()]:
        return ()


def plan(run: Run, catalog: Catalog, request: PlanFleet, opened: Opened | None = None) -> FleetPlan:
    """Look at all tables, and choose. `opened`: what is done to each table before, such as `copy` with options."""
    started, settings, now = time.monotonic(), request.checked(), run.moment
    rows = _history(catalog, request.history, now)
    names = tables_of(catalog, request.choice) if request.only is None else request.only
    own = [name for name in names if name.partition(".")[0] != request.history]
    found, unread = _possible_of(catalog, own, now, settings, opened)
    kinds = {name: each.kind for name, each in found.items()}
    done = _last_done(rows)
    actions = [one for name, each in found.items() for one in _worth_doing(name, each, done, settings.weights)]
    begins = settings.budget.begins(now)
    spending = [row for row in rows if row["operation"] in _SPENDING]
    spent = _spent(row for row in spending if row["finished_at"] >= begins)
    ends = settings.budget.begins(now, 1)
    report = FleetReport(
        now,
        begins,
        ends,
        settings.budget,
        spent.seconds,
        spent.bytes,
        len(own),
        (),
        owed=_owed(spending, settings.budget, now),
    )
    chosen, lines = decided(actions, Experience.of(rows, kinds), settings, report)
    refused = [_without_turn(name, REFUSED, each.refused) for name, each in found.items() if each.refused]
    failed = [_without_turn(name, UNREAD, str(error), error) for name, error in unread.items()]
    made = replace(report, lines=(*lines, *refused, *failed), seconds=time.monotonic() - started)
    return FleetPlan(request, made, chosen, opened, tuple(found))


def _spent(rows: Iterable[Mapping[str, Any]]) -> Spent:
    found = list(rows)
    return Spent(
        sum(row["seconds"] or 0.0 for row in found),
        sum(row["input_bytes"] or 0 for row in found if row["operation"] != EXPIRE),
    )


def _owed(rows: Sequence[Mapping[str, Any]], budget: Budget, now: datetime) -> Spent:
    """What is taken off this period, by what was worked in those before it. `rows`: newest first."""
    if budget.allowance == Allowance():
        return Spent()
    own = [row for row in rows if _PLANNED in (row["details"] or "")]
    if not own:
        return Spent()
    starts = [budget.begins(now)]
    while starts[-1] > own[-1]["finished_at"]:
        starts.append(budget.begins(now, -len(starts)))
    starts.reverse()
    planned: list[list[Mapping[str, Any]]] = [[] for _ in starts]
    others: list[list[Mapping[str, Any]]] = [[] for _ in starts]
    for row in rows:
        number = bisect_right(starts, row["finished_at"])
        if number:
            (planned if _PLANNED in (row["details"] or "") else others)[number - 1].append(row)
    # The last one is this period itself.
    return owed([(_spent(a), _spent(b)) for a, b in zip(planned, others, strict=True)][:-1], budget.allowance)


def next_of_table(
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    settings: FleetSettings,
    now: datetime,
    expiry: AskExpiry = next_expiry,
) -> tuple[FleetLine, ...]:
    """What is worth doing to one table, the best first, as if there were neither others nor a budget.

    Args: `rows`: of its history, newest first; `expiry`: says what the next expiry frees.
    Raises: as reading metadata.
    """
    name, found = table.identifier, possible(table, now, settings.retention(table.identifier), expiry)
    actions = _worth_doing(name, found, _last_done(rows), settings.weights)
    unbounded = replace(settings, budget=Budget())
    report = FleetReport(now, now, unbounded.budget.begins(now, 1), unbounded.budget, 0.0, 0, 1, ())
    lines = decided(actions, Experience.of(rows, {name: found.kind}), unbounded, report)[1]
    return (*lines, _without_turn(name, REFUSED, found.refused)) if found.refused else tuple(lines)


def _worth_doing(
    name: str, found: Possible, done: Mapping[tuple[str, str], datetime], weights: Weights
) -> list[Action]:
    """The actions that gain something. `done`: when each operation was last done."""
    return [
        not_before(one, done.get((name, _IN_HISTORY.get(one.operation, one.operation))))
        for one in found.actions
        if one.hidden_rows or weights.of(one.gain) > 0
    ]


def decided(
    actions: Sequence[Action], experience: Experience, settings: FleetSettings, report: FleetReport
) -> tuple[list[Action], list[FleetLine]]:
    """The actions that the budget is spent on, and all of them as lines, those first. `report`: what is known."""
    budget, now = settings.budget, report.moment
    by_key = {one.key: one for one in actions}
    expected = {
        one.key: experience.seconds(one.table, _IN_HISTORY.get(one.operation, one.operation), one.input_bytes)
        for one in actions
    }
    candidates = {
        one.key: Candidate(
            one.key,
            settings.weights.of(one.gain),
            expected[one.key].seconds,
            0 if one.operation == EXPIRE else one.input_bytes,
            max(0.0, (now - one.since).total_seconds()),
            is_urgent=one.hidden_rows > 0,
        )
        for one in actions
    }
    patience, length = budget.patience.total_seconds(), budget.length.total_seconds()
    left, opens = report.left, budget.opens(now)
    allowed = left if opens <= now else Allowance(0)
    # Of a window that opens within this period, what is left is spent then.
    first = left if opens < report.ends else Allowance(0)
    everything = list(candidates.values())
    number = budget.number(now)
    turn = turns(everything, first, budget.allowance, patience=patience, period=length, first=number)
    chosen = spend(everything, allowed, patience, budget.allowance, number)
    is_now = {one.key for one in chosen}
    order = [*chosen, *(one for one in ranked(everything) if one.key not in is_now)]
    lines = []
    for one in order:
        action, later = by_key[one.key], turn.get(one.key)
        start = None if later is None else now if one.key in is_now else _begins(budget, now, later)
        reason = action.reason if one.key in is_now else _why_not(one, left, budget, opens, report)
        decision = NOW if one.key in is_now else LATER
        lines.append(_line(action, one, expected[one.key], (decision, reason, start)))
    return [by_key[one.key] for one in chosen], lines


def _begins(budget: Budget, now: datetime, number: int) -> datetime:
    return budget.opens(now if number == 0 else budget.begins(now, number))


def _line(action: Action, one: Candidate, expected: Estimate, said: tuple[str, str, datetime | None]) -> FleetLine:
    return FleetLine(
        action.table,
        action.operation,
        action.scope,
        action.gain,
        one.gain,
        expected,
        action.input_bytes,
        one.waited,
        *said,
        partitions=tuple(each.by_name() for each in action.arguments.get("partitions", ())),
        purpose=action.reason,
    )


def not_measured(table: str, operation: str, why: str) -> FleetLine:
    """Something to do to a table whose gain nobody has added up. `why`: it is worth doing."""
    return replace(_without_turn(table, NOW, why), operation=operation, purpose=why)


def _without_turn(table: str, decision: str, why: str, error: PaimonError | None = None) -> FleetLine:
    operation = "" if error is not None else COMPACT
    line = FleetLine(table, operation, "", Gain(), 0.0, Estimate(0.0, ""), 0, 0.0, decision, why, None)
    return replace(line, error=error)


def _why_not(one: Candidate, left: Allowance, budget: Budget, opens: datetime, report: FleetReport) -> str:
    """Why an action is left out, in words."""
    if opens > report.moment:
        return f"outside of the windows: the next one opens at {opens:%Y-%m-%d %H:%M} UTC"
    if left.is_spent:
        return f"the budget of this {budget.per} is spent: {report.worked}"
    if not budget.allowance.begins(one, budget.allowance):
        return (
            f"more than twice the budget of a {budget.per}: it comes once it has waited for {budget.patience.days} days"
            " and longer than all others"
        )
    if not left.begins(one, budget.allowance):
        takes, rest = (
            (size_text(one.bytes), size_text(left.bytes or 0))
            if left.seconds is None or one.seconds <= left.seconds
            else (f"{one.seconds:,.0f} s", f"{left.seconds:,.0f} s")
        )
        return f"it takes {takes}, and {rest} are left of this {budget.per}"
    return f"others that come first take the budget of this {budget.per}: this one gains {one.rate:,.2f} in a second"


def _possible_of(
    catalog: Catalog, names: Sequence[str], now: datetime, settings: FleetSettings, opened: Opened | None
) -> tuple[dict[str, Possible], dict[str, PaimonError]]:
    found: dict[str, Possible] = {}
    unread: dict[str, PaimonError] = {}

    def look(name: str) -> None:
        try:
            table = catalog.get_table(name)
            if isinstance(table, Table):
                found[name] = possible(table if opened is None else opened(table), now, settings.retention(name))
        except NotFoundError:
            return  # it is not created yet, or dropped by now
        except Exception as error:  # noqa: BLE001 - one table that cannot be read does not keep the others waiting
            unread[name] = as_paimon_error(error, f"table {name}")

    map_in_threads(look, names, _READERS)
    return {name: found[name] for name in names if name in found}, unread


def _history(catalog: Catalog, database: str | None, now: datetime) -> list[dict[str, Any]]:
    if database is None:
        return []
    return read_span(catalog, history_table(database), now - _LEARNT_FROM)[0]


def _last_done(rows: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], datetime]:
    """When each operation was last done to each table. `rows`: newest first."""
    found: dict[tuple[str, str], datetime] = {}
    for row in rows:
        if row["outcome"] == SUCCEEDED:
            found.setdefault((row["table_name"], row["operation"]), row["finished_at"])
    return found


def apply(run: Run, catalog: Catalog, planned: FleetPlan) -> FleetReport:
    """Carry out the chosen actions, the best first. One that fails does not keep the others from being done."""
    return carried_out(run, catalog, planned, lambda *_: None)


def carried_out(
    run: Run,
    catalog: Catalog,
    planned: FleetPlan,
    told: Callable[[FleetLine, HistoryEntry], None],
    *,
    run_id: str = "",
    has_bin: Callable[[str], bool] = lambda _: False,
) -> FleetReport:
    """As `apply`.

    Args: `told`: called with each action that was begun, and what the history says of it; `run_id`: of the history;
        `has_bin`: of which tables, by name, what is deleted goes into the bin, where the run does not ask for that of
        all.
    """
    report, begun = planned.report, time.monotonic()
    done: list[FleetLine] = []
    for action, line in zip(planned.actions, report.chosen, strict=True):
        if done and not _may_begin(report, line, time.monotonic() - begun):
            done.append(replace(line, outcome="not begun", reason="the work before it took longer than was expected"))
            continue
        run.progress(f"{action.key}: {line.reason}")
        started, used = time.monotonic(), Used.so_far()
        try:
            found = catalog.get_table(action.table)
            assert isinstance(found, Table)
            table = found if planned.opened is None else planned.opened(found)
            bins = operation(action.operation).takes_bin and (run.into_bin or has_bin(action.table))
            into = BinRun.begin(table, run.root(), action.operation) if bins else None
            entry = _worked(replace(run, into=into), table, action, line)
            problem = None
        except Exception as error:  # noqa: BLE001 - the edge of one action: what was done to others is still reported
            problem = as_paimon_error(error, f"table {action.table}")
            entry = _failed(action, line, problem)
        took = time.monotonic() - started
        done.append(replace(line, outcome="done" if problem is None else "failed", took=took, error=problem))
        details = {**entry.details, **used.until_now()}
        kept = replace(entry, seconds=took, run_id=run_id or None, details=details)
        _record(run, catalog, planned.request.history, kept)
        told(done[-1], kept)
        run.progress(f"{action.key}: {done[-1].outcome}, {took:.1f} s")
    seconds = report.seconds + time.monotonic() - begun
    return replace(report, lines=(*done, *report.left_out), seconds=seconds)


def _may_begin(report: FleetReport, line: FleetLine, seconds: float) -> bool:
    """Whether so many seconds of work have left enough of the budget for an action, and the window is still open."""
    now = report.moment + timedelta(seconds=seconds)
    one = Candidate(line.table, line.value, line.expected.seconds)
    return report.left.less(seconds, 0).begins(one, report.budget.allowance) and report.budget.opens(now) <= now


def _worked(run: Run, table: Table, action: Action, line: FleetLine) -> HistoryEntry:
    """Do it. Returns what the history says of it."""
    kind = operation(action.operation)
    before = table_shape(table)
    made = kind.run(run, table, kind.request(**action.arguments))
    if isinstance(made, CompactReport):
        check_groups(made)
    after = table_shape(table)
    entry = _entry(action, line)
    freed = getattr(made, "deleted_bytes", None)
    details = {**entry.details, **({} if freed is None else {"deleted_bytes": freed})}
    return replace(
        entry,
        snapshot_id=after.snapshot_id,
        files_before=before.files,
        files_after=after.files,
        bytes_before=before.bytes,
        bytes_after=after.bytes,
        details=details,
    )


def _entry(action: Action, line: FleetLine) -> HistoryEntry:
    details = {
        "reason": _PLANNED,
        "why": line.reason,
        "expected_seconds": round(line.expected.seconds, 3),
        "expected_files": line.gain.files,
    }
    return HistoryEntry(
        datetime.now(UTC),
        action.table,
        _IN_HISTORY.get(action.operation, action.operation),
        input_bytes=action.input_bytes,
        details=details,
    )


def _failed(action: Action, line: FleetLine, problem: PaimonError) -> HistoryEntry:
    entry = _entry(action, line)
    found = f"{problem.found} Next step: {problem.fix}"
    return replace(entry, outcome=FAILED, details={**entry.details, "found": found})


def _record(run: Run, catalog: Catalog, database: str | None, entry: HistoryEntry) -> None:
    if database is None:
        return
    try:
        write_history(catalog, history_table(database), [entry])
    except Exception as error:  # noqa: BLE001 - the work is done, whether or not it could be written down
        run.progress(f"The history could not be written: {error}")


def rows_of(report: FleetReport) -> pa.Table:
    """A row for each action, those that are done now first."""
    lines = report.lines
    columns = {
        "table": pa.array([line.table for line in lines], pa.string()),
        "operation": pa.array([line.operation for line in lines], pa.string()),
        "scope": pa.array([line.scope for line in lines], pa.string()),
        "purpose": pa.array([line.purpose for line in lines], pa.string()),
        "decision": pa.array([line.outcome or line.decision for line in lines], pa.string()),
        "files_less": pa.array([line.gain.files for line in lines], pa.int64()),
        "bytes_freed": pa.array([line.gain.bytes for line in lines], pa.int64()),
        "runs_less": pa.array([line.gain.runs for line in lines], pa.int64()),
        "seconds": pa.array([round(line.expected.seconds, 1) for line in lines], pa.float64()),
        "learnt_from": pa.array([line.expected.basis for line in lines], pa.string()),
        "waited_seconds": pa.array([math.floor(line.waited) for line in lines], pa.int64()),
        "turn": pa.array([line.turn and line.turn.replace(microsecond=0) for line in lines], pa.timestamp("s", "UTC")),
        "reason": pa.array([line.reason for line in lines], pa.string()),
    }
    return pa.table(columns)


def _shown(report: FleetReport) -> Shown:
    """Raises: the worst error of the actions that failed."""
    errors = [line.error for line in report.lines if line.error is not None and line.outcome]
    if errors:
        raise worst_of(errors)
    return Shown(rows_of(report), not report.chosen)


def _said(report: FleetReport) -> Iterable[str]:
    yield report.summary
    yield from (_line_said(line) for line in report.lines)


def _line_said(line: FleetLine) -> str:
    """An action: what and why, what it brings, how long it takes; if not now, why, and when its turn comes."""
    scope = f" {line.scope}" if line.scope else ""
    text = f"{line.outcome or line.decision}: {line.operation.replace('_', ' ')} {line.table}{scope}"
    if line.purpose:
        text += f": {line.purpose}"
    gains = (
        number_of(line.gain.files, "file") + " less" if line.gain.files else "",
        f"{size_text(line.gain.bytes)} freed" if line.gain.bytes else "",
        number_of(line.gain.runs, "sorted run") + " less" if line.gain.runs else "",
    )
    if line.is_action:
        brings = ", ".join(filter(None, gains)) or "no gain that is known"
        text += f"; {brings}, in about {seconds_text(line.expected.seconds)} ({line.expected.basis})"
    if line.reason != line.purpose:
        text += f"; {line.reason}"
    if line.decision == LATER and line.turn is not None:
        text += f"; its turn comes {time_text(line.turn)}"
    return f"{text}."


OPERATION = Operation(
    "plan_fleet",
    "Choose and do the most valuable work on all tables within a budget.",
    PlanFleet,
    plan,
    apply,
    _shown,
    said=_said,
    is_told=True,
    of_catalog=True,
    uses_spark=True,
    by_tables_yaml=BY_FLEET,
    takes_bin=True,
    has_plans=False,
    has_job=False,
    spellings=(
        Spelling("plan_fleet", "", has_plans=False),
        Spelling("fleet", "Choose and do the most valuable work on all tables within a budget.", has_plans=False),
    ),
)


def plan_fleet(
    spark: "SparkSession | None",
    catalog: Catalog,
    choice: TableChoice = TableChoice(),  # noqa: B008 - frozen
    *,
    settings: FleetSettings = FleetSettings(),  # noqa: B008 - frozen
    history: str = HISTORY_DATABASE,
    dry_run: bool = False,
    opened: Opened | None = None,
    run: Run | None = None,
) -> FleetReport:
    """Choose and do the most valuable work within the budget, on the tables of `choice`.

    Args:
        settings: the budget, the weights of gains, and the retention of tables.
        history: database of the history. Run times are learnt from it, and each action is added to it.
        dry_run: choose and report, change nothing.
        opened: what is done to each table before, such as `copy` with other options.
        run: the context of the run; None = `spark` alone, as of now.
    Raises: OptionError: a pattern is none; errors of listing the tables.
    """
    request = PlanFleet(choice.databases, choice.tables, choice.excluded, history=history, settings=settings)
    return OPERATION.run(run or Run(spark), catalog, request, dry_run=dry_run, opened=opened)
