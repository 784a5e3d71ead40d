"""Delete rows of a table with a primary key in its files, where a deletion cannot be a record.

Merge engine first-row refuses deletions, partial-update and aggregation refuse them or take them for retractions unless
an option says otherwise, and `ignore-delete` drops them. There rows are deleted as in tables without a key: marked in
deletion vectors, or their files rewritten without them. That is right only if a row is in one file: an
older version that a compaction has yet to merge would bring it back, or parts of it. So the files must be compacted.

Files are rewritten on their level with the sequence numbers that the records have; Paimon writes the rest of their
rows as new records on level 0, which reads the same. Source: Java `DeleteFromPaimonTableCommand`,
`PrimaryKeyTableUtils.validatePKUpsertDeletable`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pyroaring import FrozenBitMap

from maintenance.commit.commit import abort
from maintenance.errors import UnsupportedError
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.deletion_vector import DeletionVector
from maintenance.format.metadata.manifest import EntrySelection
from maintenance.operations.rows.row_changes import Positions, TargetState
from maintenance.options import table as table_options
from maintenance.predicate.tree import Predicate
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.defaults import stored_predicate
from maintenance.read.row_selection import RowSelection
from maintenance.read.split_read import DEFAULT_BATCH_ROWS, partition_values
from maintenance.scan.plan import live_entries
from maintenance.scan.pruning import Pruning
from maintenance.spark.tasks import all_done, run_tasks
from maintenance.table.table import Table
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def deletes_in_files(table: Table) -> bool:
    """Whether rows of this table with a primary key are deleted in its files, for records would not delete them."""
    options = table.options
    if options.ignores_deletes:
        return True
    match options.merge_engine:
        case "partial-update" | "aggregation":
            return not options.removes_records
        case "first-row":
            return True
    return False


def check_compacted(state: TargetState, predicate: Predicate | None) -> None:
    """Refuse where rows that the filter selects may have several versions. Raises: UnsupportedError."""
    merged = any(not split.raw for split in state.splits)
    if merged or _waiting(state, predicate):
        engine = state.table.model.merge_engine
        ignored = ", 'ignore-delete'" if state.table.model.ignores_deletes else ""
        raise UnsupportedError(
            f"rows to delete have records that are not merged yet (merge engine {engine}{ignored})",
            f"table {state.table.identifier}",
            "Compact it fully, then delete: in such a table rows can only be deleted in files.",
        )


def _waiting(state: TargetState, predicate: Predicate | None) -> bool:
    """Whether there is level 0, where reads leave it out, or rows wait for a bucket: what is there would come later."""
    table = state.table
    if state.snapshot is None:
        return False
    stored = stored_predicate(predicate, table.schema, table.options)
    if table.model.skips_level_0:
        entries = live_entries(table.scan_source(), state.snapshot, stored, all_levels=True)
        if any(entry.file.level == 0 for entry in entries):
            return True
    pruning = Pruning(table.schema, {}, stored)
    postponed = EntrySelection(
        pruning.keeps_partition, test=lambda entry: entry.bucket == table_options.POSTPONE_BUCKET
    )
    return bool(table.manifests.live_entries(state.snapshot, postponed))


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """Files of one bucket to rewrite. `deleted`: rows to leave out, by file name."""

    write: WriteContext
    read: ReadContext
    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    deleted: Mapping[str, DeletionVector] = field(default_factory=dict)


def rewritten_files(spark: "SparkSession | None", state: TargetState, positions: Positions) -> list[CommitMessage]:
    """Rewrite files without these rows. On an error nothing of what was written stays."""
    table = state.table
    if state.snapshot is None:
        return []
    write = table.write_context()
    read = ReadContext(table.file_io, state.read.schemas, write.row_fields, table.schema.partition_keys)
    tasks = []
    for split in state.splits:
        files = tuple(file for file in split.files if file.file_name in positions)
        if files:
            total = state.entries[files[0].file_name].total_buckets
            vectors = {file.file_name: DeletionVector(FrozenBitMap(positions[file.file_name])) for file in files}
            tasks.append(_Rewrite(write, read, split.partition, split.bucket, total, files, vectors))
    done = run_tasks(spark, _rewritten, tasks)
    try:
        with table.manifests.reading(state.snapshot):
            return all_done(done, table.identifier)
    except BaseException:
        abort(table.commit_target(), [message for message in done if isinstance(message, CommitMessage)])
        raise


def _rewritten(task: _Rewrite) -> CommitMessage:
    values = partition_values(task.write.schema, task.partition)
    message = CommitMessage(task.partition, task.bucket, task.total_buckets, compact_before=task.files)
    names = FileNames.of(task.write)
    writers: list[RollingFileWriter] = []
    written: list[DataFileMeta] = []
    try:
        for file in task.files:
            source = FileSource.COMPACT if file.file_source is None else FileSource(file.file_source)
            place = FilePlace(task.partition, task.bucket, file.level, source)
            writers.append(RollingFileWriter(task.write, place, names))
            path = task.write.paths.data_file(task.partition, task.bucket, file)
            reader = DataFileReader(
                task.read, path, file, values, rows=RowSelection(vector=task.deleted[file.file_name])
            )
            for rows in reader.batches(DEFAULT_BATCH_ROWS):
                writers[-1].write(rows)
            written += writers[-1].close()
    except BaseException:
        for writer in writers:
            writer.abort()
        raise
    return replace(message, compact_after=tuple(written))
