"""Write the rows of one bucket: with a primary key as sorted runs of level 0, else as they come."""

from dataclasses import replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from maintenance.format.rows.system_fields import SEQUENCE_NUMBER
from maintenance.merge.engine import MergeEngine
from maintenance.merge.ordered import group_by_key
from maintenance.options import table as table_options
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.hash_index import HashIndexWriter
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FileObserver, FilePlace, RollingFileWriter
from maintenance.write.sequence import Counter, sequence_numbers

# Of rows that wait in the postpone bucket. Source: Java `KeyValue.UNKNOWN_SEQUENCE`.
_UNKNOWN_SEQUENCE = -1


class BucketObserver(Protocol):
    """What sees the rows that the files of a bucket are made of."""

    @property
    def data(self) -> FileObserver: ...

    @property
    def changelog(self) -> FileObserver: ...

    def flushed(self) -> None:
        """All rows that came so far are in files; those that come now are another sorted run."""


class BucketWriter:
    """Takes rows of one bucket in any number of pieces.

    With a primary key rows gather in a buffer (`write-buffer-size`); each time it is full it is sorted, merged to one
    record a key, and written as a sorted run. With `changelog-producer` = `input` all of them, unmerged, are written as
    changelog first. `counter`: numbers the rows; `index`: gathers keys of a dynamic bucket; `observer`: sees the rows.
    """

    def __init__(
        self,
        context: WriteContext,
        partition: bytes,
        bucket: int,
        counter: Counter,
        index: HashIndexWriter | None = None,
        observer: BucketObserver | None = None,
    ) -> None:
        self._index = index
        self._observer = observer
        self._context = context
        self._partition = partition
        self._bucket = bucket
        self._counter = counter
        self._buffer: list[pa.Table] = []
        self._buffered = 0
        self._limit = context.model.write_buffer_size
        names, place = FileNames.of(context), FilePlace(partition, bucket)
        data, changelog = (None, None) if observer is None else (observer.data, observer.changelog)
        lowest = counter.lowest
        self._writer = RollingFileWriter(context, place, names, min_sequence_number=lowest, observer=data)
        self._changelog: RollingFileWriter | None = None
        wants_changelog = context.has_primary_key and bucket != table_options.POSTPONE_BUCKET
        if wants_changelog and context.model.changelog_producer == "input":
            self._changelog = RollingFileWriter(context, replace(place, changelog=True), names, observer=changelog)

    def write(self, rows: pa.Table, size: int) -> None:
        """Take rows as `conform` returns them. `size`: about how many bytes they have."""
        if not self._context.has_primary_key:
            self._writer.write(rows)
            return
        if self._bucket == table_options.POSTPONE_BUCKET:
            # In the order they came; whoever gives them real buckets numbers and merges them.
            numbers = np.full(rows.num_rows, _UNKNOWN_SEQUENCE, np.int64)
            self._writer.write(rows.add_column(0, SEQUENCE_NUMBER.name, pa.array(numbers)))
            return
        if self._index is not None:
            self._index.add(rows)
        numbers = sequence_numbers(rows, self._context, self._counter.take(rows.num_rows))
        self._buffer.append(rows.add_column(0, SEQUENCE_NUMBER.name, pa.array(numbers)))
        self._buffered += size
        if self._buffered >= self._limit:
            self._flush()

    def finish(self) -> CommitMessage:
        """Write what is buffered. Returns the message for the commit."""
        self._flush()
        files = self._writer.close()
        changelog = () if self._changelog is None else self._changelog.close()
        entry = None if self._index is None else self._index.finish()
        return CommitMessage(
            self._partition,
            self._bucket,
            self._context.total_buckets,
            new_files=files,
            changelog_files=changelog,
            new_index_files=() if entry is None else (entry,),
        )

    def abort(self) -> None:
        """Delete what was written."""
        self._writer.abort()
        if self._changelog is not None:
            self._changelog.abort()

    def _flush(self) -> None:
        if not self._buffer:
            return
        rows = pa.concat_tables(self._buffer).combine_chunks()
        self._buffer, self._buffered = [], 0
        if not rows.num_rows:
            return
        engine = MergeEngine.of(self._context.schema, self._context.model)
        groups = group_by_key(rows, engine.order)
        if self._changelog is not None:
            # By key and age. One file for each flush, as in Java, so its name comes right before its data's.
            self._changelog.write(rows.take(pa.array(groups.order)))
            self._changelog.end_run()
        self._writer.write(engine.merge(rows, groups))
        self._writer.end_run()
        if self._observer is not None:
            self._observer.flushed()
