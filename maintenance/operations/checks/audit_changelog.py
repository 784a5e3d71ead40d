"""Prove that the changelog between two snapshots turns the rows of the one into those of the other, key by key.

What counts as the rows of a snapshot is what its changelog was made of: all of them with producer `input`, those
above level 0 with `lookup`, those at the highest level with `full-compaction`; the rest has no changelog yet. If
the proof fails, the first snapshot up to which it fails is searched by bisection. Source: data section 5.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maintenance.errors import NotFoundError, OptionError, UnsupportedError
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from maintenance.operations.checks.audit_bucket import (
    EXAMPLES,
    AuditTask,
    BucketChanges,
    BucketVerdict,
    WrongKey,
    audit_bucket,
)
from maintenance.read.split_read import SplitRead
from maintenance.scan.plan import ScanSource, live_entries
from maintenance.scan.split import Split, by_bucket, with_deletions
from maintenance.scan.vectors import live_deletions
from maintenance.spark.tasks import TaskError, run_tasks
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Group = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The verdict.

    Attributes:
        start, end: ids of the snapshots; 0 is the empty table before the first one.
        holds: the changes turn the rows of the one into those of the other.
        complete: the changes of every commit are in the changelog one by one; else it is net: several commits were
            merged before their changelog was made, so that values that held in between are not in it.
        images: what is taken back carries the row that stood before; False only with producer input.
        keys, changes: how many were looked at.
        wrong_keys: how many the changes do not explain; `examples`: some of them.
        first_bad: the first snapshot up to which the proof fails, and `first_bad_kind`: its kind; None if it holds.
        pending_files: files of the last snapshot that have no changelog yet.
    """

    table: str
    start: int
    end: int
    holds: bool
    complete: bool
    images: bool
    keys: int = 0
    changes: int = 0
    wrong_keys: int = 0
    examples: tuple[WrongKey, ...] = ()
    first_bad: int | None = None
    first_bad_kind: CommitKind | None = None
    pending_files: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        kind = "complete" if self.complete else "net"
        span = f"{self.table}: the changelog from snapshot {self.start} to {self.end}"
        if self.holds:
            return f"{span} holds, is {kind}, and has {self.changes} changes; {self.keys} keys were compared"
        shown = "; ".join(_text(example) for example in self.examples)
        return f"{span} fails for {self.wrong_keys} keys, first in snapshot {self.first_bad}: {shown}"


def _text(wrong: WrongKey) -> str:
    where = f" ({wrong.kind} in snapshot {wrong.snapshot_id})" if wrong.snapshot_id else ""
    return f"{wrong.key}: {wrong.what}{where}"


