"""Write rows to the buckets of a table, in one process."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from maintenance.bucket.postpone import waits
from maintenance.errors import DataError
from maintenance.fs.location import is_local
from maintenance.metadata.partition_times import PartitionTimes
from maintenance.options import table as table_options
from maintenance.options.table import (
    PARTITION_TIMESTAMP_FORMAT_STRICT,
    PARTITION_TIMESTAMP_FORMATTER,
    PARTITION_TIMESTAMP_PATTERN,
)
from maintenance.threads import map_in_threads
from maintenance.write.bucket_writer import BucketObserver, BucketWriter
from maintenance.write.buckets import (
    FEW_ROWS,
    BucketRows,
    buckets_of,
    check_bucket_mode,
    check_bucket_number,
    has_dynamic_buckets,
    moves_keys,
    split_by_bucket,
)
from maintenance.write.context import WriteContext
from maintenance.write.hash_index import BucketAssigner, HashIndexWriter
from maintenance.write.key_index import KeyIndex, KeyPlacer, moved, records_of, with_known
from maintenance.write.message import CommitMessage
from maintenance.write.postpone import (
    needs_sizes,
    number_of,
    partition_sizes,
    postponed_buckets,
    waiting_context,
    with_buckets,
    with_numbers,
)
from maintenance.write.sequence import Counter
from maintenance.write.state import WriteState

# Of how many a buffer is filled, at least.
_PIECES = 4
# So many files with few rows are finished sooner than threads have started.
_FEW_FILES = 4


class TableWrite:
    """Opens a writer for each bucket that rows fall into.

    `state`: of the table; of its HASH files only those of partitions and buckets written to are read, and of a table
    with postponed buckets it knows every partition that gets rows.
    Rows of an unaware append table start at 0 in each writer, as in Paimon.
    `observer`: gives the observer of what becomes files, by partition and bucket.
    """

    def __init__(
        self,
        context: WriteContext,
        state: WriteState,
        observer: Callable[[bytes, int], BucketObserver] | None = None,
    ) -> None:
        check_bucket_mode(context)
        self._context = context
        self._state = state
        self._observer = observer
        self._buffer = context.model.write_buffer_size
        self._waits = waits(context.model)
        self._waiting = waiting_context(context, state.user) if self._waits else context
        self._assigner = BucketAssigner(context, state.hash_files or {}) if has_dynamic_buckets(context) else None
        self._writers: dict[tuple[bytes, int], BucketWriter] = {}
        self._rows = 0

    @property
    def context(self) -> WriteContext:
        return self._context

    def write(self, rows: pa.Table, buckets: np.ndarray | None = None, size: int | None = None) -> None:
        """Take rows as `conform` returns them.

        Args: `buckets`: of each row, int32; None = they are given here; `size`: bytes of all rows, if known.
        """
        if buckets is None:
            buckets = self._buckets(rows)
        for part in split_by_bucket(rows, buckets, self._context, size):
            self.write_bucket(part)

    def write_bucket(self, part: BucketRows) -> None:
        """Take rows as `conform` returns them, whose bucket is known."""
        key = (part.partition, part.bucket)
        self._rows += part.rows.num_rows
        if key not in self._writers:
            self._writers[key] = self._opened(key)
        for piece in self._pieces(part):
            self._writers[key].write(piece, part.bytes * piece.num_rows // max(1, part.rows.num_rows))

    def _pieces(self, part: BucketRows) -> Iterator[pa.Table]:
        """Rows as writers take them: what is larger than a writer's buffer is cut, so that each full one is a run.

        Whoever watches the runs says with what he gives where they may end.
        """
        rows, size = part.rows, part.bytes
        if self._observer is not None or size <= self._buffer:
            yield rows
            return
        step = max(1, self._buffer * rows.num_rows // (size * _PIECES))
        for start in range(0, rows.num_rows, step):
            yield rows.slice(start, step)

    def _buckets(self, rows: pa.Table) -> np.ndarray:
        if self._assigner is not None:
            return self._assigner.assign(rows)
        if self._context.model.is_postponed:
            return postponed_buckets(rows, self._context, None if self._waits else self._state.bucket_numbers)
        return buckets_of(rows, self._context)

    def _opened(self, key: tuple[bytes, int]) -> BucketWriter:
        context = self._context
        self._check_time(key[0])
        if key[1] == table_options.POSTPONE_BUCKET:
            context = self._waiting
        elif context.model.is_postponed:
            context = with_buckets(context, number_of(key[0], self._state.bucket_numbers, context))
        else:
            check_bucket_number(context, key[0], self._state.bucket_numbers.get(key[0]))
        counter = Counter(self._state.sequences.get(key, -1) + 1, self._state.lane)
        observer = None if self._observer is None else self._observer(*key)
        return BucketWriter(context, *key, counter, self._index(key), observer)

    def _check_time(self, partition: bytes) -> None:
        """Option `partition.timestamp-format.strict`: partitions must name a time as their options say."""
        context = self._context
        options, fields = context.model, context.schema.partition_fields
        says = PARTITION_TIMESTAMP_FORMATTER.key in options or PARTITION_TIMESTAMP_PATTERN.key in options
        if not fields or not says or not PARTITION_TIMESTAMP_FORMAT_STRICT.of(options):
            return
        if PartitionTimes.of(fields, options, f"table {context.name}").time_of(partition) is None:
            raise DataError(
                f"rows of partition {context.paths.partition(partition)}, whose values are not a time",
                f"table {context.name}",
                "Correct the partition columns, 'partition.timestamp-pattern' or 'partition.timestamp-formatter'.",
            )

    def _index(self, key: tuple[bytes, int]) -> HashIndexWriter | None:
        if self._assigner is None:
            return None
        return HashIndexWriter(self._context, *key, (self._state.hash_files or {}).get(key))

    def finish(self) -> list[CommitMessage]:
        """Write what is buffered.

        Returns one message for each bucket; on an error nothing of what was written stays.
        """
        try:
            messages = map_in_threads(BucketWriter.finish, self._writers.values(), self._threads())
        except BaseException:
            self.abort()
            raise
        return [message for message in messages if not message.is_empty]

    def _threads(self) -> int:
        """How many threads finish the writers; on a store, each waits for its answer."""
        is_little = self._rows <= FEW_ROWS and len(self._writers) <= _FEW_FILES and is_local(self._context.paths.root)
        return 1 if is_little else self._context.threads

    def abort(self) -> None:
        for writer in self._writers.values():
            writer.abort()


def write_rows(context: WriteContext, state: WriteState, rows: pa.Table) -> list[CommitMessage]:
    """Write rows as `conform` returns them, on all cores. On an error nothing of what was written stays."""
    buckets = None
    context = replace(context, threads=os.cpu_count() or 1)
    if needs_sizes(context):
        state = with_numbers(state, dict(partition_sizes(rows, context)), context)
    if moves_keys(context):
        rows, buckets = _placed(rows, context, state.key_index)
    writer = TableWrite(context, state)
    try:
        writer.write(rows, buckets)
    except BaseException:
        writer.abort()
        raise
    return writer.finish()


def _placed(rows: pa.Table, context: WriteContext, index: KeyIndex | None) -> tuple[pa.Table, np.ndarray]:
    """What to write of rows whose keys may be in other partitions, and into which buckets."""
    records = records_of(rows, context)
    if index is not None:
        records = with_known(records, index, context)
    placed = KeyPlacer(context, {} if index is None else index.counts).place(records)
    made_of = rows.take(pa.array(placed.rows - (len(records.keys) - rows.num_rows)))
    return moved(made_of, placed, context), placed.buckets
