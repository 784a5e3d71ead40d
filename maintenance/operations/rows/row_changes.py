"""The shared part of deleting, updating and merging rows of tables without a primary key.

Rows to delete are identified by their data file and their position in it. With deletion vectors these numbers
are added to the vectors of the files; without, the files are rewritten without these rows. New versions of rows are
appended, and one OVERWRITE snapshot publishes both. If another writer deletes rows of the same files or replaces the
files meanwhile, everything is planned again on the new state. Source: data sections 7.4 and 10.2.
"""

import pickle
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap, FrozenBitMap

from maintenance.commit.commit import abort, commit_rows
from maintenance.compaction.append import AppendCompaction, AppendCompactionTask, rewrite_append
from maintenance.errors import (
    ConflictError,
    ExpiredError,
    OptionError,
    OutdatedPlanError,
    PredicateError,
    UnsupportedError,
)
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.deletion_vector import DeletionVector
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.system_fields import POSITION, ROW_ID
from maintenance.operations.compaction.partition_choice import no_match
from maintenance.operations.refs.trigger_tag_automatic_creation import tag_after_commit
from maintenance.options import table as table_options
from maintenance.predicate.sql import parse
from maintenance.predicate.tree import Predicate
from maintenance.read.blobs import blobs_as_stored
from maintenance.read.data_file import ReadContext
from maintenance.read.defaults import stored_predicate
from maintenance.read.positioned import FILE, PositionedRead
from maintenance.read.split_read import SplitRead
from maintenance.scan.plan import plan_scan
from maintenance.scan.split import Split
from maintenance.scan.target import FullState
from maintenance.spark.cancellation import ended_with_caller
from maintenance.spark.frame_write import FrameWrite
from maintenance.spark.tasks import all_done, in_task, run_tasks
from maintenance.spark.write import write_frame
from maintenance.table.chain import refuse_changes
from maintenance.table.other_branches import branches_of
from maintenance.table.rows import splits_to_spark
from maintenance.table.table import Table, identity_of, new_commit_user
from maintenance.types.data_type import DataField
from maintenance.write.context import WriteContext
from maintenance.write.deletion_vectors import BucketVectors
from maintenance.write.message import CommitMessage
from maintenance.write.rows import conform
from maintenance.write.table_write import write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Positions = Mapping[str, BitMap]

_ATTEMPTS = 8

TRUNCATE = "truncate"
DELETION_VECTORS = "deletion_vectors"
COPY_ON_WRITE = "copy_on_write"
RECORDS = "records"


@dataclass(frozen=True, slots=True)
class RowChangeReport:
    """What a DELETE, UPDATE or MERGE did.

    Attributes:
        method: ``truncate`` (whole partitions, metadata alone), ``deletion_vectors``, ``copy_on_write`` (files written
            again without the rows) or ``records`` (changes written to a table with a primary key).
        snapshot_ids: made by it, none if no row was concerned.
        deleted_rows, updated_rows, inserted_rows: of the table; of a truncation rows of the files, those included that
            were deleted before.
        touched_files: data files that rows were deleted from.
        attempts: how often it was planned.
        finding: that the condition matches no partition; None if it does.
    """

    table: str
    operation: str
    method: str
    snapshot_ids: tuple[int, ...] = ()
    deleted_rows: int = 0
    updated_rows: int = 0
    inserted_rows: int = 0
    touched_files: int = 0
    attempts: int = 1
    seconds: float = 0.0
    finding: str | None = None

    def counted(self, rows: Mapping[str, int]) -> "RowChangeReport":
        """The report with these numbers of rows, by ``update``, ``delete``, ``insert``."""
        return replace(
            self,
            deleted_rows=rows.get("delete", 0),
            updated_rows=rows.get("update", 0),
            inserted_rows=rows.get("insert", 0),
        )


