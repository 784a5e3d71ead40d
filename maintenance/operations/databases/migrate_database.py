"""Migrate the format tables of a database: procedure `migrate_database`, `migrate_table` of each."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Annotated, Any

from maintenance.errors import NotFoundError, PaimonError, worst_of
from maintenance.metastore.catalog import Catalog
from maintenance.operations.bin.run import BinRun
from maintenance.operations.databases.each_table import Skipped, each_name
from maintenance.operations.databases.migrate_table import (
    Migrating,
    apply_migrate_table,
    bin_of,
    finish_migration,
    migrate_table,
    plan_migrate_table,
    shown_tables,
)
from maintenance.operations.databases.migration import MigrateReport, Taken
from maintenance.operations.databases.taking_over import source_of, waiting_name, waiting_table
from maintenance.operations.operation import Keeping, Operation, Planned, Run, Shown, lazily
from maintenance.operations.parameters import Param, keywords_of
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, check_plan, plan_of_many, plans_of
from maintenance.operations.progress import Progress
from maintenance.table.format_table import FormatTable

MIGRATE_DATABASE = "migrate_database"
Into = Callable[[FormatTable], BinRun | None]


@dataclass(frozen=True, slots=True)
class MigrateDatabase(Migrating):
    """The tables of plain files of a database."""

    source_database: Annotated[str, Param("The database.", others=("database",))]
    options: Annotated[Mapping[str, str] | None, Param("Options of the new tables, as k1=v1,k2=v2.")] = None
    parallelism: Annotated[int, Param("Files at a time.")] = 8
    options_map: Annotated[Mapping[str, str] | None, Param("The same as options, as a map.")] = None
    delete_origin: Annotated[bool, Param("Drop the sources once their files are committed.")] = False
    included_tables: Annotated[Sequence[str], Param("Only these; empty: all.")] = ()
    excluded_tables: Annotated[Sequence[str], Param("Leave these tables out.")] = ()

    @property
    def chosen(self) -> dict[str, Any]:
        """Which tables, and what they become."""
        options = {**(self.options or {}), **(self.options_map or {})}
        chosen = {"included": self.included_tables, "excluded": self.excluded_tables}
        return {"options": options, **chosen, "delete_origin": self.delete_origin}


@dataclass(frozen=True, slots=True)
class MigrateDatabaseReport:
    """What became of each table: its report, or why it was skipped (no table of plain files) or failed."""

    reports: Mapping[str, MigrateReport]
    skipped: Mapping[str, str]
    errors: Mapping[str, PaimonError]


@dataclass(frozen=True, slots=True)
class TakenTables(Taken):
    """Which tables of a database, what becomes of them, and how.

    Attributes:
        options, delete_origin, parallelism: as of `migrate_table`, for each table.
        included: only these, without the database; empty = all.
        excluded: not these.
    """

    included: Collection[str] = ()
    excluded: Collection[str] = ()

    def of(self, name: str) -> dict[str, Any]:
        """What `migrate_table` is told of a table."""
        target = None if self.delete_origin else waiting_name(name)
        return {"identifier": target, **{each.name: getattr(self, each.name) for each in fields(Taken)}}

    def among(self, catalog: Catalog, database: str) -> list[str]:
        """The tables, and those sources that are gone while a table may wait for the name."""
        listed = catalog.list_tables(database)
        gone = {base for name in listed if (base := source_of(name)) is not None and base not in listed}
        among = (name for name in (*listed, *gone) if not self.included or name in self.included)
        return [f"{database}.{name}" for name in sorted(among) if name not in self.excluded]


@keywords_of(TakenTables, "taken")
def migrate_database(
    catalog: Catalog,
    database: str,
    taken: TakenTables,
    *,
    into: Into | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MigrateDatabaseReport:
    """Migrate the format tables of a database, one after the other. A table that fails does not block the others.

    The new table of `t` is `t_paimon_`, or with `delete_origin` `t` itself, as in Paimon. If an earlier run died after
    it had dropped a source, this one renames the new table.

    Args:
        into: returns the run of the bin that a source is moved to; None: sources are deleted.
    Raises: NotFoundError: there is no such database.
    """

    def one(name: str, say: Progress) -> MigrateReport:
        source = _source(catalog, name)
        if source is None:
            return _finished(catalog, name, dry_run=dry_run)
        own = into(source) if into is not None and taken.delete_origin and not dry_run else None
        return migrate_table(source, catalog, **taken.of(name), into=own, dry_run=dry_run, progress=say)

    return MigrateDatabaseReport(*each_name(taken.among(catalog, database), one, 1, progress))


@keywords_of(TakenTables, "taken")
def plan_migrate_database(catalog: Catalog, database: str, taken: TakenTables) -> StoredPlan:
    """What `migrate_database` would do now, the plans of all tables as one. Arguments and errors as there.

    Tables that cannot be planned are not part of it: the plan's argument `UNPLANNED` says why, by table.
    """

    def one(name: str, _: Progress) -> StoredPlan | None:
        source = _source(catalog, name)
        if source is None:
            return None
        return plan_migrate_table(source, catalog, **taken.of(name))

    plans, _, errors = each_name(taken.among(catalog, database), one, 1, None)
    left = [name for name, plan in plans.items() if plan is None]
    renamed = [PlannedGroup(f"table {waiting_name(name)}", (), 0, 0, f"is renamed to {name}") for name in left]
    made = (plan for plan in plans.values() if plan is not None)
    return plan_of_many(MIGRATE_DATABASE, made, errors, renamed, left=left)


def apply_migrate_database(
    catalog: Catalog,
    plan: StoredPlan,
    *,
    into: Into | None = None,
    parallelism: int = 8,
    progress: Progress | None = None,
) -> MigrateDatabaseReport:
    """Migrate the files of the plan and no others. A table that has changed since has failed; the others are done.

    `into`, `parallelism`, `progress`: as of `migrate_database`. Raises: OptionError: not such a plan.
    """
    check_plan(plan, MIGRATE_DATABASE, None)
    plans = plans_of(plan)

    def one(name: str, say: Progress) -> MigrateReport:
        if name not in plans:
            return _finished(catalog, name, dry_run=False)
        source, own = _source(catalog, name), plans[name]
        if source is None:
            raise NotFoundError(f"'{name}' is gone", f"plan {plan.id}", "Launch a dry run for a new plan.")
        bin_run = into(source) if into is not None and own.arguments["delete_origin"] else None
        return apply_migrate_table(source, catalog, own, into=bin_run, parallelism=parallelism, progress=say)

    return MigrateDatabaseReport(*each_name(sorted({*plans, *plan.arguments["left"]}), one, 1, progress))


def _source(catalog: Catalog, name: str) -> FormatTable | None:
    """A table to migrate; None if it is gone, and the table that has its files waits for the name.

    Raises: Skipped: neither.
    """
    try:
        source = catalog.get_table(name)
    except NotFoundError as error:
        if waiting_table(catalog, name) is None:
            raise Skipped("it does not exist") from error
        return None
    if not isinstance(source, FormatTable):
        raise Skipped("it is a table of Paimon")
    return source


def _finished(catalog: Catalog, name: str, *, dry_run: bool) -> MigrateReport:
    report = MigrateReport(name, name, dry_run=True) if dry_run else finish_migration(catalog, name)
    if report is None:
        fix = "Launch a dry run of migrate_database to see what is left to do."
        raise NotFoundError(f"no table waits for the name '{name}'", catalog.warehouse, fix)
    return report


def _work(run: Run, catalog: Catalog, asked: MigrateDatabase, *, dry_run: bool) -> MigrateDatabaseReport:
    asked.check()
    how: dict[str, Any] = {"parallelism": asked.parallelism, "dry_run": dry_run, "progress": run.progress}
    own, database = run.database_name(catalog, asked.source_database)
    return migrate_database(own, database, **asked.chosen, **how, into=partial(bin_of, run))


def _make(run: Run, catalog: Catalog, planned: Planned) -> StoredPlan:
    asked: MigrateDatabase = planned.request
    asked.check()
    return plan_migrate_database(*run.database_name(catalog, asked.source_database), **asked.chosen)


def _carry_out(run: Run, catalog: Catalog, plan: StoredPlan) -> MigrateDatabaseReport:
    return apply_migrate_database(catalog, plan, into=partial(bin_of, run), progress=run.progress)


def _shown(report: MigrateDatabaseReport) -> Shown:
    """Raises: the worst error of a table that failed."""
    if report.errors:
        raise worst_of(report.errors.values())
    return shown_tables(list(report.reports.values()))


OPERATION = Operation(
    "migrate_database",
    "Convert the format tables or plain Hive tables of a database to Paimon tables.",
    MigrateDatabase,
    *lazily(_work, lambda _, __: ()),
    _shown,
    keeping=Keeping(_make, _carry_out),
    of_catalog=True,
    takes_bin=True,
)
