"""Give rows that wait in the postpone bucket of a partition their real buckets.

The rows are taken writer by writer in the order they came and written as any writer of a table with fixed buckets does
it: numbered on from what each bucket holds, sorted, merged, as new files of level 0. Commits decide what is newer: rows
of an earlier one come first. Source: data section 8.4, Java `PostponeUtils`, whose compactions keep the order within a
writer and leave that of writers to chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.bucket.postpone import POSTPONE_BUCKET, writer_of
from maintenance.format.data_file import DataFileMeta
from maintenance.format.system_fields import SEQUENCE_NUMBER
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.write.buckets import buckets_of
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.postpone import with_buckets
from maintenance.write.state import WriteState
from maintenance.write.table_write import TableWrite

_BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class PostponeCompaction:
    """The waiting files of one partition.

    Attributes:
        total_buckets: real ones that the partition has, or gets now.
        files: in the order of their rows.
        sequences: largest sequence number in each real bucket.
        share, shares: this unit takes the buckets whose number, divided by `shares`, leaves `share`.
    """

    partition: bytes
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    sequences: Mapping[int, int]
    share: int = 0
    shares: int = 1


@dataclass(frozen=True, slots=True)
class PostponeTask:
    """One such unit with what reading and writing it needs."""

    write: WriteContext
    read: ReadContext
    compaction: PostponeCompaction


def in_order(files: Sequence[DataFileMeta], commits: Mapping[str, int]) -> tuple[DataFileMeta, ...]:
    """Files as their rows came. `commits`: id of the snapshot that added a file, by name; unknown ones are older."""

    def age(file: DataFileMeta) -> tuple[int, int, str, int, int, str]:
        commit = commits.get(file.file_name, 0)
        made = file.creation_time or 0
        number = file.file_name.rpartition(".")[0].rpartition("-")[2]
        count = int(number) if number.isdecimal() else 0
        # Writers of one commit hold different keys; files that no commit tells apart are told apart by their time.
        return commit, 0 if commit else made, writer_of(file.file_name), made, count, file.file_name

    return tuple(sorted(files, key=age))


def distribute(task: PostponeTask) -> list[CommitMessage]:
    """Write the rows to their buckets. On an error nothing of what was written stays.

    Returns: messages of the real buckets alone: that the waiting files go is said once for the partition.
    """
    plan = task.compaction
    context = with_buckets(task.write, plan.total_buckets)
    state = WriteState({(plan.partition, bucket): last for bucket, last in plan.sequences.items()})
    writer = TableWrite(context, state)
    values = partition_values(context.schema, plan.partition)
    try:
        for file in plan.files:
            path = context.paths.data_file(plan.partition, POSTPONE_BUCKET, file)
            for records in DataFileReader(task.read, path, file, values).batches(_BATCH_ROWS):
                _write(writer, records.drop_columns([SEQUENCE_NUMBER.name]), context, plan)
    except BaseException:
        writer.abort()
        raise
    return [_as_compaction(message) for message in writer.finish()]


def _write(writer: TableWrite, rows: pa.Table, context: WriteContext, plan: PostponeCompaction) -> None:
    buckets = buckets_of(rows, context)
    mine = np.flatnonzero(buckets % plan.shares == plan.share)
    if len(mine) < rows.num_rows:
        rows, buckets = rows.take(pa.array(mine)), buckets[mine]
    if rows.num_rows:
        writer.write(rows, buckets)


def _as_compaction(message: CommitMessage) -> CommitMessage:
    """What was written, as part of a COMPACT snapshot."""
    return replace(
        message,
        new_files=(),
        changelog_files=(),
        compact_after=message.new_files,
        compact_changelog=message.changelog_files,
    )
