"""Why a snapshot, a tag or a changelog is still there, in words, and what would release it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from maintenance.metadata.holders import Holder
from maintenance.operations.expiry.kept_snapshots import CURRENT, DUE
from maintenance.operations.expiry.rules import Retention, moment_before, plan_range
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class Keeper:
    """What keeps something.

    Attributes:
        holder: such as ``snapshots 3 to 9`` or ``tag 'a' of branch b``.
        chain: from the holder to the thing, each named by the one before.
        reason: why the holder is still there; `release`: what would take it away.
    """

    holder: str
    chain: tuple[str, ...]
    reason: str
    release: str


class Reasons:
    """The reasons of all holders of a table, each branch by its own options."""

    def __init__(self, table: Table, now: datetime) -> None:
        self._table = table
        self._now = now
        self._branches: dict[str, _Branch] = {}

    def of(self, holder: Holder) -> tuple[str, str]:
        """Why a holder is there, and what would release it."""
        branch = self._of_branch(holder.branch)
        if holder.is_tag:
            return branch.of_tag(holder.name.split("'")[1])
        if holder.is_changelog:
            return "changelog retention of the options changelog.*", "expire_changelogs, by changelog.time-retained"
        return branch.of_snapshot(holder.snapshot.id)

    def _of_branch(self, name: str) -> "_Branch":
        if name not in self._branches:
            self._branches[name] = _Branch.of(self._table.on_branch(name), self._now)
        return self._branches[name]


@dataclass(frozen=True, slots=True)
class _Branch:
    """`ids`: of all snapshots; `reasons`: of those that stay, by id."""

    table: Table
    ids: Sequence[int]
    reasons: Mapping[int, str]

    @classmethod
    def of(cls, table: Table, now: datetime) -> "_Branch":
        following = table.consumers.next_snapshots()
        idle_after = table.model.consumer_expiration_time
        idle = [] if idle_after is None else table.consumers.idle_since(moment_before(now, idle_after))
        held = {name: number for name, number in following.items() if name not in idle}
        ids = table.snapshots.list_ids()
        snapshots = table.snapshots.find_many(ids)

        def time_of(snapshot_id: int) -> int | None:
            snapshot = snapshots.get(snapshot_id)
            return None if snapshot is None else snapshot.time_millis

        return cls(table, ids, plan_range(ids, time_of, Retention.of(table.options, held, now)).reasons)

    def of_snapshot(self, snapshot_id: int) -> tuple[str, str]:
        if snapshot_id == (self.ids[-1] if self.ids else None):
            return CURRENT, "newer commits; then the rules for older snapshots count"
        reason = self.reasons.get(snapshot_id)
        if reason is None:
            return DUE, "expire_snapshots"
        if reason.startswith("consumer"):
            return reason, "reset_consumer or clear_consumers, or consumer.expiration-time; then expire_snapshots"
        if "num-retained.min" in reason:
            return reason, "newer commits, or a lower snapshot.num-retained.min; then expire_snapshots"
        return reason, f"expire_snapshots {self._ripe(snapshot_id)}, or a shorter snapshot.time-retained"

    def _ripe(self, snapshot_id: int) -> str:
        """From when a snapshot is old enough: its age counts from its successor's commit."""
        following = next((number for number in self.ids if number > snapshot_id), None)
        successor = None if following is None else self.table.snapshots.find(following)
        if successor is None:
            return "later"
        ripe = successor.committed_at.astimezone() + self.table.model.snapshot_time_retained
        return f"after {ripe.isoformat(timespec='seconds')}"

    def of_tag(self, name: str) -> tuple[str, str]:
        tag = self.table.tags.find(name)
        if tag is None or tag.time_retained is None or tag.create_time is None:
            return "the tag has no time to live", f"delete_tag '{name}'"
        if not self.table.model.tag_time_expire_enabled:
            return "'tag.time-expire-enabled' is false: tags do not expire", f"delete_tag '{name}'"
        end = (tag.create_time + tag.time_retained).isoformat(timespec="seconds")
        return f"the tag lives for {_days(tag.time_retained)}", f"expire_tags after {end} local time, or delete_tag"


def _days(time: timedelta) -> str:
    return f"{time.days} d" if time % timedelta(days=1) == timedelta(0) else str(time)
