"""What the next expiry frees: the snapshots, tags, changelogs and files that go if nothing is written until then.

It is the plan of `expire_snapshots` and `expire_tags` together. Whoever says what can be freed asks here, so that all
say the same, and so that the expiry does what was said.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.branches import Branches
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.holders import History, holders_of, needed_by
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

T = TypeVar("T")

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


def next_expiry(table: Table, now: datetime, choice: RetentionChoice = _BY_OPTIONS) -> NextExpiry:
    """What an expiry of snapshots and of tags frees at a moment, if nothing is written until then.

    Args: `now`: with a time zone; `choice`: what is set in place of the table's options.
    Raises: CorruptFileError; OptionError.
    """
    return with_expiries(table, lambda expiries: expiries.at(now, choice))


def with_expiries(table: Table, work: Callable[["Expiries"], T]) -> T:
    """What `work` makes of a table's expiries; again if something is expired meanwhile. Raises: as `next_expiry`."""
    return again_if_expired(lambda: work(Expiries.of(table)), _ATTEMPTS)


@dataclass(frozen=True, slots=True)
class Expiries:
    """Expiries of one table, at several moments or by several rules, for which its history is read once.

    `freed`: by what goes, since later expiries often free the same.
    """

    table: Table
    history: History
    freed: "dict[tuple[object, ...], dict[str, int]]" = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table) -> "Expiries":
        return cls(table, History(Branches(table.file_io, table.paths), table.manifests))

    def at(
        self,
        now: datetime,
        choice: RetentionChoice = _BY_OPTIONS,
        *,
        without_tags: Collection[str] = (),
        without_consumers: Collection[str] = (),
    ) -> NextExpiry:
        """As `next_expiry`. `without_tags`, `without_consumers`: as if they were deleted first."""
        table = self.table
        tags, snapshots = self.history.tags(table.branch), self.history.snapshots(table.branch)
        due = due_tags(table, local_time(now), None, tags) | {n: tags[n] for n in without_tags if n in tags}
        following = _following(table, now, without_consumers)

        def time_of(snapshot_id: int) -> int | None:
            snapshot = snapshots.get(snapshot_id)
            return None if snapshot is None else snapshot.time_millis

        chosen = plan_range(list(snapshots), time_of, Retention.of(table.options, following, now, choice))
        changelogs = self.history.changelogs(table.branch)
        becoming = {i: snapshots[i] for i in chosen.expired if table.model.keeps_changelogs}
        over = _changelogs_due(table, {**becoming, **changelogs}, chosen, following, now)
        going = _Going(chosen, due, becoming, over)
        key = (chosen.expired, tuple(due), tuple(becoming), over)
        if key not in self.freed:
            self.freed[key] = self._freed(going)
        return NextExpiry(chosen, snapshots, due, tags, self.freed[key])

    def _freed(self, going: "_Going") -> dict[str, int]:
        history, table, chosen = self.history, self.table, going.range
        snapshots, changelogs = history.snapshots(table.branch), history.changelogs(table.branch)
        leaving = [
            *unfinished(history.branches, history.manifests),
            *(Leaving(f"tag {name}", tag.snapshot, table.paths.tag(name)) for name, tag in going.tags.items()),
            *(
                Leaving(f"changelog {i}", changelogs[i], table.paths.changelog(i), is_changelog=True)
                for i in going.changelogs
                if i in changelogs
            ),
            *leaving_snapshots(table.snapshots, [snapshots[i] for i in (*chosen.expired, *chosen.kept[:1])]),
        ]
        if not leaving:
            return {}
        holders = holders_of(
            history,
            table.branch,
            first_snapshot=chosen.kept[0] if chosen.kept else None,
            without_tags=going.tags,
            without_changelogs=going.changelogs,
            to_changelogs=list(going.becoming.values()),
        )
        plan = plan_removals(leaving, needed_by(holders, history.manifests, known=history.states), history.manifests)
        return {part.path: part.size for removal in plan.removals for part in removal.deletions}


@dataclass(frozen=True, slots=True)
class _Going:
    """What goes. `becoming`: snapshots whose changes stay; `changelogs`: ids of those that go."""

    range: ExpiryRange
    tags: Mapping[str, Tag]
    becoming: Mapping[int, Snapshot]
    changelogs: Sequence[int]


def _following(table: Table, now: datetime, without: Collection[str]) -> dict[str, int]:
    """What each consumer that holds anything reads next."""
    idle_after = table.model.consumer_expiration_time
    idle = [] if idle_after is None else table.consumers.idle_since(moment_before(now, idle_after))
    return {name: i for name, i in table.consumers.next_snapshots().items() if name not in {*idle, *without}}


def _changelogs_due(
    table: Table, by_id: Mapping[int, Snapshot], chosen: ExpiryRange, following: Mapping[str, int], now: datetime
) -> tuple[int, ...]:
    """Ids of the long-lived changelogs that go, of those that are there once the snapshots have gone."""
    if not by_id or not chosen.kept:
        return ()
    retention = ChangelogRetention.of(table.options, following, now)
    return plan_changelogs(sorted(by_id), chosen.kept[-1], lambda number: by_id[number].time_millis, retention)
