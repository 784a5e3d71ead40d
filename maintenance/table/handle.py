"""The handle of a table: its schema and options at one moment, and where its files are."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

from maintenance.commit.iceberg.published import check_publishable
from maintenance.commit.identity import (
    ENGINE,
    ENGINE_PROPERTY,
    RUN_PROPERTY,
    check_properties,
)
from maintenance.commit.lock import NO_LOCK, TableLock
from maintenance.commit.record import FILES_ALONE, CatalogRecord
from maintenance.commit.target import CommitTarget
from maintenance.errors import NotFoundError, OptionError
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import BRANCH_PREFIX, MAIN_BRANCH, branch_root
from maintenance.metadata.branches import Branches
from maintenance.metadata.changelogs import Changelogs
from maintenance.metadata.commit_records import CommitRecords
from maintenance.metadata.consumers import Consumers
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.snapshots import Snapshots
from maintenance.metadata.tags import Tags
from maintenance.options import table as table_options
from maintenance.options.callbacks import check_callbacks
from maintenance.options.changes import fix_of_change
from maintenance.options.known import as_meant, check_set
from maintenance.options.model import TableModel
from maintenance.options.renames import renamed
from maintenance.scan.history import History, history_of
from maintenance.scan.plan import ScanSource
from maintenance.scan.startup import startup_of
from maintenance.scan.target import FullState, ScanTarget
from maintenance.scan.time_travel import scan_target
from maintenance.write.context import WriteContext

# How often rows are written, or read, again because of others.
_ATTEMPTS = 5


class OtherTables(Protocol):
    """The tables of a catalog; travels to Spark's tasks."""

    def open(self, identifier: str) -> "TableHandle":
        """A table as it is now. Raises: NotFoundError; UnsupportedError: it is of another kind."""


