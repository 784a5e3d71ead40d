"""Write rows of an Arrow table in this process: append them, or overwrite existing rows."""

from collections.abc import Sequence

import pyarrow as pa

from maintenance.commit.identity import CommitIdentity, numbered
from maintenance.commit.overwrite import Overwrite, overwrite_or_abort
from maintenance.commit.replays import already_committed
from maintenance.operations.ingestion.inline import finish_replayed, overwrite_rows
from maintenance.operations.ingestion.row_attempts import RowAttempts
from maintenance.options import table as table_options
from maintenance.table.table import Table, new_commit_user
from maintenance.types.row_kind import kinds_of_texts
from maintenance.write.partitions import by_partition
from maintenance.write.rows import conform
from maintenance.write.state import WriteState
from maintenance.write.table_write import write_rows


def append(
    table: Table,
    data: pa.Table | pa.RecordBatch,
    row_kinds: Sequence[str] | pa.Array | None = None,
    commit_user: str | None = None,
    commit_identifier: int | None = None,
) -> tuple[int, ...]:
    """Write rows as one commit. Returns the new snapshot ids, none if there was nothing to do.

    Unless the table is `write-only`, buckets that got rows are compacted as they need it, in a snapshot of its own.

    Args:
        data: columns by name; a missing nullable column is null.
        row_kinds: ``+I``, ``-U``, ``+U`` or ``-D`` for each row; None = all ``+I``.
        commit_user: who commits; None = a new random user.
        commit_identifier: number of this commit of the user; one that was committed before is not written again.
    Raises: DataError: the rows do not fit; CommitError; ConflictError: the table's number of buckets was changed;
        UnsupportedError.
    """
    table_options.check_writable(table.options, table.identifier)
    identity = _identity(table, commit_user, commit_identifier)
    if already_committed(table.commit_target(), identity):
        return finish_replayed(None, table, identity).snapshot_ids
    context = table.write_context()
    kinds = None if row_kinds is None else kinds_of_texts(row_kinds)
    rows = conform(_table(data), kinds, context)
    work = RowAttempts(
        None, table, identity, partitions=lambda: {partition for partition, _ in by_partition(rows, context)}
    )
    for attempt in work:
        with attempt:
            attempt.wrote(write_rows(context, attempt.state, rows))
    return work.written.snapshot_ids


def overwrite(
    table: Table,
    data: pa.Table | pa.RecordBatch,
    overwrite: Overwrite,
    *,
    commit_user: str | None = None,
    commit_identifier: int | None = None,
) -> tuple[int, ...]:
    """Replace partitions or the whole table by rows, as one commit: `INSERT OVERWRITE`.

    Args: `data`, `commit_user`, `commit_identifier`: as of `append`; `overwrite`: what is replaced.
    Returns: the new snapshot ids, none if there was nothing to do.
    Raises: as `append`; DataError also: rows are outside the partitions replaced.
    """
    table_options.check_writable(table.options, table.identifier)
    identity = _identity(table, commit_user, commit_identifier)
    if already_committed(table.commit_target(), identity):
        return ()
    context = table.write_context()
    # Nothing of what was there is read together with the new files, so their sequence numbers start at 0.
    messages = write_rows(context, WriteState(user=identity.user), conform(_table(data), None, context))
    return overwrite_rows(None, table, messages, identity, overwrite).snapshot_ids


def truncate(table: Table, overwrite: Overwrite, commit_user: str | None = None) -> tuple[int, ...]:
    """Delete all rows, or those of partitions. Files stay until their snapshots expire. Returns the snapshot's id."""
    table_options.check_keepable(table.options, table.identifier)
    return overwrite_or_abort(table.commit_target(), (), _identity(table, commit_user, None), overwrite)


def _identity(table: Table, user: str | None, identifier: int | None) -> CommitIdentity:
    # Of a job that ends with this commit, which a numbered one does not say.
    watermark = table_options.END_INPUT_WATERMARK.of(table.options) if identifier is None else None
    return numbered(new_commit_user(table.options) if user is None else user, identifier, watermark)


def _table(data: pa.Table | pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
