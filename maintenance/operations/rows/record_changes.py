"""Deletions and updates of tables with a primary key: records that are written like any others.

Whether a table accepts them depends on its merge engine, and is checked before anything is written.
Source: data section 10.2, Java `PrimaryKeyTableUtils.validatePKUpsertDeletable`, `RowLevelOp`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.commit.commit import abort
from maintenance.errors import UnsupportedError
from maintenance.operations.ingestion.row_attempts import RowAttempts
from maintenance.operations.rows.merge_clauses import quoted
from maintenance.options import table as table_options
from maintenance.spark.frame_write import FrameWrite
from maintenance.spark.tasks import all_done
from maintenance.spark.write import write_frame
from maintenance.table.table import Table, identity_of
from maintenance.write.buckets import moves_keys
from maintenance.write.message import CommitMessage
from maintenance.write.state import WriteState
from maintenance.write.table_write import write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DELETED, UPDATED, INSERTED = "-D", "+U", "+I"
KIND = "_paimon_kind"
MERGE_ON_READ = table_options.DELETION_VECTORS_MERGE_ON_READ.key


def newest(table: Table) -> Table:
    """The table with what was written last: reads of one that is merged on write leave out what is not compacted yet.

    A row that waits in level 0 is deleted and updated too; else its next compaction would bring back what is older than
    the change. Paimon's writers compact before they commit, so that there is none.
    """
    options = table.options
    marks = table.is_primary_key_table and options.has_deletion_vectors
    if not marks or options.clusters_keys:
        return table
    return replace(table, dynamic_options={**table.dynamic_options, MERGE_ON_READ: "true"})


def check_deletes(table: Table) -> None:
    """Refuse deletions by records that the table's merge engine would not carry out. Raises: UnsupportedError."""
    options = table.options
    if options.ignores_deletes:
        raise _refused(table, "option 'ignore-delete' = 'true' keeps every row")
    if options.merge_engine == "partial-update" and not options.removes_records:
        raise _refused(
            table,
            "merge engine partial-update keeps rows that are deleted without "
            "'partial-update.remove-record-on-delete' or 'partial-update.remove-record-on-sequence-group'",
        )


def check_updates(table: Table, operation: str) -> None:
    """Refuse updates that the table's merge engine would not carry out. Raises: UnsupportedError."""
    engine = table.model.merge_engine
    if engine not in ("deduplicate", "partial-update"):
        raise _refused(
            table, f"merge engine {engine} does not support {operation}", "Only deduplicate and partial-update can."
        )


def check_moves(table: Table, names: Iterable[str]) -> None:
    """Refuse to update columns of the partition where rows stay in the one that they are in. Raises: UnsupportedError.

    Such a record goes to the old partition. Source: Java `ExistingProcessor`.
    """
    moved = sorted(set(names) & set(table.schema.partition_keys))
    engine = table.model.merge_engine
    if moved and moves_keys(table.write_context()) and engine != "deduplicate":
        raise _refused(
            table, f"merge engine {engine} leaves rows in their partitions: '{moved[0]}' cannot be updated", "Leave it."
        )


def _refused(table: Table, problem: str, fix: str = "Use DELETE, which deletes in files.") -> UnsupportedError:
    return UnsupportedError(problem, f"table {table.identifier}", fix)


def write_records(
    table: Table, data: "DataFrame | pa.Table", operation: str, kind: str | None = None
) -> tuple[tuple[int, ...], int]:
    """Write records and commit them. Returns the new snapshot ids, and the number of rows changed.

    Args: `data`: the table's columns, and the kinds in `KIND` unless all are of `kind`.
    """
    if kind is not None:
        data = _with_kind(data, kind)
    field = table.model.rowkind_field
    if field is not None:
        data = _saying_so(data, field)
    identity = identity_of(table, operation)
    spark = None if isinstance(data, pa.Table) else data.sparkSession
    work = RowAttempts(spark, table, identity)
    for attempt in work:
        with attempt:
            attempt.wrote(_written(table, data, attempt.state))
    written = work.written
    files = [file for message in written.messages for file in message.new_files]
    # A row that moves to another partition is deleted where it was.
    moved = sum(file.delete_row_count or 0 for file in files) if kind == UPDATED else 0
    return written.snapshot_ids, sum(file.row_count for file in files) - moved


def _written(table: Table, data: "DataFrame | pa.Table", state: WriteState) -> Sequence[CommitMessage]:
    write = FrameWrite(table.write_context(), state, KIND)
    if isinstance(data, pa.Table):
        return write_rows(write.context, state, write.conformed(data))
    done = write_frame(data, write)
    try:
        return all_done(done, f"table {table.identifier}")
    except BaseException:
        abort(table.commit_target(), [message for message in done if isinstance(message, CommitMessage)])
        raise


def _with_kind(data: "DataFrame | pa.Table", kind: str) -> "DataFrame | pa.Table":
    if isinstance(data, pa.Table):
        return data.append_column(KIND, pa.repeat(pa.scalar(kind), data.num_rows))
    from pyspark.sql import functions

    return data.withColumn(KIND, functions.lit(kind))


def _saying_so(data: "DataFrame | pa.Table", field: str) -> "DataFrame | pa.Table":
    """Records of a table whose column `field` says what kind they are: a deletion says so there. Others say it already.

    Paimon writes such a row as it was, which deletes nothing.
    """
    if isinstance(data, pa.Table):
        at = data.schema.get_field_index(field)
        kinds = pc.if_else(pc.equal(data.column(KIND), DELETED), DELETED, data.column(field).cast(pa.string()))
        return data.set_column(at, field, kinds)
    from pyspark.sql import functions

    deleted = functions.col(KIND) == DELETED
    return data.withColumn(field, functions.when(deleted, DELETED).otherwise(functions.col(quoted(field))))
