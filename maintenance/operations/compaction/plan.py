"""Plan the compaction of a table: one unit of work for each (partition, bucket), from the metadata of one snapshot."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, partial

from maintenance.compaction.append import AppendCompaction, DeletedRows, pack_in_order, pack_with_deletions
from maintenance.compaction.clustered_keys import ClusteredBucket
from maintenance.compaction.clustering import ClusterRules, clustered_by, is_clustered
from maintenance.compaction.key_ranges import most_tasks
from maintenance.compaction.levels import SortedRun, level_count, sorted_runs
from maintenance.compaction.plan import (
    BucketCompaction,
    CompactionRules,
    RewriteStep,
    UpgradeStep,
    drops_deletes,
    plan_steps,
)
from maintenance.compaction.record_expiry import RecordExpiry
from maintenance.compaction.row_groups import pack_rows
from maintenance.compaction.universal import CompactUnit, UniversalOptions, pick, pick_full
from maintenance.errors import OptionError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import EntrySelection, ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.key import key_reader
from maintenance.merge.engine import newest_is_the_row
from maintenance.merge.sections import Key
from maintenance.metadata.manifests import DeletionFile, Deletions
from maintenance.metadata.partition_names import Spec
from maintenance.metadata.partition_names import columns_of as columns_named
from maintenance.metadata.partition_value import PartitionValue, covering
from maintenance.operations.compaction.arrivals import held_back
from maintenance.operations.compaction.settled import small_files, unsettled
from maintenance.operations.expiry.partition_rules import PartitionRules
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.predicate.tree import Predicate, columns_of
from maintenance.read.data_evolution import columns_apart
from maintenance.scan.pruning import Pruning
from maintenance.scan.split import by_bucket
from maintenance.scan.vectors import live_deletions
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table

Group = tuple[bytes, int]
Unit = BucketCompaction | AppendCompaction
DELETED_ROWS, EXPIRED_ROWS = "deleted rows", "rows past record-level.expire-time"


def reason_of(unit: Unit) -> str:
    """Why a unit is compacted, and how many tasks may share the work of a large bucket."""
    if not isinstance(unit, BucketCompaction):
        return "small files"
    tasks = most_tasks(unit)
    return f"{unit.reason}; up to {tasks} tasks share it, each a range of its keys" if tasks > 1 else unit.reason


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Work on one snapshot.

    Attributes:
        units: what to do; an append bucket may have several.
        idle: groups looked at that need nothing, with their number of files.
        skipped: groups in the scope that are left alone, and why.
        deletions: the deletion vectors of live files.
    """

    snapshot: Snapshot | None
    units: tuple[Unit, ...]
    idle: Mapping[Group, int]
    skipped: Mapping[Group, str] = field(default_factory=dict)
    deletions: Deletions = field(default_factory=dict)

    @property
    def snapshot_id(self) -> int | None:
        return None if self.snapshot is None else self.snapshot.id


