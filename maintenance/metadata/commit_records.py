"""Which numbered commits are in a table, for longer than their snapshots are kept.

A commit that its user numbered is not written twice: the user's newest snapshot has its last number. When that snapshot
expires, Paimon's metadata no longer has it. So each numbered commit also leaves a small file in `commit-records/`,
named after its user and its snapshot. Paimon and other programs that read or clean the table ignore that folder,
including the expiry of other engines.

A record is written after its snapshot, by the writer; an expiry writes it for snapshots of other writers, before it
deletes them. It is valid only while its snapshot is part of the history: a record whose number a later rollback gave to
another commit is ignored, and expiry deletes it. Files are never changed, only added and deleted. Of each user the
newest ones stay, and the newest whose snapshot has expired, which a rollback needs. The `MAX_USERS` users that
committed last are remembered; `dropped` says what became of others.
"""

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from maintenance.errors import CorruptFileError
from maintenance.format.json_object import in_range, parse_object, serialize_object
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.snapshots import Snapshots

MAX_USERS = 1000

_LOG = logging.getLogger(__name__)
_DROPPED = "dropped"
_NAME = re.compile(r"record-([0-9a-f]{32})-(\d+)")
# Records of one user that stay, and beyond how many its writer deletes older ones.
_KEPT, _MANY = 4, 8


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """A numbered commit. `time_millis`: of its snapshot."""

    user: str
    identifier: int
    snapshot_id: int
    time_millis: int

    @classmethod
    def of(cls, snapshot: Snapshot) -> "CommitRecord":
        return cls(snapshot.commit_user, snapshot.commit_identifier, snapshot.id, snapshot.time_millis)

    @property
    def name(self) -> str:
        """The name of its file."""
        return f"record-{_key(self.user)}-{self.snapshot_id}"

    def serialize(self) -> bytes:
        return serialize_object(
            {
                "commitUser": self.user,
                "commitIdentifier": self.identifier,
                "snapshotId": self.snapshot_id,
                "timeMillis": self.time_millis,
            }
        )

    @classmethod
    def parse(cls, data: bytes, where: str) -> "CommitRecord":
        """Raises: CorruptFileError."""
        form = parse_object(data, where)
        try:
            numbers = (in_range(form[key]) for key in ("commitIdentifier", "snapshotId", "timeMillis"))
            return cls(str(form["commitUser"]), *numbers)
        except (KeyError, ValueError) as error:
            fix = "Delete this file: the commit of the next batch writes another."
            raise CorruptFileError(f"no valid commit record: {error}", where, fix) from error


@dataclass(frozen=True, slots=True)
class Dropped:
    """Users beyond the limit whose records were deleted. `time_millis`: of the last change of their newest record."""

    users: int
    time_millis: int


