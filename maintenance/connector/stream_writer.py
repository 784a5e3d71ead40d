"""Writing a stream: ``frame.writeStream.format("paimon").option("checkpointLocation", …).start("/lake/db.db/t")``.

Each micro-batch is one commit, exactly once. Its user is the id that Spark keeps for the query in the checkpoint, and
its identifier is Spark's number of the batch: a batch that Spark repeats after a restart is left out. The first batch
is a snapshot even if it has no rows, so that later ones can tell whether the table knows the query. With another
checkpoint it is another query. Mode `append` adds rows, `complete` replaces the table with each batch.

Options: those of a batch write (`data_writer`) except `commit-user` and `commit-identifier`, which the query gives, and
`partitionOverwriteMode`; `resume-after`, the number of the last batch that is in the table, if the table cannot tell.
Source: Paimon's Spark connector, `PaimonSink`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from maintenance.commit.commit import abort
from maintenance.commit.identity import numbered
from maintenance.commit.replays import already_committed
from maintenance.connector.data_writer import PaimonWriter, TaskWritten, parsed, written_by
from maintenance.errors import OptionError
from maintenance.operations.ingestion.inline import finish_replayed
from maintenance.operations.ingestion.stream_sink import check_known
from maintenance.options.option import integer
from maintenance.spark.tasks import enter_task
from maintenance.table.table import Table, prefixed_user
from maintenance.write.state import WriteState

_RESUME_AFTER = "resume-after"
# Not of the table, in lower case: our own, and what Spark itself was given with the query.
STREAM_OPTIONS = (_RESUME_AFTER, "checkpointlocation", "queryname")
_REFUSED = ("commit-user", "commit-identifier", "partitionoverwritemode")
# Under this name Spark tells its tasks which query they work for.
_QUERY_ID = "sql.streaming.queryId"

_Messages = list[WriterCommitMessage | None]


@dataclass
class StreamTaskWritten(TaskWritten):
    """What one task wrote. `query`: its id; `state`: upon which all tasks wrote, None for all but the first."""

    query: str
    state: WriteState | None


class PaimonStreamWriter(DataSourceStreamArrowWriter):
    """One micro-batch. Spark makes one of these for its tasks, and another one to commit what they wrote."""

    def __init__(
        self, table: Table, options: Mapping[str, str], properties: Mapping[str, str], *, overwrite: bool
    ) -> None:
        """Args: as of `PaimonWriter`."""
        for key in _REFUSED:
            if key in options:
                fix = f"Leave '{key}' out of the stream's options."
                raise OptionError(f"'{key}' = '{options[key]}' for a stream", "options of a write", fix)
        self._table = table
        self._resume_after: int | None = parsed(_RESUME_AFTER, integer, options)
        self._writer = PaimonWriter(table, options, properties, overwrite=overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StreamTaskWritten:
        """Write the rows of this task."""
        enter_task()
        task = TaskContext.get()
        assert task is not None
        return self.written(iterator, task.partitionId(), str(task.getLocalProperty(_QUERY_ID)))

    def written(self, batches: Iterator[pa.RecordBatch], lane: int, query: str) -> StreamTaskWritten:
        """Write the rows of one task, the `lane`-th of a query."""
        writer = self._writer.of_batch(prefixed_user(self._table.options, query), 0)
        written = writer.written(batches, lane)
        return StreamTaskWritten(written.messages, query, None if lane else writer.state)

    def commit(self, messages: _Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Commit what all tasks wrote, unless it is in the table already. Spark calls `abort` if this fails."""
        tasks = [task for task in messages if isinstance(task, StreamTaskWritten)]
        user = _user_of(self._table, tasks[0].query)
        identity = numbered(user, batchId)
        if already_committed(self._table.commit_target(), identity):
            abort(self._table.commit_target(), written_by(messages))
            finish_replayed(None, self._table, identity)
        elif not check_known(self._table, user, batchId, self._resume_after):
            abort(self._table.commit_target(), written_by(messages))
        else:
            state = next((task.state for task in tasks if task.state is not None), None)
            self._writer.of_batch(user, batchId, state).commit(messages)

    def abort(self, messages: _Messages, batchId: int) -> None:  # noqa: N803 - Spark's name
        """Delete what the tasks wrote, unless it is in the table: whether a commit that failed came through."""
        query = next((task.query for task in messages if isinstance(task, StreamTaskWritten)), None)
        if query is not None:
            self._writer.of_batch(_user_of(self._table, query), batchId).abort(messages)


def _user_of(table: Table, query: str) -> str:
    """The commit user of a query. It stays what it was if `commit.user-prefix` is changed."""
    users = (snapshot.commit_user for snapshot in table.snapshots.newest_first())
    return next((user for user in users if user.endswith(query)), prefixed_user(table.options, query))
