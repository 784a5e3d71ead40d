"""Examine a table without changing it: from hints to snapshots, lists, manifests, index files and data files.

All branches, tags, changelogs and consumers are examined too. Whatever is wrong becomes a fault with what to do about
it; nothing ends the examination. What others expire meanwhile is not a fault. No catalog and no schema is needed, so it
also serves where a table cannot be opened. A `deep` examination reads every column of every data file. Files that
nothing names are left out.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import pyarrow as pa

from maintenance.amounts import number_of
from maintenance.format.metadata.data_file import DataFileMeta, written_fields
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.paths import TablePaths
from maintenance.operations.checks.faults import Fault, FaultKind, Faults
from maintenance.operations.checks.fsck_files import FileWalk, FoundFile, in_order
from maintenance.operations.checks.fsck_records import SmallFiles, examine_records
from maintenance.operations.operation import Operation, Plan, Run, Shown, as_asked
from maintenance.operations.parameters import Param
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BATCH_ROWS = 1 << 16
_FILES_OF_A_TASK = 16
_SCHEMA = pa.schema([(name, pa.string()) for name in ("kind", "object", "detail", "fix")])


@dataclass(frozen=True, slots=True)
class FsckReport:
    """What an examination found.

    Attributes:
        location: root of the table.
        faults: in the order they were found; `healthy` if there are none.
        notes: what is harmless: hints that readers pass over, what an expiry that did not end has left.
        states: snapshots, tags and changelogs that could be read, over all branches.
        data_files: in the right place; `read_files`: of those, read to their last row.
    """

    location: str
    faults: tuple[Fault, ...]
    states: int
    manifests: int
    index_files: int
    data_files: int
    read_files: int
    seconds: float
    notes: tuple[Fault, ...] = ()

    @property
    def healthy(self) -> bool:
        return not self.faults

    def to_arrow(self) -> pa.Table:
        """The faults, then the notes, as a table: kind, object, detail, fix."""
        faults = (*self.faults, *self.notes)
        return pa.Table.from_pylist(
            [{"kind": f.kind.value, "object": f.object, "detail": f.detail, "fix": f.fix} for f in faults], _SCHEMA
        )


@dataclass(frozen=True, slots=True)
class Fsck:
    """How much to look at."""

    deep: Annotated[bool, Param("Read every data file to its last row, in Spark tasks.")] = False


def apply(run: Run, table: Table, planned: Plan[Fsck, None]) -> FsckReport:
    """Examine a table that can be opened."""
    deep = planned.request.deep
    return fsck(table.file_io, table.location, deep=deep, spark=run.session(), progress=run.progress)


def _said(report: FsckReport) -> Iterator[str]:
    looked = number_of(report.states, "snapshot, tag or changelog", "snapshots, tags and changelogs")
    files = f"{number_of(report.manifests, 'manifest')} and {number_of(report.data_files, 'data file')}"
    read = f", {report.read_files:,} of them read to the last row" if report.read_files else ""
    yield f"{report.location}: {looked}, {files}{read}. {number_of(len(report.faults), 'fault')}."
    yield from (f"{each.object}: {each.detail}. {each.fix}" for each in report.notes)


OPERATION = Operation(
    "fsck",
    "Examine a table for damage.",
    Fsck,
    as_asked,
    apply,
    shown=lambda report: Shown.findings(_SCHEMA.names, [(f.kind, f.object, f.detail, f.fix) for f in report.faults]),
    said=_said,
    uses_spark=True,
    looks_only=True,
    has_job=False,
)


def fsck(
    file_io: FileIO,
    location: str,
    *,
    deep: bool = False,
    spark: "SparkSession | None" = None,
    progress: Callable[[str], None] | None = None,
) -> FsckReport:
    """Examine the table at a location. Damage is reported, not raised.

    Args:
        location: the table's root, such as `Table.location`.
        deep: read all data files, in Spark tasks, or in this process when `spark` is None.
        progress: called with a line for each thing that happens.
    """
    started = time.monotonic()
    tell = progress or (lambda _: None)
    faults = Faults()
    root = location.rstrip("/")
    records = examine_records(file_io, root, faults)
    walk = FileWalk(file_io, _paths(root, records, faults), records, faults)
    for number, state in enumerate(in_order(records.states), 1):
        tell(f"{state.name} ({number} of {len(records.states)})")
        walk.examine(state)
    read = 0
    if deep:
        tell(f"reading {number_of(len(walk.data_files), 'data file')}")
        read = _read_all(file_io, walk, spark)
    findings = _lasting(file_io, root, faults)
    return FsckReport(
        location=root,
        faults=tuple(fault for fault in findings if not fault.harmless),
        states=len(records.states),
        manifests=walk.manifests_read,
        index_files=walk.index_files_read,
        data_files=len(walk.data_files),
        read_files=read,
        seconds=time.monotonic() - started,
        notes=tuple(fault for fault in findings if fault.harmless),
    )


def _lasting(file_io: FileIO, root: str, faults: Faults) -> list[Fault]:
    """The findings that still stand: not those of branches, hints and leftovers that are gone by now."""
    folders = {f"{root}/branch/{folder}/" for folder in file_io.list_folders(f"{root}/branch")}
    elsewhere = f"{root}/branch/"
    in_table = [f for f in faults.recorded if not f.object.startswith(elsewhere) or f.object.startswith(tuple(folders))]
    return [fault for fault in in_table if not fault.harmless or file_io.exists(fault.object)]


def _paths(root: str, records: SmallFiles, faults: Faults) -> TablePaths:
    """The paths of files by the newest schema; these options never change."""
    schemas = records.schemas.get(MAIN_BRANCH) or next((s for s in records.schemas.values() if s), {})
    if not schemas:
        return TablePaths(root)
    schema = schemas[max(schemas)]
    paths = faults.attempt(f"{root}/schema", "the table", lambda: TablePaths.of(root, schema, schema.model))
    return paths or TablePaths(root)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Files of one schema for one task: their paths, their metadata."""

    file_io: FileIO
    schema: TableSchema
    files: tuple[tuple[str, DataFileMeta], ...]


