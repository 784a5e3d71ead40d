"""Deletions and updates of tables with a primary key: records that are written like any others.

Whether a table takes them is up to its merge engine, and checked before anything is written.
Source: data section 10.2, Java `PrimaryKeyTableUtils.validatePKUpsertDeletable`, `RowLevelOp`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.commit.commit import abort
from maintenance.commit.publish import OPERATION_PROPERTY, CommitIdentity
from maintenance.errors import PaimonError, UnsupportedError
from maintenance.options import table as table_options
from maintenance.spark.tasks import all_done
from maintenance.spark.write import FrameWrite, write_frame
from maintenance.table.table import Table, new_commit_user
from maintenance.write.message import CommitMessage
from maintenance.write.state import WriteState
from maintenance.write.table_write import write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DELETED, UPDATED, INSERTED = "-D", "+U", "+I"
KIND = "_paimon_kind"


def check_deletes(table: Table) -> None:
    """Refuse deletions that the table's merge engine would not carry out. Raises: UnsupportedError."""
    options = table.options
    _check_kinds(table)
    if table_options.IGNORE_DELETE.of(options):
        raise _refused(table, "option 'ignore-delete' = 'true' keeps every row", "Unset it to delete rows.")
    match table_options.MERGE_ENGINE.of(options):
        case "partial-update":
            by_group = table_options.PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.of(options)
            if not table_options.PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE.of(options) and not by_group:
                raise _refused(
                    table,
                    "merge engine partial-update keeps rows that are deleted",
                    "Create the table with 'partial-update.remove-record-on-delete' or "
                    "'partial-update.remove-record-on-sequence-group', or delete whole partitions.",
                )
        case "aggregation":
            if not table_options.AGGREGATION_REMOVE_RECORD_ON_DELETE.of(options):
                raise _refused(
                    table,
                    "merge engine aggregation takes deletions for retractions of values",
                    "Create the table with 'aggregation.remove-record-on-delete', or delete whole partitions.",
                )
        case "first-row":
            raise _refused(table, "merge engine first-row keeps rows that are deleted", "Delete whole partitions.")


def check_updates(table: Table, operation: str) -> None:
    """Refuse updates that the table's merge engine would not carry out. Raises: UnsupportedError."""
    _check_kinds(table)
    engine = table_options.MERGE_ENGINE.of(table.options)
    if engine not in ("deduplicate", "partial-update"):
        raise _refused(
            table, f"merge engine {engine} cannot support {operation}", "Only deduplicate and partial-update can."
        )


def _check_kinds(table: Table) -> None:
    field = table_options.ROWKIND_FIELD.of(table.options)
    if field is not None:
        raise _refused(
            table, f"row kinds are what column '{field}' of 'rowkind.field' says", "Write rows with that column."
        )


def _refused(table: Table, found: str, fix: str) -> UnsupportedError:
    return UnsupportedError(found, f"table {table.identifier}", fix)


def write_records(
    table: Table, data: "DataFrame | pa.Table", operation: str, kind: str | None = None
) -> tuple[tuple[int, ...], int]:
    """Write records and commit them. Returns the new snapshot ids, and the number of records.

    Args: `data`: the table's columns, and the kinds in `KIND` unless all are of `kind`.
    """
    if kind is not None:
        data = _with_kind(data, kind)
    identity = CommitIdentity(new_commit_user(table.options), properties={OPERATION_PROPERTY: operation})

    def write(state: WriteState) -> Sequence[CommitMessage]:
        write = FrameWrite(table.write_context(), state, KIND)
        if isinstance(data, pa.Table):
            return write_rows(write.context, state, write.conformed(data))
        done = write_frame(data, write)
        try:
            return all_done(done, f"table {table.identifier}")
        except PaimonError:
            abort(table.commit_target(), [message for message in done if isinstance(message, CommitMessage)])
            raise

    ids, messages = table.append(write, identity)
    return ids, sum(file.row_count for message in messages for file in message.new_files)


def _with_kind(data: "DataFrame | pa.Table", kind: str) -> "DataFrame | pa.Table":
    if isinstance(data, pa.Table):
        return data.append_column(KIND, pa.repeat(pa.scalar(kind), data.num_rows))
    from pyspark.sql import functions

    return data.withColumn(KIND, functions.lit(kind))
