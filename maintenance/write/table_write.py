"""Write rows to the buckets of a table, in one process."""

from collections.abc import Mapping

import pyarrow as pa

from maintenance.write.bucket_writer import BucketWriter
from maintenance.write.buckets import buckets_of, check_bucket_mode, split_by_bucket
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage

Sequences = Mapping[tuple[bytes, int], int]


class TableWrite:
    """Opens a writer for each bucket that rows fall into.

    `last_sequences`: largest sequence number of the live files of each (partition, bucket); numbering goes on from
    there.
    Rows of an unaware append table start at 0 in each writer, as in Paimon.
    """

    def __init__(self, context: WriteContext, last_sequences: Sequences) -> None:
        check_bucket_mode(context)
        self._context = context
        self._last = last_sequences
        self._writers: dict[tuple[bytes, int], BucketWriter] = {}

    def write(self, rows: pa.Table) -> None:
        """Take rows as `conform` returns them."""
        for part in split_by_bucket(rows, buckets_of(rows, self._context), self._context):
            key = (part.partition, part.bucket)
            if key not in self._writers:
                self._writers[key] = BucketWriter(self._context, *key, self._last.get(key, -1) + 1)
            self._writers[key].write(part.rows)

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


def write_rows(context: WriteContext, last_sequences: Sequences, rows: pa.Table) -> list[CommitMessage]:
    """Write rows as `conform` returns them, all at once. On an error nothing of what was written stays."""
    writer = TableWrite(context, last_sequences)
    try:
        writer.write(rows)
    except BaseException:
        writer.abort()
        raise
    return writer.finish()