def _read_all(file_io: FileIO, walk: FileWalk, spark: "SparkSession | None") -> int:
    """Read the files found, and add the faults. Returns how many are whole."""
    payloads = []
    for schema, files in _by_schema(walk):
        for start in range(0, len(files), _FILES_OF_A_TASK):
            part = tuple((file.path, file.entry.file) for file in files[start : start + _FILES_OF_A_TASK])
            payloads.append(_Reading(file_io, schema, part))
    whole, failed = 0, dict[str, Fault]()
    for payload, outcome in zip(payloads, run_tasks(spark, _read_files, payloads), strict=True):
        paths = [path for path, _ in payload.files]
        if isinstance(outcome, TaskError):
            walk.faults.add(
                FaultKind.DAMAGED, paths[0], f"reading {number_of(len(paths), 'file')} failed: {outcome.error}"
            )
            continue
        failed |= {path: fault for path, fault in zip(paths, outcome, strict=True) if fault is not None}
        whole += len(paths) - sum(fault is not None for fault in outcome)
    needed = walk.still_needed(failed)
    for path, fault in failed.items():
        if path in needed:
            walk.faults.add(fault.kind, path, fault.detail, fault.fix)
    return whole


def _by_schema(walk: FileWalk) -> list[tuple[TableSchema, list[FoundFile]]]:
    groups: dict[tuple[str, int], list[FoundFile]] = {}
    for part in walk.data_files.values():
        groups.setdefault((part.branch, part.entry.file.schema_id), []).append(part)
    schemas = walk.records.schemas
    return [(schemas[branch][i], files) for (branch, i), files in groups.items() if i in schemas.get(branch, {})]


def _read_files(reading: _Reading) -> list[Fault | None]:
    """The fault of each file, None of one that is whole. Runs in a task."""
    return [_read_file(reading.file_io, reading.schema, path, file) for path, file in reading.files]


def _read_file(file_io: FileIO, schema: TableSchema, path: str, file: DataFileMeta) -> Fault | None:
    faults = Faults()

    def read() -> None:
        keyed = bool(schema.primary_keys)
        # Migrated files lack the partition columns, which readers do not take from files.
        absent = () if keyed else schema.partition_keys
        written = (field for field in written_fields(file, schema) if field.name not in absent)
        fields = (*((SEQUENCE_NUMBER, VALUE_KIND) if keyed else ()), *written)
        context = ReadContext(file_io, {schema.id: schema}, fields, keyed=keyed)
        for _ in DataFileReader(context, path, file, {}).batches(_BATCH_ROWS):
            pass

    faults.attempt(path, "its manifest", read)
    return next(iter(faults.recorded), None)
