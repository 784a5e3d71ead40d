"""Distinguish files that expired from damage.

Expiry and the removal of tags run at the same time as reads. So if a file of a state is missing, it is checked whether
anything still names the state: its snapshot, from the earliest on, or a tag. If so, the table is damaged. If not, the
state expired while it was read: the work is planned again on the current state, or the error says that it expired.

Paimon's own expiry deletes the manifests of all snapshots that go before the first of these snapshots. So while the
earliest snapshot has lost its manifests, too, a state is given a moment to expire before it counts as damaged.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from maintenance.errors import CorruptFileError, ExpiredError, MissingFileError, NotFoundError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.snapshots import Snapshots
from maintenance.metadata.tags import Tags

P = ParamSpec("P")
T = TypeVar("T")

_ATTEMPTS = 10
# Seconds that an expiry by another engine is given, until it has deleted the snapshots themselves.
_MOMENT = 1.5
# By branch, its earliest snapshot that has lost its manifests, and when that was first seen: a damaged table is waited
# for once, not at each of its snapshots.
_DOUBTED: dict[str, tuple[int, float]] = {}


@contextmanager
def unless_expired(
    file_io: FileIO, paths: TablePaths, snapshot_id: int, *, changes: bool = False, snapshot: Snapshot | None = None
) -> Iterator[None]:
    """Turn the error for a missing or damaged file of a snapshot into `ExpiredError` if the snapshot is gone.

    Args: `paths`: of the snapshot's branch; `changes`: only what the snapshot changed is read, which a long-lived
        changelog holds too; `snapshot`: as it was read, so that another one of its number does not count.
    """
    try:
        yield
    except (CorruptFileError, MissingFileError, FileNotFoundError) as error:
        if is_held(file_io, paths, snapshot_id, changes=changes, snapshot=snapshot):
            raise
        raise ExpiredError(
            f"snapshot {snapshot_id} was expired while it was read, and no tag holds it",
            paths.branch_root,
            "Read again. If it happens often, keep snapshots longer, or read a tag.",
        ) from error


def is_held(
    file_io: FileIO, paths: TablePaths, snapshot_id: int, *, changes: bool = False, snapshot: Snapshot | None = None
) -> bool:
    """Whether something still names a snapshot's state, so that all its files must be there. Arguments: as above."""
    while _is_named(file_io, paths, snapshot_id, changes=changes, snapshot=snapshot):
        earliest = _earliest_without_manifests(file_io, paths, snapshot_id)
        if earliest is None:
            return True
        if _DOUBTED.get(paths.branch_root, (None,))[0] != earliest:
            _DOUBTED[paths.branch_root] = earliest, time.monotonic()
        waited = time.monotonic() - _DOUBTED[paths.branch_root][1]
        if waited > _MOMENT:
            return True
        time.sleep(min(_MOMENT, max(0.1, waited)))
    return False


def _earliest_without_manifests(file_io: FileIO, paths: TablePaths, snapshot_id: int) -> int | None:
    """The branch's earliest snapshot, if its manifests are gone: those behind it may be about to go."""
    snapshots = Snapshots(file_io, paths)
    earliest = snapshots.earliest_id()
    if earliest is None or not earliest <= snapshot_id < (snapshots.latest_id() or 0):
        return None
    first = snapshots.find(earliest)
    gone = first is None or not file_io.exists(paths.manifest(first.delta_manifest_list))
    return earliest if gone else None


def _is_named(
    file_io: FileIO, paths: TablePaths, snapshot_id: int, *, changes: bool, snapshot: Snapshot | None
) -> bool:
    snapshots = Snapshots(file_io, paths)
    earliest = snapshots.earliest_id()
    if earliest is not None and earliest <= snapshot_id and _is_there(snapshots, snapshot_id, snapshot):
        return True
    if changes and file_io.exists(paths.changelog(snapshot_id)):
        return True
    try:
        tagged = [tag.snapshot for tag in Tags(file_io, paths).all().values() if tag.snapshot.id == snapshot_id]
        return any(snapshot is None or held == snapshot for held in tagged)
    except CorruptFileError:
        # A tag that cannot be read may hold it.
        return True


def _is_there(snapshots: Snapshots, snapshot_id: int, snapshot: Snapshot | None) -> bool:
    """A number is used again when the snapshot was withdrawn, or after a rollback."""
    return snapshots.exists(snapshot_id) if snapshot is None else snapshots.find(snapshot_id) == snapshot


def again_if_expired(work: Callable[[], T], attempts: int = _ATTEMPTS) -> T:
    """What `work` returns; it is done again, on what is there then, when what it reads is expired meanwhile.

    Raises: ExpiredError: a requested snapshot has expired, or every attempt was too slow.
    """
    expired: ExpiredError | None = None
    for _ in range(attempts):
        try:
            return work()
        except ExpiredError as error:
            expired = expired or error
        except NotFoundError as error:
            # What was asked for by its name or number is no longer found: the first error says why.
            if expired is None or isinstance(error, MissingFileError):
                raise
            break
    assert expired is not None
    raise expired


def reads_again(read: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that only reads: as `again_if_expired`."""

    @wraps(read)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return again_if_expired(lambda: read(*args, **kwargs))

    return call
