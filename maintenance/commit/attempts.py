"""A commit is tried on the newest snapshot until no other writer was first, or a check finds a conflict.

Whoever commits drives it. Each attempt has a state; what is to be changed in it, and what is in the way, is worked out
there and handed to the attempt::

    work = CommitAttempts(target, identity)
    for attempt in work:
        with attempt:
            changes = planned(attempt.latest)
            attempt.commit(changes, conflict_of(changes, attempt.latest))
    outcome = work.outcome

Source: metadata section 9.2, Java `FileStoreCommitImpl`.
"""

from collections.abc import Iterator
from threading import Lock
from types import TracebackType

from maintenance.commit.backoff import Backoff
from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import Conflict
from maintenance.commit.iceberg.follow import follow
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.lock import LockTimeoutError
from maintenance.commit.next_snapshot import numbered
from maintenance.commit.outcome import InDoubt, Lost, Overtaken, Published
from maintenance.commit.replays import last_committed, remember
from maintenance.commit.row_ranges import torn_rows
from maintenance.commit.staging import Staging
from maintenance.commit.strict import StrictMode
from maintenance.commit.target import CommitTarget
from maintenance.errors import ExpiredError, StorageError, WriteError, storage_fix
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from maintenance.options import table as table_options
from maintenance.options.callbacks import COMMIT_GROUP, call_back

_WRITTEN = {"bytes": 0}
_COUNTING = Lock()


def bytes_committed() -> int:
    """Of the data and changelog files that are new with what this process has committed, whoever has written them."""
    return _WRITTEN["bytes"]


def _count(changes: Changes) -> None:
    # A file that changes its level or comes back was there before.
    before = {entry.file.file_name for entry in changes.entries if entry.kind == FileKind.DELETE}
    added = () if changes.bring_back else (*changes.entries, *changes.changelog)
    new = (e.file for e in added if e.kind == FileKind.ADD and e.file.file_name not in before)
    size = sum(file.file_size for file in new)
    with _COUNTING:
        _WRITTEN["bytes"] += size


class CommitAttempts:
    """The attempts of one commit, with growing pauses between them. They end with an outcome.

    Raises, while attempts are made: CommitError: certainly nothing is published: out of retries, the catalog's lock
    cannot be had or was lost, or storage takes no more. InfrastructureError: a callback of `commit.callbacks` failed
    after the commit. What storage raised that was asked to publish: whether the snapshot is there is unknown.
    """

    def __init__(self, target: CommitTarget, identity: CommitIdentity) -> None:
        self.target = target
        self.identity = identity
        self._ended: Published | Lost | None = None
        self._backoff = Backoff.of(target.model)
        self._staging = Staging.of(target)
        self._replay = _Replay(target, identity)
        last_safe = table_options.COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT.of(target.options)
        self._strict = StrictMode(target.snapshots, target.manifests, last_safe, identity.user)
        self._timed_out: LockTimeoutError | None = None

    @property
    def outcome(self) -> Published | Lost:
        """How it ended. For after the attempts."""
        assert self._ended is not None
        return self._ended

    @property
    def may_be_published(self) -> bool:
        """Whether a snapshot may be there that needs the files of this commit. As long as not, nothing is published."""
        return self._staging.named

    def snapshot(self) -> Snapshot:
        """The snapshot that was published. Raises: ConflictError: the commit has lost."""
        if isinstance(self.outcome, Lost):
            raise self.outcome.error(self.target)
        return self.outcome.snapshot

    def snapshot_id(self) -> int | None:
        """The id of the snapshot that was published, None if the commit has lost."""
        return self.outcome.snapshot.id if isinstance(self.outcome, Published) else None

    def __iter__(self) -> Iterator["Attempt"]:
        try:
            for number in self._backoff.attempts():
                try:
                    latest = self.target.snapshots.latest()
                except ExpiredError:
                    continue
                yield Attempt(self, number, latest)
                if self._ended is not None:
                    return
        except BaseException as error:
            problem = self._given_up(error)
            if problem is None:
                raise
            raise problem from error
        self._staging.discard()
        if self._timed_out is not None:
            raise self._timed_out
        raise self._backoff.gave_up(f"table {self.target.name}")

    def _given_up(self, error: BaseException) -> WriteError | None:
        """Take back what is written. Returns what is to be raised instead of an error, None = the error itself."""
        self._staging.discard()
        if not isinstance(error, OSError) or self.may_be_published:
            return None
        reason = f"{error.found}, {error.where}" if isinstance(error, StorageError) else str(error)
        return WriteError(f"the commit cannot be prepared: {reason}", f"table {self.target.name}", storage_fix(error))


