"""UPDATE, MERGE and DELETE of tables with data evolution: by row id, and without writing the other columns again.

Rows that change are found with their ids. The columns that change go into a further file beside those of the same
rows; new rows are appended, and deleted ones are marked in deletion vectors. If another writer changes the same columns
of the same rows meanwhile, or compacts their files, everything is planned again. Source: data section 10.2, Java
`DataEvolutionMergeIntoAction`.
"""

import bisect
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.commit.columns import commit_columns
from maintenance.commit.commit import abort
from maintenance.commit.global_indexes import indexed_fields, indexes_of
from maintenance.errors import UnsupportedError
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.operations.refs.trigger_tag_automatic_creation import tag_after_commit
from maintenance.operations.rows.row_changes import (
    Positions,
    RowChangeReport,
    TargetState,
    by_row_id,
    deleted_rows,
    new_rows,
)
from maintenance.options.global_index import DROP_PARTITION_INDEX, GLOBAL_INDEX_COLUMN_UPDATE_ACTION, THROW_ERROR
from maintenance.options.model import TableModel
from maintenance.read.blobs import blobs_as_stored
from maintenance.read.data_evolution import anchor
from maintenance.scan.data_evolution import row_groups, row_id_range
from maintenance.spark.cancellation import ended_with_caller
from maintenance.spark.release import arrow_of
from maintenance.spark.tasks import TaskError, all_done, enter_task, portable, run_tasks
from maintenance.table.rows import read_splits, splits_to_spark
from maintenance.table.table import Table, identity_of
from maintenance.types.arrow import arrow_type
from maintenance.write.columns import ColumnsTask, write_columns
from maintenance.write.message import CommitMessage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "columns"
_FIRST, _OUTCOME = "_paimon_first", "outcome"


@dataclass(frozen=True, slots=True)
class NewColumns:
    """New values of rows: `_ROW_ID` and the columns that change, all of one snapshot's rows."""

    rows: "DataFrame | pa.Table"
    names: tuple[str, ...]


def is_evolved(table: Table) -> bool:
    """Whether columns of rows can be written alone."""
    return table.model.evolves


def check_columns(table: Table, names: Sequence[str]) -> None:
    """Raises: UnsupportedError: a row would have to move to another partition."""
    moved = [name for name in names if name in table.schema.partition_keys]
    if moved:
        raise UnsupportedError(
            f"column '{moved[0]}' is a partition column, and rows of a table with data evolution stay where they are",
            f"table {table.identifier}",
            "Delete the rows, and append them again.",
        )


def rows_with_ids(spark: "SparkSession | None", state: TargetState) -> "DataFrame | pa.Table":
    """The rows of a state, `_ROW_ID` among its columns."""
    if spark is not None:
        return splits_to_spark(spark, state.splits, state.read)
    return pa.concat_tables([_empty(state), *read_splits(state.splits, state.read)])


def _empty(state: TargetState) -> pa.Table:
    return pa.schema([(f.name, arrow_type(f.type, f"column {f.name}")) for f in state.read.columns]).empty_table()


def new_columns(spark: "SparkSession | None", state: TargetState, new: NewColumns) -> list[CommitMessage]:
    """Write new values, one file for the files of the same rows. On an error nothing of what was written stays.

    Raises: UnsupportedError: a column has a global index.
    """
    tasks = _tasks(state, new.names)
    if isinstance(new.rows, pa.Table):
        ids = new.rows.column(ROW_ID.name).to_numpy()
        # A file's rows are all of one group, so each is looked at for its own rows alone.
        firsts = _first_of(ids, sorted(tasks))
        payloads = [
            (task, new.rows.filter(pa.array(firsts == first)))
            for first, task in tasks.items()
            if (firsts == first).any()
        ]
        done = run_tasks(spark, _written, payloads)
    else:
        done = _on_spark(new.rows, tasks)
    try:
        messages = all_done(done, state.table.identifier)
        check_indexed(state, new.names, messages)
        return messages
    except BaseException:
        abort(state.table.commit_target(), [message for message in done if isinstance(message, CommitMessage)])
        raise


def _written(payload: tuple[ColumnsTask, pa.Table]) -> CommitMessage:
    return write_columns(*payload)


def _first_of(ids: np.ndarray, firsts: Sequence[int]) -> np.ndarray:
    """The first row id of the files that have each of these rows."""
    starts = np.array(firsts, np.int64)
    return starts[np.searchsorted(starts, ids, side="right") - 1]


def _tasks(state: TargetState, names: Sequence[str]) -> dict[int, ColumnsTask]:
    """What there is to write for the files of the same rows, by their first row id."""
    table = state.table
    fields = tuple(table.schema.field(name) for name in table.schema.field_names if name in names)
    write = replace(table.write_context(), write_cols=tuple(field.name for field in fields))
    # Values are stored as they are: what reads put in the place of nulls is not.
    options = {key: text for key, text in state.read.options.items() if not key.endswith(".default-value")}
    stored = blobs_as_stored(TableModel(options))
    read = replace(state.read, columns=fields, predicate=None, options=stored)
    tasks = {}
    for split in state.splits:
        for files in row_groups(split.files):
            part = replace(split, files=tuple(files), deletions={}, candidates={}, raw=len(files) == 1)
            total = state.entries[files[0].file_name].total_buckets
            tasks[row_id_range(files[0]).start] = ColumnsTask(write, read, part, total)
    return tasks


