"""Delete tags whose time is over, and what only they used: procedure `expire_tags`.

A tag goes when its creation plus its life time lies in the past; `older_than` also takes those created before it, with
or without a life time (then the file's time counts as creation). See `tag_removal` for how.
Source: metadata section 10.2, Java `TagTimeExpire`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from maintenance.format.metadata.tag import Tag
from maintenance.metadata.zone import local_time
from maintenance.operations.expiry.tag_removal import plan_tag_removal, remove_tags
from maintenance.options import table as table_options
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class ExpireTagsReport:
    """What an expiry of tags did, or would do.

    Attributes:
        expired: names.
        deleted_files: paths, each of which existed; `deleted_bytes`: their size.
        notes: what was finished that an earlier run left; damaged files of expired tags, what they name stays.
    """

    table: str
    expired: tuple[str, ...]
    deleted_files: tuple[str, ...] = ()
    deleted_bytes: int = 0
    notes: tuple[str, ...] = ()
    dry_run: bool = False
    seconds: float = 0.0


def expire_tags(
    table: Table,
    *,
    older_than: datetime | None = None,
    dry_run: bool = False,
    progress: Callable[[str], None] | None = None,
    now: datetime | None = None,
) -> ExpireTagsReport:
    """Expire the tags of a table or branch.

    Args:
        older_than: also tags created before; a time without a zone is local.
        dry_run: report what would go, change nothing.
        progress: called with a line for each thing that happens.
        now: None = the current time.
    Raises: CorruptFileError: a file that a remaining snapshot, tag or branch needs is missing or damaged; no file of
        the table's data is deleted then. UnsupportedError.
    """
    table_options.check_writable(table.options, table.identifier)
    due = due_tags(table, local_time(now), None if older_than is None else local_time(older_than))
    return removed(table, due, dry_run=dry_run, progress=progress)


def removed(
    table: Table, due: Mapping[str, Tag], *, dry_run: bool, progress: Callable[[str], None] | None
) -> ExpireTagsReport:
    """Remove tags, whatever made them due, and what only they used."""
    started = time.monotonic()
    plan = plan_tag_removal(table, due)
    deletions = plan.deletions
    if not dry_run:
        deletions |= remove_tags(table, due, plan, progress or (lambda _: None)).deletions
    return ExpireTagsReport(
        table=table.identifier,
        expired=tuple(due),
        deleted_files=tuple(deletions),
        deleted_bytes=sum(deletions.values()),
        notes=plan.notes,
        dry_run=dry_run,
        seconds=time.monotonic() - started,
    )


def due_tags(table: Table, now: datetime, older_than: datetime | None) -> dict[str, Tag]:
    """The tags that go, by name. Times are local and without a zone."""
    changed = {}
    if older_than is not None:
        listed = table.file_io.list_files(table.paths.tag_folder())
        changed = {status.path: datetime.fromtimestamp(status.mtime_ms / 1000) for status in listed}
    found = table.tags.all().items()
    return {name: tag for name, tag in found if is_due(tag, now, older_than, changed.get(table.paths.tag(name)))}


def is_due(tag: Tag, now: datetime, older_than: datetime | None, changed: datetime | None) -> bool:
    """Whether a tag's time is over. `changed`: of its file."""
    retained = tag.time_retained
    created = tag.create_time if retained is not None and tag.create_time is not None else changed
    if created is None:
        return False
    too_old = retained is not None and now - created > retained
    return too_old or (older_than is not None and created < older_than)
