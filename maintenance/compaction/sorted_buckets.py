"""Give all keys of a partition with dynamic buckets new buckets in an order of their rows, and write them there.

Within a bucket records stay in the order of their keys. The order is cut into as many ranges as there are to be
buckets, by a sample of its columns. Keys are known by their hash alone: those of one hash stay together, whatever their
place in the order. Rows are read twice, in tables of bounded size. Source: Java `SortCompactAction`.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from maintenance.bucket.dynamic import DynamicBucketOptions
from maintenance.compaction.order.orders import SortedBy
from maintenance.compaction.order.ranges import cuts, range_keys, range_numbers
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import Split
from maintenance.write.context import WriteContext
from maintenance.write.hash_index import key_hashes
from maintenance.write.message import CommitMessage
from maintenance.write.rows import conform
from maintenance.write.state import WriteState
from maintenance.write.table_write import TableWrite

_SAMPLE_ROWS = 1 << 12
_LAST_BUCKET = 32767


@dataclass(frozen=True, slots=True)
class SortedBucketsTask:
    """A partition. `splits`: all of it; `user`: who commits what is written."""

    read: SplitRead
    splits: tuple[Split, ...]
    write: WriteContext
    by: SortedBy
    user: str


@dataclass(slots=True)
class _Places:
    """Where rows go. `shared`: hashes that several keys have, ascending; `owners`: their buckets, -1 = unknown."""

    by: SortedBy
    bounds: list[bytes]
    shared: np.ndarray
    owners: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.owners = np.full(len(self.shared), -1, np.int32)

    def buckets(self, rows: pa.Table, hashes: np.ndarray) -> np.ndarray:
        """The bucket of each row, int32. `rows`: n > 0."""
        words = self.by.ranges(rows)
        numbers = (range_numbers(words, self.bounds) if self.bounds else np.zeros(rows.num_rows)).astype(np.int32)
        if not len(self.shared):
            return numbers
        at = np.minimum(np.searchsorted(self.shared, hashes), len(self.shared) - 1)
        is_shared = self.shared[at] == hashes
        first, places = np.unique(at[is_shared], return_index=True)
        new = self.owners[first] < 0
        self.owners[first[new]] = numbers[is_shared][places[new]]
        numbers[is_shared] = self.owners[at[is_shared]]
        return numbers


def rewrite_in_buckets(task: SortedBucketsTask) -> list[CommitMessage]:
    """Write the rows of the partition. On an error nothing of what was written stays."""
    places = _places(task)
    writer = TableWrite(task.write, WriteState(user=task.user))
    try:
        for split in task.splits:
            for table in task.read.tables(split):
                rows = conform(table, None, task.write)
                if rows.num_rows:
                    writer.write(rows, places.buckets(rows, key_hashes(rows, task.write)))
    except BaseException:
        writer.abort()
        raise
    return writer.finish()


def _places(task: SortedBucketsTask) -> _Places:
    """Look at the columns of the order and of the key, in all rows."""
    names = {*task.by.columns, *task.write.schema.trimmed_primary_keys}
    read = replace(task.read, columns=tuple(column for column in task.read.columns if column.name in names))
    step = max(1, sum(split.row_count for split in task.splits) // _SAMPLE_ROWS)
    keys, hashes, count = [np.empty(0, "S8")], [np.empty(0, np.int32)], 0
    for split in task.splits:
        for rows in read.tables(split):
            chosen = np.arange(-count % step, rows.num_rows, step)
            count += rows.num_rows
            hashes.append(key_hashes(rows, task.write))
            if len(chosen):
                keys.append(range_keys(task.by.ranges(rows.take(pa.array(chosen)))))
    every = np.sort(np.concatenate(hashes))
    shared = np.unique(every[1:][every[1:] == every[:-1]])
    return _Places(task.by, cuts(np.concatenate(keys), _bucket_count(task.write, count)), shared)


def _bucket_count(context: WriteContext, rows: int) -> int:
    options = DynamicBucketOptions.of(context.model)
    needed = max(1, -(-rows // max(1, options.target_rows)))
    most = options.max_buckets if options.max_buckets > 0 else _LAST_BUCKET + 1
    return min(needed, most)