def _on_spark(frame: "DataFrame", tasks: Mapping[int, ColumnsTask]) -> "list[CommitMessage | TaskError]":
    """Rows of the same files meet in one task, which writes their file."""
    from pyspark.sql import functions

    firsts = sorted(tasks)

    @functions.udf("bigint")
    def first_of(row_id: int) -> int:
        return firsts[bisect.bisect_right(firsts, row_id) - 1]

    def run(rows: pa.Table) -> pa.Table:
        enter_task()
        first = rows.column(_FIRST)[0].as_py()
        try:
            outcome: CommitMessage | TaskError = write_columns(tasks[first], rows)
        except Exception as error:  # noqa: BLE001 - the edge of a task
            outcome = TaskError(portable(error))
        return pa.table({_OUTCOME: pa.array([pickle.dumps(outcome)], pa.binary())})

    with ended_with_caller(frame.sparkSession):
        groups = frame.withColumn(_FIRST, first_of(ROW_ID.name)).groupBy(_FIRST)
        return [pickle.loads(bytes(row[0])) for row in groups.applyInArrow(run, f"{_OUTCOME} binary").collect()]


def positions_of(spark: "SparkSession | None", state: TargetState, rows: "DataFrame | pa.Table") -> Positions:
    """Where deletion vectors mark rows: in the oldest of the files that have them. `rows`: with `_ROW_ID`."""
    groups = {row_id_range(files[0]).start: files for split in state.splits for files in row_groups(split.files)}
    if isinstance(rows, pa.Table):
        ids = rows.column(ROW_ID.name).to_numpy()
    else:
        with ended_with_caller(rows.sparkSession):
            ids = arrow_of(rows.select(ROW_ID.name)).column(0).to_numpy()
    if not len(ids):
        return {}
    firsts = _first_of(ids, sorted(groups))
    return {
        anchor(groups[first]).file_name: BitMap(ids[firsts == first] - first) for first in np.unique(firsts).tolist()
    }


def check_deletes(table: Table) -> None:
    """Raises: UnsupportedError: there are no deletion vectors, and files are not written again without rows."""
    if not table.model.has_deletion_vectors:
        raise UnsupportedError(
            "rows of a table with data evolution are deleted by deletion vectors alone",
            f"table {table.identifier}",
            "Set 'deletion-vectors.enabled' = 'true', which Paimon 2.0 allows.",
        )


def apply_changes(
    spark: "SparkSession | None",
    state: TargetState,
    rows: "DataFrame | pa.Table",
    names: tuple[str, ...],
    report: RowChangeReport,
    positions: Positions | None = None,
) -> RowChangeReport:
    """Write what changes, and commit it.

    Args: `rows`: new values of rows, and new rows, whose `_ROW_ID` is null; `names`: the columns that change; `report`:
        says how many rows are updated and inserted; `positions`: of the rows that are deleted.
    """
    if not report.updated_rows + report.inserted_rows and not positions:
        return report
    table = state.table
    there, fresh = by_row_id(rows)
    messages: list[CommitMessage] = []
    others: list[CommitMessage] = []
    try:
        if names and report.updated_rows:
            messages = new_columns(spark, state, NewColumns(there.select([ROW_ID.name, *names]), names))
        if report.inserted_rows:
            others = new_rows(spark, table, fresh)
        if positions:
            others = [*others, *deleted_rows(spark, state, positions)]
    except BaseException:
        abort(table.commit_target(), [*messages, *others])
        raise
    ids = commit_evolved(state, messages, others, report.operation, names)
    return replace(report, snapshot_ids=ids, touched_files=len(messages) + len(positions or ()))


def check_indexed(state: TargetState, names: Sequence[str], messages: Sequence[CommitMessage]) -> None:
    """Whether columns may get new values in these partitions. Raises: UnsupportedError: they have a global index."""
    table = state.table
    action = table.model.global_index_column_update_action
    if action != THROW_ERROR or state.snapshot is None:
        return
    fields = {table.schema.field(name).id: name for name in names}
    index = table.manifests.read_index(state.snapshot)
    for entry in indexes_of(index, {message.partition for message in messages}, fields):
        assert entry.global_index is not None
        named = [fields[number] for number in indexed_fields(entry.global_index) if number in fields]
        raise UnsupportedError(
            f"column '{named[0]}' has a global index of type {entry.index_type}, which new values would make wrong",
            f"table {table.identifier}",
            f"Drop the index with drop_global_index, or set '{GLOBAL_INDEX_COLUMN_UPDATE_ACTION.key}' = "
            f"'{DROP_PARTITION_INDEX}': then updates drop it.",
        )


def commit_evolved(
    state: TargetState,
    columns: Sequence[CommitMessage],
    others: Sequence[CommitMessage],
    operation: str,
    names: Sequence[str] = (),
) -> tuple[int, ...]:
    """Publish new columns and what goes with them. Returns the snapshot's id, nothing if there is nothing to publish.

    `names`: the columns.

    Raises: ConflictError: the same rows were changed or compacted meanwhile; the files are deleted.
    """
    if all(message.is_empty for message in (*columns, *others)):
        return ()
    table = state.table
    identity = identity_of(table, operation)
    updated = [table.schema.field(name).id for name in names]
    snapshot_id = commit_columns(table.commit_target(), columns, others, identity, state.snapshot, updated)
    tag_after_commit(table, wrote_rows=True)
    return (snapshot_id,)
