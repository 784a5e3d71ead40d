"""Rows are written and committed, and written again where others made that necessary.

Whoever writes drives it, on the state that each attempt has::

    work = RowAttempts(spark, table, identity)
    for attempt in work:
        with attempt:
            attempt.wrote(write_rows(context, attempt.state, rows))
    written = work.written

Rows are written again when another writer gave keys their places meanwhile, or partitions the number of their buckets;
or when what tells the places of keys has expired before it was read.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

from maintenance.commit.commit import append_or_abort
from maintenance.commit.identity import CommitIdentity
from maintenance.errors import ConflictError, ExpiredError, OutdatedPlanError
from maintenance.metadata.expired import unless_expired
from maintenance.operations.ingestion.inline import Compactor, InlineCompaction, Written, finished
from maintenance.operations.progress import Progress
from maintenance.operations.refs.mark_partition_done import check_marking
from maintenance.spark.tasks import runner
from maintenance.table.table import Table
from maintenance.write.message import CommitMessage
from maintenance.write.renumber import in_threads
from maintenance.write.state import WriteState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How often rows are written because of others.
_ATTEMPTS = 5


class RowAttempts:
    """The attempts at one write. What was written is committed, and its buckets are compacted.

    Args: `spark`: its tasks compact, None = threads of this process; `progress`: gets a line for each thing that the
        compaction does; `partitions`: of the rows, as of `state_of`.
    Raises, while attempts are made: as `append_or_abort`; VisibilityError: see `wait_until_visible`.
    """

    def __init__(
        self,
        spark: "SparkSession | None",
        table: Table,
        identity: CommitIdentity,
        progress: Progress = lambda _: None,
        partitions: Callable[[], Collection[bytes]] | None = None,
    ) -> None:
        check_marking(table)
        self.table = table
        self._identity = identity
        self._partitions = partitions
        self._compactor = Compactor(spark, table, progress)
        self._run = in_threads if spark is None else runner(spark)
        self._room = InlineCompaction()
        self._written: Written | None = None

    @property
    def written(self) -> Written:
        """What the write did. For after the attempts."""
        assert self._written is not None
        return self._written

    def __iter__(self) -> Iterator["RowAttempt"]:
        for number in range(1, _ATTEMPTS + 1):
            state = self.table.write_state(self._identity.user, self._partitions)
            attempt = RowAttempt(self.table, state, last=number == _ATTEMPTS)
            yield attempt
            committed = None if attempt.messages is None else self._commit(attempt, attempt.messages)
            if committed is not None:
                self._written = finished(self._compactor, self._room, *committed, self._identity)
                return

    def _commit(
        self, attempt: "RowAttempt", messages: Sequence[CommitMessage]
    ) -> tuple[tuple[int, ...], Sequence[CommitMessage]] | None:
        """The new snapshot ids, and the messages as they were published; None: the rows are to be written again."""
        state = attempt.state
        self._room = self._room.plus(self._compactor.make_room(state, messages, self._identity))
        try:
            return append_or_abort(self.table.commit_target(), messages, self._identity, state=state, run=self._run)
        except OutdatedPlanError:
            raise
        except ConflictError:
            if attempt.last or not (state.gives_places or self.table.model.is_postponed):
                raise
            return None


class RowAttempt:
    """One attempt. Its `with` block writes; an error there ends the write, unless the state expired under it.

    Attributes:
        state: on which the rows are to be written; `last`: whether there is none after it.
        messages: of the files that were written, None = none yet.
    """

    def __init__(self, table: Table, state: WriteState, *, last: bool) -> None:
        self.state = state
        self.last = last
        self.messages: Sequence[CommitMessage] | None = None
        self._table = table

    def wrote(self, messages: Sequence[CommitMessage]) -> None:
        """Say what was written. It is committed at the end of the block."""
        self.messages = messages

    def __enter__(self) -> "RowAttempt":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        try:
            self._raise_expired(error)
        except ExpiredError:
            if self.last:
                raise
            self.messages = None
            return True
        return False

    def _raise_expired(self, error: BaseException | None) -> None:
        """Raises: ExpiredError: an error means that the state's snapshot was expired, and what tells the places of keys
        with it."""
        if isinstance(error, ExpiredError):
            raise error
        state, table = self.state, self._table
        if not isinstance(error, Exception) or state.snapshot is None or not state.gives_places:
            return
        try:
            with unless_expired(table.file_io, table.paths, state.snapshot.id, snapshot=state.snapshot):
                raise error
        except ExpiredError:
            raise
        except Exception as other:
            if other is not error:
                raise