@dataclass(frozen=True, slots=True)
class CompactionScope:
    """Which groups to look at.

    Attributes:
        partitions: None = all.
        groups: None = all.
        predicate: over partition columns; None = all.
        idle_time: only partitions whose newest file is older; None = all.
        keeps_expiring: look also at partitions that are about to expire.
        inline: a writer compacts what it has written: option `lookup-compact` says when it lifts level 0.
        silent: no changelog is produced, since what was written replaces what was there.
        buckets: of every partition; None = all.
    """

    full: bool = False
    partitions: Sequence[PartitionValue] | None = None
    groups: frozenset[Group] | None = None
    predicate: Predicate | None = None
    idle_time: timedelta | None = None
    keeps_expiring: bool = False
    inline: bool = False
    silent: bool = False
    buckets: frozenset[int] | None = None

    def selection(self, table: Table) -> EntrySelection:
        """The entries of these groups."""
        groups = self.groups
        named = None if self.partitions is None else covering(table.schema.partition_fields, self.partitions)
        pruning = None if self.predicate is None else Pruning(table.schema, {}, self.predicate)
        partitions = None if groups is None else {partition for partition, _ in groups}

        @cache
        def covers(partition: bytes) -> bool:
            if partitions is not None and partition not in partitions:
                return False
            if pruning is not None and not pruning.keeps_partition(partition):
                return False
            return named is None or named(partition)

        def chosen(entry: ManifestEntry) -> bool:
            if self.buckets is not None and entry.bucket not in self.buckets:
                return False
            return groups is None or (entry.partition, entry.bucket) in groups

        return EntrySelection(
            partition=None if groups is None and named is None and pruning is None else covers,
            test=None if groups is None and self.buckets is None else chosen,
        )

    def may_leave_alone(self, table: Table) -> bool:
        """Whether partitions may be left alone by what their files say."""
        return self.idle_time is not None or not (self.keeps_expiring or PartitionRules.of(table) is None)

    def left_alone(self, table: Table, entries: Sequence[ManifestEntry], now_millis: int) -> dict[bytes, str]:
        """Partitions not to look at, and why: they were written to too lately, or they are about to expire.

        `now_millis`: local wall clock as if UTC.
        """
        rules = None if self.keeps_expiring else PartitionRules.of(table)
        expiring = {} if rules is None else rules.expiring(entries, now_millis)
        return self._busy(entries, now_millis) | expiring

    def _busy(self, entries: Sequence[ManifestEntry], now_millis: int) -> dict[bytes, str]:
        if self.idle_time is None:
            return {}
        newest: dict[bytes, int] = {}
        for entry in entries:
            newest[entry.partition] = max(newest.get(entry.partition, 0), entry.file.creation_time or now_millis)
        limit = now_millis - self.idle_time // timedelta(milliseconds=1)
        return {p: _written_ago(now_millis - made, self.idle_time) for p, made in newest.items() if made > limit}


def _written_ago(millis: int, idle_time: timedelta) -> str:
    return f"written to {max(0, millis) / 1000:.0f} s ago, and only partitions idle for {idle_time} are compacted"


def scope_of(
    table: Table,
    *,
    full: bool = False,
    partitions: Sequence[Spec] | None = None,
    where: str | None = None,
    idle_time: timedelta | None = None,
    keeps_expiring: bool = False,
) -> CompactionScope:
    """A scope that fits the table.

    Raises: OptionError: it does not fit; PredicateError: `where` is not a filter of the table; DataError: a partition
        is not named by its values, or may be several.
    """
    partition_keys = table.schema.partition_keys
    predicate = table.predicate(where)
    named = {name for spec in partitions or () for name in columns_named(spec)} | set(
        () if predicate is None else columns_of(predicate)
    )
    if not named <= set(partition_keys):
        raise OptionError(
            f"{', '.join(sorted(named - set(partition_keys)))} is not a partition column",
            f"compaction of {table.identifier}",
            f"Partition columns are: {', '.join(partition_keys) or 'none'}.",
        )
    if partitions is not None and where is not None:
        fix = "Leave 'partitions' or 'where' out of the call."
        raise OptionError("'partitions' and 'where' are both set", f"compaction of {table.identifier}", fix)
    chosen = None if partitions is None else named_partitions(table, partitions)
    return CompactionScope(full, chosen, None, predicate, idle_time, keeps_expiring)


def plan_compaction(table: Table, scope: CompactionScope, *, now_millis: int) -> CompactionPlan:
    """The plan on the latest snapshot. `now_millis`: local wall clock as if UTC.

    Rows that wait in the postpone bucket are left alone: merged there, they would lose their order and deletions.
    """
    snapshot = table.latest_snapshot()
    if snapshot is None:
        return CompactionPlan(None, (), {})
    units: list[Unit] = []
    idle: dict[Group, int] = {}
    if not scope.may_leave_alone(table):
        small = small_files(table, snapshot, scope.selection(table), full=scope.full)
        if small is not None:
            return CompactionPlan(snapshot, small.units, _idle(small.counts, small.units))
    few = None if scope.may_leave_alone(table) else unsettled(table, snapshot, scope.selection(table))
    entries, skipped = scoped_entries(table, snapshot, scope, now_millis) if few is None else (few.entries, {})
    held = held_back(table, snapshot, entries) if table.is_primary_key_table else {}
    skipped = {**skipped, **held}
    deletions: Deletions = {}
    if entries and table.model.has_deletion_vectors:
        deletions = live_deletions(table.manifests, snapshot, entries)
    for group, members in by_bucket(entries).items():
        if group[1] == table_options.POSTPONE_BUCKET or group in held:
            continue
        picked = plan_group(table, group, members, deletions.get(group, {}), scope=scope, now_millis=now_millis)
        units.extend(picked)
        if not picked:
            idle[group] = len(members)
    if few is not None:
        idle = _idle(few.counts, units)
    if is_clustered(table.schema, table.options):
        units.extend(_history_units(table, snapshot, scope, now_millis))
    return CompactionPlan(snapshot, tuple(units), idle, skipped, deletions)


