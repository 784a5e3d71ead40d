"""Writing through Spark's data source: ``frame.write.format("paimon").mode("append").save("/lake/db.db/t")``.

Spark hands each task the rows of one partition of the DataFrame and cannot bring those of a bucket together first. So
each task writes its own files for every bucket that it has rows for, with its own range of sequence numbers. Existing
rows lose against all of them. If two tasks have records of one key, the same record wins for every reader, but it is
not known which came later. Within a task the later one wins.

Options besides those of the table: `row-kind-column`, a column of ``+I``, ``-U``, ``+U``, ``-D`` that is not stored;
`commit-user` and `commit-identifier`, with which a repeated write is left out; `partition.<column>`, the partition that
is written to or replaced, whose column the rows may lack; `partitionOverwriteMode`, ``static`` or ``dynamic``, or
`dynamic-partition-overwrite`. Everything is committed by the driver, which also compacts inline, in its own threads.
Source: Paimon's Spark connector, `WriteIntoPaimonTable`.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from maintenance.bucket.postpone import PostponeOptions
from maintenance.commit.commit import abort
from maintenance.commit.identity import CommitIdentity, numbered
from maintenance.commit.overwrite import Overwrite
from maintenance.commit.replays import already_committed
from maintenance.errors import DataError, OptionError, UnsupportedError
from maintenance.metadata.partition_value import PartitionValue
from maintenance.operations.ingestion.inline import commit_rows_of, overwrite_rows
from maintenance.options import table as table_options
from maintenance.options.option import boolean, integer, one_of
from maintenance.spark.frame_write import FrameWrite
from maintenance.spark.tasks import enter_task
from maintenance.table.partitions import partition_names
from maintenance.table.table import Table, new_commit_user
from maintenance.write.buckets import check_bucket_mode, has_dynamic_buckets, moves_keys
from maintenance.write.message import CommitMessage
from maintenance.write.partitions import by_partition
from maintenance.write.postpone import needs_sizes
from maintenance.write.state import WriteState
from maintenance.write.table_write import TableWrite

_PARTITION = "partition."
_INGEST = (
    "Call maintenance.operations.ingestion.ingest.ingest(spark, table, frame, commit_user=...), or ingest_stream for a "
    "stream, which routes the rows"
)
# Of the write itself, not of the table; lower case, as Spark's options are.
WRITE_OPTIONS = ("row-kind-column", "commit-user", "commit-identifier", "partitionoverwritemode")


@dataclass
class TaskWritten(WriterCommitMessage):
    """What one task wrote."""

    messages: tuple[CommitMessage, ...]


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the options of a write say. `fixed`: the partition that is written to, columns to values."""

    identity: CommitIdentity
    row_kind_column: str | None
    overwrite: Overwrite | None
    fixed: Mapping[str, pa.Scalar]

    @classmethod
    def of(
        cls, options: Mapping[str, str], table: Table, properties: Mapping[str, str], *, overwrite: bool
    ) -> "_Settings":
        number = parsed("commit-identifier", integer, options)
        user = options.get("commit-user", new_commit_user(table.options))
        fixed = _partition(options, table, overwrite=overwrite)
        return cls(
            numbered(user, number, properties=properties),
            options.get("row-kind-column"),
            _replaced(options, fixed) if overwrite else None,
            {} if fixed is None else {name: column[0] for name, column in fixed.columns().items()},
        )


def _replaced(options: Mapping[str, str], fixed: PartitionValue | None) -> Overwrite:
    """Without any of the options the whole table, as Spark's mode `overwrite` says."""
    mode = parsed("partitionoverwritemode", one_of("static", "dynamic"), options)
    dynamic = parsed(table_options.DYNAMIC_PARTITION_OVERWRITE.key, boolean, options)
    return Overwrite(
        None if fixed is None else [fixed], dynamic=mode == "dynamic" if mode is not None else bool(dynamic)
    )


def _partition(options: Mapping[str, str], table: Table, *, overwrite: bool) -> PartitionValue | None:
    """The partition, or those, that the options name. Raises: OptionError: they name none, or may name several."""
    keys = {key: _PARTITION + key.lower() for key in table.schema.partition_keys}
    given = {key: options[option] for key, option in keys.items() if option in options}
    if not given:
        return None
    names = partition_names(table)
    try:
        return names.chosen([given], may_be_new=True)[0] if overwrite else names.shown(given)
    except DataError as error:
        named = ", ".join(f"'{keys[key]}'" for key in given)
        raise OptionError(error.found, f"option {named} of a write", error.fix) from error


def parsed(key: str, parse: Any, options: Mapping[str, str]) -> Any:
    try:
        return parse(options[key]) if key in options else None
    except ValueError as error:
        fix = f"Correct '{key}' of the write, or leave it out."
        raise OptionError(f"'{key}' = '{options[key]}': {error}", "options of a write", fix) from error


