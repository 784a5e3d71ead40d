"""The streaming side of the data source: ``spark.readStream.format("paimon").load("/warehouse/db.db/t")``.

Options: those of the batch source, `scan.mode` and its keys say where the stream starts; `consumer-id` notes its
progress with the table, so that expiry waits for it (with Spark's old trigger ``once`` the query's next start does);
`read.changelog` = ``true`` puts `rowkind` before the columns;
`read.stream.maxFilesPerTrigger`, `.maxBytesPerTrigger`, `.maxRowsPerTrigger`, and `.minRowsPerTrigger` with
`.maxTriggerDelayMs`, limit the size of a micro-batch. Spark keeps the position in its checkpoint: a restarted query
reads each split once more at most, in the same batch as before. Rows of one bucket come in the order of the snapshots,
in one task, where the table has a primary key.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow

from maintenance.read.split_read import ReadsSplits
from maintenance.scan.split import AnySplit, Split
from maintenance.scan.stream_position import Limits, StreamPosition
from maintenance.spark.read import split_batches
from maintenance.spark.tasks import in_task
from maintenance.table.stream import TableStream
from maintenance.table.system.audit_log import with_kinds
from maintenance.table.system.planned import ViewRead
from maintenance.table.table import Table
from maintenance.types.data_type import DataField

# A consumer that says nothing for longer than `consumer.expiration-time` is given up, also one with nothing to read.
_SILENT_SECONDS = 60.0


@dataclass
class SplitsPartition(InputPartition):
    """Splits that one task reads, in this order."""

    splits: tuple[AnySplit, ...]
    split_read: ReadsSplits

    def __init__(self, splits: tuple[AnySplit, ...], split_read: ReadsSplits) -> None:
        super().__init__(None)
        self.splits = splits
        self.split_read = split_read


class PaimonStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """One streaming query.

    Args: `table`: with the dynamic options of the read; `columns`: of the rows; `with_kind`: `rowkind` is the first.
    """

    def __init__(self, table: Table, columns: Sequence[DataField], limits: Limits, *, with_kind: bool) -> None:
        self._stream = TableStream(table)
        self._columns = tuple(columns)
        self._limits = limits
        self._with_kind = with_kind
        self._target: StreamPosition | None = None
        self._last_batch = 0.0
        self._noted: StreamPosition | None = None
        self._noted_at = 0.0

    def initialOffset(self) -> dict[str, int | bool | str]:  # noqa: N802 - Spark's name
        return self._stream.start().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        # Spark knows one limit at a time, so it only learns that there are some; `latestOffset` knows them all.
        return ReadMaxFiles(self._limits.max_files or 2**31 - 1) if self._limits.is_set else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        self._target = self._stream.end()

    def latestOffset(self, start: dict[str, int | bool | str], limit: ReadLimit) -> dict[str, int | bool | str]:  # noqa: N802
        position = StreamPosition.of_json(start)
        # Spark asks for more when a batch has ended. It asks once more behind the last one, and calls no `commit` then.
        self._note(position)
        limits = Limits() if isinstance(limit, ReadAllAvailable) else self._limits
        end = self._stream.end() if self._target is None else self._target
        reached, taken = self._stream.advance(position, end, limits)
        now = time.monotonic()
        waited = (now - self._last_batch) * 1000
        # What is there now must be read at once if nothing more is to be waited for.
        if taken.too_little and self._target is None and waited <= (limits.max_delay or 0):
            return start
        if taken.files:
            self._last_batch = now
        return reached.to_json()

    def partitions(
        self, start: dict[str, int | bool | str], end: dict[str, int | bool | str]
    ) -> Sequence[InputPartition]:
        first, last = StreamPosition.of_json(start), StreamPosition.of_json(end)
        read: ReadsSplits = self._stream.read(first, last, with_kind=self._with_kind)
        if self._with_kind:
            read = ViewRead(read, self._columns, None, with_kinds)  # type: ignore[arg-type]
        splits = self._stream.between(first, last)
        keyed = self._stream.table.is_primary_key_table
        return [SplitsPartition(group, read) for group in _tasks(splits, keyed=keyed)]

    @in_task
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SplitsPartition)
        for split in partition.splits:
            yield from split_batches(partition.split_read, split)

    def commit(self, end: dict[str, int | bool | str]) -> None:
        self._note(StreamPosition.of_json(end))

    def _note(self, position: StreamPosition) -> None:
        """Note for the consumer, if there is one, that everything before a position is read."""
        now = time.monotonic()
        if position != self._noted or now - self._noted_at > _SILENT_SECONDS:
            self._stream.progress(position)
            self._noted, self._noted_at = position, now


def _tasks(splits: Sequence[AnySplit], *, keyed: bool) -> list[tuple[AnySplit, ...]]:
    """Splits that belong into one task each. Changes of a key follow one another only inside a task."""
    if not keyed:
        return [(split,) for split in splits]
    groups: dict[tuple[bytes, int], list[AnySplit]] = {}
    for split in splits:
        assert isinstance(split, Split)
        groups.setdefault((split.partition, split.bucket), []).append(split)
    return [tuple(group) for group in groups.values()]