@dataclass(frozen=True, slots=True)
class TargetState:
    """The rows that may be concerned, in one snapshot. `entries`: of its files, by file name."""

    table: Table
    snapshot: Snapshot | None
    read: SplitRead
    splits: tuple[Split, ...]
    entries: Mapping[str, ManifestEntry]

    @classmethod
    def of(cls, table: Table, predicate: Predicate | None, columns: Sequence[DataField]) -> "TargetState":
        """The newest state. `columns`: to read of the rows. Raises: ConflictError: the columns were changed."""
        snapshot = table.latest_snapshot()
        stored = stored_predicate(predicate, table.schema, table.options)
        plan = plan_scan(table.scan_source(), snapshot, stored)
        splits = tuple(split for split in plan.splits if isinstance(split, Split))
        options = blobs_as_stored(table.options)
        read = SplitRead(table.file_io, table.paths, table.schema, plan.schemas, options, tuple(columns), predicate)
        if max(plan.schemas) > table.schema.id:
            raise ConflictError(
                f"there are files of schema {max(plan.schemas)}, and the table was opened with {table.schema.id}",
                f"table {table.identifier}",
                "Open the table again: otherwise its rows would be written with the old columns.",
            )
        names = {file.file_name for split in splits for file in split.files}
        entries = [] if snapshot is None or not names else table.manifests.live_entries(snapshot)
        return cls(table, snapshot, read, splits, {e.file.file_name: e for e in entries if e.file.file_name in names})

    def frame(self, spark: "SparkSession") -> "DataFrame":
        """The rows with their locations, as a DataFrame."""
        return splits_to_spark(spark, self.splits, PositionedRead(self.read))

    def rows(self) -> pa.Table:
        """The rows with their locations."""
        read = PositionedRead(self.read)
        tables = [rows for split in self.splits for rows in read.tables(split)]
        if tables:
            return pa.concat_tables(tables)
        fields = [*self.read.columns, FILE, POSITION]
        return ReadContext(self.read.file_io, {}, tuple(fields), ()).arrow_schema.empty_table()


@dataclass(frozen=True, slots=True)
class _Search:
    read: PositionedRead
    split: Split


def find_positions(spark: "SparkSession | None", state: TargetState) -> Positions:
    """Locations of the rows that the filter of the state selects."""
    searches = [_Search(PositionedRead(replace(state.read, columns=())), split) for split in state.splits]
    positions: dict[str, BitMap] = {}
    for part in all_done(run_tasks(spark, _search, searches), state.table.identifier):
        positions |= part
    return positions


def _search(search: _Search) -> dict[str, BitMap]:
    return gathered(search.read.tables(search.split))


def gathered(tables: Iterable[pa.Table]) -> dict[str, BitMap]:
    """Row numbers by file. `tables`: with the columns of `FILE` and `POSITION`."""
    by_file: dict[str, BitMap] = {}
    for rows in tables:
        names = rows.column(FILE.name).combine_chunks().dictionary_encode()
        names = names.chunk(0) if isinstance(names, pa.ChunkedArray) else names
        indices, positions = names.indices.to_numpy(), rows.column(POSITION.name).to_numpy()
        for number, name in enumerate(names.dictionary.to_pylist()):
            by_file.setdefault(name, BitMap()).update(positions[indices == number])
    return by_file


def positions_of_frame(frame: "DataFrame") -> Positions:
    """Locations of the rows of a DataFrame. `frame`: with the columns of `FILE` and `POSITION`."""

    @in_task
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        by_file = gathered(pa.Table.from_batches([batch]) for batch in batches if batch.num_rows)
        data = [pickle.dumps(item) for item in by_file.items()]
        yield pa.RecordBatch.from_arrays([pa.array(data, pa.binary())], names=["found"])

    union: dict[str, BitMap] = {}
    with ended_with_caller(frame.sparkSession):
        rows_found = frame.select(FILE.name, POSITION.name).mapInArrow(run, "found binary").collect()
    for row in rows_found:
        name, rows = pickle.loads(bytes(row[0]))
        union.setdefault(name, BitMap()).update(rows)
    return union


def deleted_rows(spark: "SparkSession | None", state: TargetState, positions: Positions) -> list[CommitMessage]:
    """What the commit needs to delete rows. Files are written; on an error none stays."""
    if state.table.model.has_deletion_vectors:
        return _by_vectors(state, positions)
    return _by_rewriting(spark, state, positions)


