"""Compact several tables in one call: procedure `compact_database`.

Tables are chosen by patterns over their names and compacted side by side, a limited number at a time. A
table that fails does not block the others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from maintenance.errors import PaimonError, worst_of
from maintenance.metastore.catalog import Catalog
from maintenance.operations.compaction.compact import OPERATION as COMPACT
from maintenance.operations.compaction.compact import check_groups, due_groups
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.compaction.request import CompactRequest, full_or_minor
from maintenance.operations.databases.each_table import Opened, each_table, tables_of
from maintenance.operations.databases.each_table import TableChoice as TableChoice  # noqa: PLC0414 - users have it from here
from maintenance.operations.operation import Operation, Run, Shown
from maintenance.operations.parameters import Param, fields_of_arguments, keywords_of, one_of
from maintenance.operations.plan_store import (
    UNPLANNED,
    PlannedGroup,
    StoredPlan,
    moved_groups,
    plan_of_many,
    plans_of,
    refuse,
)
from maintenance.operations.progress import Progress
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPACT_DATABASE = "compact_database"
_PLANNERS = 8


@dataclass(frozen=True, slots=True)
class CompactDatabaseReport:
    """What became of each table: its report, or why it was skipped (no table of Paimon's own format) or failed.

    `errors`: of the tables that could not be compacted at all, `failed` as texts.
    """

    reports: Mapping[str, CompactReport]
    skipped: Mapping[str, str]
    errors: Mapping[str, PaimonError]

    @property
    def failed(self) -> Mapping[str, str]:
        return {name: str(error) for name, error in self.errors.items()}


@dataclass(frozen=True, slots=True)
class CompactDatabase:
    """Which tables, and how they are compacted. `plans`, `unplanned`: of the tables, in a plan that is kept."""

    databases: Annotated[str, Param("Databases whose names match.", name="including_databases")] = ".*"
    tables: Annotated[str, Param("Tables that match, as database.table.", name="including_tables")] = ".*"
    excluded: Annotated[str | None, Param("Leave out tables that match this.", name="excluding_tables")] = None
    options: Annotated[
        Mapping[str, str] | None,
        Param("Table options of this run, as k1=v1,k2=v2.", others=("table_options",), is_kept=False),
    ] = None
    partition_idle_time: Annotated[
        timedelta | None, Param("Only partitions that were not written to for this long.", is_kept=False)
    ] = None
    full: Annotated[
        bool,
        Param(
            "full: merge every bucket into its highest level; minor: merge only what is due.",
            name="compact_strategy",
            read=full_or_minor,
        ),
    ] = False
    proof: Annotated[str | None, Param("How the result is verified: auto, full, sampled or off.")] = None
    max_concurrent: Annotated[int, Param("How many tables to work on at a time.", least=1, is_kept=False)] = 2
    # Whether Flink runs one job or one for each table; here tables follow each other either way.
    mode: Annotated[
        str | None, Param("For Flink's jobs; it has no effect here.", read=one_of("divided", "combined"), is_kept=False)
    ] = None
    plans: Sequence[Mapping[str, Any]] | None = None
    unplanned: Mapping[str, str] | None = None

    @property
    def choice(self) -> TableChoice:
        return TableChoice(self.databases, self.tables, self.excluded)

    @property
    def of_each(self) -> CompactRequest:
        """What is asked of each table."""
        return CompactRequest(full=self.full, partition_idle_time=self.partition_idle_time, proof=self.proof)


@dataclass(frozen=True)
class DatabasePlan:
    """Looked for when somebody asks. `exactly`: the kept plans to carry out, by table; None = what there is."""

    asked: CompactDatabase
    run: Run
    catalog: Catalog
    opened: Opened
    exactly: Mapping[str, StoredPlan] | None = None
    of = None

    @property
    def report(self) -> CompactDatabaseReport:
        return _carried_out(self.run, self, dry_run=True)

    @cached_property
    def stored(self) -> StoredPlan:
        """The plans of all tables as one."""

        def one(table: Table, _: Progress) -> StoredPlan:
            return COMPACT.keepable(Run(), table, self.asked.of_each)[1]

        names = tables_of(self.catalog, self.asked.choice)
        plans, _, errors = each_table(self.catalog, names, one, _PLANNERS, self.opened, None)
        return plan_of_many(COMPACT_DATABASE, plans.values(), errors)

    @property
    def request(self) -> CompactDatabase:
        kept = self.stored.arguments
        return replace(self.asked, plans=kept["plans"], unplanned=kept[UNPLANNED])

    def groups(self) -> tuple[PlannedGroup, ...]:
        return self.stored.groups

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.stored.warnings


def plan(run: Run, catalog: Catalog, request: CompactDatabase, opened: Opened | None = None) -> DatabasePlan:
    """What would be compacted. `opened`: what is done to each table before, besides setting the request's options."""

    def prepared(table: Table) -> Table:
        own = table if opened is None else opened(table)
        return own.copy(request.options) if request.options else own

    return DatabasePlan(request, run, catalog, prepared)


def again(
    run: Run, catalog: Catalog, request: CompactDatabase, stored: StoredPlan, opened: Opened | None = None
) -> DatabasePlan:
    """The kept plans and nothing else. Raises: OutdatedPlanError: files of some table have moved."""
    made, plans = plan(run, catalog, request, opened), plans_of(stored)

    def moved(table: Table, _: Progress) -> list[str]:
        mine = plans[table.identifier]
        asked = CompactRequest(**fields_of_arguments(CompactRequest, mine.arguments))
        return moved_groups(mine, COMPACT.keepable(Run(), table, asked)[1].groups)

    looked, skipped, failed = each_table(catalog, list(plans), moved, _PLANNERS, made.opened, None)
    troubles = [f"{name} {text}" for name, texts in looked.items() for text in texts]
    refuse(stored, [*troubles, *(f"{name}: {text}" for name, text in {**skipped, **failed}.items())])
    return replace(made, exactly=plans)


def apply(run: Run, _: Catalog, planned: DatabasePlan) -> CompactDatabaseReport:
    """Compact the tables, a few at a time. A table that fails does not block the others."""
    return _carried_out(run, planned, dry_run=False)


def _carried_out(run: Run, planned: DatabasePlan, *, dry_run: bool) -> CompactDatabaseReport:
    exactly, asked = planned.exactly, planned.asked

    def one(table: Table, say: Progress) -> CompactReport:
        if exactly is not None:
            return COMPACT.carry_out(table, exactly[table.identifier], Run(spark, say))
        return COMPACT.run(Run(spark, say), table, asked.of_each, dry_run=dry_run)

    spark = None if dry_run else run.session()
    names = tables_of(planned.catalog, asked.choice) if exactly is None else list(exactly)
    results = each_table(planned.catalog, names, one, asked.max_concurrent, planned.opened, run.progress)
    return CompactDatabaseReport(*results)


def _shown(report: CompactDatabaseReport) -> Shown:
    """The number of tables. Raises: the worst error of a table or group that failed."""
    if report.errors:
        raise worst_of(report.errors.values())
    for each in report.reports.values():
        check_groups(each)
    changed = any(each.snapshot_ids or (each.dry_run and due_groups(each)) for each in report.reports.values())
    return Shown.one({"tables": len(report.reports)}, nothing_to_do=not changed)


OPERATION = Operation(
    "compact_database",
    "Compact the tables of some databases.",
    CompactDatabase,
    plan,
    apply,
    _shown,
    again,
    of_catalog=True,
    uses_spark=True,
    has_job=False,
)


@keywords_of(CompactDatabase, only=("full", "partition_idle_time", "proof", "max_concurrent"))
def compact_database(
    spark: "SparkSession | None",
    catalog: Catalog,
    choice: TableChoice = TableChoice(),  # noqa: B008 - frozen
    request: CompactDatabase = CompactDatabase(),
    *,
    dry_run: bool = False,
    opened: Opened | None = None,
    progress: Progress | None = None,
) -> CompactDatabaseReport:
    """Compact the tables that `choice` takes.

    Args:
        full: see `compact`.
        opened: what is done to each table before, such as `copy` with other options.
    Raises: OptionError: a pattern is none; errors of listing the tables.
    """
    asked = replace(request, databases=choice.databases, tables=choice.tables, excluded=choice.excluded)
    return OPERATION.run(Run.of(spark, progress), catalog, asked, dry_run=dry_run, opened=opened)
