"""Rewrite the files of a partition of an append table in an order. A large one is cut into ranges of the order first.

Each range is a unit of its own: it reads all files and keeps its rows, so that nothing but its rows is held, and no row
leaves its task. Where ranges are cut follows from a sample of the order's columns. Source: data section 2.10.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.compaction.append import AppendCompaction
from maintenance.compaction.order.orders import ORDERS, Order, range_keys
from maintenance.format.data_file import DataFileMeta
from maintenance.merge.sort_words import sort_order
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.types.data_type import DataField
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter
from maintenance.write.rows import contiguous

_BATCH_ROWS = 1 << 17
_SAMPLE_ROWS = 1 << 12


@dataclass(frozen=True, slots=True)
class SortedBy:
    """An order of rows. `text_bytes`: of texts that count in a Z-order."""

    strategy: str
    columns: tuple[str, ...]
    text_bytes: int = 8

    @property
    def order(self) -> Order:
        return ORDERS[self.strategy]


@dataclass(frozen=True, slots=True)
class SortTask:
    """One range of a partition with what reading and writing it needs.

    Attributes:
        low, high: the rows whose range key is at least the one and below the other; None = no bound.
        first: it is the partition's first: its message says that the files go.
    """

    write: WriteContext
    read: ReadContext
    compaction: AppendCompaction
    by: SortedBy
    low: bytes | None = None
    high: bytes | None = None
    first: bool = True


def sample(task: SortTask) -> np.ndarray:
    """Range keys of some rows of each file, evenly, in proportion to its rows; bytes, shape (n,)."""
    names = set(task.by.columns)
    fields: tuple[DataField, ...] = tuple(field for field in task.read.fields if field.name in names)
    narrow = replace(task, read=replace(task.read, fields=fields))
    total = sum(file.row_count for file in task.compaction.files)
    step = max(1, total // _SAMPLE_ROWS)
    found = [_range_keys(rows, task.by)[::step] for rows in _batches(narrow) if rows.num_rows]
    return np.concatenate(found) if found else np.empty(0, "S8")


def cuts(keys: np.ndarray, ranges: int) -> list[bytes]:
    """Where to cut so that ranges are about equal: at most `ranges` - 1 different keys, ascending."""
    ordered = np.sort(keys)
    places = [len(ordered) * cut // ranges for cut in range(1, ranges)]
    return sorted({bytes(ordered[place]) for place in places if 0 < place < len(ordered)})


def rewrite_sorted(task: SortTask) -> CommitMessage:
    """Rewrite one range. On an error nothing of what was written stays."""
    plan = task.compaction
    place = FilePlace(plan.partition, plan.bucket, source=plan.source)
    lowest = min(file.min_sequence_number for file in plan.files)
    writer = RollingFileWriter(task.write, place, FileNames.of(task.write.options), min_sequence_number=lowest)
    try:
        kept = [part for rows in _batches(task) if (part := _in_range(rows, task)).num_rows]
        if kept:
            _write_sorted(pa.concat_tables(kept), task, writer)
        written = writer.close()
    except BaseException:
        writer.abort()
        raise
    before: tuple[DataFileMeta, ...] = plan.files if task.first else ()
    return CommitMessage(plan.partition, plan.bucket, plan.total_buckets, compact_before=before, compact_after=written)


def _write_sorted(rows: pa.Table, task: SortTask, writer: RollingFileWriter) -> None:
    words = task.by.order.words(contiguous(rows, task.by.columns), task.by.text_bytes)
    ordered = rows.take(pa.array(sort_order(words)))
    for start in range(0, ordered.num_rows, _BATCH_ROWS):
        writer.write(ordered.slice(start, _BATCH_ROWS))


def _in_range(rows: pa.Table, task: SortTask) -> pa.Table:
    if not rows.num_rows or (task.low is None and task.high is None):
        return rows
    keys = _range_keys(rows, task.by)
    mask = np.ones(len(keys), bool)
    if task.low is not None:
        mask &= keys >= np.bytes_(task.low)
    if task.high is not None:
        mask &= keys < np.bytes_(task.high)
    return rows.filter(pa.array(mask))


def _range_keys(rows: pa.Table, by: SortedBy) -> np.ndarray:
    return range_keys(by.order.ranges(contiguous(rows, by.columns), by.text_bytes))


def _batches(task: SortTask) -> Iterator[pa.Table]:
    """The rows that are there, file by file."""
    plan = task.compaction
    values = partition_values(task.write.schema, plan.partition)
    for file in sorted(plan.files, key=lambda f: f.min_sequence_number):
        path = task.write.paths.data_file(plan.partition, plan.bucket, file)
        deletion = plan.deletions.get(file.file_name)
        yield from DataFileReader(task.read, path, file, values, deletion=deletion).batches(_BATCH_ROWS)
