"""What could be done to a table, from its metadata alone: each thing with what it brings, and since when it waits."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from maintenance.amounts import number_of
from maintenance.compaction.append import AppendCompaction
from maintenance.compaction.levels import run_count
from maintenance.compaction.plan import BucketCompaction, RewriteStep
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import reads_again
from maintenance.metadata.zone import local_time
from maintenance.operations.compaction.plan import CompactionScope, Unit, plan_compaction
from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.operations.fleet.settings import Gain
from maintenance.operations.indexes.rewrite_file_index import RewriteFileIndex, declared_indexes
from maintenance.operations.indexes.rewrite_file_index import plan as plan_indexes
from maintenance.operations.operation import Run
from maintenance.operations.retention.next_expiry import NextExpiry, next_expiry
from maintenance.options import table as table_options
from maintenance.table.compactors import refusal
from maintenance.table.table import Table

COMPACT, INDEX, MANIFESTS, EXPIRE = "compact", "rewrite_file_index", "compact_manifest", "expire_snapshots"
# What a file index leaves out of the files that a filter would read, as long as no probe has said it.
_SKIPPED_BY_INDEX = 0.5
# Commits merge manifests themselves once there are many; so few cost a reader next to nothing.
_FEW_MANIFESTS = 8
# What the next expiry of a table frees, by a retention; None: it takes too long to find out.
AskExpiry = Callable[[Table, datetime, RetentionChoice], NextExpiry | None]


@dataclass(frozen=True, slots=True)
class Action:
    """Something that one operation does to a table.

    Attributes:
        operation: its name; `arguments`: fields of its request.
        scope: the partition or part of the table that it is about; empty: the table.
        reason: why it is worth doing. input_bytes: that it rewrites; of an expiry, that it deletes.
        since: when it could have been done first.
        hidden_rows: that are committed, and that batch reads leave out until it is done.
    """

    table: str
    operation: str
    gain: Gain
    input_bytes: int
    since: datetime
    reason: str
    scope: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    hidden_rows: int = 0

    @property
    def key(self) -> str:
        """Names it among all others."""
        return f"{self.table} {self.operation} {self.scope}".rstrip()


@dataclass(frozen=True, slots=True)
class Possible:
    """What can be done to a table. `refused`: why it is not compacted here; empty: it may be."""

    actions: tuple[Action, ...]
    refused: str = ""
    kind: str = ""


@reads_again
def possible(table: Table, now: datetime, retention: RetentionChoice, expiry: AskExpiry = next_expiry) -> Possible:
    """All that is worth doing to a table.

    Args: `retention`: replaces what its options say; `expiry`: says what that frees.
    Raises: as reading metadata.
    """
    kind = "primary key" if table.is_primary_key_table else "append"
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return Possible((), kind=kind)
    refused = refusal(table)
    found = [
        *(() if refused is not None else _compactions(table, now)),
        *_manifests(table, snapshot, now),
        *_indexes(table, now),
        *_expiry(table, now, retention, expiry),
    ]
    return Possible(tuple(found), "" if refused is None else refused.found, kind)


def _compactions(table: Table, now: datetime) -> Iterator[Action]:
    """The engine's own plan, a partition at a time; and rows that wait for their buckets."""
    planned = plan_compaction(table, CompactionScope(), now_millis=_local_millis(now))
    by_partition: dict[bytes, list[Unit]] = defaultdict(list)
    for unit in planned.units:
        by_partition[unit.partition].append(unit)
    for row, units in by_partition.items():
        partition = table.paths.partition(row)
        gain = Gain()
        for unit in units:
            gain += _gain_of(table, unit)
        hidden = _hidden_rows(table, units)
        reasons = [f"{number_of(hidden, 'committed row')} cannot be seen until then"] if hidden else []
        reasons += _reasons(units)
        yield Action(
            table.identifier,
            COMPACT,
            gain,
            sum(file.file_size for unit in units for file in unit.input_files),
            min((_due_since(table, unit.input_files, now) for unit in units), default=now),
            ", ".join(reasons),
            str(partition) if table.schema.partition_keys else "",
            {"partitions": [partition]} if table.schema.partition_keys else {},
            hidden,
        )
    if table.model.is_postponed and planned.snapshot is not None:
        yield from _postponed(table, planned.snapshot, now)


def _postponed(table: Table, snapshot: Snapshot, now: datetime) -> Iterator[Action]:
    files = [
        entry.file for entry in table.manifests.live_entries(snapshot) if entry.bucket == table_options.POSTPONE_BUCKET
    ]
    if files:
        size = sum(file.file_size for file in files)
        gain = Gain(len(files), 0, 1)
        since = min(_made(file, now) for file in files)
        rows = sum(file.row_count for file in files)
        reason = f"{number_of(rows, 'row')} cannot be seen until they are in their buckets"
        yield Action(table.identifier, COMPACT, gain, size, since, reason, "postponed rows", hidden_rows=rows)


def _reasons(units: Sequence[Unit]) -> list[str]:
    """Why a partition is worth compacting."""
    merged = [unit for unit in units if isinstance(unit, BucketCompaction)]
    small = sum(len(unit.files) for unit in units if isinstance(unit, AppendCompaction) and len(unit.files) > 1)
    found = [number_of(small, "small file")] if small else []
    if merged:
        runs = max(run_count([file.level for file in unit.input_files]) for unit in merged)
        found.append(
            f"{number_of(runs, 'sorted run')} in a bucket: {', '.join(dict.fromkeys(u.reason for u in merged))}"
        )
    return found or ["rows that are deleted are still stored"]


