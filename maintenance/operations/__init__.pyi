# Made by scripts/operations-stub: what `__getattr__` of the package finds.
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from maintenance.commit.overwrite import Overwrite
from maintenance.fs.file_io import FileIO
from maintenance.metadata.partition_names import Spec
from maintenance.metadata.shares import Sharing
from maintenance.metastore.catalog import Catalog
from maintenance.operations.acknowledgements.approve_plan import ApprovePlanReport
from maintenance.operations.bin.empty_bin import EmptyBinReport
from maintenance.operations.bin.restore import RestoreReport
from maintenance.operations.bin.run import BinRun
from maintenance.operations.checks.audit_changelog import audit_changelog
from maintenance.operations.checks.explain_scan import explain_scan
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.checks.prove_compactions import ProveCompactionsReport
from maintenance.operations.compaction.plan import Unit
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.databases.clone import CloneReport
from maintenance.operations.databases.compact_database import CompactDatabaseReport
from maintenance.operations.databases.drop_table import DropTableReport
from maintenance.operations.databases.each_table import Opened, TableChoice
from maintenance.operations.databases.migrate_database import Into, MigrateDatabaseReport
from maintenance.operations.databases.migration import MigrateReport
from maintenance.operations.databases.repair import repair
from maintenance.operations.expiry.expire_changelogs import ExpireChangelogsReport
from maintenance.operations.expiry.expire_partitions import ExpirePartitionsReport
from maintenance.operations.expiry.expire_snapshots import ExpireSnapshotsReport
from maintenance.operations.expiry.expire_tags import ExpireTagsReport
from maintenance.operations.fleet.fleet_costs import fleet_costs
from maintenance.operations.fleet.fleet_history import HistoryReport
from maintenance.operations.fleet.health import HealthReport, JudgedBy
from maintenance.operations.fleet.plan_fleet import plan_fleet
from maintenance.operations.indexes.advise_file_index import advise_file_index
from maintenance.operations.indexes.analyze_table import analyze_table
from maintenance.operations.indexes.create_global_index import create_global_index
from maintenance.operations.indexes.global_index_report import GlobalIndexReport
from maintenance.operations.indexes.probe_file_index import probe_file_index
from maintenance.operations.indexes.rewrite_file_index import RewriteFileIndexReport
from maintenance.operations.ingestion.ingest import IngestReport
from maintenance.operations.ingestion.ingest_landed import ingest_landed
from maintenance.operations.ingestion.ingest_stream import ingest_stream
from maintenance.operations.operation import Run
from maintenance.operations.orphans.orphan_removal import RemoveOrphanFilesReport
from maintenance.operations.progress import Progress
from maintenance.operations.refs.create_branch import BranchReport
from maintenance.operations.refs.create_tag import TagReport
from maintenance.operations.refs.delete_branch import DeleteBranchReport
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.fast_forward import FastForwardReport
from maintenance.operations.refs.mark_partition_done import MarkPartitionDoneReport
from maintenance.operations.refs.merge_branch import MergeBranchReport
from maintenance.operations.refs.rename_branch import RenameBranchReport
from maintenance.operations.refs.reset_consumer import reset_consumer
from maintenance.operations.refs.rollback_to import RollbackReport
from maintenance.operations.refs.rollback_to_as_latest import RollbackToAsLatestReport
from maintenance.operations.refs.trigger_tag_automatic_creation import AutomaticTagsReport
from maintenance.operations.repairs.compact_manifest import CompactManifestReport
from maintenance.operations.repairs.purge_files import PurgeFilesReport
from maintenance.operations.repairs.remove_unexisting_files import RemoveUnexistingFilesReport
from maintenance.operations.repairs.remove_unexisting_manifests import RemoveUnexistingManifestsReport
from maintenance.operations.repairs.repair_earliest_snapshot import RepairEarliestSnapshotReport
from maintenance.operations.report import Report
from maintenance.operations.retention.explain import Explanation
from maintenance.operations.retention.forecast import ForecastReport
from maintenance.operations.retention.held_bytes import HeldBytes
from maintenance.operations.retention.what_if import WhatIfReport
from maintenance.operations.rows.compact_chain_table import CompactChainTableReport
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.drop_partitions import DropPartitionsReport
from maintenance.operations.rows.merge_into import merge_into
from maintenance.operations.rows.rescale import RescaleReport
from maintenance.operations.rows.restorable_partitions import RestorablePartitionsReport
from maintenance.operations.rows.restore_partitions import RestorePartitionsReport
from maintenance.operations.rows.truncate import TruncateReport
from maintenance.operations.rows.update import update
from maintenance.operations.tuning.advise import AdviceReport
from maintenance.operations.tuning.simulate_settings import SimulationReport
from maintenance.operations.tuning.tune_settings import tune_settings
from maintenance.spark.sharing import SparkSource
from maintenance.sql.operations.merge_tables import merge_tables
from maintenance.sql.operations.refresh_materialized_table import refresh_materialized_table
from maintenance.table.format_table import FormatTable
from maintenance.table.table import Table

