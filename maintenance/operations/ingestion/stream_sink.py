"""Write a stream into a table, each micro-batch exactly once.

The checkpoint identifies the pipeline: next to Spark's files it holds the commit user of all its batches, and Spark's
batch number is the commit's identifier. Killed anywhere and started again with its checkpoint,
Spark repeats the last batch or goes on with the next; a batch that is in the table already is left out. A checkpoint
that is deleted is a new pipeline with a new user, so that its batches are not taken for those of the old one.

The snapshots say whether a batch is in the table, and the commit records once they have expired. If neither knows the
pipeline although snapshots have expired, the first batch is refused rather than written twice; `resume_after` then says
up to which batch the table has them. Source: seed 000 (two-phase commit), Java `PaimonSink`, `filterCommitted`.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from maintenance.commit.replays import last_committed
from maintenance.errors import CommitError, DataError
from maintenance.fs.file_io import FileIO
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.spark.application import is_connect
from maintenance.spark.cancellation import ended_with_caller
from maintenance.spark.sail import refuse_streams
from maintenance.table.table import Table, new_commit_user

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

USER_FILE = "paimon-commit-user"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """A micro-batch to commit. `watermark`: milliseconds, None without one."""

    frame: "DataFrame"
    number: int
    commit_user: str
    watermark: int | None


WriteBatch = Callable[["SparkSession", Table, MicroBatch], None]


@dataclass(frozen=True, slots=True)
class Sink:
    """What a stream is written with.

    Attributes:
        checkpoint: folder of the pipeline, of its own.
        row_kind_column: a column with ``+I``, ``-U``, ``+U`` or ``-D``, which is not stored; None = all are ``+I``.
        event_time: column that the watermark follows, and by how much it lags; None = no watermark.
        resume_after: number of the last batch in the table, for a pipeline whose snapshots have expired.
    """

    checkpoint: str
    row_kind_column: str | None = None
    event_time: tuple[str, timedelta] | None = None
    resume_after: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def commit_user_of(checkpoint: str, file_io: FileIO, options: TableModel) -> str:
    """The commit user of a pipeline: as its checkpoint says, else a new one that it says from now on."""
    path = f"{checkpoint.rstrip('/')}/{USER_FILE}"
    if not file_io.exists(path):
        file_io.publish(path, new_commit_user(options).encode())
    user = file_io.read_settled(path).decode().strip()
    if not user:
        raise DataError(
            "the commit user of the pipeline is blank", path, "Delete the checkpoint's folder or restore it."
        )
    return user


def check_known(table: Table, user: str, number: int, resume_after: int | None) -> bool:
    """Whether the first batch after a start must be written; later ones follow it. `user`: of the pipeline.

    Raises: CommitError: nothing tells whether it is in the table.
    """
    if number == 0:
        return True
    if resume_after is not None:
        return number > resume_after
    if last_committed(table.commit_target(), user) is not None:
        return True
    if table.snapshots.earliest_id() in (None, 1):
        return True
    raise CommitError(
        f"batch {number} may be in the table already: the pipeline's snapshots have expired",
        f"table {table.identifier}, commit user {user}",
        "Look up its last batch and set resume_after; keep snapshots longer than a pipeline may be down.",
    )


def watermark_of(frame: "DataFrame", sink: Sink) -> int | None:
    """The largest event time of a batch minus the lag, milliseconds; None without a time."""
    if sink.event_time is None:
        return None
    from pyspark.sql import functions

    column, lag = sink.event_time
    latest_time = functions.max(functions.unix_millis(functions.col(column).cast("timestamp")))
    with ended_with_caller(frame.sparkSession):
        row = frame.agg(latest_time.alias("latest")).first()
    latest = None if row is None else row["latest"]
    return None if latest is None else int(latest) - int(lag.total_seconds() * 1000)


def start_stream(
    spark: "SparkSession", frame: "DataFrame", open_table: Callable[[], Table], sink: Sink, write: WriteBatch
) -> "StreamingQuery":
    """Start the query that hands each micro-batch to `write`.

    Args: `frame`: streaming; `open_table`: called for each batch, so that changes of the schema are seen; `sink`: its
        `settings` are those of Spark's writer, `trigger` among them: ``availableNow`` (``once`` is the same here), or a
        time such as ``10 seconds``.
    """
    table = open_table()
    refuse_streams(spark, f"table {table.identifier}")
    table_options.check_writable(table.options, table.identifier)
    user = commit_user_of(sink.checkpoint, table.file_io, table.options)
    # A Connect server gets a copy of this, and gives each batch its own session.
    run = _Run(None if is_connect(spark) else spark, open_table, sink, write, user)
    trigger = dict(sink.settings).pop("trigger", "availableNow")
    writer = frame.writeStream.foreachBatch(run.batch).option("checkpointLocation", sink.checkpoint)
    writer = writer.queryName(f"paimon-{table.identifier}-{uuid.uuid4().hex[:8]}")
    for key, value in sink.settings.items():
        if key != "trigger":
            writer = writer.option(key, value)
    # Spark's own `once` never tells the source that its batch has ended.
    is_now = trigger in ("availableNow", "once")
    return (writer.trigger(availableNow=True) if is_now else writer.trigger(processingTime=trigger)).start()


@dataclass(slots=True)
class _Run:
    spark: "SparkSession | None"
    open_table: Callable[[], Table]
    sink: Sink
    write: WriteBatch
    user: str
    first: bool = True

    def batch(self, frame: "DataFrame", number: int) -> None:
        table = self.open_table()
        if self.first and not check_known(table, self.user, number, self.sink.resume_after):
            return
        # The watermark looks at all rows before they are written.
        held = frame.persist() if self.sink.event_time else frame
        try:
            self.write(
                self.spark or frame.sparkSession,
                table,
                MicroBatch(held, number, self.user, watermark_of(held, self.sink)),
            )
        finally:
            if self.sink.event_time:
                held.unpersist()
        self.first = False
