"""What the next expiry frees: the snapshots, tags, changelogs and files that go if nothing is written until then.

It is the plan of `expire_snapshots` and `expire_tags` together. Whoever says what can be freed asks here, so that all
say the same, and so that the expiry does what was said.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.branches import Branches
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.holders import counting_ids, holders_of, needed_by
from maintenance.metadata.zone import local_time
from maintenance.operations.expiry.expire_tags import due_tags
from maintenance.operations.expiry.removal import plan_removals
from maintenance.operations.expiry.rules import (
    ChangelogRetention,
    ExpiryRange,
    Retention,
    RetentionChoice,
    moment_before,
    plan_changelogs,
    plan_range,
)
from maintenance.operations.expiry.survey import Leaving
from maintenance.operations.expiry.unfinished import leaving_snapshots, unfinished
from maintenance.table.table import Table

_ATTEMPTS = 10
_BY_OPTIONS = RetentionChoice()


@dataclass(frozen=True, slots=True)
class NextExpiry:
    """What goes.

    Attributes:
        range: which snapshots go, and why the others stay; `snapshots`: of both, as far as they are there.
        tags: those whose time is over, and those that are taken to be gone; `all_tags`: also those that stay.
        freed: the size of each file that goes, in bytes, by path.
    """

    range: ExpiryRange
    snapshots: Mapping[int, Snapshot]
    tags: Mapping[str, Tag]
    all_tags: Mapping[str, Tag]
    freed: Mapping[str, int]

    @property
    def bytes(self) -> int:
        return sum(self.freed.values())


def next_expiry(
    table: Table,
    now: datetime,
    choice: RetentionChoice = _BY_OPTIONS,
    *,
    without_tags: Collection[str] = (),
    without_consumers: Collection[str] = (),
) -> NextExpiry:
    """What an expiry of snapshots and of tags frees at a moment, if nothing is written until then.

    Args: `now`: with a time zone; `choice`: what is set in place of the table's options; `without_tags`,
        `without_consumers`: as if they were deleted first. Raises: CorruptFileError; OptionError.
    """
    return again_if_expired(lambda: _planned(table, now, choice, without_tags, without_consumers), _ATTEMPTS)


def _planned(
    table: Table,
    now: datetime,
    choice: RetentionChoice,
    without_tags: Collection[str],
    without_consumers: Collection[str],
) -> NextExpiry:
    tags = table.tags.all()
    due = due_tags(table, local_time(now), None) | {name: tags[name] for name in without_tags if name in tags}
    ids = counting_ids(table.snapshots, table.manifests)
    snapshots = table.snapshots.find_many(ids)
    following = _following(table, now, without_consumers)

    def time_of(snapshot_id: int) -> int | None:
        snapshot = snapshots.get(snapshot_id)
        return None if snapshot is None else snapshot.time_millis

    chosen = plan_range(ids, time_of, Retention.of(table.options, following, now, choice))
    freed = _freed(table, due, chosen, snapshots, following, now)
    return NextExpiry(chosen, snapshots, due, tags, freed)


def _following(table: Table, now: datetime, without: Collection[str]) -> dict[str, int]:
    """What each consumer that holds anything reads next."""
    idle_after = table.model.consumer_expiration_time
    idle = [] if idle_after is None else table.consumers.idle_since(moment_before(now, idle_after))
    return {name: i for name, i in table.consumers.next_snapshots().items() if name not in {*idle, *without}}


def _freed(
    table: Table,
    due: Mapping[str, Tag],
    chosen: ExpiryRange,
    snapshots: Mapping[int, Snapshot],
    following: Mapping[str, int],
    now: datetime,
) -> dict[str, int]:
    branches, manifests = Branches(table.file_io, table.paths), table.manifests
    keeps = table.model.keeps_changelogs
    becoming = {i: snapshots[i] for i in chosen.expired if keeps and i in snapshots}
    changelogs = {changelog.id: changelog for changelog in table.changelogs.all()}
    over = _changelogs_due(table, {**becoming, **changelogs}, chosen, following, now)
    these_and_next = [snapshots[i] for i in (*chosen.expired, *chosen.kept[:1]) if i in snapshots]
    leaving = [
        *unfinished(branches, manifests),
        *(Leaving(f"tag {name}", tag.snapshot, table.paths.tag(name)) for name, tag in due.items()),
        *(
            Leaving(f"changelog {i}", changelogs[i], table.paths.changelog(i), is_changelog=True)
            for i in over
            if i in changelogs
        ),
        *leaving_snapshots(table.snapshots, these_and_next),
    ]
    if not leaving:
        return {}
    holders = holders_of(
        branches,
        manifests,
        table.branch,
        first_snapshot=chosen.kept[0] if chosen.kept else None,
        without_tags=due,
        without_changelogs=over,
        to_changelogs=list(becoming.values()),
    )
    plan = plan_removals(leaving, needed_by(holders, manifests), manifests)
    return {part.path: part.size for removal in plan.removals for part in removal.deletions}


def _changelogs_due(
    table: Table, by_id: Mapping[int, Snapshot], chosen: ExpiryRange, following: Mapping[str, int], now: datetime
) -> Sequence[int]:
    """Ids of the long-lived changelogs that go, of those that are there once the snapshots have gone."""
    if not by_id or not chosen.kept:
        return ()
    retention = ChangelogRetention.of(table.options, following, now)
    return plan_changelogs(sorted(by_id), chosen.kept[-1], lambda number: by_id[number].time_millis, retention)