def acknowledge(
    catalog: Catalog, table: str, check: str, name: str, reason: str, *, history: str = ...
) -> Mapping[str, Any]: ...
def advise(
    table: Table, *, queries: str | None = ..., event_logs: str | None = ..., snapshots: int = ..., files: bool = ...
) -> AdviceReport: ...
def alter_column_default_value(catalog: Catalog, table: str, column: str, default_value: str) -> None: ...
def alter_view_dialect(
    catalog: Catalog, view: str, action: str, engine: str | None = ..., query: str | None = ...
) -> None: ...
def approve_plan(
    file_io: FileIO, warehouse: str, plan: str, *, name: str | None = ..., reason: str = ...
) -> ApprovePlanReport: ...
def clear_consumers(
    table: Table, *, including: str = ..., excluding: str | None = ..., dry_run: bool = ...
) -> tuple[str, ...]: ...
def clone(
    table: Table,
    catalog: Catalog,
    identifier: str,
    *,
    snapshot_id: int | None = ...,
    tag: str | None = ...,
    where: str | None = ...,
    meta_only: bool = ...,
    clone_if_exists: bool = ...,
    replace_others: bool = ...,
    parallelism: int = ...,
    spark: SparkSession | None = ...,
    dry_run: bool = ...,
    progress: Progress | None = ...,
) -> CloneReport: ...
def compact(
    spark: SparkSource,
    table: Table,
    *,
    full: bool = ...,
    partitions: Sequence[Spec] | None = ...,
    where: str | None = ...,
    partition_idle_time: timedelta | None = ...,
    order_strategy: str = ...,
    order_by: Sequence[str] = ...,
    skip_expiring: bool = ...,
    proof: str | None = ...,
    max_retries: int = ...,
    groups_per_commit: int | None = ...,
    time_limit: timedelta | None = ...,
    beside_other_compactors: bool | None = ...,
    buckets: Collection[int] | None = ...,
    dry_run: bool = ...,
    progress: Progress | None = ...,
    only: Callable[[Unit], bool] | None = ...,
) -> CompactReport: ...
def compact_chain_table(
    spark: SparkSource, table: Table, partition: Spec, *, overwrite: bool = ..., dry_run: bool = ...
) -> CompactChainTableReport: ...
def compact_database(
    spark: SparkSession | None,
    catalog: Catalog,
    choice: TableChoice = ...,
    *,
    partition_idle_time: timedelta | None = ...,
    full: bool = ...,
    proof: str | None = ...,
    max_concurrent: int = ...,
    dry_run: bool = ...,
    opened: Opened | None = ...,
    progress: Progress | None = ...,
) -> CompactDatabaseReport: ...
def compact_manifest(table: Table, *, dry_run: bool = ...) -> CompactManifestReport: ...
def create_branch(
    table: Table, branch: str, *, tag: str | None = ..., snapshot_id: int | None = ..., ignore_if_exists: bool = ...
) -> BranchReport: ...
def create_tag(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = ...,
    timestamp_millis: int | None = ...,
    watermark: int | None = ...,
    time_retained: timedelta | None = ...,
    ignore_if_exists: bool = ...,
    dry_run: bool = ...,
    spark: SparkSource = ...,
    now: datetime | None = ...,
) -> TagReport: ...
def delete_branch(table: Table, branch: str, *, dry_run: bool = ...) -> DeleteBranchReport: ...
def drop_global_index(
    table: Table, column: str, index_type: str, *, partitions: Sequence[Spec] = ..., dry_run: bool = ...
) -> GlobalIndexReport: ...
def drop_partitions(
    table: Table, partitions: Sequence[Spec], *, ignore_if_not_exists: bool = ..., dry_run: bool = ...
) -> DropPartitionsReport: ...
def drop_table(catalog: Catalog, table: str, *, dry_run: bool = ...) -> DropTableReport: ...
def empty_bin(
    file_io: FileIO,
    warehouse: str,
    *,
    window: timedelta = ...,
    max_bytes: int | None = ...,
    dry_run: bool = ...,
    progress: Progress | None = ...,
    now: datetime | None = ...,
) -> EmptyBinReport: ...
def expire_changelogs(
    table: Table,
    *,
    retain_max: int | None = ...,
    retain_min: int | None = ...,
    older_than: datetime | None = ...,
    max_deletes: int | None = ...,
    delete_all: bool = ...,
    dry_run: bool = ...,
    now: datetime | None = ...,
    into: BinRun | None = ...,
    sharing: Sharing = ...,
) -> ExpireChangelogsReport: ...
def expire_partitions(
    table: Table,
    *,
    expiration_time: timedelta | None = ...,
    timestamp_formatter: str | None = ...,
    timestamp_pattern: str | None = ...,
    expire_strategy: str | None = ...,
    max_expires: int | None = ...,
    batch_size: int | None = ...,
    dry_run: bool = ...,
    spark: SparkSource = ...,
    progress: Progress | None = ...,
    now: datetime | None = ...,
) -> ExpirePartitionsReport: ...
def expire_snapshots(
    table: Table,
    *,
    retain_max: int | None = ...,
    retain_min: int | None = ...,
    older_than: datetime | None = ...,
    max_deletes: int | None = ...,
    time_limit: timedelta | None = ...,
    dry_run: bool = ...,
    into: BinRun | None = ...,
    spark: SparkSource = ...,
    progress: Progress | None = ...,
    now: datetime | None = ...,
) -> ExpireSnapshotsReport: ...
def expire_tags(
    table: Table,
    *,
    older_than: datetime | None = ...,
    dry_run: bool = ...,
    into: BinRun | None = ...,
    spark: SparkSource = ...,
    progress: Progress | None = ...,
    now: datetime | None = ...,
) -> ExpireTagsReport: ...
def explain(
    table: Table,
    *,
    file: str | None = ...,
    snapshot_id: int | None = ...,
    tag: str | None = ...,
    partition: Spec | None = ...,
    now: datetime | None = ...,
) -> Explanation: ...
def fast_forward(table: Table, branch: str, *, dry_run: bool = ...) -> FastForwardReport: ...
def fleet_history(
    catalog: Catalog,
    *,
    table: str | None = ...,
    since: timedelta = ...,
    history: str | None = ...,
    run: Run | None = ...,
) -> HistoryReport: ...
def fleet_report(
    catalog: Catalog,
    *,
    since: timedelta = ...,
    history: str | None = ...,
    settings: JudgedBy = ...,
    run: Run | None = ...,
) -> Report: ...
def forecast(
    table: Table,
    *,
    retain_max: int | None = ...,
    retain_min: int | None = ...,
    older_than: datetime | None = ...,
    minimum_age: timedelta = ...,
    window: timedelta = ...,
    max_bytes: int | None = ...,
    warehouse: str = ...,
    now: datetime | None = ...,
) -> ForecastReport: ...
def health(
    catalog: Catalog,
    *,
    table: str | None = ...,
    max_age: timedelta | None = ...,
    history: str | None = ...,
    settings: JudgedBy = ...,
    progress: Progress | None = ...,
) -> HealthReport: ...
def held_bytes(table: Table, now: datetime | None = ...) -> tuple[HeldBytes, ...]: ...
def ingest(
    spark: SparkSession | None,
    table: Table,
    data: DataFrame | pa.Table,
    commit_user: str,
    *,
    commit_identifier: int | None = ...,
    row_kind_column: str | None = ...,
    watermark: int | None = ...,
    overwrite: Overwrite | None = ...,
    properties: Mapping[str, str] | None = ...,
    progress: Progress = ...,
) -> IngestReport: ...
def mark_partition_done(
    table: Table, partitions: Sequence[Spec], *, dry_run: bool = ...
) -> MarkPartitionDoneReport: ...
def merge_branch(
    table: Table, source_branch: str, target_branch: str = ..., *, dry_run: bool = ...
) -> MergeBranchReport: ...
def migrate_database(
    catalog: Catalog,
    database: str,
    *,
    options: Mapping[str, str] | None = ...,
    delete_origin: bool = ...,
    parallelism: int = ...,
    included: Collection[str] = ...,
    excluded: Collection[str] = ...,
    into: Into | None = ...,
    dry_run: bool = ...,
    progress: Progress | None = ...,
) -> MigrateDatabaseReport: ...
def migrate_table(
    source: FormatTable,
    catalog: Catalog,
    identifier: str | None = ...,
    *,
    options: Mapping[str, str] | None = ...,
    delete_origin: bool = ...,
    parallelism: int = ...,
    into: BinRun | None = ...,
    dry_run: bool = ...,
    progress: Progress | None = ...,
) -> MigrateReport: ...
def produce_changelog(
    spark: SparkSource,
    table: Table,
    *,
    partitions: Sequence[Spec] | None = ...,
    where: str | None = ...,
    proof: str | None = ...,
    max_retries: int = ...,
    beside_other_compactors: bool | None = ...,
    dry_run: bool = ...,
    progress: Progress | None = ...,
    only: Callable[[Unit], bool] | None = ...,
) -> CompactReport: ...
def prove_compactions(
    spark: SparkSource,
    table: Table,
    *,
    since: int | None = ...,
    until: int | None = ...,
    own: bool = ...,
    max_bytes: int | None = ...,
    percent: int = ...,
    progress: Progress | None = ...,
) -> ProveCompactionsReport: ...
def purge_files(
    table: Table, *, older_than: datetime | None = ..., minimum_age: timedelta = ..., dry_run: bool = ...
) -> PurgeFilesReport: ...
def refresh_object_table(catalog: Catalog, table: str) -> None: ...
def remove_orphan_files(
    spark: SparkSource,
    table: Table,
    *,
    older_than: datetime | None = ...,
    minimum_age: timedelta = ...,
    parallelism: int | None = ...,
    max_deletes: int | None = ...,
    time_limit: timedelta | None = ...,
    never_committed: bool = ...,
    dry_run: bool = ...,
    into: BinRun | None = ...,
    progress: Progress | None = ...,
    now: datetime | None = ...,
) -> RemoveOrphanFilesReport: ...
def remove_unexisting_files(
    table: Table, *, parallelism: int | None = ..., dry_run: bool = ...
) -> RemoveUnexistingFilesReport: ...
def remove_unexisting_manifests(table: Table, *, dry_run: bool = ...) -> RemoveUnexistingManifestsReport: ...
def rename_branch(table: Table, from_branch: str, to_branch: str, *, dry_run: bool = ...) -> RenameBranchReport: ...
def rename_tag(table: Table, tag: str, target_tag: str, *, dry_run: bool = ...) -> None: ...
def repair_earliest_snapshot(
    table: Table, snapshot_id: int, *, dry_run: bool = ...
) -> RepairEarliestSnapshotReport: ...
def replace_tag(
    table: Table,
    name: str,
    *,
    snapshot_id: int | None = ...,
    time_retained: timedelta | None = ...,
    dry_run: bool = ...,
    progress: Progress | None = ...,
    now: datetime | None = ...,
) -> TagReport: ...
def rescale(
    spark: SparkSource,
    table: Table,
    *,
    bucket_num: int | None = ...,
    partitions: Sequence[Spec] | None = ...,
    where: str | None = ...,
    dry_run: bool = ...,
) -> RescaleReport: ...
def restorable_partitions(table: Table) -> RestorablePartitionsReport: ...
def restore(
    table: Table,
    warehouse: str,
    run: str,
    *,
    files: Sequence[str] = ...,
    snapshots: Sequence[int] = ...,
    tags: Sequence[str] = ...,
    dry_run: bool = ...,
    progress: Progress | None = ...,
) -> RestoreReport: ...
def restore_partitions(
    spark: SparkSource,
    table: Table,
    partitions: Sequence[Spec] = ...,
    *,
    tag: str | None = ...,
    snapshot_id: int | None = ...,
    where: str | None = ...,
    dry_run: bool = ...,
) -> RestorePartitionsReport: ...
def rewrite_file_index(
    spark: SparkSource,
    table: Table,
    *,
    partitions: Sequence[Spec] | None = ...,
    where: str | None = ...,
    rebuild: bool = ...,
    files_per_commit: int = ...,
    dry_run: bool = ...,
    progress: Progress | None = ...,
    only: frozenset[str] | None = ...,
) -> RewriteFileIndexReport: ...
def rollback_to(
    table: Table,
    *,
    snapshot_id: int | None = ...,
    tag: str | None = ...,
    timestamp_millis: int | None = ...,
    watermark: int | None = ...,
    dry_run: bool = ...,
) -> RollbackReport: ...
def rollback_to_as_latest(
    table: Table, *, snapshot_id: int | None = ..., tag: str | None = ..., dry_run: bool = ...
) -> RollbackToAsLatestReport: ...
def simulate_settings(
    table: Table,
    tries: Mapping[str, str] | None = ...,
    *,
    snapshots: int = ...,
    workload: str | None = ...,
    compact_every: int | None = ...,
    bytes_per_second: int | None = ...,
    plot: str | None = ...,
    now: datetime | None = ...,
) -> SimulationReport: ...
def table_figures(catalog: Catalog, *, database: str | None = ...) -> pa.Table: ...
def trigger_tag_automatic_creation(
    table: Table, *, dry_run: bool = ..., spark: SparkSource = ..., now: datetime | None = ...
) -> AutomaticTagsReport: ...
def truncate(table: Table, *, partition: Spec | None = ..., dry_run: bool = ...) -> TruncateReport: ...
def what_if(
    table: Table,
    options: Mapping[str, str] | None = ...,
    *,
    without_tags: Collection[str] = ...,
    without_consumers: Collection[str] = ...,
    ahead: Sequence[timedelta] = ...,
    now: datetime | None = ...,
) -> WhatIfReport: ...

