"""Stored plans of operations whose dry run names what they would take, rewrite or put back.

Applying one runs the dry run again and compares: another victim, another size, another reason, and nothing is done.
Where rows would be lost, the commit has to follow the state that was compared: if others were first, it is refused, and
the plan is compared again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.partition_names import kept
from maintenance.metadata.partition_value import PartitionValue
from maintenance.operations.expiry.expire_changelogs import ExpireChangelogsReport, expire_changelogs
from maintenance.operations.expiry.expire_tags import ExpireTagsReport
from maintenance.operations.indexes.drop_global_index import drop_global_index
from maintenance.operations.indexes.global_index_report import GlobalIndexReport
from maintenance.operations.plans.stored_plan import (
    PlannedGroup,
    StoredPlan,
    check_plan,
    moved_victims,
    refuse,
    unless_overtaken,
)
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.rollback_to import RollbackReport, rollback_to
from maintenance.operations.refs.rollback_to_as_latest import RollbackToAsLatestReport, rollback_to_as_latest
from maintenance.operations.refs.snapshot_choice import counted_or_tagged
from maintenance.operations.repairs.compact_manifest import CompactManifestReport, compact_manifest
from maintenance.operations.repairs.purge_files import PurgeFilesReport, purge_files
from maintenance.operations.repairs.remove_unexisting_files import RemoveUnexistingFilesReport, remove_unexisting_files
from maintenance.operations.repairs.remove_unexisting_manifests import (
    RemoveUnexistingManifestsReport,
    remove_unexisting_manifests,
)
from maintenance.operations.repairs.repair_earliest_snapshot import (
    RepairEarliestSnapshotReport,
    repair_earliest_snapshot,
)
from maintenance.operations.rows.compact_chain_table import CompactChainTableReport, compact_chain_table
from maintenance.operations.rows.drop_partitions import DropPartitionsReport, drop_partitions
from maintenance.operations.rows.rescale import RescaleReport, rescale
from maintenance.operations.rows.restore_partitions import RestorePartitionsReport, restore_partitions
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table

Report = TypeVar("Report")
Groups = Iterable[PlannedGroup]
_SPARK = "spark"
_PARTITIONS, _PARTITION = "partitions", "partition"


@dataclass(frozen=True, slots=True)
class DryRunPlan(Generic[Report]):
    """How the plans of one operation are made and applied.

    Attributes:
        operation: its name in plans.
        run: the operation: the table first, then its arguments, and `dry_run`.
        groups: what a report of a dry run names.
        timed: it takes the current time as `now`; a plan is applied as of the moment when it was made.
        guarded: its only commit changes rows, and has to follow the state that was compared.
    """

    operation: str
    run: Callable[..., Report]
    groups: Callable[[Table, Any], Groups]
    timed: bool = False
    guarded: bool = False

    def plan(self, table: Table, **arguments: Any) -> StoredPlan:
        """What the operation would do now. Arguments and errors as there; a Spark session is not part of the plan."""
        return self._planned(table, datetime.now(UTC), _with_partitions(table, arguments))

    def apply(self, table: Table, plan: StoredPlan, **others: Any) -> Report:
        """Do what the plan says. `others`: arguments that change nothing of it, such as `into` and `spark`.

        Raises: OutdatedPlanError: something else would be done now; OptionError: not such a plan; as the operation.
        """
        check_plan(plan, self.operation, table)
        moment = datetime.fromtimestamp(plan.made_at, UTC)
        given = _with_partitions(table, {key: _read(value) for key, value in plan.arguments.items()})
        session = {_SPARK: others[_SPARK]} if _SPARK in others else {}
        timed = self._timed(given, moment)

        def attempt() -> Report:
            base = table.snapshots.latest_identity()
            refuse(plan, changed_groups(plan, self._planned(table, moment, {**given, **session}).groups))
            return self.run(table.following(base) if self.guarded else table, **timed, **others)

        return unless_overtaken(attempt)

    def _planned(self, table: Table, moment: datetime, arguments: Mapping[str, Any]) -> StoredPlan:
        # Looked up first: if there is a later one by then, the plan is outdated, not wrong.
        base = table.snapshots.latest_identity()
        report = self.run(table, **self._timed(arguments, moment), dry_run=True)
        groups = tuple(self.groups(table, report))
        kept = {key: _kept(value) for key, value in arguments.items() if key != _SPARK}
        return StoredPlan(self.operation, table.identifier, base, moment.timestamp(), groups, kept)

    def _timed(self, arguments: Mapping[str, Any], moment: datetime) -> dict[str, Any]:
        return {**arguments, **({"now": moment} if self.timed else {})}


def _with_partitions(table: Table, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments with partitions as what they are. Raises: DataError: a name may mean several."""
    found = dict(arguments)
    if found.get(_PARTITIONS) is not None:
        found[_PARTITIONS] = named_partitions(table, found[_PARTITIONS])
    if found.get(_PARTITION) is not None:
        (found[_PARTITION],) = named_partitions(table, [found[_PARTITION]])
    return found