def _idle(counts: Mapping[Group, int], units: Sequence[Unit]) -> dict[Group, int]:
    working = {(unit.partition, unit.bucket) for unit in units}
    return {group: count for group, count in counts.items() if group not in working}


def rewritten_files(unit: Unit) -> Sequence[DataFileMeta]:
    """The files that a unit reads and writes anew; those that only get another level are left out."""
    if isinstance(unit, AppendCompaction):
        return unit.files
    return tuple(file for step in unit.steps if isinstance(step, RewriteStep) for file in step.files)


def scoped_entries(
    table: Table, snapshot: Snapshot, scope: CompactionScope, now_millis: int
) -> tuple[list[ManifestEntry], dict[Group, str]]:
    """The live entries of a scope; and the groups in it that are left alone, with the reason."""
    entries = table.manifests.live_entries(snapshot, scope.selection(table))
    left_alone = scope.left_alone(table, entries, now_millis)
    skipped = {
        (entry.partition, entry.bucket): left_alone[entry.partition]
        for entry in entries
        if entry.partition in left_alone
    }
    return [entry for entry in entries if entry.partition not in left_alone], skipped


def plan_group(
    table: Table,
    group: Group,
    members: Sequence[ManifestEntry],
    deletions: Mapping[str, DeletionFile],
    *,
    scope: CompactionScope,
    now_millis: int,
    key_of: Callable[[bytes], Key] | None = None,
) -> list[Unit]:
    """What one bucket needs, by its files alone.

    Args: `members`: its live files; `deletions`: their deletion vectors; `key_of`: how the keys of the files compare;
        None = as the table's keys do.
    """
    if not table.is_primary_key_table:
        return _plan_append(table, group, members, deletions, full=scope.full, now_millis=now_millis)
    return _plan_bucket(table, group, members, deletions, scope=scope, now_millis=now_millis, key_of=key_of)


def _plan_bucket(
    table: Table,
    group: Group,
    members: Sequence[ManifestEntry],
    deletions: Mapping[str, DeletionFile],
    *,
    scope: CompactionScope,
    now_millis: int,
    key_of: Callable[[bytes], Key] | None,
) -> list[Unit]:
    options, full = table.options, scope.full
    files = [entry.file for entry in members]
    if options.clusters_keys:
        clustered = ClusteredBucket(table.schema, options, cache(_schemas(table)), files, deletions)
        planned = clustered.plan(*group, members[0].total_buckets, full=full)
        return [] if planned is None else [planned]
    max_level = level_count(files, options.num_levels) - 1
    runs = sorted_runs(files)
    expires = _expires(table, files)
    unit = pick_full(runs, max_level) if full else None
    if not full:
        unit = pick(runs, max_level, _rules(options, runs, scope), now_millis=now_millis)
    if unit is None:
        unit = _with_lost_rows(runs, max_level, deletions, expires) if full else None
    if unit is None:
        return []
    marks = options.has_deletion_vectors
    target = options.target_file_size(has_primary_key=True)
    produces = not scope.silent and _produces_changelog(options, unit, max_level)
    looks_up = options.looks_up
    formats = table_options.FILE_FORMAT_PER_LEVEL.of(options)
    of_table = options.file_format
    rules = CompactionRules(
        max_level,
        small_size=int(options.compaction_small_file_ratio * target),
        changelog=produces,
        force_rewrite=full and table_options.COMPACTION_FORCE_REWRITE_ALL_FILES.of(options),
        looks_up=looks_up,
        lifts_level_0=newest_is_the_row(options),
        # Indexes of buckets are of files that compactions wrote alone.
        new_form=formats.get(0, of_table) != formats.get(unit.output_level, of_table) or bool(options.key_indexed),
        marks=marks,
        expires=expires,
    )
    if unit.reason in (DELETED_ROWS, EXPIRED_ROWS):
        steps: tuple[RewriteStep | UpgradeStep, ...] = tuple(RewriteStep((((file,),),)) for file in unit.files)
    else:
        key_of = key_of or key_reader([field.type for field in table.schema.key_fields])
        steps = plan_steps(unit, rules, key_of)
    if not steps:
        return []
    moved = {name for step in steps for name in _names(step)}
    # A deletion in a partition of a chain table is of rows in earlier ones, too.
    chained = table.model.is_chain_table
    return [
        BucketCompaction(
            partition=group[0],
            bucket=group[1],
            total_buckets=members[0].total_buckets,
            output_level=unit.output_level,
            max_level=max_level,
            drop_deletes=not chained and drops_deletes(unit.output_level, files, marks=marks),
            changelog=produces,
            steps=steps,
            reason=unit.reason,
            looks_up=looks_up,
            older=tuple(file for file in files if file.level > unit.output_level) if looks_up else (),
            deletions=deletions,
            marks=marks,
            staying=tuple(f for f in files if f.level == unit.output_level and f.file_name not in moved),
        )
    ]