class PaimonWriter(DataSourceArrowWriter):
    """One batch write."""

    def __init__(
        self, table: Table, options: Mapping[str, str], properties: Mapping[str, str], *, overwrite: bool
    ) -> None:
        """Args: `options`: of Spark, keys in lower case; those of the table are in `table` already; `properties`: of
        the snapshot.
        """
        table_options.check_writable(table.options, table.identifier)
        context = table.write_context()
        check_bucket_mode(context)
        if moves_keys(context):
            raise UnsupportedError(
                "keys of this table may change their partition, so every row has to be routed",
                f"table {table.identifier}",
                f"{_INGEST}.",
            )
        if table.model.upsert_key and not table.is_primary_key_table and not overwrite:
            raise UnsupportedError(
                "'upsert-key': rows of this table replace each other, and those of a DataFrame cannot",
                f"table {table.identifier}",
                "Write INSERT INTO through catalog.sql(), or call maintenance.operations.merge_into.",
            )
        self._table = table
        self._settings = _Settings.of(options, table, properties, overwrite=overwrite)
        user = self._settings.identity.user
        # What is replaced is never read together with the new files: numbers and buckets start over.
        state = WriteState(user=user) if overwrite else table.write_state(user)
        self._write = FrameWrite(context, state, self._settings.row_kind_column)
        self._skipped = already_committed(table.commit_target(), self._settings.identity)

    def of_batch(self, user: str, number: int, state: WriteState | None = None) -> "PaimonWriter":
        """The same for a batch of a stream. `state`: upon which its rows were written, None = the one of this."""
        other = copy(self)
        identity = replace(self._settings.identity, user=user, identifier=number)
        other._settings = replace(self._settings, identity=identity)
        other._write = replace(self._write, state=state or replace(self._write.state, user=user))
        if number == 0:
            other._table = self._table.copy({table_options.COMMIT_FORCE_CREATE_SNAPSHOT.key: "true"})
        return other

    @property
    def state(self) -> WriteState:
        """Upon which rows are written."""
        return self._write.state

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskWritten:
        """Write the rows of this task."""
        enter_task()
        task = TaskContext.get()
        return self.written(iterator, 0 if task is None else task.partitionId())

    def written(self, batches: Iterator[pa.RecordBatch], lane: int) -> TaskWritten:
        """Write the rows of one task, the `lane`-th. On an error nothing of what was written stays."""
        if self._skipped:
            return TaskWritten(())
        writer = TableWrite(self._write.context, replace(self._write.state, lane=lane))
        try:
            for batch in batches:
                if batch.num_rows:
                    rows = self._write.conformed(self._with_partition(pa.Table.from_batches([batch])))
                    self._check_numbers(rows)
                    writer.write(rows)
        except BaseException:
            writer.abort()
            raise
        return TaskWritten(tuple(writer.finish()))

    def commit(self, messages: "list[WriterCommitMessage | None]") -> None:
        """Commit what all tasks wrote. Spark calls `abort` if this fails."""
        if self._skipped:
            return
        tasks = [task.messages for task in messages if isinstance(task, TaskWritten) and task.messages]
        if has_dynamic_buckets(self._write.context) and len(tasks) > 1:
            raise UnsupportedError(
                f"{len(tasks)} tasks wrote rows, and each would give a new key of this table another bucket",
                f"table {self._table.identifier}",
                f"{_INGEST}, or write frame.coalesce(1) if it is small.",
            )
        written = written_by(messages)
        settings = self._settings
        if settings.overwrite is not None:
            overwrite_rows(None, self._table, written, settings.identity, settings.overwrite)
        else:
            commit_rows_of(None, self._table, written, settings.identity, self._write.state)

    def abort(self, messages: "list[WriterCommitMessage | None]") -> None:
        """Delete what the tasks wrote, unless it is in the table: whether a commit that failed came through."""
        if self._is_committed():
            return
        abort(self._table.commit_target(), written_by(messages))

    def _is_committed(self) -> bool:
        """Whether a snapshot of this commit is there; also true where the user has others and gave it no number."""
        identity = self._settings.identity
        return any(
            snapshot.commit_user == identity.user and snapshot.commit_identifier == identity.identifier
            for snapshot in self._table.snapshots.newest_first()
        )

    def _with_partition(self, rows: pa.Table) -> pa.Table:
        """The rows with the columns of the partition that is written to. Those that they have are checked later."""
        for name, value in self._settings.fixed.items():
            if name not in rows.column_names:
                rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
        return rows

    def _check_numbers(self, rows: pa.Table) -> None:
        """Tasks cannot agree on how many buckets a new partition gets."""
        context = self._write.context
        if not needs_sizes(context) or PostponeOptions.of(context.model).default_buckets is not None:
            return
        for partition, _ in by_partition(rows, context):
            if partition not in self._write.state.bucket_numbers:
                raise UnsupportedError(
                    f"partition {self._table.paths.partition(partition)} is new, and how many buckets it gets depends "
                    "on how much is written to it",
                    f"table {self._table.identifier}",
                    f"Set 'postpone.default-bucket-num'. Or: {_INGEST}.",
                )


def written_by(messages: "Sequence[WriterCommitMessage | None]") -> list[CommitMessage]:
    """What those tasks wrote that have ended well."""
    return [message for task in messages if isinstance(task, TaskWritten) for message in task.messages]


def write_options(options: Mapping[str, str], table_columns: Sequence[str]) -> frozenset[str]:
    """The keys among those of a write, in lower case, that are not options of the table."""
    partitions = {_PARTITION + name.lower() for name in table_columns}
    return frozenset(key for key in options if key in WRITE_OPTIONS or key in partitions)