@dataclass(frozen=True, slots=True)
class TableHandle:
    """A table of a catalog: what it is made of, and which state is read. `Table` reads and writes its rows.

    Attributes:
        identifier: ``database.table``, with ``$branch_<name>`` for a branch.
        location: path of the table's root.
        dynamic_options: those of `copy`, on top of the schema's.
        read_optimized: reads see the highest level alone, which needs no merging: `t$ro`.
        keeps_schema: reads of an earlier state see the present columns, as those of Flink with options do.
        fits_texts: texts are written with the lengths of their columns, as Spark stores them, see `fitted`.
        run: committed with every snapshot, so that the run that made it can be found; None = nothing is.
        lock: the catalog's, under which snapshots are published.
        record: what the catalog keeps of this table besides its files.
        excluded_partitions: partitions that nothing is added to through this handle.
        follows: one state's snapshot, None = the table had none: changes of rows through this handle are refused where
            others have changed some since. Empty = nothing is asked.
        siblings: opens other tables of the catalog; None = there is no catalog.
        model: what the options say, dynamic ones included.
    """

    identifier: str
    location: str
    file_io: FileIO
    schema: TableSchema
    branch: str = "main"
    dynamic_options: Mapping[str, str] = field(default_factory=dict)
    read_optimized: bool = False
    keeps_schema: bool = False
    fits_texts: bool = False
    run: str | None = None
    lock: TableLock = NO_LOCK
    record: CatalogRecord = FILES_ALONE
    excluded_partitions: frozenset[bytes] = frozenset()
    follows: tuple[SnapshotIdentity | None, ...] = ()
    siblings: OtherTables | None = field(default=None, repr=False, compare=False)
    model: TableModel = field(init=False, repr=False, compare=False)
    _paths: TablePaths | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", TableModel({**self.schema.options, **self.dynamic_options}))

    @property
    def options(self) -> TableModel:
        return self.model

    @property
    def paths(self) -> TablePaths:
        if self._paths is None:
            paths = TablePaths.of(self.location, self.schema, self.options, self.branch)
            object.__setattr__(self, "_paths", paths)
            return paths
        return self._paths

    @property
    def snapshots(self) -> Snapshots:
        return Snapshots(self.file_io, self.paths)

    @property
    def schemas(self) -> Schemas:
        return Schemas.of(self.file_io, self.paths)

    @property
    def tags(self) -> Tags:
        return Tags(self.file_io, self.paths)

    @property
    def changelogs(self) -> Changelogs:
        return Changelogs(self.file_io, self.paths)

    @property
    def consumers(self) -> Consumers:
        return Consumers(self.file_io, self.paths)

    @property
    def commit_records(self) -> CommitRecords:
        return CommitRecords(self.file_io, self.paths)

    @property
    def manifests(self) -> Manifests:
        return Manifests(self.file_io, self.paths)

    @property
    def is_primary_key_table(self) -> bool:
        return bool(self.schema.primary_keys)

    def latest_snapshot(self) -> Snapshot | None:
        return self.snapshots.latest()

    def copy(self, options: Mapping[str, str]) -> Self:
        """This table with further options for reading or writing, which are not stored.

        Raises: OptionError: an option cannot change, or is wrong; UnsupportedError: see `check_set`.
        """
        where = f"table {self.identifier}"
        options = as_meant({key: str(value) for key, value in options.items()}, where)
        for key, value in options.items():
            changes = value != self.options.get(key)
            fix = fix_of_change(key, value, self.options, has_snapshot=True)
            if changes and (key == "bucket" or fix is not None):
                raise OptionError(
                    f"option '{key}' cannot be set for one read",
                    self.identifier,
                    f"Leave '{key}' out of the read, or set it for the table with ALTER TABLE.",
                )
        check_set(options, self.options, where)
        others = {key: value for key, value in options.items() if key != table_options.BRANCH.key}
        table = self.on_branch(table_options.BRANCH.of(options)) if len(others) < len(options) else self
        return replace(table, dynamic_options={**self.dynamic_options, **others})

    def on_branch(self, branch: str) -> Self:
        """This table on a branch, which may be ``main``. Raises: NotFoundError."""
        if branch == self.branch:
            return self
        schema = Schemas(self.file_io, f"{branch_root(self.location, branch)}/schema").latest()
        if schema is None:
            names = ", ".join(Branches(self.file_io, self.paths).names())
            raise NotFoundError(f"branch '{branch}' does not exist", self.identifier, f"There are: {names}.")
        name = self.identifier.partition(f"${BRANCH_PREFIX}")[0]
        name = name if branch == MAIN_BRANCH else f"{name}${BRANCH_PREFIX}{branch}"
        return replace(self, identifier=name, schema=schema.without_place(), branch=branch, follows=())

    # Reading

    def target(self) -> tuple[Self, ScanTarget]:
        """What the scan options select, and this table with the schema to read it with.

        Raises: OptionError, NotFoundError, UnsupportedError: see `startup_of` and `History.target`.
        """
        target = scan_target(self.history(), startup_of(self.options))
        if self.keeps_schema or not isinstance(target, FullState) or not target.travelled or target.snapshot is None:
            return self, target
        return self.with_schema(target.snapshot.schema_id), target

    def history(self) -> History:
        """The snapshots and tags that reads can travel to."""
        return history_of(self.identifier, self.snapshots, self.tags, self.options)

    def with_schema(self, schema_id: int) -> Self:
        """This table with an earlier schema, and its current options."""
        if schema_id == self.schema.id:
            return self
        old = self.schemas.get(schema_id)
        now = {field.id: field.name for field in self.schema.fields}
        then = {now[field.id]: field.name for field in old.fields if field.id in now}
        return replace(self, schema=replace(old, options=renamed(self.schema.options, then)))

    def travelled(self) -> tuple[Self, Snapshot | None]:
        """The snapshot that the options name, else the latest, and this table under that snapshot's schema."""
        table, target = self.target()
        if isinstance(target, FullState) and target.travelled:
            return table, target.snapshot
        return self, self.latest_snapshot()

    def scan_source(self) -> ScanSource:
        level = None
        if self.read_optimized and self.is_primary_key_table:
            level = self.model.num_levels - 1
        return ScanSource(*self._files(), level)

    def changelog_source(self) -> ScanSource:
        """What has a changelog already, to be scanned: without the levels that a producer has not seen yet.

        Source: data section 6.7, Java `AbstractDataTableScan`.
        """
        levels = {"lookup": 1, "full-compaction": self.model.num_levels - 1}
        return replace(self.scan_source(), level_from=levels.get(self.model.changelog_producer, 0))

    # Writing

    def write_context(self) -> WriteContext:
        return WriteContext(*self._files(), fits_texts=self.fits_texts)

    def commit_target(self) -> CommitTarget:
        check_callbacks(self.options, self.identifier)
        check_publishable(self.schema, self.options, self.paths.root, self.identifier)
        properties = {ENGINE_PROPERTY: ENGINE, **({} if self.run is None else {RUN_PROPERTY: self.run})}
        return CommitTarget(*self._files(), properties, self.lock, self.record)

    def _files(self) -> tuple[str, FileIO, TablePaths, TableSchema, Mapping[str, str]]:
        return self.identifier, self.file_io, self.paths, self.schema, self.options

    def of_run(self, run: str) -> Self:
        """This table; snapshots committed through it name the run in their properties. Raises: OptionError."""
        check_properties({RUN_PROPERTY: run})
        return replace(self, run=run)