def _schemas(table: Table) -> Callable[[int], TableSchema]:
    return lambda schema_id: table.schema if schema_id == table.schema.id else table.schemas.get(schema_id)


def _rules(options: TableModel, runs: Sequence[SortedRun], scope: CompactionScope) -> UniversalOptions:
    """The rules to pick by. With `lookup-compact` = `gentle` a writer lifts level 0 after some of its runs only.

    Java counts the flushes of a writer that lives on, here the runs that these have left count.
    Source: Java `ForceUpLevel0Compaction`.
    """
    rules = UniversalOptions.of(options)
    waits = scope.inline and options.looks_up and table_options.LOOKUP_COMPACT.of(options) == "gentle"
    if waits and sum(run.level == 0 for run in runs) < options.lookup_compact_max_interval:
        return replace(rules, force_up_level_0=False)
    return rules


def _names(step: RewriteStep | UpgradeStep) -> list[str]:
    return [step.file.file_name] if isinstance(step, UpgradeStep) else [file.file_name for file in step.files]


def _expires(table: Table, files: Sequence[DataFileMeta]) -> Callable[[DataFileMeta], bool] | None:
    """Whether a file has rows past their time; None where rows do not expire."""
    expiry = RecordExpiry.of(table.schema, table.options, time.time())
    if expiry is None:
        return None
    schemas = {table.schema.id: table.schema}
    schemas |= {i: table.schemas.get(i) for i in {file.schema_id for file in files} - schemas.keys()}
    return lambda file: expiry.is_in(file, table.schema, schemas)


def _with_lost_rows(
    runs: Sequence[SortedRun],
    max_level: int,
    deletions: Mapping[str, DeletionFile],
    expires: Callable[[DataFileMeta], bool] | None,
) -> CompactUnit | None:
    """Files of a bucket that is compacted already whose deleted or expired rows a full compaction drops."""
    if len(runs) != 1 or runs[0].level != max_level:
        return None
    if expires is not None and (old := tuple(file for file in runs[0].files if expires(file))):
        return CompactUnit(max_level, old, EXPIRED_ROWS)
    files = tuple(file for file in runs[0].files if file.file_name in deletions)
    return CompactUnit(max_level, files, DELETED_ROWS) if files else None


def _produces_changelog(options: TableModel, unit: CompactUnit, max_level: int) -> bool:
    """Whether this compaction writes the changelog of what it merges. Source: data section 5."""
    match options.changelog_producer:
        case "full-compaction":
            return unit.output_level == max_level
        case "lookup":
            return any(file.level == 0 for file in unit.files)
    return False


