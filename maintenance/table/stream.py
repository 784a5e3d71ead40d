"""Follow a table: where a stream starts, and what each snapshot from there on brings.

A stream may begin with a state, and then follows the changes: the files that APPEND snapshots add where there is no
changelog producer (upserts, without what stood before), else the changelog files of all snapshots. The state leaves
out what has no changelog yet (with lookup level 0, with full-compaction all below the highest level), and the changes
begin right behind it: nothing is read twice and nothing is left out. OVERWRITE snapshots change nothing in a stream,
unless `streaming-read-overwrite` asks for the rows that they take back and bring, or `streaming-read-append-overwrite`,
in a table without a primary key, for those that they bring.
Snapshots that expired are found among the long-lived changelogs; if they are gone, the stream stops with an error
rather than leave a gap. So it does where a snapshot that it has read was rolled back, whatever number the next one has.
Source: data section 6.7, Java `DataTableStreamScan`, Spark's `StreamHelper`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta

from maintenance.errors import NotFoundError, OptionError, UnsupportedError
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.options import table as table_options
from maintenance.read.split_read import SplitRead
from maintenance.scan.changes import plan_appended, plan_changes, plan_overwritten
from maintenance.scan.plan import ScanPlan, plan_scan
from maintenance.scan.split import AnySplit, Split
from maintenance.scan.startup import (
    AtSnapshot,
    AtTime,
    AtVersion,
    CommittedSince,
    Compacted,
    FilesSince,
    Latest,
    startup_of,
)
from maintenance.scan.stream_position import Admission, Limits, StreamPosition
from maintenance.scan.target import RecordChanges
from maintenance.table.chain import refuse_changes
from maintenance.table.planning import views_of
from maintenance.table.table import Table

_KEPT_PLANS = 64
_MERGED_ENGINES = ("partial-update", "aggregation", "first-row")


def _is_later(watermark: int | None, bound: int) -> bool:
    return watermark is not None and watermark > bound


def _now_millis() -> int:
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class TableStream:
    """A table that is followed. Plans of snapshots are kept for a while: first for their size, then to be read.

    `clock`: milliseconds since 1970-01-01 UTC, for `streaming.read.snapshot.delay`.
    """

    table: Table
    clock: Callable[[], int] = _now_millis
    _plans: dict[StreamPosition, tuple[SnapshotIdentity, ScanPlan]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self.table)

    # Where it starts

    def start(self) -> StreamPosition:
        """Where a new stream begins. Raises: OptionError, UnsupportedError, NotFoundError: its scan options."""
        options = self.table.options
        consumer = options.consumer_id
        if consumer is not None and not table_options.CONSUMER_IGNORE_PROGRESS.of(options):
            following = self.table.consumers.find(consumer)
            if following is not None:
                return self._from(following)
        startup = startup_of(options)
        mode = options.scan_mode
        match startup:
            case Latest():
                latest = self.table.snapshots.latest_id()
                if mode == "latest":
                    return StreamPosition(1 if latest is None else latest + 1)
                # Before the first commit: its snapshot will be the state.
                return StreamPosition(1 if latest is None else latest, full=True)
            case Compacted(delta_commits):
                compacted = self.table.history().compacted(delta_commits)
                return StreamPosition(1 if compacted is None else compacted.id, full=True)
            case AtSnapshot(snapshot_id):
                if mode == "from-snapshot-full":
                    return StreamPosition(max(snapshot_id, self.table.snapshots.earliest_id() or 1), full=True)
                return self._from(snapshot_id)
            case AtVersion(version) if version.isdecimal() and self.table.tags.find(version) is None:
                return self._from(int(version))
            case AtTime(millis):
                return StreamPosition(self._first_since(millis))
            case CommittedSince(millis) if (first := self._first_behind(millis)) is not None:
                return StreamPosition(first)
            case FilesSince() | CommittedSince():
                return StreamPosition(self.table.snapshots.latest_id() or 1, full=True)
        raise OptionError(
            f"a stream cannot start with 'scan.mode' = '{mode}' and its keys",
            self.table.identifier,
            "Use latest-full, latest, from-snapshot, from-snapshot-full, from-timestamp, compacted-full,"
            " from-file-creation-time or from-creation-timestamp.",
        )

    def _from(self, snapshot_id: int) -> StreamPosition:
        return StreamPosition(max(snapshot_id, self._earliest()))

    def _earliest(self) -> int:
        """Id of the first snapshot whose changes are there."""
        kept = self.table.changelogs.list_ids()[:1]
        return min([*kept, self.table.snapshots.earliest_id() or 1])

    def _first_since(self, millis: int) -> int:
        """Id of the first snapshot committed at that moment or later, of the next one if there is none yet."""
        return self._first(lambda snapshot: snapshot.time_millis >= millis)

    def _first(self, is_late: Callable[[Snapshot], bool]) -> int:
        """Id of the first snapshot for which something is true, of the next one if there is none yet.

        Args: `is_late`: what stays true, once it is.
        """
        low, high = self._earliest(), self._comes
        while low < high:
            middle = (low + high) // 2
            snapshot = self._find(middle)
            if snapshot is not None and is_late(snapshot):
                high = middle
            else:
                low = middle + 1
        return low

    def _first_behind(self, millis: int) -> int | None:
        """As `_first_since`; None unless that snapshot is there, and one before it. Source: Java
        `AbstractDataTableScan.createCreationTimestampStartingScanner`.
        """
        first = self._first_since(millis)
        return first if first > self._earliest() and self._find(first) is not None else None

    @property
    def _files_since(self) -> int | None:
        """The moment before which files are left out of the state that the stream begins with."""
        startup = startup_of(self.table.options)
        return startup.millis if isinstance(startup, FilesSince | CommittedSince) else None

    # What there is

    def end(self) -> StreamPosition:
        """Behind everything that is there now, and that the options let the stream read by now."""
        comes, options = self._comes, self.table.options
        delay = table_options.STREAMING_READ_SNAPSHOT_DELAY.of(options)
        if delay is not None:
            until = self.clock() - delay // timedelta(milliseconds=1)
            comes = min(comes, self._first(lambda snapshot: snapshot.time_millis > until))
        bound = table_options.SCAN_BOUNDED_WATERMARK.of(options)
        if bound is not None:
            comes = min(comes, self._first(lambda snapshot: _is_later(snapshot.watermark, bound)))
        return StreamPosition(comes)

    @property
    def _comes(self) -> int:
        """The id that the next snapshot will have."""
        return (self.table.snapshots.latest_id() or 0) + 1

    def advance(self, start: StreamPosition, end: StreamPosition, limits: Limits) -> tuple[StreamPosition, Admission]:
        """How far one batch goes from a position, at most to an end, and what it takes.

        Raises: NotFoundError: what is read next has expired, or does not follow what was read.
        """
        admission = Admission(limits)
        self._check_there(start, end)
        if start.full and start.snapshot_id < self._comes:
            # The state that a stream begins with is read, wherever its changes end.
            end = max(end, start.following)
        at = start
        while at.snapshot_id < end.snapshot_id:
            identity, plan = self._looked_up(at)
            for number, split in enumerate(plan.splits):
                if number >= at.splits and not admission.admit(split):
                    return StreamPosition(at.snapshot_id, number, at.full, identity if number else at.seen), admission
            at = replace(at.following, seen=identity)
        return max(at, start), admission

    def between(self, start: StreamPosition, end: StreamPosition) -> list[AnySplit]:
        """The splits between two positions, in order. Raises: NotFoundError: as `advance`."""
        self._check_seen(start)
        self._check_seen(end)
        return [split for at, stop in start.until(end) for split in self.splits(at)[at.splits : stop]]

    def splits(self, at: StreamPosition) -> tuple[AnySplit, ...]:
        """The splits of a snapshot, in an order of their own. `at`: its snapshot, and whether its state is wanted."""
        return self._plan(at).splits

    def _plan(self, at: StreamPosition) -> ScanPlan:
        """The plan of a snapshot; `at`: as of `splits`."""
        kept = self._plans.get(_whole(at))
        return self._looked_up(at)[1] if kept is None else kept[1]

    def _looked_up(self, at: StreamPosition) -> tuple[SnapshotIdentity, ScanPlan]:
        """What a snapshot is now, and its plan. A plan that was kept of another one of its number is none of it."""
        snapshot, key = self._find(at.snapshot_id), _whole(at)
        if snapshot is None:
            raise self._gone(at.snapshot_id)
        identity = SnapshotIdentity.of(snapshot)
        kept = self._plans.get(key)
        if kept is None or kept[0] != identity:
            plan = self._planned(key, snapshot)
            order = sorted(plan.splits, key=self._place)
            while len(self._plans) >= _KEPT_PLANS:
                self._plans.pop(next(iter(self._plans)))
            kept = self._plans[key] = identity, ScanPlan(tuple(order), plan.schemas)
        return kept

    def _place(self, split: AnySplit) -> tuple[str, int]:
        assert isinstance(split, Split)
        return self.table.paths.partition_folder(split.partition), split.bucket

    def _planned(self, at: StreamPosition, snapshot: Snapshot) -> ScanPlan:
        if at.full:
            return plan_scan(self.table.changelog_source(), snapshot, None, self._files_since)
        if snapshot.commit_kind == CommitKind.OVERWRITE:
            return self._planned_overwrite(snapshot)
        chosen = RecordChanges((snapshot,), self._has_producer)
        if not self._has_producer:
            brings = snapshot.commit_kind == CommitKind.APPEND
        else:
            brings = snapshot.changelog_manifest_list is not None
        if not brings:
            return ScanPlan((), {})
        return plan_changes(self.table.scan_source(), chosen, None)

    def _planned_overwrite(self, snapshot: Snapshot) -> ScanPlan:
        table = self.table
        if table.is_primary_key_table and table_options.STREAMING_READ_OVERWRITE.of(table.options):
            return plan_overwritten(table.scan_source(), table.snapshots.find(snapshot.id - 1), snapshot)
        if not table.is_primary_key_table and table_options.STREAMING_READ_APPEND_OVERWRITE.of(table.options):
            return plan_appended(table.scan_source(), snapshot)
        return ScanPlan((), {})

    @property
    def _has_producer(self) -> bool:
        return self.table.model.changelog_producer != "none"

    def _find(self, snapshot_id: int) -> Snapshot | None:
        return self.table.snapshots.find(snapshot_id) or self.table.changelogs.find(snapshot_id)

    def _check_there(self, start: StreamPosition, end: StreamPosition) -> None:
        if start.snapshot_id > self._comes or (start < end and self._find(start.snapshot_id) is None):
            raise self._gone(start.snapshot_id)
        self._check_seen(start)

    def _check_seen(self, position: StreamPosition) -> None:
        """Raises: NotFoundError: the snapshot that was read last is not part of the table's past any more."""
        seen = position.seen
        if seen is not None and self.table.snapshots.has_left(seen):
            raise NotFoundError(
                f"snapshot {seen.id}, which the stream has read, was rolled back, or this is another table",
                self.table.identifier,
                "Start a new stream: what follows is another history. Rows of that snapshot may have been read.",
            )

    def _gone(self, snapshot_id: int) -> NotFoundError:
        return NotFoundError(
            f"snapshot {snapshot_id}, the next one of the stream, does not exist: it expired, or this is another table",
            self.table.identifier,
            "Restart the stream. Set 'consumer-id', or keep changelogs longer, and expiry waits for the stream.",
        )

    # How it is read

    def read(self, start: StreamPosition, end: StreamPosition, *, with_kind: bool = False) -> SplitRead:
        """How to read the rows between two positions. `with_kind`: `_VALUE_KIND` comes first."""
        table = self.table
        schemas = {table.schema.id: table.schema}
        for at, _ in start.until(end):
            schemas.update(self._plan(at).schemas)
        columns = (*((VALUE_KIND,) if with_kind else ()), *table.schema.fields)
        return SplitRead(
            table.file_io, table.paths, table.schema, schemas, table.options, columns, views=views_of(table)
        )

    def progress(self, end: StreamPosition) -> None:
        """Note for the consumer of the options that everything before a position is read.

        While a state is being read nothing is noted: a consumer goes on with changes alone.
        """
        consumer = self.table.model.consumer_id
        if consumer is not None and not end.full:
            self.table.consumers.record(consumer, end.snapshot_id)


def _whole(at: StreamPosition) -> StreamPosition:
    """The position of all that is read of its snapshot."""
    return StreamPosition(at.snapshot_id, full=at.full)


def _check(table: Table) -> None:
    table_options.check_readable(table.options, table.identifier)
    refuse_changes(table, "streams")
    for option in (table_options.SCAN_PARTITIONS, table_options.SCAN_BUCKET):
        if option.key in table.dynamic_options:
            raise UnsupportedError(
                f"'{option.key}' is for batch reads here, and this is a stream",
                table.identifier,
                "Leave it out, and filter what the stream gives.",
            )
    engine = table.model.merge_engine
    producer = table.model.changelog_producer
    if table.schema.primary_keys and engine in _MERGED_ENGINES and producer == "none":
        raise OptionError(
            f"merge engine {engine} without a changelog producer cannot be streamed: records are parts of rows",
            table.identifier,
            "Set 'changelog-producer' to lookup, or to full-compaction or input where the engine allows it.",
        )
