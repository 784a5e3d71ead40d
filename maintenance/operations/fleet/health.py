"""How healthy tables are, by their metadata alone: procedure, command and function `health`.

The judgements are those that Dagster's checks and the console show. Whether a sensor or a schedule is on only Dagster
knows: a compaction that is due is told as such here, and snapshots that can expire are not told.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated

import pyarrow as pa

from maintenance.errors import NotFoundError, OptionError, PaimonError, UnsupportedError
from maintenance.metastore.catalog import Catalog
from maintenance.monitor.health import Judging, Rules
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.named_writers import naming_jobs
from maintenance.monitor.readable import ReadFault
from maintenance.monitor.retention import retention_blockers
from maintenance.monitor.score import HealthRecord, Held, health_record, health_targets
from maintenance.monitor.triggers import NOTHING_DUE, judge
from maintenance.monitor.visibility import ROWS_VISIBLE
from maintenance.operations.acknowledgements.acknowledged import acknowledged
from maintenance.operations.databases.each_table import TableChoice, looked_at, tables_of
from maintenance.operations.history import HISTORY_DATABASE, history_table
from maintenance.operations.operation import BY_HEALTH, Operation, Plan, Run, Shown, as_asked
from maintenance.operations.parameters import Param
from maintenance.table.shape import table_shape
from maintenance.table.table import Table


def _own_limits(_: str) -> Rules:
    return Rules()


def _nobody(_: str) -> Mapping[str, str]:
    return {}


def _nobody_named(_: str) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """By what tables are judged, each by its name.

    Attributes:
        rules: the limits of a table.
        writers: the job behind each commit user of a table, as far as it is known.
        history: the database whose history says which conflicts were acknowledged.
        owners: who has to act for a table; empty: nobody is named.
        expected: tables that have to be there.
    """

    rules: Callable[[str], Rules] = _own_limits
    writers: Callable[[str], Mapping[str, str]] = _nobody
    history: str = HISTORY_DATABASE
    owners: Callable[[str], str] = _nobody_named
    expected: Sequence[str] = ()


BY_OWN_LIMITS = JudgedBy()


@dataclass(frozen=True, slots=True)
class Health:
    """Which tables to judge, and by what.

    Attributes: `settings`: as tables.yaml says; without it the engine's own limits hold.
    """

    table: Annotated[
        str | None,
        Param("Only this table, as database.table; empty: all tables.", by_position=True),
    ] = None
    max_age: Annotated[timedelta | None, Param("How old the newest rows may be, such as '1 d'.")] = None
    parts: Annotated[bool, Param("The parts of the table's health: value, target, points and weight.")] = False
    history: Annotated[str | None, Param("Database of the history; empty: that of tables.yaml, or _maintenance.")] = (
        None
    )
    settings: JudgedBy = BY_OWN_LIMITS


@dataclass(frozen=True, slots=True)
class TableHealth:
    """A table that was judged.

    Attributes:
        judgements: the first one says whether it can be read; empty: only the parts were asked for.
        record: the parts of its health. None: the table cannot be read, nor what follows.
        bytes: of live data files.
        level0_files: not compacted yet; None where there are no levels.
        snapshots: on storage now.
    """

    table: str
    judgements: tuple[Judgement, ...] = ()
    record: HealthRecord | None = None
    bytes: int | None = None
    level0_files: int | None = None
    snapshots: int | None = None

    @property
    def wrong(self) -> Sequence[Judgement]:
        """What does not pass."""
        return [judgement for judgement in self.judgements if not judgement.passed]


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The tables that were judged. `request`: what was asked for."""

    tables: tuple[TableHealth, ...]
    request: Health

    @property
    def wrong(self) -> Sequence[str]:
        """What does not pass, with its table."""
        found = [(table.table, judgement) for table in self.tables for judgement in table.wrong]
        return [f"{table}: {each.check}: {each.summary}. {each.fix}".rstrip() for table, each in found]


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges the tables of a catalog. `max_age`: of the newest rows, in place of what the rules say."""

    catalog: Catalog
    by: JudgedBy = BY_OWN_LIMITS
    max_age: timedelta | None = None

    def health(self, name: str, now: datetime) -> TableHealth | None:
        """The health of a table; None: it has no snapshots of its own. Raises: as `judgements`."""
        table, found = self._judged(name, now)
        if not found:
            return None
        rules = self.by.rules(name)
        if table is None:
            return TableHealth(name, found)
        try:
            shape, record = table_shape(table), health_record(table, now, rules.targets, Held.of(found))
        except PaimonError:
            return TableHealth(name, found)
        level0 = shape.level0_files if table.is_primary_key_table else None
        return TableHealth(name, _with_targets(found, record, rules), record, shape.bytes, level0, shape.snapshots)

    def judgements(self, name: str, now: datetime) -> tuple[Judgement, ...]:
        """The judgements of a table, the first one whether it can be read; nothing where it has no snapshots.

        What cannot be read is looked at a second time before it counts: an expiry may just have removed it.
        Raises: NotFoundError: there is no such table. OptionError: of the settings.
        """
        table, found = self._judged(name, now)
        rules = self.by.rules(name)
        if table is None or not rules.health or not found[0].passed:
            return found
        return _with_targets(found, health_record(table, now, rules.targets, Held.of(found)), rules)

    def record(self, name: str, now: datetime) -> HealthRecord:
        """How well a table is kept. Raises: UnsupportedError: it has no snapshots; what reading its metadata raises."""
        table = self.catalog.get_table(name)
        if not isinstance(table, Table):
            raise _nothing_to_judge(name)
        return health_record(table, now, self.by.rules(name).targets, Held.of([retention_blockers(table, now)]))

    def _judged(self, name: str, now: datetime) -> tuple[Table | None, tuple[Judgement, ...]]:
        """A table as it was looked at, None: it cannot be opened; and its judgements but for those of its health."""
        rules = self.by.rules(name)
        if self.max_age is not None:
            rules = replace(rules, limits=replace(rules.limits, max_age=self.max_age))
        table, judging = self._look(name, rules, now)
        if judging is not None and judging.faults:
            table, judging = self._look(name, rules, now)
        if judging is None:
            return None, ()
        writers = self.by.writers(name)
        return table, tuple(naming_jobs(judgement, writers) for judgement in judging.whole())

    def _look(self, name: str, rules: Rules, now: datetime) -> tuple[Table | None, Judging | None]:
        judging = Judging()
        try:
            table = self.catalog.get_table(name)
        except NotFoundError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the table cannot be read
            judging.faults[ReadFault.of(error)] = None
            return None, judging
        if not isinstance(table, Table):
            return None, None

        def due() -> Iterable[Judgement]:
            wrong = {judgement.check for judgement in judging.judgements if not judgement.passed}
            yield _nothing_due(table, rules, is_told=ROWS_VISIBLE in wrong)

        history = history_table(self.by.history)
        if judging.look(table, rules, now, lambda: acknowledged(self.catalog, history, name)):
            judging.attempt(due)
        return table, judging


def _with_targets(found: tuple[Judgement, ...], record: HealthRecord, rules: Rules) -> tuple[Judgement, ...]:
    """The judgements with that of the targets that are set, where all could be read."""
    return (*found, health_targets(record, rules.health)) if rules.health and found[0].passed else found


def _nothing_due(table: Table, rules: Rules, *, is_told: bool) -> Judgement:
    """`is_told`: hidden rows are why the compaction is due, and their check asks for it."""
    need = judge(table, table_shape(table), rules.triggers)
    if not need.due:
        return Judgement(NOTHING_DUE, True, f"nothing is due: {need.reason}")
    what = f"a compaction is due: {need.reason}"
    if is_told:
        return Judgement(NOTHING_DUE, True, f"{what}; {ROWS_VISIBLE} reports it")
    return Judgement(NOTHING_DUE, False, what, f"Run paimonctl compact {table.identifier}.")


def _nothing_to_judge(name: str) -> UnsupportedError:
    return UnsupportedError("there is nothing to judge in such a table", f"table {name}", "Name the table itself.")


def apply(run: Run, catalog: Catalog, planned: Plan[Health, None]) -> HealthReport:
    """Judge them. Those that are dropped meanwhile, and those that have no snapshots of their own, are left out."""
    request, now = planned.request, run.moment
    by = request.settings if request.history is None else replace(request.settings, history=request.history)
    if request.table is not None:
        own, name = run.table_name(catalog, request.table)
        judge = Judge(own, by, request.max_age)
        if request.parts:
            record = judge.record(name, now)
            run.progress(f"Health: {record.score} of 100.")
            return HealthReport((TableHealth(name, record=record),), request)
        one = judge.health(name, now)
        if one is None:
            raise _nothing_to_judge(name)
        return HealthReport((one,), request)
    if request.parts:
        raise OptionError("the parts of all tables are asked for", "health", "Name a table, or leave out parts.")
    every = Judge(catalog, by, request.max_age)

    found = looked_at(tables_of(catalog, TableChoice()), lambda name: every.health(name, now))
    return HealthReport(tuple(table for table in found if table is not None), request)


def _shown(report: HealthReport) -> Shown:
    if report.request.table is None:
        return Shown(_lines(report.tables), wrong=tuple(report.wrong))
    (one,) = report.tables
    if one.record is not None and report.request.parts:
        return Shown(_parts(one.record))
    rows = [(each.check, "yes" if each.passed else "no", each.summary, each.fix) for each in one.judgements]
    shown = Shown.texts(("check", "healthy", "found", "fix"), rows, nothing_to_do=False)
    return replace(shown, wrong=tuple(report.wrong))


def _lines(tables: Sequence[TableHealth]) -> pa.Table:
    """A line for each table; `found` and `fix`: of the first check that does not pass."""
    columns = {
        "database": [each.table.partition(".")[0] for each in tables],
        "table": [each.table.partition(".")[2] for each in tables],
        "healthy": [not each.wrong for each in tables],
        "wrong": [", ".join(judgement.check for judgement in each.wrong) for each in tables],
        "found": [each.wrong[0].summary if each.wrong else "" for each in tables],
        "fix": [each.wrong[0].fix if each.wrong else "" for each in tables],
        "bytes": [each.bytes for each in tables],
        "level0_files": [each.level0_files for each in tables],
        "snapshots": [each.snapshots for each in tables],
        "score": [None if each.record is None else each.record.score for each in tables],
    }
    kinds = {"healthy": pa.bool_(), **dict.fromkeys(("bytes", "level0_files", "snapshots", "score"), pa.int64())}
    return pa.table({name: pa.array(column, kinds.get(name, pa.string())) for name, column in columns.items()})


def _parts(record: HealthRecord) -> pa.Table:
    """A row for each part of a table's health, those first that cost the score most."""
    parts = [*record.worst, *(part for part in record.parts if part not in record.worst)]
    return pa.table(
        {
            "part": [part.name for part in parts],
            "now": [part.text(part.value) for part in parts],
            "value": pa.array([part.value for part in parts], pa.float64()),
            "unit": [part.measure.unit for part in parts],
            "target": pa.array([part.target for part in parts], pa.float64()),
            "state": [part.state for part in parts],
            "points": [round(part.points, 1) for part in parts],
            "weight": [part.measure.weight for part in parts],
            "what": [part.measure.text for part in parts],
        }
    )


OPERATION = Operation(
    "health",
    "Check tables for lost files, backlogs, writers and what holds snapshots; fails if a check does not pass.",
    Health,
    as_asked,
    apply,
    _shown,
    of_catalog=True,
    looks_only=True,
    has_job=False,
    by_tables_yaml=BY_HEALTH,
)


health = OPERATION.function(
    """Check the health of a table, or of all tables of a catalog, from metadata.

    The score of a table, from 0 to 100, is the mean of its parts by their weights. A conflict of writers that was
    acknowledged passes until the next one.

    Args:
        settings: limits, targets and names of writers; without them the default limits apply.
    Raises: NotFoundError: there is no such table; UnsupportedError: it has no snapshots of its own.

    >>> report = health(catalog, table="db.t")
    >>> [judgement.check for judgement in report.tables[0].wrong]
    []
    """,
    takes=("progress",),
    without=("parts",),
)