def _plan_append(
    table: Table,
    group: Group,
    members: Sequence[ManifestEntry],
    deletions: Mapping[str, DeletionFile],
    *,
    full: bool,
    now_millis: int,
) -> list[Unit]:
    options = table.options
    if is_clustered(table.schema, options):
        return _plan_clustering(table, group, members, deletions, full=full, now_millis=now_millis)
    files = [entry.file for entry in members]
    target = options.target_file_size(has_primary_key=False)
    least, ratio = options.compaction_min_file_num, options.compaction_small_file_ratio
    if options.bucket == -1:
        deleted = DeletedRows(
            {name: deletion.path for name, deletion in deletions.items()},
            {name: deletion.range.cardinality for name, deletion in deletions.items()},
            options.compaction_delete_ratio_threshold,
        )
        packed = pack_with_deletions(
            files, deleted, target_size=target, small_ratio=ratio, min_files=least, all_leftovers=full
        )
    else:
        packed = pack_in_order(
            files,
            target_size=target,
            small_ratio=ratio,
            min_files=least,
            full=full,
            deletes=options.has_deletion_vectors,
            with_vectors=deletions,
        )
    total = members[0].total_buckets
    if options.evolves:
        open_cost = options.source_split_open_file_cost
        rows = pack_rows(
            files,
            deletions,
            target_size=target,
            open_cost=open_cost,
            min_files=2 if full else max(2, least),
            columns_apart=partial(columns_apart, schema_of=cache(table.schemas.get)),
        )
        return [AppendCompaction(*group, total, chosen, joins=True, left_out=apart) for chosen, apart in rows]
    return [AppendCompaction(*group, total, chosen, _of_files(deletions, chosen)) for chosen in packed]


def _plan_clustering(
    table: Table,
    group: Group,
    members: Sequence[ManifestEntry],
    deletions: Mapping[str, DeletionFile],
    *,
    full: bool,
    now_millis: int,
) -> list[Unit]:
    by = clustered_by(table.schema, table.options, f"table {table.identifier}")

    def columns_of(schema_id: int) -> tuple[str, ...]:
        schema = table.schema if schema_id == table.schema.id else table.schemas.get(schema_id)
        return schema.model.clustering_columns

    rules = ClusterRules(table.options, columns_of)
    unit = rules.pick([entry.file for entry in members], deletions.keys(), full=full, now_millis=now_millis)
    if unit is None:
        return []
    total, level = members[0].total_buckets, unit.output_level
    return [
        AppendCompaction(*group, total, files, _of_files(deletions, files), by=by, output_level=level)
        for files in rules.sorted_together(unit.files)
    ]


def _history_units(table: Table, snapshot: Snapshot, scope: CompactionScope, now_millis: int) -> Iterator[Unit]:
    """Partitions beyond those chosen that nobody writes to any more, and that are not wholly clustered yet.

    They are clustered fully, those that were written to longest ago first. Source: Java `HistoryPartitionCluster`.
    """
    idle = table_options.CLUSTERING_HISTORY_PARTITION_IDLE_TO_FULL_SORT.of(table.options)
    chosen = scope.partitions is not None or scope.predicate is not None
    if idle is None or not chosen or scope.groups is not None:
        return
    limit = now_millis - idle // timedelta(milliseconds=1)
    in_scope = {entry.partition for entry in table.manifests.live_entries(snapshot, scope.selection(table))}
    others = [entry for entry in table.manifests.live_entries(snapshot) if entry.partition not in in_scope]
    top = table.model.num_levels - 1
    last: dict[bytes, int] = {}
    for entry in others:
        last[entry.partition] = max(last.get(entry.partition, 0), entry.file.creation_time or now_millis)
    below = {entry.partition for entry in others if entry.file.level < top}
    old = sorted((made, partition) for partition, made in last.items() if made < limit and partition in below)
    most = table_options.CLUSTERING_HISTORY_PARTITION_LIMIT.of(table.options)
    history = {partition for _, partition in old[:most]}
    members = [entry for entry in others if entry.partition in history]
    deletions: Deletions = {}
    if members and table.model.has_deletion_vectors:
        deletions = live_deletions(table.manifests, snapshot, members)
    for group, of_group in by_bucket(members).items():
        vectors = deletions.get(group, {})
        yield from _plan_clustering(table, group, of_group, vectors, full=True, now_millis=now_millis)


def _of_files(deletions: Mapping[str, DeletionFile], files: Sequence[DataFileMeta]) -> dict[str, DeletionFile]:
    return {file.file_name: deletions[file.file_name] for file in files if file.file_name in deletions}