_FUNCTIONS: dict[str, str]

__all__ = [
    "acknowledge",
    "advise",
    "advise_file_index",
    "alter_column_default_value",
    "alter_view_dialect",
    "analyze_table",
    "approve_plan",
    "audit_changelog",
    "clear_consumers",
    "clone",
    "compact",
    "compact_chain_table",
    "compact_database",
    "compact_manifest",
    "create_branch",
    "create_global_index",
    "create_tag",
    "delete",
    "delete_branch",
    "delete_tag",
    "drop_global_index",
    "drop_partitions",
    "drop_table",
    "empty_bin",
    "expire_changelogs",
    "expire_partitions",
    "expire_snapshots",
    "expire_tags",
    "explain",
    "explain_scan",
    "fast_forward",
    "fleet_costs",
    "fleet_history",
    "fleet_report",
    "forecast",
    "fsck",
    "health",
    "held_bytes",
    "ingest",
    "ingest_landed",
    "ingest_stream",
    "mark_partition_done",
    "merge_branch",
    "merge_into",
    "merge_tables",
    "migrate_database",
    "migrate_table",
    "plan_fleet",
    "probe_file_index",
    "produce_changelog",
    "prove_compactions",
    "purge_files",
    "refresh_materialized_table",
    "refresh_object_table",
    "remove_orphan_files",
    "remove_unexisting_files",
    "remove_unexisting_manifests",
    "rename_branch",
    "rename_tag",
    "repair",
    "repair_earliest_snapshot",
    "replace_tag",
    "rescale",
    "reset_consumer",
    "restorable_partitions",
    "restore",
    "restore_partitions",
    "rewrite_file_index",
    "rollback_to",
    "rollback_to_as_latest",
    "simulate_settings",
    "table_figures",
    "trigger_tag_automatic_creation",
    "truncate",
    "tune_settings",
    "update",
    "what_if",
]
