"""Compaction of append tables: put small files together, in order, rows unchanged.

Source: data section 2.9, Java `AppendCompactCoordinator` (unaware bucket) and `BucketedAppendCompactManager`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from maintenance.format.data_file import DataFileMeta, FileSource
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter

_OPEN_FILE_COST = 4 << 20
_BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class AppendCompaction:
    """Files of one bucket to put together, in the order they are read."""

    partition: bytes
    bucket: int
    total_buckets: int
    files: tuple[DataFileMeta, ...]

    @property
    def input_files(self) -> tuple[DataFileMeta, ...]:
        return self.files


@dataclass(frozen=True, slots=True)
class AppendCompactionTask:
    """One such group with what reading and writing it needs."""

    write: WriteContext
    read: ReadContext
    compaction: AppendCompaction


def pack_small_files(
    files: Sequence[DataFileMeta], *, target_size: int, small_ratio: float, min_files: int, all_leftovers: bool = False
) -> list[tuple[DataFileMeta, ...]]:
    """Groups of small files of an unaware bucket worth rewriting.

    Args:
        target_size: bytes of a good file.
        small_ratio: a file below this share of it is small.
        min_files: a rest that does not fill two files is rewritten from this number on.
        all_leftovers: rewrite a rest of two files already (a full compaction).
    """
    small = sorted((f for f in files if f.file_size < small_ratio * target_size), key=lambda f: f.file_size)
    groups: list[tuple[DataFileMeta, ...]] = []
    current: list[DataFileMeta] = []
    weight = 0
    for file in small:
        current.append(file)
        weight += file.file_size + _OPEN_FILE_COST
        if len(current) >= 2 and weight >= 2 * target_size:
            groups.append(tuple(current))
            current, weight = [], 0
    if len(current) >= (2 if all_leftovers else max(2, min_files)):
        groups.append(tuple(current))
    return groups


def pack_in_order(
    files: Sequence[DataFileMeta], *, target_size: int, min_files: int, full: bool
) -> list[tuple[DataFileMeta, ...]]:
    """At most one group of neighbouring files of a bucketed append table, which keeps the order of its rows."""
    ordered = sorted(files, key=lambda f: f.min_sequence_number)
    if full:
        while ordered and ordered[0].file_size >= target_size:
            ordered.pop(0)
        small = sum(f.file_size for f in ordered if f.file_size < target_size)
        large = sum(f.file_size for f in ordered if f.file_size >= target_size)
        return [tuple(ordered)] if len(ordered) >= 3 and small > large else []
    window: list[DataFileMeta] = []
    for file in ordered:
        window.append(file)
        if len(window) >= min_files:
            return [tuple(window)]
        while sum(f.file_size for f in window) >= 2 * target_size:
            window.pop(0)
    return []


def rewrite_append(task: AppendCompactionTask) -> CommitMessage:
    """Rewrite one group of files. On an error nothing of what was written stays."""
    plan = task.compaction
    ordered = sorted(plan.files, key=lambda f: f.min_sequence_number)
    place = FilePlace(plan.partition, plan.bucket, source=FileSource.COMPACT)
    writer = RollingFileWriter(
        task.write,
        place,
        FileNames.of(task.write.options),
        min_sequence_number=min(f.min_sequence_number for f in ordered),
    )
    partition = partition_values(task.write.schema, plan.partition)
    pending: list[pa.Table] = []
    try:
        for file in ordered:
            path = task.write.paths.data_file(plan.partition, plan.bucket, file)
            for rows in DataFileReader(task.read, path, file, partition).batches(_BATCH_ROWS):
                pending.append(rows)
                if sum(part.num_rows for part in pending) >= _BATCH_ROWS:
                    writer.write(pa.concat_tables(pending))
                    pending = []
        if pending:
            writer.write(pa.concat_tables(pending))
        written = writer.close()
    except BaseException:
        writer.abort()
        raise
    return CommitMessage(
        plan.partition, plan.bucket, plan.total_buckets, compact_before=plan.files, compact_after=written
    )
