"""Keep a snapshot under a name: procedure `create_tag`. Source: metadata section 10.2, Java `TagManager`."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.errors import AlreadyExistsError, NotFoundError, OptionError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.zone import local_time
from maintenance.names import TEMPORARY_BYTES, check_new_name
from maintenance.operations.expiry.tag_removal import take_back
from maintenance.operations.expiry.tag_reports import report_created
from maintenance.operations.refs.snapshot_choice import (
    counted_or_tagged,
    counted_snapshot,
    first_at_time,
    first_at_watermark,
)
from maintenance.options import table as table_options
from maintenance.spark.sharing import SparkSharing, SparkSource
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class TagReport:
    """The tag. `created`: False if it was there before, `snapshot_id` is then what it holds."""

    table: str
    name: str
    snapshot_id: int
    created: bool


def create_tag(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = None,
    timestamp_millis: int | None = None,
    watermark: int | None = None,
    time_retained: timedelta | None = None,
    ignore_if_exists: bool = False,
    now: datetime | None = None,
    spark: SparkSource = None,
) -> TagReport:
    """Create a tag.

    Args:
        snapshot_id: what to tag, None = the latest; an expired one if another tag still holds it.
        timestamp_millis: instead, the first snapshot committed at that time or after, milliseconds since 1970 UTC.
        watermark: instead, the first snapshot whose watermark is that or later.
        time_retained: how long the tag lives, None = option `tag.default-time-retained`, and for ever without that.
        ignore_if_exists: leave a tag of that name as it is, whatever it holds, instead of raising.
        now: creation time, None = the current; stored in local time.
        spark: as of `expire_tags`, for a tag whose snapshot expires meanwhile: what only it holds is deleted then.
            Otherwise a tag is one small file, which this process writes.
    Raises: AlreadyExistsError; NotFoundError: no such snapshot; OptionError: the name cannot be used, or more than
        one snapshot is asked for; UnsupportedError.
    """
    table_options.check_keepable(table.options, table.identifier)
    if sum(part is not None for part in (snapshot_id, timestamp_millis, watermark)) > 1:
        raise OptionError("a tag holds one snapshot", table.identifier, "Name it by its id, its time or its watermark.")
    existing = table.tags.find(name)
    if existing is None:
        check_tag_name(name, table.identifier)
        if timestamp_millis is not None:
            snapshot = first_at_time(table, timestamp_millis)
        elif watermark is not None:
            snapshot = first_at_watermark(table, watermark)
        else:
            snapshot = snapshot_to_tag(table, snapshot_id)
        default = table_options.TAG_DEFAULT_TIME_RETAINED.of(table.options)
        retained = default if time_retained is None else time_retained
        # Without a life time the file is exactly the snapshot's: old readers know no more.
        created = None if retained is None else local_time(now)
        tag = Tag(snapshot, created, retained)
        if table.tags.publish(name, tag):
            return kept(table, name, tag, spark)
        existing = table.tags.get(name)
    if not ignore_if_exists:
        raise AlreadyExistsError(
            f"tag '{name}' exists and holds snapshot {existing.snapshot.id}", table.identifier, "Choose another name."
        )
    return TagReport(table.identifier, name, existing.snapshot.id, created=False)


def check_tag_name(name: str, table: str) -> None:
    """Raises: OptionError: a tag cannot have that name."""
    check_new_name(name, "a tag", table, around=len("tag-") + TEMPORARY_BYTES)


def snapshot_to_tag(table: Table, snapshot_id: int | None) -> Snapshot:
    """The snapshot of that id, or the latest; an expired one if a tag holds it. Raises: NotFoundError."""
    if snapshot_id is None:
        latest = table.latest_snapshot()
        if latest is None:
            raise NotFoundError("there is no snapshot yet", table.identifier, "Write to the table first.")
        return latest
    snapshot = counted_or_tagged(table, snapshot_id)
    if snapshot is not None:
        return snapshot
    raise NotFoundError(
        f"snapshot {snapshot_id} does not exist",
        table.identifier,
        f"Use one of {table.snapshots.earliest_id()} to {table.snapshots.latest_id()}, or one that a tag holds.",
    )


def is_lost(table: Table, name: str, snapshot: Snapshot) -> bool:
    """Whether a snapshot just tagged expired meanwhile: expiry moves EARLIEST, then looks at tags once more."""
    others = (tag for other, tag in table.tags.all().items() if other != name)
    return counted_snapshot(table, snapshot.id) != snapshot and all(tag.snapshot != snapshot for tag in others)


def expired_meanwhile(table: Table, snapshot: Snapshot) -> NotFoundError:
    """The error for a snapshot that is lost."""
    return NotFoundError(f"snapshot {snapshot.id} expired meanwhile", table.identifier, "Tag a newer snapshot.")


def kept(table: Table, name: str, tag: Tag, spark: SparkSource = None) -> TagReport:
    """The report of a tag just published. Raises: NotFoundError: its snapshot is lost, and the tag is taken back."""
    if is_lost(table, name, tag.snapshot):
        sharing = SparkSharing(spark, table.location, lambda _: None)
        table.tags.remove(name)
        take_back(table, name, tag, sharing)
        raise expired_meanwhile(table, tag.snapshot)
    report_created(table, name)
    return TagReport(table.identifier, name, tag.snapshot.id, created=True)
