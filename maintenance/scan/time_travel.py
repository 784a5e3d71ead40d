"""From what a read asks for (`Startup`) and the snapshots there are to what it reads (`ScanTarget`).

Decides and reads no data: `snapshots` and `tags` answer for the history of one branch, of which as little is looked at
as possible. Source: seed 000, data sections 6.5 and 6.6, Java `TimeTravelUtil`, `AbstractDataTableScan`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from maintenance.errors import NotFoundError, OptionError
from maintenance.format.snapshot import CommitKind, Snapshot
from maintenance.format.tag import Tag
from maintenance.scan.auto_tag import AutoTagNames
from maintenance.scan.startup import (
    AtSnapshot,
    AtTag,
    AtTime,
    AtVersion,
    AtWatermark,
    Between,
    BetweenTimes,
    CommittedSince,
    Compacted,
    FilesSince,
    Latest,
    Startup,
    ToAutoTag,
)

BATCH_IDENTIFIER = 2**63 - 1
_WATERMARK = "watermark-"
_NO_WATERMARK = -(2**63)


class SnapshotHistory(Protocol):
    """The snapshots of one branch."""

    def latest_id(self) -> int | None: ...

    def earliest_id(self) -> int | None: ...

    def find(self, snapshot_id: int) -> Snapshot | None: ...


class TagNames(Protocol):
    """The tags of one branch."""

    def names(self) -> list[str]: ...

    def find(self, name: str) -> Tag | None: ...


@dataclass(frozen=True, slots=True)
class FullState:
    """The rows of one snapshot, None = of no snapshot: none.

    Attributes:
        travelled: the options name a snapshot, so its schema is the one to read with.
        files_since: only files made at that moment or later, milliseconds since 1970-01-01 UTC; None = all.
    """

    snapshot: Snapshot | None
    travelled: bool = False
    files_since: int | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """The records that snapshots brought, as their writers or changelogs wrote them.

    Attributes:
        snapshots: in order of their ids; `changelog`: their changelog files, else the files they appended.
    """

    snapshots: tuple[Snapshot, ...]
    changelog: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """What is otherwise in one snapshot than in an earlier one, key by key."""

    before: Snapshot
    after: Snapshot


ScanTarget = FullState | Changes | Difference
_NOTHING = FullState(None)


@dataclass(frozen=True, slots=True)
class History:
    """Where a read looks for snapshots. `table`: its name, for messages; `tag_form`: names of automatic tags."""

    table: str
    snapshots: SnapshotHistory
    tags: TagNames
    tag_form: AutoTagNames

    def target(self, startup: Startup) -> ScanTarget:
        """What to read. Raises: NotFoundError: a snapshot or tag does not exist; OptionError: bounds that are wrong."""
        match startup:
            case Latest():
                return FullState(self._latest())
            case Compacted(delta_commits):
                return FullState(self._compacted(delta_commits))
            case FilesSince(millis):
                return FullState(self._latest(), files_since=millis)
            case CommittedSince(millis):
                return self._committed_since(millis)
            case Between():
                return self._between(startup)
            case BetweenTimes():
                return self._between_times(startup)
            case ToAutoTag(name):
                return self._to_auto_tag(name)
        return FullState(self._named(startup), travelled=True)

    def _named(self, startup: AtSnapshot | AtTag | AtVersion | AtTime | AtWatermark) -> Snapshot:
        match startup:
            case AtSnapshot(snapshot_id):
                return self._get(snapshot_id)
            case AtTag(name):
                return self._tag(name).snapshot
            case AtVersion(version):
                return self._version(version)
            case AtTime(millis):
                return self._at_time(millis)
        return self._at_watermark(startup.watermark)

    # One snapshot

    def _latest(self) -> Snapshot | None:
        for _ in range(3):
            latest = self.snapshots.latest_id()
            found = None if latest is None else self.snapshots.find(latest)
            if latest is None or found is not None:
                return found
        raise self._gone(latest)

    def _get(self, snapshot_id: int) -> Snapshot:
        found = self.snapshots.find(snapshot_id)
        if found is None:
            raise self._gone(snapshot_id)
        return found

    def _gone(self, snapshot_id: int | None) -> NotFoundError:
        earliest, latest = self.snapshots.earliest_id(), self.snapshots.latest_id()
        if earliest is None or latest is None:
            return NotFoundError(
                f"snapshot {snapshot_id} does not exist: there is none", self.table, "Write to the table first."
            )
        gone = snapshot_id is not None and snapshot_id < earliest
        return NotFoundError(
            f"snapshot {snapshot_id} {'is gone' if gone else 'does not exist'}",
            self.table,
            f"Use one of {earliest} to {latest}, or a tag: {self._tag_names()}.",
        )

    def _tag_names(self) -> str:
        names = self.tags.names()
        return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "") or "none"

    def _tag(self, name: str) -> Tag:
        found = self.tags.find(name) if name.strip() else None
        if found is None:
            raise NotFoundError(f"tag '{name}' does not exist", self.table, f"There are: {self._tag_names()}.")
        return found

    def _version(self, version: str) -> Snapshot:
        tag = self.tags.find(version) if version.strip() else None
        if tag is not None:
            return tag.snapshot
        mark = version.removeprefix(_WATERMARK)
        if mark != version and mark.isdecimal():
            return self._at_watermark(int(mark))
        if version.isdecimal():
            return self._get(int(version))
        ids = f"{self.snapshots.earliest_id()} to {self.snapshots.latest_id()}"
        raise NotFoundError(
            f"'scan.version' = '{version}' is no tag, no watermark-<number> and no snapshot's id",
            self.table,
            f"Use one of {ids}, or a tag: {self._tag_names()}.",
        )

    def _at_time(self, millis: int) -> Snapshot:
        found = self.at_or_before(millis)
        if found is None:
            earliest = self._ends()
            said = "there is none at all" if earliest is None else f"the earliest is of {earliest[0].time_millis}"
            raise NotFoundError(
                f"there is no snapshot at or before {millis}: {said}",
                self.table,
                f"Use a later time, or a tag: {self._tag_names()}.",
            )
        return found

    def _ends(self) -> tuple[Snapshot, Snapshot] | None:
        """The earliest and the latest snapshot."""
        earliest, latest = self.snapshots.earliest_id(), self._latest()
        return None if earliest is None or latest is None else (self._get(earliest), latest)

    def at_or_before(self, millis: int) -> Snapshot | None:
        """The last snapshot committed at that time or before. Times are taken to ascend."""
        ends = self._ends()
        if ends is None or ends[0].time_millis > millis:
            return None
        found, low, high = ends[0], ends[0].id, ends[1].id
        while low <= high:
            middle = self._get((low + high) // 2)
            if middle.time_millis == millis:
                # Of several snapshots of this very moment Java takes the one it meets first.
                return middle
            if middle.time_millis < millis:
                found, low = middle, middle.id + 1
            else:
                high = middle.id - 1
        return found

    def _at_watermark(self, watermark: int) -> Snapshot:
        """The first snapshot whose watermark reaches it. Watermarks are taken to ascend; one that has none is as its
        predecessor."""
        ends = self._ends()
        low, high = (1, 0) if ends is None else (ends[0].id, ends[1].id)
        found: Snapshot | None = None
        while low <= high:
            middle = (low + high) // 2
            marked = self._marked(low, middle)
            if marked is None:
                low = middle + 1
                continue
            snapshot, mark = marked
            if mark == watermark:
                return snapshot
            if mark > watermark:
                found, high = snapshot, snapshot.id - 1
            else:
                low = middle + 1
        if found is None:
            raise NotFoundError(
                f"no snapshot has a watermark of {watermark} or later",
                self.table,
                f"Use an earlier watermark, or a tag: {self._tag_names()}.",
            )
        return found

    def _marked(self, first: int, last: int) -> tuple[Snapshot, int] | None:
        """The last snapshot of a range that has a watermark, and its watermark. Java writes the least long for none."""
        for snapshot_id in range(last, first - 1, -1):
            snapshot = self._get(snapshot_id)
            if snapshot.watermark is not None and snapshot.watermark != _NO_WATERMARK:
                return snapshot, snapshot.watermark
        return None

    def _compacted(self, delta_commits: int | None) -> Snapshot | None:
        ends = self._ends()
        if ends is None:
            return None
        for snapshot_id in range(ends[1].id, ends[0].id - 1, -1):
            snapshot = self.snapshots.find(snapshot_id)
            if snapshot is not None and _is_compaction(snapshot, delta_commits):
                return snapshot
        return ends[1]

    def _committed_since(self, millis: int) -> FullState:
        before = self.at_or_before(millis - 1)
        following = None if before is None else self.snapshots.find(before.id + 1)
        if following is None:
            return FullState(self._latest(), files_since=millis)
        return FullState(following)

    # Changes

    def _between(self, asked: Between) -> ScanTarget:
        tags = [self.tags.find(name) if name.strip() else None for name in (asked.start, asked.end)]
        if tags[0] is not None and tags[1] is not None:
            return self._between_tags(asked, tags[0].snapshot, tags[1].snapshot)
        if not (asked.start.isdecimal() and asked.end.isdecimal()):
            raise OptionError(
                f"'incremental-between' = '{asked.start},{asked.end}' are neither two tags nor two snapshot ids",
                self.table,
                f"There are the tags: {self._tag_names()}.",
            )
        start, end = int(asked.start), int(asked.end)
        if end < start:
            raise OptionError(
                f"'incremental-between' = '{start},{end}' ends before it starts", self.table, "Swap the two."
            )
        if start == end or self.snapshots.earliest_id() is None:
            return _NOTHING
        if asked.mode == "diff":
            return Difference(self._get(start), self._get(end))
        return self._changes(start, end, asked.mode)

    def _between_tags(self, asked: Between, start: Snapshot, end: Snapshot) -> ScanTarget:
        if end.id < start.id:
            raise OptionError(
                f"tag '{asked.end}' holds snapshot {end.id}, earlier than tag '{asked.start}' with {start.id}",
                self.table,
                "Swap the two.",
            )
        if not asked.tags_are_snapshots:
            return _NOTHING if end.id == start.id else Difference(start, end)
        if asked.mode == "diff":
            raise OptionError(
                "'incremental-between-tag-to-snapshot' with 'incremental-between-scan-mode' = 'diff'",
                self.table,
                "Unset one of them: two tags are compared anyway.",
            )
        return self._changes(start.id, end.id, asked.mode)

    def _between_times(self, asked: BetweenTimes) -> ScanTarget:
        ends = self._ends()
        if ends is None or asked.start == asked.end:
            return _NOTHING
        earliest, latest = ends
        if asked.start > latest.time_millis or asked.end < earliest.time_millis:
            return _NOTHING
        start, end = self.at_or_before(asked.start), self.at_or_before(asked.end)
        if end is None:
            end = latest
        if asked.mode != "diff":
            return self._changes(earliest.id - 1 if start is None else start.id, end.id, asked.mode)
        # From before the first snapshot it is compared with the first: Paimon 2.1 shows the first's rows too.
        return Difference(earliest if start is None else start, end)

    def _changes(self, start: int, end: int, mode: str) -> Changes:
        earliest, latest = self.snapshots.earliest_id() or 0, self.snapshots.latest_id() or 0
        if start < earliest - 1 or end > latest:
            raise NotFoundError(
                f"changes after snapshot {start} up to {end}: snapshots {earliest} to {latest} are there",
                self.table,
                f"Use {earliest - 1} to {latest}.",
            )
        changelog = mode == "changelog"
        kinds = tuple(CommitKind) if changelog else (CommitKind.APPEND,)
        found = (self._get(snapshot_id) for snapshot_id in range(start + 1, end + 1))
        return Changes(tuple(s for s in found if s.commit_kind in kinds and s.commit_kind != "OVERWRITE"), changelog)

    def _to_auto_tag(self, name: str) -> ScanTarget:
        time = self.tag_form.time_of(name)
        if time is None:
            raise OptionError(
                f"'incremental-to-auto-tag' = '{name}' is not the name of an automatic tag",
                self.table,
                "Name one, or set 'tag.creation-period' and 'tag.period-formatter' to what its tags have.",
            )
        tag = self.tags.find(name)
        times = {other: self.tag_form.time_of(other) for other in self.tags.names()}
        earlier = {other: at for other, at in times.items() if at is not None and at < time}
        if tag is None or not earlier:
            return _NOTHING
        before = self._tag(max(earlier, key=lambda other: earlier[other]))
        return Difference(before.snapshot, tag.snapshot)


def _is_compaction(snapshot: Snapshot, delta_commits: int | None) -> bool:
    if snapshot.commit_kind != CommitKind.COMPACT:
        return False
    identifier = snapshot.commit_identifier
    return delta_commits is None or identifier % delta_commits == 0 or identifier == BATCH_IDENTIFIER


def history_of(table: str, snapshots: SnapshotHistory, tags: TagNames, options: Mapping[str, str]) -> History:
    """The history that reads of a table with these options look at."""
    return History(table, snapshots, tags, AutoTagNames.of(options))
