"""Make a Paimon append table of the files of a format table: procedure `migrate_table`.

A format table may be a table of a Hive metastore that Paimon does not know. Its Parquet or ORC files are copied under
the names of data files, each compared by its digest, read as Paimon reads it, and one commit names them all. The names
follow from the source's paths, so that a run after a crash copies what is missing, and commits nothing twice. The
source goes only after the commit, if it is to go, and not if its files have changed meanwhile. Java's `migrate_table`
moves the files before it commits them.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Annotated, Any

import pyarrow as pa

from maintenance.errors import NotFoundError, SqlError
from maintenance.metadata.paths import partition_text_of
from maintenance.metastore.catalog import Catalog
from maintenance.operations.bin.run import BinRun
from maintenance.operations.databases.migrated_files import SourceFile
from maintenance.operations.databases.migrated_origin import MIGRATE_TABLE
from maintenance.operations.databases.migration import MigrateReport, Migration, Taken
from maintenance.operations.databases.taking_over import take_over, waiting_table
from maintenance.operations.operation import Keeping, Operation, Planned, Run, Shown, lazily
from maintenance.operations.parameters import Param, keywords_of
from maintenance.operations.plan_store import PlannedGroup, StoredPlan, check_plan, moved_victims, refuse
from maintenance.operations.progress import Progress
from maintenance.table.format_table import FormatTable

_SOURCES = ("hive",)
_WHERE = "sys.migrate_table"


@dataclass(frozen=True, slots=True)
class Migrating:
    """What migrations of a table and of a database may both be asked for."""

    connector: Annotated[str, Param("The kind of the source: hive.", others=("source_type",))]

    def check(self) -> None:
        """Raises: SqlError: tables of such a source cannot be migrated."""
        if self.connector.lower() not in _SOURCES:
            problem = f"tables of '{self.connector}' cannot be migrated"
            raise SqlError(problem, "sys", "Use 'hive', for format tables and Hive's own.")


@dataclass(frozen=True, slots=True)
class MigrateTable(Migrating):
    """Which table of plain files, and what becomes of it."""

    source_table: Annotated[str, Param("database.table, a format table or a plain Hive table.", others=("table",))]
    target_table: Annotated[str | None, Param("database.table; empty: it takes the source's name.")] = None
    options: Annotated[Mapping[str, str] | None, Param("Options of the new table, as k1=v1,k2=v2.")] = None
    parallelism: Annotated[int, Param("Files at a time.")] = 8
    delete_origin: Annotated[bool, Param("Drop the source once its files are committed.")] = False
    options_map: Annotated[Mapping[str, str] | None, Param("The same as options, as a map.")] = None

    @property
    def chosen(self) -> dict[str, Any]:
        """What the new table gets, and whether the source stays."""
        options = {**(self.options or {}), **(self.options_map or {})}
        return {"options": options, "delete_origin": self.delete_origin}

    def named(self, run: Run, catalog: Catalog) -> tuple[FormatTable, Catalog, str | None]:
        """Source, catalog and target; no target: the new table takes the name of the source. Raises: SqlError."""
        source, own = _source(run, catalog, self.source_table)
        if self.target_table is None:
            if not self.delete_origin:
                problem = "the source stays, so the new table needs another name"
                raise SqlError(problem, _WHERE, "Add target_table => 'database.table', or delete_origin => true.")
            return source, own, None
        there, goal = run.table_name(catalog, self.target_table)
        if there is not own:
            raise SqlError("the target is in another catalog", _WHERE, "Name a table of the source's catalog.")
        return source, own, goal


@keywords_of(Taken, "taken")
def migrate_table(
    source: FormatTable,
    catalog: Catalog,
    identifier: str | None = None,
    taken: Taken = Taken(),  # noqa: B008 - frozen
    *,
    into: BinRun | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> MigrateReport:
    """Convert a format table to an append table, which takes its files.

    Args:
        catalog: the catalog of both tables.
        identifier: the target. It is created if it does not exist. None: it replaces the source, under its name.
        into: the files of the source are moved to the bin; None: they are deleted. If an interrupted run has begun to
            fill another run of the bin, the files go there; the report names it.
    Raises: UnsupportedError: the source has another format, or is on another store than the bin; OptionError: the
        target is the source, or the options are not those of an append table without buckets; ConflictError: the
        target is another table or has commits of others, or the source changed meanwhile, which then stays; DataError:
        Paimon would read a file differently; CorruptFileError: a file is damaged, or did not arrive as it was.
    """
    work = Migration.of(source, catalog, identifier, taken, into, progress)
    started = time.monotonic()
    report = work.planned() if dry_run else work.run()
    return replace(report, dry_run=dry_run, seconds=time.monotonic() - started)


def finish_migration(catalog: Catalog, name: str) -> MigrateReport | None:
    """Finish a migration whose source is gone: the new table takes its name. None if there is no such migration."""
    table = waiting_table(catalog, name)
    if table is None:
        return None
    take_over(catalog, name)
    return MigrateReport(name, name, origin_deleted=True)


@keywords_of(Taken, "taken")
def plan_migrate_table(
    source: FormatTable,
    catalog: Catalog,
    identifier: str | None = None,
    taken: Taken = Taken(),  # noqa: B008 - frozen
) -> StoredPlan:
    """Which files `migrate_table` would copy now, and whether the source would go. Arguments and errors as there."""
    work = Migration.of(source, catalog, identifier, taken)
    files, missing = work.looked()
    by_partition: dict[str, list[SourceFile]] = {}
    for file in missing:
        by_partition.setdefault(partition_text_of(file.spec) if file.spec else "files", []).append(file)
    groups = [_planned(name, found, len(found), "become data files") for name, found in sorted(by_partition.items())]
    if taken.delete_origin:
        groups.append(_planned(f"table {source.name}", files, 0, "dropped once its files are committed"))
    chosen = {
        "target": identifier,
        "options": dict(taken.options or {}),
        "delete_origin": taken.delete_origin,
        "listing": _listing(files),
    }
    return StoredPlan(MIGRATE_TABLE, source.name, None, datetime.now(UTC).timestamp(), tuple(groups), chosen)


def apply_migrate_table(
    source: FormatTable,
    catalog: Catalog,
    plan: StoredPlan,
    *,
    into: BinRun | None = None,
    parallelism: int = 8,
    progress: Progress | None = None,
) -> MigrateReport:
    """Migrate the files of the plan and no others. `into`, `parallelism`, `progress`: as of `migrate_table`.

    Raises: OutdatedPlanError: the source has other files, or the target has some of them by now; nothing is done then.
        OptionError: not a plan of this table and operation; others as of `migrate_table`.
    """
    check_plan(plan, MIGRATE_TABLE, source)
    target = plan.arguments["target"]
    how: dict[str, Any] = {name: plan.arguments[name] for name in ("options", "delete_origin")}
    now = plan_migrate_table(source, catalog, target, **how)
    moved = moved_victims(plan, now.groups)
    if not moved and now.arguments["listing"] != plan.arguments["listing"]:
        moved = ["files of the source were written to"]
    refuse(plan, moved)
    return migrate_table(source, catalog, target, **how, into=into, parallelism=parallelism, progress=progress)


def _planned(name: str, files: list[SourceFile], expected: int, reason: str) -> PlannedGroup:
    paths = tuple(sorted(file.path for file in files))
    return PlannedGroup(name, paths, sum(file.bytes for file in files), expected, reason)


def _listing(files: list[SourceFile]) -> str:
    """A digest of what a listing says of the files."""
    lines = sorted(f"{file.path} {file.bytes} {file.mtime_ms}\n" for file in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _work(run: Run, catalog: Catalog, asked: MigrateTable, *, dry_run: bool) -> MigrateReport:
    asked.check()
    try:
        source, own, target = asked.named(run, catalog)
    except NotFoundError:
        report = None if dry_run else finish_migration(*run.table_name(catalog, asked.source_table))
        if report is None:
            raise
        return report
    into = bin_of(run, source) if asked.delete_origin and not dry_run else None
    how: dict[str, Any] = {"into": into, "dry_run": dry_run, "progress": run.progress}
    return migrate_table(source, own, target, **asked.chosen, parallelism=asked.parallelism, **how)


def _make(run: Run, catalog: Catalog, planned: Planned) -> StoredPlan:
    asked: MigrateTable = planned.request
    asked.check()
    source, own, target = asked.named(run, catalog)
    return plan_migrate_table(source, own, target, **asked.chosen)


def _carry_out(run: Run, catalog: Catalog, plan: StoredPlan) -> MigrateReport:
    source, own = _source(run, catalog, plan.table)
    into = bin_of(run, source) if plan.arguments["delete_origin"] else None
    return apply_migrate_table(source, own, plan, into=into, progress=run.progress)


def _source(run: Run, catalog: Catalog, name: str) -> tuple[FormatTable, Catalog]:
    own, identifier = run.table_name(catalog, name)
    source = own.get_table(identifier)
    if not isinstance(source, FormatTable):
        raise SqlError(f"'{name}' is not a format table", _WHERE, "Name a table of plain files.")
    return source, own


def bin_of(run: Run, source: FormatTable) -> BinRun | None:
    """The run of the bin that takes a source; None: it is deleted."""
    return BinRun.begin(source, run.root(), MIGRATE_TABLE) if run.into_bin else None


_COLUMNS = {
    "source": pa.string(),
    "target": pa.string(),
    "snapshot_id": pa.int64(),
    "files": pa.int64(),
    "bytes": pa.int64(),
    "rows": pa.int64(),
    "copied_files": pa.int64(),
    "copied_bytes": pa.int64(),
    "digest": pa.string(),
    "origin_deleted": pa.bool_(),
    "bin_run": pa.string(),
}


def shown_tables(reports: Sequence[MigrateReport]) -> Shown:
    """A row for each table. A dry run says what would be copied."""
    rows = [{key: value for key, value in asdict(report).items() if key in _COLUMNS} for report in reports]
    done = any(
        report.snapshot_id is not None or report.origin_deleted or (report.dry_run and report.copied_files)
        for report in reports
    )
    return Shown(pa.Table.from_pylist(rows, pa.schema(_COLUMNS.items())), nothing_to_do=not done)


OPERATION = Operation(
    "migrate_table",
    "Convert a format table or a plain Hive table to a Paimon table.",
    MigrateTable,
    *lazily(_work, lambda _, __: ()),
    lambda report: shown_tables([report]),
    keeping=Keeping(_make, _carry_out),
    of_catalog=True,
    takes_bin=True,
)
