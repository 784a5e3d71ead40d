"""The source of a migration: how it is dropped once its files are committed, at once or into the bin, and restored.

A run that died while files went into the bin has left its journal there. What the journal names and the bin has is not
missing from the source: the next run moves the others into the same run of the bin, then drops the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maintenance.errors import AlreadyExistsError, ConflictError, NotFoundError, PaimonError, UnsupportedError
from maintenance.format.metadata.schema import parse_schema, serialize_schema
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import is_local
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.schema import Schema
from maintenance.metastore.warehouse import known_folder, warehouse_folder
from maintenance.operations.bin.restore import RestoreReport
from maintenance.operations.bin.run import EMPTYING, BinRun, Going, list_runs, read_run, run_folder
from maintenance.operations.databases.migrated_files import SourceFile
from maintenance.table.format_table import FormatTable

MIGRATE_TABLE = "migrate_table"
_PATH_OPTIONS = ("path", "location")


@dataclass(frozen=True, slots=True)
class Origin:
    """The source, and the catalog that has it."""

    source: FormatTable
    catalog: Catalog

    def check_bin(self, into: BinRun | None) -> None:
        """Raises: UnsupportedError: the bin is on another store than the source."""
        if into is not None and _store_of(self.source.location) != _store_of(into.warehouse):
            raise UnsupportedError(
                "the files of the source are on another store than the bin",
                self.source.location,
                "Leave the bin out, or keep the source.",
            )

    def in_bin(self) -> tuple[str | None, dict[str, int]]:
        """The newest run of the bin that has files of the source, and these: paths below it with their sizes."""
        warehouse, file_io = warehouse_folder(self.catalog), self.source.file_io
        if warehouse is None:
            return None, {}
        for run in reversed(list_runs(file_io, warehouse)):
            try:
                head, files = read_run(file_io, warehouse, run)
            except PaimonError:  # without a journal: nothing went
                continue
            if head.operation != MIGRATE_TABLE or head.location != self.source.location.rstrip("/"):
                continue
            folder = run_folder(warehouse, run)
            there = {f.path: f.bytes for f in files if file_io.size(f"{folder}/files/{f.path}") == f.bytes}
            if there:
                return run, {path: size for path, size in there.items() if size is not None}
        return None, {}

    def drop(self, files: Sequence[SourceFile], into: BinRun | None) -> str | None:
        """Drop the source. Returns: the run of the bin that has its files."""
        run = None
        if into is not None:
            begun, _ = self.in_bin()
            taking = into if begun is None else BinRun.of(self.source.file_io, known_folder(self.catalog), begun)
            taking.head = replace(taking.head, definition=serialize_schema(self.source.schema).decode())
            taking.take([Going(f"{self.source.location.rstrip('/')}/{file.path}", file.bytes) for file in files])
            taking.close()
            run = taking.head.run
        self.catalog.drop_table(self.source.name)
        return run


def is_of_origin(file_io: FileIO, warehouse: str, run: str) -> bool:
    """Whether a run of the bin has the source of a migration. Raises: as of `read_run`."""
    return read_run(file_io, warehouse, run)[0].operation == MIGRATE_TABLE


def restore_origin(
    catalog: Catalog, file_io: FileIO, run: str, identifier: str, *, dry_run: bool = False
) -> RestoreReport:
    """Bring the source of a migration back as a format table. Called again it finishes what was interrupted.

    Args: `identifier`: the table, created if it does not exist; another one than it was if a new one has its name.
    Raises: NotFoundError: there is no such run; ConflictError: it is being destroyed; AlreadyExistsError: there is
        another table of that name.
    """
    warehouse = known_folder(catalog)
    head, binned = read_run(file_io, warehouse, run)
    folder = run_folder(warehouse, run)
    if file_io.exists(f"{folder}/{EMPTYING}"):
        raise ConflictError(f"run '{run}' is being destroyed", folder, "It cannot be restored any more.")
    table = _format_table(catalog, identifier, head.definition, folder, dry_run=dry_run)
    root = head.location if table is None else table.location.rstrip("/")
    back: list[str] = []
    there: list[str] = []
    missing: list[str] = []
    size = 0
    for file in binned:
        target, kept = f"{root}/{file.path}", f"{folder}/files/{file.path}"
        if not file_io.exists(kept):
            (there if file_io.size(target) == file.bytes else missing).append(file.path)
            continue
        if not dry_run:
            file_io.move_file(kept, target)
        back.append(target)
        size += file.bytes or 0
    if table is not None and table.register is not None and not dry_run:
        table.register.add([spec for spec, *_ in table.partitions() if spec])
    return RestoreReport(
        run, identifier, MIGRATE_TABLE, tuple(back), size, already_there=tuple(there), missing=tuple(missing),
        dry_run=dry_run,
    )  # fmt: skip


def _format_table(
    catalog: Catalog, identifier: str, definition: str, where: str, *, dry_run: bool
) -> FormatTable | None:
    """The table that files come back to; None if a dry run finds none."""
    try:
        table = catalog.get_table(identifier)
    except NotFoundError:
        if dry_run:
            return None
        schema = parse_schema(definition.encode(), where)
        options = {key: text for key, text in schema.options.items() if key not in _PATH_OPTIONS}
        catalog.create_table(identifier, Schema(schema.fields, (), schema.partition_keys, options, schema.comment))
        table = catalog.get_table(identifier)
    if not isinstance(table, FormatTable):
        raise AlreadyExistsError(
            "a table of Paimon has that name", f"table {identifier}", "Restore it under another name."
        )
    return table


def _store_of(path: str) -> str:
    return "" if is_local(path) else path.partition("://")[0] + path.partition("://")[2].partition("/")[0]