def _hidden_rows(table: Table, units: Sequence[Unit]) -> int:
    """How many rows batch reads leave out until these units are compacted."""
    if not table.is_primary_key_table or not table.model.skips_level_0:
        return 0
    return sum(file.row_count for unit in units for file in unit.input_files if file.level == 0)


def _gain_of(table: Table, unit: Unit) -> Gain:
    """Files less, sorted runs less, and the bytes of rows that are known to be deleted."""
    target = table.model.target_file_size(has_primary_key=table.is_primary_key_table)
    if isinstance(unit, AppendCompaction):
        size = sum(file.file_size for file in unit.files)
        return Gain(max(0, len(unit.files) - math.ceil(size / target)), 0, 0 if len(unit.files) > 1 else 1)
    assert isinstance(unit, BucketCompaction)
    rewritten = [file for step in unit.steps if isinstance(step, RewriteStep) for file in step.files]
    size = sum(file.file_size for file in rewritten)
    level_0 = sum(file.level == 0 for file in unit.input_files)
    levels = len({file.level for file in unit.input_files if file.level > 0})
    dead = sum(_dead_bytes(file) for file in rewritten) if unit.drop_deletes else 0
    # A run that is lifted as it is was not merged before: readers do that no more, or see its rows at last.
    runs = max(1, level_0 + levels - 1)
    return Gain(max(0, len(rewritten) - math.ceil((size - dead) / target)), dead, runs)


def _dead_bytes(file: DataFileMeta) -> int:
    """Of the records that delete others."""
    return file.file_size * (file.delete_row_count or 0) // file.row_count if file.row_count else 0


def _due_since(table: Table, files: Sequence[DataFileMeta], now: datetime) -> datetime:
    """When so many of the files were there that they reached the trigger of the table's options."""
    option = (
        table_options.NUM_SORTED_RUN_COMPACTION_TRIGGER
        if table.is_primary_key_table
        else table_options.COMPACTION_MIN_FILE_NUM
    )
    made = sorted(_made(file, now) for file in files)
    return made[min(option.of(table.options), len(made)) - 1]


def _made(file: DataFileMeta, now: datetime) -> datetime:
    """When a file was written, which it says by the clock of its writer."""
    if file.creation_time is None:
        return now
    return min(now, now - timedelta(milliseconds=_local_millis(now) - file.creation_time))


def _local_millis(now: datetime) -> int:
    """The local clock, as if it were UTC."""
    return int(local_time(now).replace(tzinfo=UTC).timestamp() * 1000)


def _manifests(table: Table, snapshot: Snapshot, now: datetime) -> Iterator[Action]:
    metas = table.manifests.data_manifests(snapshot)
    target = table.model.manifest_target_file_size
    size = sum(meta.file_size for meta in metas)
    fewer = len(metas) - math.ceil(size / target)
    if fewer >= _FEW_MANIFESTS:
        reason = f"{len(metas)} manifests are read for each query"
        first = table.snapshots.find(min(table.snapshots.list_ids()))
        since = _time_of(snapshot if first is None else first, now)
        yield Action(table.identifier, MANIFESTS, Gain(files=fewer), size, since, reason)


def _indexes(table: Table, now: datetime) -> Iterator[Action]:
    if table.model.evolves or not declared_indexes(table):
        return
    stale = plan_indexes(Run(now=now), table, RewriteFileIndex()).stale[1]
    if stale:
        files = [entry.file for entry in stale]
        gain = Gain(files=math.ceil(_SKIPPED_BY_INDEX * len(files)))
        size, since = sum(file.file_size for file in files), min(_made(file, now) for file in files)
        yield Action(table.identifier, INDEX, gain, size, since, "indexes are not as declared")


def _expiry(table: Table, now: datetime, retention: RetentionChoice, ask: AskExpiry) -> Iterator[Action]:
    ids = table.snapshots.list_ids()
    least = table.model.snapshot_num_retained_min
    if len(ids) <= (least if retention.retain_min is None else retention.retain_min):
        return
    found = ask(table, now, retention)
    if found is None or not found.range.expired:
        return
    given = {name: getattr(retention, name) for name in ("retain_max", "retain_min", "older_than")}
    yield Action(
        table.identifier,
        EXPIRE,
        Gain(bytes=found.bytes),
        found.bytes,
        _expired_since(table, found.snapshots, found.range.expired[0], now, retention),
        f"snapshots {found.range.expired[0]} to {found.range.expired[-1]} are past their retention",
        arguments={name: value for name, value in given.items() if value is not None},
    )


def _expired_since(
    table: Table, snapshots: Mapping[int, Snapshot], first: int, now: datetime, retention: RetentionChoice
) -> datetime:
    """When the oldest snapshot that goes was replaced long enough ago; now, where its age is not what makes it go."""
    following = [snapshot for number, snapshot in snapshots.items() if number > first]
    age = table.model.snapshot_time_retained
    if retention.older_than is not None:
        age = now - retention.older_than
    if not following:
        return now
    return min(now, _time_of(min(following, key=lambda each: each.id), now) + age)


def _time_of(snapshot: Snapshot, now: datetime) -> datetime:
    return min(now, datetime.fromtimestamp(snapshot.time_millis / 1000, UTC))


def not_before(action: Action, done: datetime | None) -> Action:
    """The action, waiting since it was last done at the earliest, where it is about the whole table."""
    return action if done is None or done <= action.since or action.scope else replace(action, since=done)
