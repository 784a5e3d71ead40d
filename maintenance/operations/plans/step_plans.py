"""Stored plans of the smaller steps: changelog production, file indexes, tags, the expiry of tags and partitions.

As in `stored_plan`, applying one means planning again and comparing; if something changed, the error names it and
nothing is done.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from maintenance.errors import NotFoundError, OutdatedPlanError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.metadata.partition_names import Spec, kept
from maintenance.metadata.partition_value import PartitionValue
from maintenance.operations.bin.run import BinRun
from maintenance.operations.compaction.produce_changelog import changelog_request
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.expiry.expire_partitions import ExpirePartitionsReport, expire_partitions
from maintenance.operations.expiry.expire_tags import ExpireTagsReport, expire_tags
from maintenance.operations.indexes.rewrite_file_index import RewriteFileIndexReport, files_to_index, rewrite_file_index
from maintenance.operations.plans.dry_run_plans import changed_groups, tagged
from maintenance.operations.plans.stored_plan import (
    PlannedGroup,
    StoredPlan,
    carry_out_stored,
    check_plan,
    moved_groups,
    moved_victims,
    preview_compact,
    refuse,
)
from maintenance.operations.progress import Progress
from maintenance.operations.refs.create_tag import TagReport, check_tag_name, create_tag, snapshot_to_tag
from maintenance.spark.sharing import SparkSource
from maintenance.table.partitions import named_partitions
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANGELOG, FILE_INDEX, TAG = "changelog", "file_index", "tag"
EXPIRE_TAGS, EXPIRE_PARTITIONS = "expire_tags", "expire_partitions"
_INDEX_OPTIONS = "file-index."


def preview_changelog(
    table: Table,
    chosen: CompactRequest = CompactRequest(),  # noqa: B008 - frozen
    progress: Progress | None = None,
) -> tuple[CompactReport, StoredPlan]:
    """What `produce_changelog` would merge now, as the report of a dry run and as a plan. Errors as there."""
    report, plan = preview_compact(table, changelog_request(table, chosen), progress)
    kept = {key: plan.arguments[key] for key in ("partitions", "where", "proof")}
    return report, replace(plan, operation=CHANGELOG, arguments=kept)


def apply_changelog(
    spark: "SparkSession | None", table: Table, plan: StoredPlan, progress: Progress | None = None
) -> CompactReport:
    """Produce the changelog of what the plan names and of nothing else. Errors as of `apply_compact`."""
    check_plan(plan, CHANGELOG, table)
    request = changelog_request(table, CompactRequest.of_arguments(plan.arguments))
    return carry_out_stored(spark, table, plan, request, progress)


def plan_file_index(
    spark: "SparkSession | None",
    table: Table,
    *,
    where: str | None = None,
    partitions: Sequence[Spec] | None = None,
    rebuild: bool = False,
) -> StoredPlan:
    """Which data files `rewrite_file_index` would give other indexes now. Arguments and errors as there."""
    chosen = None if partitions is None else named_partitions(table, partitions)
    snapshot, entries = files_to_index(spark, table, where=where, partitions=chosen, rebuild=rebuild)
    groups: dict[str, list[ManifestEntry]] = {}
    for entry in entries:
        place = f"{table.paths.partition(entry.partition)} bucket {entry.bucket}"
        groups.setdefault(place, []).append(entry)
    planned = tuple(_to_index(name, members, rebuild) for name, members in sorted(groups.items()))
    arguments: dict[str, Any] = {"where": where, "rebuild": rebuild, "options": _index_options(table)}
    if chosen is not None:
        arguments["partitions"] = [kept(partition) for partition in chosen]
    base = None if snapshot is None else SnapshotIdentity.of(snapshot)
    return StoredPlan(FILE_INDEX, table.identifier, base, _now(), planned, arguments)


def apply_file_index(
    spark: "SparkSession | None", table: Table, plan: StoredPlan, progress: Progress | None = None
) -> RewriteFileIndexReport:
    """Index the files that the plan names and no others.

    Raises: OutdatedPlanError: files or the declared indexes are others now, or another writer replaced files meanwhile
        (those that were not replaced have their indexes then); OptionError: not a plan of this table and operation.
    """
    check_plan(plan, FILE_INDEX, table)
    chosen: dict[str, Any] = {name: plan.arguments.get(name) for name in ("where", "partitions", "rebuild")}
    other = plan.arguments["options"] != _index_options(table)
    now = plan_file_index(spark, table, **chosen)
    refuse(plan, ["other indexes are declared now"] if other else moved_groups(plan, now.groups))
    only = frozenset(name for group in plan.groups for name in group.files)
    report = rewrite_file_index(spark, table, **chosen, only=only, progress=progress)
    if report.conflicts:
        raise OutdatedPlanError(
            f"another writer replaced {report.conflicts} of the plan's files during indexing",
            f"plan {plan.id} of {plan.table}",
            "The others have their indexes. Launch a dry run for a new plan.",
        )
    return report


def _to_index(name: str, entries: Sequence[ManifestEntry], rebuild: bool) -> PlannedGroup:
    size = sum(entry.file.file_size for entry in entries)
    names = tuple(sorted(entry.file.file_name for entry in entries))
    return PlannedGroup(name, names, size, len(names), "rebuilt" if rebuild else "indexes are not as declared")


def _index_options(table: Table) -> dict[str, str]:
    return {key: text for key, text in sorted(table.options.items()) if key.startswith(_INDEX_OPTIONS)}


def plan_tag(
    table: Table, name: str, *, snapshot_id: int | None = None, time_retained: timedelta | None = None
) -> StoredPlan:
    """The tag that `create_tag` would create now; without groups if one of that name exists. Errors as there."""
    check_tag_name(name, table.identifier)
    snapshot = snapshot_to_tag(table, snapshot_id)
    groups = () if table.tags.find(name) else (PlannedGroup(f"tag {name}", (), 0, 0, f"keeps snapshot {snapshot.id}"),)
    seconds = None if time_retained is None else time_retained.total_seconds()
    chosen = {"name": name, "snapshot_id": snapshot.id, "seconds_retained": seconds}
    return StoredPlan(TAG, table.identifier, SnapshotIdentity.of(snapshot), _now(), groups, chosen)


def apply_tag(table: Table, plan: StoredPlan, spark: SparkSource = None) -> TagReport | None:
    """Create the plan's tag, of its snapshot; None where the plan has none to create. `spark`: as of `create_tag`.

    Raises: OutdatedPlanError: a tag of that name has been created, or the snapshot has expired.
    """
    check_plan(plan, TAG, table)
    if not plan.groups:
        return None
    name, snapshot_id, seconds = (plan.arguments[key] for key in ("name", "snapshot_id", "seconds_retained"))
    existing = table.tags.find(name)
    moved = [] if existing is None else [f"tag '{name}' exists and holds snapshot {existing.snapshot.id}"]
    try:
        other = SnapshotIdentity.of(snapshot_to_tag(table, snapshot_id)) != plan.base
        moved += [f"snapshot {snapshot_id} is another one"] if other else []
    except NotFoundError:
        moved.append(f"snapshot {snapshot_id} is gone")
    refuse(plan, moved)
    retained = None if seconds is None else timedelta(seconds=seconds)
    return create_tag(table, name, snapshot_id=snapshot_id, time_retained=retained, spark=spark)


def plan_expire_tags(table: Table, *, older_than: datetime | None = None, spark: SparkSource = None) -> StoredPlan:
    """What `expire_tags` would delete now. Arguments as there."""
    now = datetime.now(UTC)
    base = table.snapshots.latest_identity()
    report = expire_tags(table, older_than=older_than, dry_run=True, now=now, spark=spark)
    chosen = {"older_than": None if older_than is None else older_than.isoformat()}
    return StoredPlan(EXPIRE_TAGS, table.identifier, base, now.timestamp(), _victims(table, report), chosen)


def apply_expire_tags(
    table: Table,
    plan: StoredPlan,
    progress: Progress | None = None,
    into: BinRun | None = None,
    spark: SparkSource = None,
) -> ExpireTagsReport:
    """Delete the plan's tags and files and nothing else. `into`, `spark`: as of `expire_tags`.

    Raises: OutdatedPlanError: something else would go now.
    """
    check_plan(plan, EXPIRE_TAGS, table)
    text = plan.arguments["older_than"]
    arguments: dict[str, Any] = {
        "older_than": None if text is None else datetime.fromisoformat(text),
        "now": datetime.fromtimestamp(plan.made_at, UTC),
        "spark": spark,
    }
    refuse(plan, changed_groups(plan, _victims(table, expire_tags(table, **arguments, dry_run=True))))
    return expire_tags(table, **arguments, progress=progress, into=into)


def plan_expire_partitions(
    table: Table,
    *,
    expiration_time: timedelta | None = None,
    max_expires: int | None = None,
    spark: SparkSource = None,
    **others: str,
) -> StoredPlan:
    """Which partitions `expire_partitions` would drop now, with their data files. Arguments and errors as there.

    Args: `others`: how partitions say their time, as there.
    """
    seconds = None if expiration_time is None else expiration_time.total_seconds()
    chosen = {"seconds": seconds, "max_expires": max_expires, **others}
    return _planned_partitions(table, datetime.now(UTC), chosen, spark)


def apply_expire_partitions(
    table: Table, plan: StoredPlan, progress: Progress | None = None, spark: SparkSource = None
) -> ExpirePartitionsReport:
    """Drop the plan's partitions. `spark`: as of `expire_partitions`.

    Raises: OutdatedPlanError: they have other files, or others would go now.
    """
    check_plan(plan, EXPIRE_PARTITIONS, table)
    moment = datetime.fromtimestamp(plan.made_at, UTC)
    refuse(plan, moved_victims(plan, _planned_partitions(table, moment, plan.arguments, spark).groups))
    return expire_partitions(table, **_life(plan.arguments), progress=progress, now=moment, spark=spark)


def _planned_partitions(table: Table, now: datetime, chosen: Mapping[str, Any], spark: SparkSource) -> StoredPlan:
    report = expire_partitions(table, **_life(chosen), dry_run=True, now=now, spark=spark)
    snapshot = table.latest_snapshot()
    files: dict[PartitionValue, list[ManifestEntry]] = {partition: [] for partition in report.expired}
    for entry in [] if snapshot is None else table.manifests.live_entries(snapshot):
        partition = table.paths.partition(entry.partition)
        if partition in files:
            files[partition].append(entry)
    groups = tuple(
        PlannedGroup(
            str(partition),
            tuple(sorted(entry.file.file_name for entry in entries)),
            sum(entry.file.file_size for entry in entries),
            reason="past its retention",
        )
        for partition, entries in files.items()
    )
    base = None if snapshot is None else SnapshotIdentity.of(snapshot)
    return StoredPlan(EXPIRE_PARTITIONS, table.identifier, base, now.timestamp(), groups, chosen)


def _life(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """A plan's arguments as those of `expire_partitions`."""
    seconds = chosen["seconds"]
    life = None if seconds is None else timedelta(seconds=seconds)
    return {"expiration_time": life, **{name: value for name, value in chosen.items() if name != "seconds"}}


def _victims(table: Table, report: ExpireTagsReport) -> tuple[PlannedGroup, ...]:
    past = "past its retention"
    tags = [PlannedGroup.of_snapshot(f"tag {name}", tagged(table, name), 0, past) for name in report.expired]
    files = PlannedGroup("files", tuple(sorted(report.deleted_files)), report.deleted_bytes, reason="only they use")
    return (*tags, *((files,) if files.files else ()))


def _now() -> float:
    return datetime.now(UTC).timestamp()