def _by_vectors(state: TargetState, positions: Positions) -> list[CommitMessage]:
    context = state.table.write_context()
    index = [] if state.snapshot is None else state.table.manifests.read_index(state.snapshot)
    groups: dict[tuple[bytes, int, int], dict[str, BitMap]] = {}
    for name, rows in positions.items():
        entry = state.entries[name]
        groups.setdefault((entry.partition, entry.bucket, entry.total_buckets), {})[name] = rows
    messages: list[CommitMessage] = []
    try:
        for (partition, bucket, total), deleted in groups.items():
            change = BucketVectors.of(context, partition, bucket, index).change(deleted)
            messages.append(CommitMessage(partition, bucket, total, vectors=change))
    except BaseException:
        abort(state.table.commit_target(), messages)
        raise
    return messages


def _by_rewriting(spark: "SparkSession | None", state: TargetState, positions: Positions) -> list[CommitMessage]:
    write = state.table.write_context().with_row_ids()
    read = ReadContext(
        state.table.file_io, state.read.schemas, write.row_fields, state.table.schema.partition_keys, keyed=False
    )
    tasks = []
    for split in state.splits:
        files = tuple(file for file in split.files if file.file_name in positions)
        if not files:
            continue
        total = state.entries[files[0].file_name].total_buckets
        vectors = {file.file_name: DeletionVector(FrozenBitMap(positions[file.file_name])) for file in files}
        plan = AppendCompaction(split.partition, split.bucket, total, files, deleted=vectors, source=FileSource.APPEND)
        tasks.append(AppendCompactionTask(write, read, plan))
    done = run_tasks(spark, rewrite_append, tasks)
    try:
        return all_done(done, state.table.identifier)
    except BaseException:
        abort(state.table.commit_target(), [message for message in done if isinstance(message, CommitMessage)])
        raise


def new_rows(spark: "SparkSession | None", table: Table, data: "DataFrame | pa.Table") -> list[CommitMessage]:
    """Write rows to append. On an error nothing of what was written stays.

    Args: `data`: with row tracking it may have `_ROW_ID`; rows that have an id there keep it.
    """
    context = table.write_context()
    if ROW_ID.name not in (data.column_names if isinstance(data, pa.Table) else data.columns):
        return _appended(spark, table, data, context)
    old, new = by_row_id(data)
    messages = _appended(spark, table, old, context.with_row_ids())
    try:
        return [*messages, *_appended(spark, table, new, context)]
    except BaseException:
        abort(table.commit_target(), messages)
        raise


def by_row_id(data: "DataFrame | pa.Table") -> tuple[Any, Any]:
    """The rows that have a row id, and those that have none, without that column."""
    if isinstance(data, pa.Table):
        has_id = data.column(ROW_ID.name).is_valid()
        return data.filter(has_id), data.filter(pc.invert(has_id)).drop_columns([ROW_ID.name])
    return data.where(f"{ROW_ID.name} IS NOT NULL"), data.where(f"{ROW_ID.name} IS NULL").drop(ROW_ID.name)


def _appended(
    spark: "SparkSession | None", table: Table, data: "DataFrame | pa.Table", context: WriteContext
) -> list[CommitMessage]:
    state = table.write_state(new_commit_user(table.options))
    if isinstance(data, pa.Table):
        return write_rows(context, state, conform(data, None, context))
    done = write_frame(data, FrameWrite(context, state))
    try:
        return all_done(done, table.identifier)
    except BaseException:
        abort(table.commit_target(), [message for message in done if isinstance(message, CommitMessage)])
        raise


def commit_changed(table: Table, messages: Sequence[CommitMessage], operation: str) -> tuple[int, ...]:
    """Publish. Returns the new snapshot's id, nothing if there is nothing to publish. Raises: ConflictError."""
    if all(message.is_empty for message in messages):
        return ()
    identity = identity_of(table, operation)
    snapshot_id = commit_rows(table.commit_target(), messages, identity)
    tag_after_commit(table, wrote_rows=True)
    return (snapshot_id,)


