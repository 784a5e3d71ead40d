"""Hold a snapshot's state for a moment, and let go of it so that nothing is left that nobody names.

A tag that is only deleted may be what an expiry or a removal kept files for: nobody names them then. So a tag is let go
by retiring it: from then on it holds nothing, and its record names its files. Whoever counted on it looks again.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

from maintenance.errors import NotFoundError, PaimonError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.shares import Sharing, in_one_batch
from maintenance.metadata.zone import local_time
from maintenance.operations.expiry.tag_removal import plan_tag_removal, remove_tags
from maintenance.operations.progress import Progress
from maintenance.operations.refs.snapshot_choice import counted_snapshot
from maintenance.table.table import Table

_HELD = timedelta(hours=1)


@contextmanager
def holding(
    table: Table, snapshot: Snapshot, prefix: str, now: datetime | None = None, progress: Progress | None = None
) -> Iterator[str]:
    """Hold a snapshot with a tag of its own, and give its name. If the process dies, it expires after an hour.

    Raises: NotFoundError: the snapshot expired meanwhile; as `let_go`.
    """
    name = f"{prefix}-{uuid.uuid4()}"
    table.tags.publish(name, Tag(snapshot, local_time(now), _HELD))
    try:
        if is_lost(table, name, snapshot):
            raise expired_meanwhile(table, snapshot)
        yield name
    except BaseException:
        take_back(table, name)
        raise
    let_go(table, name, progress=progress)


def take_back(table: Table, name: str, sharing: Sharing = in_one_batch) -> None:
    """Let go of a tag behind an error, which is what is told; what fails now is done by the next expiry."""
    with suppress(PaimonError, OSError):
        let_go(table, name, sharing)


def let_go(table: Table, name: str, sharing: Sharing = in_one_batch, progress: Progress | None = None) -> None:
    """Take a tag away if it is there, and delete what only it held.

    Raises: as `expire_tags`: the tag is gone then, and the next expiry of tags or snapshots deletes the rest.
    """
    try:
        record = table.tags.retire(name)
    except NotFoundError:
        return
    retired = table.tags.retired().get(record)
    # Looked at after the tag went: whoever takes away what else holds the state no longer counts on the tag.
    if retired is not None and not is_lost(table, name, retired.snapshot):
        table.file_io.delete_quietly([record])
        return
    remove_tags(table, {}, plan_tag_removal(table, {}, sharing), progress or (lambda _: None), sharing=sharing)


def is_lost(table: Table, name: str, snapshot: Snapshot) -> bool:
    """Whether nothing but a tag holds a snapshot: expiry moves EARLIEST, then looks at tags once more."""
    if counted_snapshot(table, snapshot.id) == snapshot:
        return False
    return all(tag.snapshot != snapshot for other, tag in table.tags.all().items() if other != name)


def expired_meanwhile(table: Table, snapshot: Snapshot) -> NotFoundError:
    """The error for a snapshot that is lost."""
    return NotFoundError(
        f"snapshot {snapshot.id} expired meanwhile",
        table.identifier,
        "Tag a newer snapshot: query the system table $snapshots.",
    )