def changed_groups(plan: StoredPlan, now: Sequence[PlannedGroup]) -> list[str]:
    """As `moved_victims`, and what has another size or another reason now."""
    moved = moved_victims(plan, now)
    by_name = {group.name: group for group in now}
    for old in plan.groups:
        new = by_name.get(old.name)
        if new is not None and new.files == old.files and new != old:
            sizes = ("", "") if old.bytes == new.bytes else (f"{old.bytes} bytes, ", f"{new.bytes} bytes, ")
            states = ("", "") if old.state == new.state else (f", {old.state}", f", {new.state}")
            moved.append(f"{old.name}: was {sizes[0]}{old.reason}{states[0]}; is {sizes[1]}{new.reason}{states[1]}")
    return moved


_TIME, _PERIOD = "time:", "seconds:"


def _kept(value: Any) -> Any:
    """An argument as JSON has it."""
    if isinstance(value, datetime):
        return f"{_TIME}{value.isoformat()}"
    if isinstance(value, timedelta):
        return f"{_PERIOD}{value.total_seconds()}"
    if isinstance(value, Mapping):
        return kept(value)
    return [_kept(part) for part in value] if isinstance(value, list | tuple) else value


def _read(value: Any) -> Any:
    if isinstance(value, str) and value.startswith(_TIME):
        return datetime.fromisoformat(value.removeprefix(_TIME))
    if isinstance(value, str) and value.startswith(_PERIOD):
        return timedelta(seconds=float(value.removeprefix(_PERIOD)))
    return value


def committed(snapshot: Snapshot | None) -> str:
    """When a snapshot was committed."""
    if snapshot is None:
        return "of an unknown time"
    return f"committed {datetime.fromtimestamp(snapshot.time_millis / 1000, UTC):%FT%TZ}"


def _rolled_back(table: Table, report: RollbackReport) -> Iterator[PlannedGroup]:
    for number in report.snapshots:
        snapshot = table.snapshots.find(number)
        reason = f"is after snapshot {report.current}; {committed(snapshot)}"
        yield PlannedGroup.of_snapshot(f"snapshot {number}", snapshot, 0, reason)
    for name in report.tags:
        held = tagged(table, name)
        yield PlannedGroup.of_snapshot(f"tag {name}", held, 0, f"is of a later snapshot; {committed(held)}")


def _made_latest(table: Table, report: RollbackToAsLatestReport) -> Iterator[PlannedGroup]:
    if report.previous == report.target:
        return
    state = f"{report.leaving_files} files with {report.leaving_rows} rows are taken out"
    yield PlannedGroup(f"state of snapshot {report.previous}", (), 0, 0, state)
    state = f"{report.returning_files} files with {report.returning_rows} rows come back"
    target = counted_or_tagged(table, report.target)
    yield PlannedGroup.of_snapshot(f"state of snapshot {report.target}", target, 0, state)