def repeated(attempt: Callable[[], RowChangeReport]) -> RowChangeReport:
    """Attempt until no other writer is in the way. Raises: ConflictError: others kept winning."""
    started = time.monotonic()
    for number in range(1, _ATTEMPTS + 1):
        try:
            return replace(attempt(), attempts=number, seconds=time.monotonic() - started)
        except OutdatedPlanError:
            raise
        except (ConflictError, ExpiredError):
            if number == _ATTEMPTS:
                raise
        time.sleep(min(2.0, 0.05 * 2**number) * (1 + random.random()))
    raise AssertionError("unreachable")


def with_finding(
    report: RowChangeReport, table: Table, where: str | None, predicate: Predicate | None
) -> RowChangeReport:
    """The report, which says so if no row changed because the condition matches no partition."""
    if report.snapshot_ids or where is None or predicate is None:
        return report
    return replace(report, finding=no_match(table, where))


def check_newest(table: Table) -> None:
    """Refuse tables that are not written, and handles of an earlier state. Raises: OptionError, UnsupportedError."""
    table_options.check_writable(table.options, table.identifier)
    refuse_changes(table, "changes of rows")
    target = table.target()[1]
    if not isinstance(target, FullState) or target.travelled:
        raise OptionError(
            "the options of this table handle select an earlier state", table.identifier, "Open the table without them."
        )


def own_rows(
    spark: "SparkSession | None",
    table: Table,
    where: str | None,
    predicate: Predicate | None,
    moved: Iterable[str] = (),
) -> Table:
    """The table without its fallback branch, to change rows of: all those that the condition selects are its own.

    A change of a row that the branch has would be written beside it: then the table has the partition, too, and all of
    its rows in the branch are hidden. Args: `moved`: columns that get new values.
    Raises: UnsupportedError: the branch has such a row; the table reads a primary branch; a row would change partition.
    """
    if branches_of(table) is None:
        return table
    if table_options.SCAN_PRIMARY_BRANCH.key in table.options or set(moved) & set(table.schema.partition_keys):
        raise of_branches(table)
    plan, read = table.plan(predicate=predicate)
    others = [split for split in plan.splits if isinstance(split, Split) and split.fallback]
    if _any_row(spark, others, read, where if predicate is None else None):
        branch = table.model.scan_fallback_branch
        raise UnsupportedError(
            f"the condition selects rows of branch '{branch}', which stands in for partitions that the table lacks",
            table.identifier,
            f"Change them as {table.identifier}$branch_{branch}, or name only partitions of the table's own.",
        )
    return table.copy({table_options.SCAN_FALLBACK_BRANCH.key: ""})


def _any_row(spark: "SparkSession | None", splits: Sequence[Split], read: SplitRead, where: str | None) -> bool:
    """Whether splits have a row. `where`: a condition that only Spark understands."""
    if not splits:
        return False
    if where is None or spark is None:
        return any(rows.num_rows for split in splits for rows in read.tables(split))
    with ended_with_caller(spark):
        return bool(splits_to_spark(spark, splits, read).where(where).limit(1).count())


def of_branches(table: Table) -> UnsupportedError:
    """That rows of two branches are not changed together."""
    return UnsupportedError(
        "rows of a table that reads a fallback or primary branch cannot be changed through it",
        table.identifier,
        "Change the rows of each branch, as table$branch_<name>.",
    )


def whole_rows(table: Table) -> tuple[DataField, ...]:
    """The columns to read of rows that are written again: those of the table, and their ids if they have any."""
    tracked = (ROW_ID,) if table.model.tracks_rows else ()
    return (*table.schema.fields, *tracked)


def count_rows(spark: "SparkSession | None", table: Table, where: str) -> int:
    """How many rows a change with this condition would concern now. Arguments as of `delete`; changes nothing."""
    predicate = filter_of(where, table, spark=spark is not None)
    if spark is None:
        return int(table.to_arrow(where=where).num_rows)
    rows = table.to_spark(spark, where=where if predicate is not None else None)
    with ended_with_caller(spark):
        return int(rows.where(where).count())


def filter_of(where: str, table: Table, *, spark: bool) -> Predicate | None:
    """The filter as a predicate; None if only Spark understands it. Raises: PredicateError: nobody does."""
    try:
        return parse(where, table.schema.fields)
    except PredicateError:
        if not spark:
            raise
        return None
