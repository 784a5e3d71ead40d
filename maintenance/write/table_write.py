"""Write rows to the buckets of a table, in one process."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from maintenance.write.bucket_writer import BucketWriter
from maintenance.write.buckets import buckets_of, check_bucket_mode, has_dynamic_buckets, split_by_bucket
from maintenance.write.context import WriteContext
from maintenance.write.hash_index import BucketAssigner, HashFiles, HashIndexWriter
from maintenance.write.message import CommitMessage

Sequences = Mapping[tuple[bytes, int], int]


class TableWrite:
    """Opens a writer for each bucket that rows fall into.

    `last_sequences`: largest sequence number of the live files of each (partition, bucket); numbering goes on from
    there.
    Rows of an unaware append table start at 0 in each writer, as in Paimon.
    `hash_files`: the index files of dynamic buckets; only those of partitions and buckets written to are read.
    """

    def __init__(self, context: WriteContext, last_sequences: Sequences, hash_files: HashFiles | None = None) -> None:
        check_bucket_mode(context)
        self._context = context
        self._last = last_sequences
        self._hash_files = hash_files or {}
        self._assigner = BucketAssigner(context, self._hash_files) if has_dynamic_buckets(context) else None
        self._writers: dict[tuple[bytes, int], BucketWriter] = {}

    def write(self, rows: pa.Table, buckets: np.ndarray | None = None) -> None:
        """Take rows as `conform` returns them. `buckets`: of each row, int32; None = they are given here."""
        if buckets is None:
            buckets = self._assigner.assign(rows) if self._assigner else buckets_of(rows, self._context)
        for part in split_by_bucket(rows, buckets, self._context):
            key = (part.partition, part.bucket)
            if key not in self._writers:
                self._writers[key] = BucketWriter(self._context, *key, self._last.get(key, -1) + 1, self._index(key))
            self._writers[key].write(part.rows)

    def _index(self, key: tuple[bytes, int]) -> HashIndexWriter | None:
        if self._assigner is None:
            return None
        return HashIndexWriter(self._context, *key, self._hash_files.get(key))

    def finish(self) -> list[CommitMessage]:
        """Write what is buffered.

        Returns one message for each bucket; on an error nothing of what was written stays.
        """
        try:
            messages = [writer.finish() for writer in self._writers.values()]
        except BaseException:
            self.abort()
            raise
        return [message for message in messages if not message.is_empty]

    def abort(self) -> None:
        for writer in self._writers.values():
            writer.abort()


def write_rows(
    context: WriteContext, last_sequences: Sequences, rows: pa.Table, hash_files: HashFiles | None = None
) -> list[CommitMessage]:
    """Write rows as `conform` returns them, all at once. On an error nothing of what was written stays."""
    writer = TableWrite(context, last_sequences, hash_files)
    try:
        writer.write(rows)
    except BaseException:
        writer.abort()
        raise
    return writer.finish()