def tagged(table: Table, name: str) -> Snapshot | None:
    """The snapshot that a tag holds; None: the tag is gone."""
    tag = table.tags.find(name)
    return None if tag is None else tag.snapshot


def tag_group(table: Table, name: str, then: str = "", expected_files: int = 0) -> PlannedGroup:
    """A tag by what it holds. `then`: what becomes of it, unless it just goes."""
    held = tagged(table, name)
    reason = f"of snapshot {'?' if held is None else held.id}, {committed(held)}{then}"
    return PlannedGroup.of_snapshot(f"tag {name}", held, expected_files, reason)


def _deleted_tags(table: Table, report: ExpireTagsReport) -> Iterator[PlannedGroup]:
    for name in report.expired:
        yield tag_group(table, name)
    if report.deleted_files:
        yield PlannedGroup("files", tuple(sorted(report.deleted_files)), report.deleted_bytes, 0, "only they use")


def partition_groups(
    table: Table, partitions: Iterable[PartitionValue], reason: str, expected_files: int = 0
) -> Iterator[PlannedGroup]:
    """A group for each partition, with its live files and the age of the newest."""
    wanted = {partition: list[ManifestEntry]() for partition in partitions}
    snapshot = table.latest_snapshot()
    for entry in () if snapshot is None else table.manifests.live_entries(snapshot):
        found = wanted.get(table.paths.partition(entry.partition))
        if found is not None:
            found.append(entry)
    for partition, entries in wanted.items():
        newest = max((entry.file.creation_time or 0 for entry in entries), default=0)
        age = f"; its newest file is of {datetime.fromtimestamp(newest / 1000, UTC):%FT%T}" if newest else ""
        names = tuple(sorted(entry.file.file_name for entry in entries))
        size = sum(entry.file.file_size for entry in entries)
        yield PlannedGroup(str(partition) if partition else "all rows", names, size, expected_files, f"{reason}{age}")


def _dropped(table: Table, report: DropPartitionsReport) -> Groups:
    return partition_groups(table, report.dropped, "was named")


def _rescaled(table: Table, report: RescaleReport) -> Groups:
    return partition_groups(table, report.partitions, f"gets {report.buckets} buckets", report.buckets)


def _forgotten_files(_: Table, report: RemoveUnexistingFilesReport) -> Groups:
    return [PlannedGroup(path, (path,), 0, 0, "does not exist") for path in sorted(report.paths)]


def _forgotten_manifests(_: Table, report: RemoveUnexistingManifestsReport) -> Groups:
    lost = f"does not exist; all of them had added {report.added} files and deleted {report.deleted}"
    return [PlannedGroup(f"manifest {name}", (name,), 0, 0, lost) for name in sorted(report.manifests)]


def _merged_manifests(_: Table, report: CompactManifestReport) -> Iterator[PlannedGroup]:
    if report.needed:
        reason = f"{report.before.manifests} manifests with {report.before.entries} entries are merged"
        yield PlannedGroup("manifests", (), report.before.bytes, 1, reason)


def _purged(_: Table, report: PurgeFilesReport) -> Groups:
    return [] if report.is_empty else [PlannedGroup(line, (), 0, 0, "everything goes") for line in report.lines()]


def _expired_changelogs(_: Table, report: ExpireChangelogsReport) -> Iterator[PlannedGroup]:
    yield from (PlannedGroup(f"changelog {number}", (), 0, 0, "expires") for number in report.expired)
    if report.deleted_files:
        yield PlannedGroup("files", tuple(sorted(report.deleted_files)), report.deleted_bytes, 0, "only they use")


def _restored(table: Table, report: RestorePartitionsReport) -> Iterator[PlannedGroup]:
    reason = f"is replaced by its state in snapshot {report.source}"
    yield from partition_groups(table, report.restored, reason, 1)
    source = counted_or_tagged(table, report.source)
    back = f"{report.rows} rows in {report.files} files come back"
    yield replace(
        PlannedGroup.of_snapshot(f"state of snapshot {report.source}", source, report.files, back), bytes=report.bytes
    )


