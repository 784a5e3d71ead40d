"""Find snapshots in the history of one branch, reading as few of them as possible.

Source: data section 6.5, Java `TimeTravelUtil`, `SnapshotManager`.
"""

from dataclasses import dataclass
from typing import Protocol

from maintenance.errors import NotFoundError
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.options.model import TableModel
from maintenance.scan.auto_tag import AutoTagNames

_WATERMARK = "watermark-"
_NO_WATERMARK = -(2**63)
_MOST_DIGITS = 19


class SnapshotHistory(Protocol):
    """The snapshots of one branch."""

    def latest(self) -> Snapshot | None: ...

    def latest_id(self) -> int | None: ...

    def earliest_id(self) -> int | None: ...

    def find(self, snapshot_id: int) -> Snapshot | None: ...


class TagNames(Protocol):
    """The tags of one branch."""

    def names(self) -> list[str]: ...

    def find(self, name: str) -> Tag | None: ...


@dataclass(frozen=True, slots=True)
class History:
    """Where a read looks for snapshots. `table`: its name, for messages; `tag_form`: names of automatic tags."""

    table: str
    snapshots: SnapshotHistory
    tags: TagNames
    tag_form: AutoTagNames

    def latest(self) -> Snapshot | None:
        """The newest snapshot, None if there is none."""
        return self.snapshots.latest()

    def get(self, snapshot_id: int) -> Snapshot:
        """The snapshot of that id. Raises: NotFoundError, with what there is."""
        snapshot = self.snapshots.find(snapshot_id)
        if snapshot is None:
            raise self.gone(snapshot_id)
        return snapshot

    def gone(self, snapshot_id: int | None) -> NotFoundError:
        """The error for a snapshot that is not there."""
        earliest, latest = self.snapshots.earliest_id(), self.snapshots.latest_id()
        if earliest is None or latest is None:
            return NotFoundError(
                f"snapshot {snapshot_id} does not exist: the table has none", self.table, "Write to the table first."
            )
        gone = snapshot_id is not None and snapshot_id < earliest
        return NotFoundError(
            f"snapshot {snapshot_id} {'is gone' if gone else 'does not exist'}",
            self.table,
            f"Use one of {earliest} to {latest}, or a tag: {self.tag_names()}.",
        )

    def tag_names(self) -> str:
        """Names for messages."""
        names = self.tags.names()
        return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "") or "none"

    def tag(self, name: str) -> Tag:
        """The tag of that name. Raises: NotFoundError, with the names there are."""
        tag = self.tags.find(name) if name.strip() else None
        if tag is None:
            raise NotFoundError(f"tag '{name}' does not exist", self.table, f"There are: {self.tag_names()}.")
        return tag

    def version(self, version: str) -> Snapshot:
        """The snapshot of a `scan.version`. Raises: NotFoundError."""
        tag = self.tags.find(version) if version.strip() else None
        if tag is not None:
            return tag.snapshot
        mark = version.removeprefix(_WATERMARK)
        is_number = mark.isdecimal() and len(mark) <= _MOST_DIGITS
        if mark != version and is_number:
            return self.at_watermark(int(mark))
        if is_number:
            return self.get(int(version))
        earliest = self.snapshots.earliest_id()
        ids = "a snapshot: none" if earliest is None else f"one of {earliest} to {self.snapshots.latest_id()}"
        raise NotFoundError(
            f"'scan.version' = '{version}' is not a tag, a watermark-<number> or the id of a snapshot",
            self.table,
            f"Use {ids}, or a tag: {self.tag_names()}.",
        )

    def at_time(self, millis: int) -> Snapshot:
        """As `at_or_before`. Raises: NotFoundError: there is none."""
        snapshot = self.at_or_before(millis)
        if snapshot is None:
            earliest = self.ends()
            existing = "the table has none" if earliest is None else f"the earliest is of {earliest[0].time_millis}"
            raise NotFoundError(
                f"there is no snapshot at or before {millis}: {existing}",
                self.table,
                f"Use a later time, or a tag: {self.tag_names()}.",
            )
        return snapshot

    def ends(self) -> tuple[Snapshot, Snapshot] | None:
        """The earliest and the latest snapshot."""
        earliest, latest = self.snapshots.earliest_id(), self.latest()
        return None if earliest is None or latest is None else (self.get(earliest), latest)

    def at_or_before(self, millis: int) -> Snapshot | None:
        """The last snapshot committed at that time or before. Times are taken to ascend."""
        ends = self.ends()
        if ends is None or ends[0].time_millis > millis:
            return None
        newest, low, high = ends[0], ends[0].id, ends[1].id
        while low <= high:
            middle = self.get((low + high) // 2)
            if middle.time_millis == millis:
                # Of several snapshots of this very moment Java takes the one it meets first.
                return middle
            if middle.time_millis < millis:
                newest, low = middle, middle.id + 1
            else:
                high = middle.id - 1
        return newest

    def at_or_after(self, millis: int) -> Snapshot | None:
        """The first snapshot committed at that time or after. Times are taken to ascend."""
        ends = self.ends()
        if ends is None or ends[1].time_millis < millis:
            return None
        oldest, low, high = ends[1], ends[0].id, ends[1].id
        while low <= high:
            middle = self.get((low + high) // 2)
            if middle.time_millis == millis:
                # Of several snapshots of this very moment Java takes the one it meets first.
                return middle
            if middle.time_millis > millis:
                oldest, high = middle, middle.id - 1
            else:
                low = middle.id + 1
        return oldest

    def before_watermark(self, watermark: int) -> Snapshot:
        """The last snapshot whose watermark is at most that. Watermarks are taken to ascend; a snapshot that has none
        counts as its predecessor. Source: Java `SnapshotManager.earlierOrEqualWatermark`.

        Raises: NotFoundError.
        """
        newest, _ = self._around_watermark(watermark)
        if newest is None:
            raise NotFoundError(
                f"no snapshot has a watermark of {watermark} or earlier",
                self.table,
                f"Use a later watermark, or a tag: {self.tag_names()}.",
            )
        return newest

    def at_watermark(self, watermark: int) -> Snapshot:
        """The first snapshot whose watermark reaches it. Watermarks are taken to ascend; one that has none is as its
        predecessor."""
        _, earliest = self._around_watermark(watermark)
        if earliest is None:
            raise NotFoundError(
                f"no snapshot has a watermark of {watermark} or later",
                self.table,
                f"Use an earlier watermark, or a tag: {self.tag_names()}.",
            )
        return earliest

    def _around_watermark(self, watermark: int) -> tuple[Snapshot | None, Snapshot | None]:
        """The last snapshot whose watermark is at most that, and the first whose watermark is at least that.

        Of several that have this very watermark Java takes the one it meets first: it is both.
        """
        ends = self.ends()
        low, high = (1, 0) if ends is None else (ends[0].id, ends[1].id)
        below: Snapshot | None = None
        above: Snapshot | None = None
        while low <= high:
            middle = (low + high) // 2
            marked = self._marked(low, middle)
            if marked is None:
                low = middle + 1
                continue
            snapshot, mark = marked
            if mark == watermark:
                return snapshot, snapshot
            if mark < watermark:
                below, low = snapshot, middle + 1
            else:
                above, high = snapshot, snapshot.id - 1
        return below, above

    def _marked(self, first: int, last: int) -> tuple[Snapshot, int] | None:
        """The last snapshot of a range that has a watermark, and its watermark. Java writes the least long for none."""
        for snapshot_id in range(last, first - 1, -1):
            snapshot = self.get(snapshot_id)
            if snapshot.watermark is not None and snapshot.watermark != _NO_WATERMARK:
                return snapshot, snapshot.watermark
        return None

    def compacted(self, delta_commits: int | None) -> Snapshot | None:
        """As `Compacted` says."""
        ends = self.ends()
        if ends is None:
            return None
        for snapshot_id in range(ends[1].id, ends[0].id - 1, -1):
            snapshot = self.snapshots.find(snapshot_id)
            if snapshot is not None and _is_compaction(snapshot, delta_commits):
                return snapshot
        return ends[1]


def _is_compaction(snapshot: Snapshot, delta_commits: int | None) -> bool:
    if snapshot.commit_kind != CommitKind.COMPACT:
        return False
    identifier = snapshot.commit_identifier
    return delta_commits is None or identifier % delta_commits == 0 or identifier == BATCH_IDENTIFIER


def history_of(table: str, snapshots: SnapshotHistory, tags: TagNames, options: TableModel) -> History:
    """The history that reads of a table with these options look at."""
    return History(table, snapshots, tags, AutoTagNames.of(options))
