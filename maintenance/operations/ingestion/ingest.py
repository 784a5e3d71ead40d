"""Ingestion: one batch of rows becomes one commit, exactly once.

A pipeline keeps one commit user and numbers its batches. A batch whose number, or a later one, that user has
committed is not written again, so a replay after a crash is safe. Source: seed 000 (two-phase commit), Java
`filterCommitted`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.commit.commit import abort
from maintenance.commit.identity import CommitIdentity, numbered
from maintenance.commit.overwrite import Overwrite
from maintenance.commit.replays import already_committed, unknown_user
from maintenance.commit.target import CommitTarget
from maintenance.operations.ingestion.inline import InlineCompaction, finish_replayed, overwrite_rows
from maintenance.operations.ingestion.row_attempts import RowAttempts
from maintenance.operations.parameters import keywords_of
from maintenance.operations.progress import Progress
from maintenance.options import table as table_options
from maintenance.spark.application import application_property
from maintenance.spark.frame_write import FrameWrite
from maintenance.spark.sail import is_sail
from maintenance.spark.tasks import TaskError
from maintenance.spark.write import write_frame
from maintenance.table.table import Table
from maintenance.write.message import CommitMessage
from maintenance.write.state import WriteState
from maintenance.write.table_write import write_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingestion did.

    Attributes:
        snapshot_ids: made by it, of the rows and of compactions; none of rows for an empty batch or one that was
            committed before.
        already_committed: the batch was a replay.
        row_count: rows in the files written, after merging within the batch.
        compaction: of the buckets that got rows, unless the table is `write-only`.
        warning: why it is uncertain that the batch was not committed before; empty if it is certain.
    """

    table: str
    snapshot_ids: tuple[int, ...]
    already_committed: bool
    row_count: int
    file_count: int
    file_bytes: int
    seconds: float
    compaction: InlineCompaction = field(default_factory=InlineCompaction)
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch of rows is, besides the rows.

    Attributes:
        commit_user: the same for all batches of a pipeline.
        commit_identifier: number of the batch, increasing; None = the batch is never replayed.
        row_kind_column: a column with ``+I``, ``-U``, ``+U`` or ``-D``, which is not stored; None = all are ``+I``.
        watermark: in milliseconds; recorded in the snapshot.
        overwrite: what the rows replace (`INSERT OVERWRITE`); None = nothing, the rows are added.
        properties: further properties of the snapshot.
    """

    commit_user: str
    commit_identifier: int | None = None
    row_kind_column: str | None = None
    watermark: int | None = None
    overwrite: Overwrite | None = None
    properties: Mapping[str, str] | None = None

    def identity(self, spark: "SparkSession | None") -> CommitIdentity:
        properties = {**application_property(spark), **(self.properties or {})}
        return numbered(self.commit_user, self.commit_identifier, self.watermark, properties)


@keywords_of(Batch, "batch")
def ingest(
    spark: "SparkSession | None",
    table: Table,
    data: "DataFrame | pa.Table",
    batch: Batch,
    *,
    progress: Progress = lambda _: None,
) -> IngestReport:
    """Write a batch of rows and commit it, then compact the buckets it went to, unless the table is `write-only`.

    Args:
        spark: its tasks write; None with an Arrow table = this process does.
        data: rows, with columns by name. Of several records with the same key the last wins, or the one with the
            largest `sequence.field`.
        progress: called with a line for each thing that the compaction does.
    Raises: DataError: rows do not fit; nothing is committed and no file stays. CommitError, ConflictError: the
            table's number of buckets was changed, UnsupportedError.
    """
    started = time.monotonic()
    table_options.check_writable(table.options, table.identifier)
    identity = batch.identity(spark)
    target = table.commit_target()
    if already_committed(target, identity):
        late = finish_replayed(spark, table, identity, progress)
        return IngestReport(table.identifier, late.snapshot_ids, True, 0, 0, 0, time.monotonic() - started, late)
    warning = unknown_user(target, identity)

    if batch.overwrite is None:
        work = RowAttempts(spark, table, identity, progress)
        for attempt in work:
            with attempt:
                frame_write = FrameWrite(table.write_context(), attempt.state, batch.row_kind_column)
                attempt.wrote(_written(spark, data, frame_write, target))
        written = work.written
    else:
        # What is replaced is never read together with the new files: numbers and buckets start over.
        frame_write = FrameWrite(table.write_context(), WriteState(user=batch.commit_user), batch.row_kind_column)
        messages = _written(spark, data, frame_write, target)
        written = overwrite_rows(spark, table, messages, identity, batch.overwrite, progress=progress)
    files = [file for message in written.messages for file in message.new_files]
    return IngestReport(
        table.identifier,
        written.snapshot_ids,
        False,
        sum(file.row_count for file in files),
        len(files),
        sum(file.file_size for file in files),
        time.monotonic() - started,
        written.compaction,
        warning,
    )


def _written(
    spark: "SparkSession | None", data: "DataFrame | pa.Table", write: FrameWrite, target: CommitTarget
) -> Sequence[CommitMessage]:
    if isinstance(data, pa.Table):
        if spark is None or is_sail(spark):
            return write_rows(write.context, write.state, write.conformed(data))
        data = spark.createDataFrame(data)
    outcomes = write_frame(data, write)
    messages = [outcome for outcome in outcomes if not isinstance(outcome, TaskError)]
    for outcome in outcomes:
        if isinstance(outcome, TaskError):
            abort(target, messages)
            raise outcome.error
    return messages