def _index_dropped(_: Table, report: GlobalIndexReport) -> Iterator[PlannedGroup]:
    if report.file_names:
        reason = f"index files of {report.rows} rows are left out of the next snapshot"
        name = f"{report.index_type} index of {report.column}"
        yield PlannedGroup(name, report.file_names, report.bytes, 0, reason)


def _new_earliest(_: Table, report: RepairEarliestSnapshotReport) -> Iterator[PlannedGroup]:
    if report.previous != report.current:
        reason = f"snapshot {report.current} is the earliest one then"
        yield PlannedGroup(f"snapshots {report.previous} to {report.current - 1}", (), 0, 0, reason)


def _completed(_: Table, report: CompactChainTableReport) -> Iterator[PlannedGroup]:
    if report.files:
        names = "; ".join(map(str, report.partitions))
        reason = f"{report.files} files are merged into the snapshot branch"
        yield PlannedGroup(names, report.file_names, report.bytes, len(report.partitions), reason)


def _delete_tags(table: Table, *, names: Sequence[str], **others: Any) -> ExpireTagsReport:
    return delete_tag(table, *names, **others)


def _restore_partitions(table: Table, *, spark: Any = None, **others: Any) -> RestorePartitionsReport:
    return restore_partitions(spark, table, **others)


def _compact_chain_table(table: Table, *, spark: Any = None, **others: Any) -> CompactChainTableReport:
    return compact_chain_table(spark, table, **others)


def _rescale(table: Table, *, spark: Any = None, **others: Any) -> RescaleReport:
    return rescale(spark, table, **others)


ROLLBACK: DryRunPlan[RollbackReport] = DryRunPlan("rollback_to", rollback_to, _rolled_back)
ROLLBACK_AS_LATEST: DryRunPlan[RollbackToAsLatestReport] = DryRunPlan(
    "rollback_to_as_latest", rollback_to_as_latest, _made_latest
)
DELETE_TAG: DryRunPlan[ExpireTagsReport] = DryRunPlan("delete_tag", _delete_tags, _deleted_tags)
DROP_PARTITIONS: DryRunPlan[DropPartitionsReport] = DryRunPlan(
    "drop_partitions", drop_partitions, _dropped, guarded=True
)
RESCALE: DryRunPlan[RescaleReport] = DryRunPlan("rescale", _rescale, _rescaled)
REMOVE_UNEXISTING_FILES: DryRunPlan[RemoveUnexistingFilesReport] = DryRunPlan(
    "remove_unexisting_files", remove_unexisting_files, _forgotten_files
)
REMOVE_UNEXISTING_MANIFESTS: DryRunPlan[RemoveUnexistingManifestsReport] = DryRunPlan(
    "remove_unexisting_manifests", remove_unexisting_manifests, _forgotten_manifests
)
COMPACT_MANIFEST: DryRunPlan[CompactManifestReport] = DryRunPlan(
    "compact_manifest", compact_manifest, _merged_manifests
)
PURGE_FILES: DryRunPlan[PurgeFilesReport] = DryRunPlan("purge_files", purge_files, _purged)
EXPIRE_CHANGELOGS: DryRunPlan[ExpireChangelogsReport] = DryRunPlan(
    "expire_changelogs", expire_changelogs, _expired_changelogs, timed=True
)
RESTORE_PARTITIONS: DryRunPlan[RestorePartitionsReport] = DryRunPlan(
    "restore_partitions", _restore_partitions, _restored, guarded=True
)
DROP_GLOBAL_INDEX: DryRunPlan[GlobalIndexReport] = DryRunPlan("drop_global_index", drop_global_index, _index_dropped)
REPAIR_EARLIEST_SNAPSHOT: DryRunPlan[RepairEarliestSnapshotReport] = DryRunPlan(
    "repair_earliest_snapshot", repair_earliest_snapshot, _new_earliest
)
COMPACT_CHAIN_TABLE: DryRunPlan[CompactChainTableReport] = DryRunPlan(
    "compact_chain_table", _compact_chain_table, _completed
)