@dataclass(frozen=True, slots=True)
class CommitRecords:
    """Reads, writes and deletes the commit records of one branch."""

    file_io: FileIO
    paths: TablePaths

    def last(self, user: str) -> CommitRecord | None:
        """The user's newest commit that is part of the history, as far as is known."""
        key = _key(user)
        for snapshot_id in sorted(self._ids_by_user().get(key, ()), reverse=True):
            record = self._read(f"record-{key}-{snapshot_id}")
            if record is not None and record.user == user and self._is_in_history(record):
                return record
        return None

    def known_at(self, snapshot_id: int) -> list[CommitRecord]:
        """The newest commit of each user up to a snapshot, by what snapshots and records tell."""
        by_user: dict[str, CommitRecord] = {}
        for key, ids in self._ids_by_user().items():
            for number in sorted((number for number in ids if number <= snapshot_id), reverse=True):
                record = self._read(f"record-{key}-{number}")
                if record is not None and self._is_in_history(record):
                    by_user[record.user] = record
                    break
        snapshots = Snapshots(self.file_io, self.paths)
        live = snapshots.find_many([number for number in snapshots.list_ids() if number <= snapshot_id])
        for record in newest_of(live.values()):
            if record.user not in by_user or by_user[record.user].snapshot_id < record.snapshot_id:
                by_user[record.user] = record
        return list(by_user.values())

    def add(self, record: CommitRecord, *, flushed: bool = False) -> Dropped | None:
        """Note a commit whose snapshot is published. Returns what had to be dropped for it.

        `flushed`: it must survive a power cut, because the snapshot is deleted next.
        """
        # To flush the one that is there needs no room on the disk, which expiry is there to make.
        if not (flushed and self._flushed(record)):
            self.file_io.overwrite(f"{self._folder}/{record.name}", record.serialize(), flushed=flushed)
        ids = self._ids_by_user()
        mine = ids.get(_key(record.user), ())
        if len(mine) > _MANY:
            earliest = Snapshots(self.file_io, self.paths).earliest_id() or 0
            self._delete(_key(record.user), superseded(mine, earliest))
        return self._drop_beyond_limit(ids) if len(ids) > MAX_USERS else None

    def tidy(self, earliest: int) -> None:
        """Delete what no rollback needs and what is not part of the history. `earliest`: id of the oldest snapshot."""
        snapshots = Snapshots(self.file_io, self.paths)
        for key, ids in self._ids_by_user().items():
            gone = [number for number in ids if number >= earliest and self._is_replaced(snapshots, key, number)]
            remaining = [number for number in ids if number not in gone]
            self._delete(key, [*gone, *superseded(remaining, earliest)])

    def forget_after(self, snapshot_id: int) -> None:
        """Delete the records of later snapshots, which are about to go from the history."""
        for key, ids in self._ids_by_user().items():
            self._delete(key, [number for number in ids if number > snapshot_id])

    def dropped(self) -> Dropped | None:
        """What the limit has cost so far, None for nothing."""
        path = f"{self._folder}/{_DROPPED}"
        try:
            form = parse_object(self.file_io.read_bytes(path), path)
            return Dropped(in_range(form["users"]), in_range(form["timeMillis"]))
        except (FileNotFoundError, CorruptFileError, KeyError, ValueError):
            return None

    @property
    def _folder(self) -> str:
        return self.paths.commit_record_folder()

    def _ids_by_user(self) -> dict[str, list[int]]:
        """Snapshot ids of the records, by the key of their user."""
        by_user: dict[str, list[int]] = {}
        for name in self.file_io.list_names(self._folder):
            match = _NAME.fullmatch(name)
            if match is not None:
                by_user.setdefault(match[1], []).append(int(match[2]))
        return by_user

    def _read(self, name: str) -> CommitRecord | None:
        """A record; None if it is gone, or was torn by a power cut."""
        path = f"{self._folder}/{name}"
        try:
            return CommitRecord.parse(self.file_io.read_bytes(path), path)
        except FileNotFoundError:
            return None
        except CorruptFileError as error:
            _LOG.warning("a commit record is left out: %s", error)
            return None

    def _flushed(self, record: CommitRecord) -> bool:
        """Make a record safe from a power cut. False if it is not there: another process may delete it at any time."""
        if self._read(record.name) != record:
            return False
        try:
            self.file_io.flush([f"{self._folder}/{record.name}"], self._folder)
        except FileNotFoundError:
            return False
        return True

    def _is_in_history(self, record: CommitRecord) -> bool:
        """Whether no rollback has undone a commit. Of an expired snapshot nothing contradicts its record."""
        snapshots = Snapshots(self.file_io, self.paths)
        snapshot = snapshots.find(record.snapshot_id)
        if snapshot is None:
            return record.snapshot_id < (snapshots.latest_id() or 0)
        return (snapshot.commit_user, snapshot.commit_identifier) == (record.user, record.identifier)

    def _is_replaced(self, snapshots: Snapshots, key: str, snapshot_id: int) -> bool:
        snapshot = snapshots.find(snapshot_id)
        if snapshot is None:
            return snapshot_id > (snapshots.latest_id() or 0)
        return _key(snapshot.commit_user) != key

    def _delete(self, key: str, snapshot_ids: Iterable[int]) -> None:
        self.file_io.discard(f"{self._folder}/record-{key}-{number}" for number in snapshot_ids)

    def _drop_beyond_limit(self, ids: Mapping[str, Sequence[int]]) -> Dropped:
        """Forget the users that have not committed for the longest time."""
        changed: dict[str, int] = dict.fromkeys(ids, 0)
        for status in self.file_io.list_files(self._folder):
            match = _NAME.fullmatch(status.name)
            if match is not None:
                changed[match[1]] = max(changed.get(match[1], 0), status.mtime_ms)
        oldest_first = sorted(changed, key=lambda key: changed[key])
        gone = oldest_first[: len(oldest_first) - MAX_USERS]
        before = self.dropped() or Dropped(0, 0)
        dropped = Dropped(before.users + len(gone), max([before.time_millis, *(changed[key] for key in gone)]))
        form = {"users": dropped.users, "timeMillis": dropped.time_millis}
        self.file_io.overwrite(f"{self._folder}/{_DROPPED}", serialize_object(form))
        for key in gone:
            self._delete(key, ids.get(key, ()))
        return dropped


def newest_of(snapshots: Iterable[Snapshot]) -> list[CommitRecord]:
    """The newest numbered commit of each user among snapshots."""
    newest: dict[str, CommitRecord] = {}
    for snapshot in snapshots:
        record = newest.get(snapshot.commit_user)
        if snapshot.is_numbered and (record is None or record.snapshot_id < snapshot.id):
            newest[snapshot.commit_user] = CommitRecord.of(snapshot)
    return list(newest.values())


def superseded(snapshot_ids: Sequence[int], earliest: int) -> list[int]:
    """Which of one user's records are of no use: all but the newest few, and the newest whose snapshot has expired."""
    newest_first = sorted(snapshot_ids, reverse=True)
    kept = {*newest_first[:_KEPT], *[number for number in newest_first if number < earliest][:1]}
    return [number for number in newest_first if number not in kept]


def _key(user: str) -> str:
    """What stands for a user in names of files: users may be any text."""
    return hashlib.sha256(user.encode(errors="surrogatepass")).hexdigest()[:32]
