"""Point a tag to another snapshot: procedure `replace_tag`.

The old snapshot is released only when it is certain that the new one stays: it may be expiring at that moment. So a
second tag holds the new snapshot first. If the process dies, the second tag expires by itself after an hour.
Source: metadata section 10.2, Java `TagManager`.
"""

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta

from maintenance.errors import ExpiredError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.completeness import check_complete
from maintenance.metadata.expired import unless_expired
from maintenance.metadata.zone import local_time
from maintenance.operations.expiry.tag_removal import plan_tag_removal, remove_tags
from maintenance.operations.refs.create_tag import TagReport, create_tag, expired_meanwhile, snapshot_to_tag
from maintenance.options import table as table_options
from maintenance.table.table import Table

GUARD_PREFIX = "replacing-"
_GUARDED = timedelta(hours=1)


def replace_tag(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = None,
    time_retained: timedelta | None = None,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
    now: datetime | None = None,
) -> TagReport:
    """Let a tag hold another snapshot or live another time; arguments as of `create_tag`.

    Args: `dry_run`: only check that it can be done.
    What only the tag used before is deleted, which Java leaves lying. Raises: NotFoundError: no such tag or snapshot;
    CorruptFileError: a file that the snapshot needs is missing or damaged, or as `expire_tags`: nothing has changed
    then; UnsupportedError.
    """
    table_options.check_keepable(table.options, table.identifier)
    before = table.tags.get(name)
    snapshot = snapshot_to_tag(table, snapshot_id)
    default = table_options.TAG_DEFAULT_TIME_RETAINED.of(table.options)
    retained = default if time_retained is None else time_retained
    tag = Tag(snapshot, None if retained is None else local_time(now), retained)
    if tag != before:
        _check_stays(table, snapshot)
        plan_tag_removal(table, {name: before})
    if tag != before and not dry_run:
        guard = f"{GUARD_PREFIX}{uuid.uuid4()}"
        create_tag(table, guard, snapshot_id=snapshot.id, time_retained=_GUARDED, now=now)
        # The record goes first: if the process dies now, the tag still holds all of it, and nothing is deleted.
        table.tags.record(name, before)
        table.tags.replace(name, tag)
        table.tags.remove(guard)
        remove_tags(table, {}, plan_tag_removal(table, {}), progress or (lambda _: None))
    return TagReport(table.identifier, name, snapshot.id, created=False)


def _check_stays(table: Table, snapshot: Snapshot) -> None:
    """Check that the snapshot can be read. Raises: NotFoundError: it expired meanwhile; as `check_complete`."""
    try:
        with unless_expired(table.file_io, table.paths, snapshot.id):
            check_complete(table.manifests, snapshot)
    except ExpiredError:
        raise expired_meanwhile(table, snapshot) from None