def audit_changelog(
    spark: "SparkSession | None",
    table: Table,
    start: int | None = None,
    end: int | None = None,
    *,
    find_first_bad: bool = True,
) -> AuditReport:
    """Audit the changelog after snapshot `start` up to snapshot `end`.

    Args:
        spark: its tasks compare, one bucket each; None = threads of this process.
        start: None = the earliest snapshot, or the empty table if that is the first one; 0 = the empty table.
        end: None = the latest snapshot.
        find_first_bad: search the first snapshot that is wrong if the proof fails.
    Raises: OptionError: the table has no changelog producer, or start and end are the wrong way round; NotFoundError: a
        snapshot between them is gone; UnsupportedError: rows expire; what reading raises.
    """
    started = time.monotonic()
    if table.model.changelog_producer == "none":
        fix = "Set 'changelog-producer' of the table to input, lookup or full-compaction."
        raise OptionError("'changelog-producer' = 'none' leaves no changelog to audit", table.identifier, fix)
    if table.model.record_level_expire_time is not None:
        raise UnsupportedError(
            "rows past 'record-level.expire-time' leave the table without a change, so its changelog cannot be audited",
            table.identifier,
            "Audit tables whose rows do not expire.",
        )
    audit = _Audit.of(spark, table, start, end)
    report = audit.run(audit.last)
    if not report.holds and find_first_bad:
        bad = audit.first_bad()
        report = replace(report, first_bad=bad.id, first_bad_kind=bad.commit_kind)
    return replace(report, seconds=time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class WrongChanges:
    """What the changes of one compaction do not explain: how many keys, and some of them as texts."""

    partition: bytes
    bucket: int
    keys: int
    examples: tuple[str, ...]


def compaction_audit(table: Table, before: int, after: int) -> list[AuditTask]:
    """What has to be read to audit the changes that a compaction made: the buckets that it has changed.

    A bucket with the same files and deletion vectors before and after it, and without changes, needs no audit: no
    changes lead from a state to itself. Raises: as `audit_changelog`.
    """
    audit = _Audit.of(None, table, before, after)
    return [task for task in audit.tasks(audit.last) if task.has_changed]


def wrong_changes(spark: "SparkSession | None", tasks: Sequence[AuditTask]) -> list[WrongChanges]:
    """What is wrong in the buckets of an audit; empty: nothing. Raises: what reading raises."""
    verdicts = _judged(spark, tasks)
    return [
        WrongChanges(task.before.partition, task.before.bucket, verdict.wrong, tuple(map(_text, verdict.examples)))
        for task, verdict in zip(tasks, verdicts, strict=True)
        if verdict.wrong
    ]


def _judged(spark: "SparkSession | None", tasks: Sequence[AuditTask]) -> list[BucketVerdict]:
    verdicts: list[BucketVerdict] = []
    for outcome in run_tasks(spark, audit_bucket, tasks):
        if isinstance(outcome, TaskError):
            raise outcome.error
        verdicts.append(outcome)
    return verdicts


@dataclass(frozen=True, slots=True)
class _Audit:
    """`snapshots`: those after the start up to the end, ascending; `start`: None = the empty table."""

    spark: "SparkSession | None"
    table: Table
    source: ScanSource
    start: Snapshot | None
    snapshots: tuple[Snapshot, ...]

    @classmethod
    def of(cls, spark: "SparkSession | None", table: Table, start: int | None, end: int | None) -> "_Audit":
        earliest, latest = table.snapshots.earliest_id(), table.snapshots.latest_id()
        if earliest is None or latest is None:
            return cls(spark, table, table.changelog_source(), None, ())
        first = (0 if earliest == 1 else earliest) if start is None else start
        last = latest if end is None else end
        if last < first:
            raise OptionError(
                f"an audit from {first} to {last}", table.identifier, "Name the earlier snapshot as the first one."
            )
        if first == 0 and earliest > 1:
            raise NotFoundError(
                "the first snapshot is gone", table.identifier, f"Start at {earliest}, the earliest one."
            )
        snapshots = tuple(table.snapshots.get(number) for number in range(first + 1, last + 1))
        return cls(spark, table, table.changelog_source(), table.snapshots.get(first) if first else None, snapshots)

    @property
    def last(self) -> int:
        """Number of snapshots to look at."""
        return len(self.snapshots)

    def first_bad(self) -> Snapshot:
        """The first snapshot up to which the proof fails, if up to the one before it holds."""
        good, bad = 0, self.last
        while bad - good > 1:
            middle = (good + bad) // 2
            if self.run(middle).holds:
                good = middle
            else:
                bad = middle
        return self.snapshots[bad - 1]

    def run(self, count: int) -> AuditReport:
        """The proof over the first `count` snapshots."""
        snapshots = self.snapshots[:count]
        after = snapshots[-1] if snapshots else self.start
        verdicts = _judged(self.spark, self.tasks(count))
        wrong = sum(verdict.wrong for verdict in verdicts)
        return AuditReport(
            table=self.table.identifier,
            start=self.start.id if self.start else 0,
            end=after.id if after else 0,
            holds=wrong == 0,
            complete=not any(self._merges_commits(snapshot) for snapshot in snapshots),
            images=all(verdict.images for verdict in verdicts),
            keys=sum(verdict.keys for verdict in verdicts),
            changes=sum(verdict.changes for verdict in verdicts),
            wrong_keys=wrong,
            examples=tuple(example for verdict in verdicts for example in verdict.examples)[:EXAMPLES],
            pending_files=self._pending(after),
        )

    def tasks(self, count: int) -> list[AuditTask]:
        """The buckets to look at, of the first `count` snapshots."""
        snapshots = self.snapshots[:count]
        after = snapshots[-1] if snapshots else self.start
        states = [self._state(self.start), self._state(after)]
        changes: dict[Group, list[BucketChanges]] = {}
        schema_ids: set[int] = set()
        for snapshot in snapshots:
            entries = [e for e in self.table.manifests.changelog_entries(snapshot) if e.kind == FileKind.ADD]
            for group, members in by_bucket(entries).items():
                files = tuple(entry.file for entry in members)
                changes.setdefault(group, []).append(BucketChanges(snapshot.id, files))
            schema_ids |= {entry.file.schema_id for entry in entries}
        schema_ids |= {file.schema_id for state in states for split in state.values() for file in split.files}
        read = self._read(schema_ids)
        groups = dict.fromkeys([*states[0], *changes, *states[1]])
        return [self._task(read, group, states, changes.get(group, [])) for group in groups]

    def _task(
        self, read: SplitRead, group: Group, states: Sequence[Mapping[Group, Split]], changes: Sequence[BucketChanges]
    ) -> AuditTask:
        options = self.table.options
        ignored: tuple[str, ...] = ()
        if options.changelog_row_deduplicate:
            ignored = options.changelog_row_deduplicate_ignore_fields
        empty = Split(0, *group, (), raw=False)
        before, after = (state.get(group, empty) for state in states)
        return AuditTask(
            read,
            before,
            after,
            tuple(changes),
            tuple(name for name in self.table.schema.field_names if name not in ignored),
            as_input=options.changelog_producer == "input",
            deduplicated=options.changelog_row_deduplicate,
        )

    def _state(self, snapshot: Snapshot | None) -> dict[Group, Split]:
        if snapshot is None:
            return {}
        entries = live_entries(self.source, snapshot, None)
        splits: Iterable[Split] = (
            Split(snapshot.id, *group, tuple(entry.file for entry in members), raw=False)
            for group, members in by_bucket(entries).items()
        )
        if self.table.model.has_deletion_vectors:
            splits = with_deletions(splits, live_deletions(self.table.manifests, snapshot, entries))
        return {(split.partition, split.bucket): split for split in splits}

    def _read(self, schema_ids: Iterable[int]) -> SplitRead:
        table = self.table
        schemas = {**self.source.load_schemas(sorted(schema_ids)), table.schema.id: table.schema}
        columns = (SEQUENCE_NUMBER, VALUE_KIND, *table.schema.fields)
        return SplitRead(table.file_io, table.paths, table.schema, schemas, table.options, columns)

    def _merges_commits(self, snapshot: Snapshot) -> bool:
        """Whether changes of several commits to one bucket became one in this snapshot's changelog."""
        if snapshot.commit_kind != CommitKind.COMPACT or snapshot.changelog_manifest_list is None:
            return False
        merged = [entry for entry in self._delta(snapshot) if entry.kind == FileKind.DELETE and self._is_new(entry)]
        return any(
            len(members) > 1 or members[0].file.file_source == FileSource.COMPACT
            for members in by_bucket(merged).values()
        )

    def _delta(self, snapshot: Snapshot) -> list[ManifestEntry]:
        return self.table.manifests.delta_entries(snapshot)

    def _is_new(self, entry: ManifestEntry) -> bool:
        """Whether a file had no changelog before it was compacted."""
        return entry.file.level < (self.source.level_from or 0)

    def _pending(self, snapshot: Snapshot | None) -> int:
        if snapshot is None or not self.source.level_from:
            return 0
        return sum(self._is_new(entry) for entry in self.table.manifests.live_entries(snapshot))