class Attempt:
    """One attempt. An error within its `with` block ends the commit, unless the next attempt may go better.

    Attributes:
        latest: the newest snapshot, None = the table has none.
    """

    def __init__(self, work: CommitAttempts, number: int, latest: Snapshot | None) -> None:
        self.latest = latest
        self._work = work
        self._number = number

    def commit(self, changes: Changes, conflict: Conflict | None = None) -> None:
        """Publish changes as the next snapshot, unless something is in the way. Arguments: as of `check`."""
        if self.check(changes, conflict):
            self.publish(changes)

    def check(self, changes: Changes, conflict: Conflict | None = None) -> bool:
        """Whether changes may be published next. If not, the commit has lost.

        Args: `conflict`: what whoever made the changes found in their way.
        Raises: DataError: the kind of the table does not allow them.
        """
        work = self._work
        target = work.target
        evolves = target.model.evolves
        found = (
            work._replay.found(changes.kind, self.latest)
            or work._strict.found(changes.kind, changes.entries, self.latest)
            or conflict
            or (torn_rows(target.manifests, changes.entries, self.latest) if evolves else None)
        )
        if found is not None:
            work._staging.discard()
            work._ended = Lost(found, self.latest, self._number)
            return False
        target.rules.check(changes.kind, changes.entries, self.latest)
        return True

    def publish(self, changes: Changes) -> None:
        """Publish changes as the next snapshot, if no other writer is first. For changes that were checked."""
        work = self._work
        target, staging = work.target, work._staging
        changes = numbered(target.model, changes, self.latest)
        # A lost race means others commit quickly: then only the first attempt spends time on merging manifests.
        snapshot = staging.stage(self.latest, changes, work.identity, merge=self._number == 1)
        match staging.publish(snapshot, self.latest, self._number):
            case Overtaken():
                staging.retreat()
            case InDoubt(error):
                raise error
            case Published() as outcome:
                work._ended = outcome
                _count(changes)
                remember(target, snapshot)
                forgets = changes.kept is not None
                follow(target.name, target.file_io, target.paths, target.model, afresh=forgets)

    def __enter__(self) -> "Attempt":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        work = self._work
        if error is None:
            if isinstance(work._ended, Published):
                work.target.rules.published(work._ended.snapshot)
                call_back(COMMIT_GROUP, work.target.model, work.target.name, work._ended.snapshot)
            return False
        # An expired state: the newest snapshot expired while it was read, so there is a newer one.
        if isinstance(error, (ExpiredError, LockTimeoutError)) and not work.may_be_published:
            work._staging.retreat()
            work._timed_out = error if isinstance(error, LockTimeoutError) else work._timed_out
            return True
        problem = work._given_up(error)
        if problem is not None:
            raise problem from error
        return False


class _Replay:
    """Looks at each attempt whether another process has published the same commit: one that was taken for dead, or the
    one started in its place."""

    def __init__(self, target: CommitTarget, identity: CommitIdentity) -> None:
        self._target = target
        self._identity = identity
        self._seen = 0  # up to which snapshot it has looked

    def found(self, kind: CommitKind, latest: Snapshot | None) -> Conflict | None:
        # A writer's compaction has the number of the rows that it follows.
        if kind == CommitKind.COMPACT or self._identity.identifier == BATCH_IDENTIFIER:
            return None
        last = last_committed(self._target, self._identity.user, after=self._seen, newest=latest)
        self._seen = 0 if latest is None else latest.id
        if last is None or last < self._identity.identifier:
            return None
        reason = f"commit {self._identity.identifier} of user '{self._identity.user}' is in the table already"
        return Conflict(reason, frozenset(), replayed=True)
