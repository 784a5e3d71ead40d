"""One thin op per operation: typed config in, the operation, its report out as metadata.

The ops of a table form a chain. Along it goes an account: step -> the numbers that later steps and the closing record
show. Each op of a table has a name and the pool of its own table, so the ops are made per table.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from assets import keys
from assets.config import TableConfig
from assets.failures import AFTER_ANY_TROUBLE, AFTER_CONFLICT, ONCE_MORE, failed_groups, told_as_failure
from assets.health import health_page
from assets.history import keep_account, keep_failure
from assets.ingestion import ingest_landed
from assets.metadata import before_and_after, closing_metadata, report_metadata, report_numbers, shape_numbers
from assets.plans import found_plan, kept_plan
from assets.resources import PaimonCatalog, Spark
from assets.step_config import (
    ChangelogConfig,
    CompactConfig,
    ExpireSnapshotsConfig,
    ExpireTagsConfig,
    FileIndexConfig,
    IngestConfig,
    TagConfig,
)
from maintenance.errors import OptionError
from maintenance.operations.compact import compact
from maintenance.operations.compact_report import CompactReport
from maintenance.operations.create_tag import create_tag
from maintenance.operations.expire_snapshots import expire_snapshots
from maintenance.operations.expire_tags import expire_tags
from maintenance.operations.produce_changelog import produce_changelog
from maintenance.operations.rewrite_file_index import rewrite_file_index
from maintenance.operations.stored_plan import (
    apply_compact,
    apply_expire_snapshots,
    plan_compact,
    plan_expire_snapshots,
)
from maintenance.options.option import duration
from maintenance.table.shape import table_shape

Account = dict[str, Any]


def _step(
    table: TableConfig, step: str, description: str, retry_policy: dg.RetryPolicy
) -> Callable[[Callable[..., Any]], dg.OpDefinition]:
    """The decorator of one step of one table. The first step of a job gets an empty account."""
    return dg.op(
        name=keys.node(table.identifier, step),
        description=description,
        ins={"account": dg.In(dict, default_value={}, description="What the steps before this one did.")},
        out=dg.Out(dict),
        pool=keys.pool(table.identifier),
        retry_policy=retry_policy,
        tags={"paimon/table": table.identifier, "paimon/action": step},
    )


@contextmanager
def step_of(context: dg.OpExecutionContext, catalog: PaimonCatalog, table: TableConfig, step: str) -> Iterator[None]:
    """A step's failure is told in one form, and written into the history."""
    try:
        with told_as_failure():
            yield
    except dg.Failure as failure:
        keep_failure(context, catalog, table.identifier, step, failure)
        raise


def _told(
    context: dg.OpExecutionContext,
    account: Account,
    step: str,
    report: Any,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Account:
    """Show `report` and `more` metadata on the step's output, and add the report's numbers to the account."""
    context.add_output_metadata({**report_metadata(report), **more})
    return {**account, step: report_numbers(report)}


def _told_compaction(
    context: dg.OpExecutionContext,
    account: Account,
    step: str,
    report: CompactReport,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Account:
    """As `_told`, with the table before and after; fails if a group failed, which must not look like success."""
    before, after = shape_numbers(report.before), shape_numbers(report.after)
    failed = {
        f"{group.partition} bucket {group.bucket}": group.message
        for group in report.groups
        if group.outcome == "failed"
    }
    if failed:
        raise failed_groups(failed)
    told = {**report_metadata(report), "before and after": before_and_after(before, after), **more}
    context.add_output_metadata(told)
    numbers = {**report_numbers(report), "input_bytes": sum(group.input_bytes for group in report.groups)}
    return {"before": before, **account, step: {**numbers, "before": before, "after": after}}


def ingest_op(table: TableConfig) -> dg.OpDefinition:
    """Commit the micro-batches that landed since the last run."""
    description = "Commits each landed micro-batch once: repeated deliveries are recognised by their commit identifier."

    @_step(table, "ingest", description, AFTER_ANY_TROUBLE)
    def ingest(
        context: dg.OpExecutionContext, account: Account, config: IngestConfig, catalog: PaimonCatalog, spark: Spark
    ) -> Account:
        with step_of(context, catalog, table, "ingest"):
            report = ingest_landed(
                spark.session,
                catalog.get_or_create(table).of_run(context.run_id),
                table,
                config=config,
                progress=context.log.info,
            )
            return _told(context, account, "ingest", report)

    return ingest


def compact_op(table: TableConfig) -> dg.OpDefinition:
    """Merge sorted runs, or small files, as the table's options say."""
    description = (
        "Dedicated compaction: plans from the snapshot, merges in Spark, commits each group that did not lose."
    )

    @_step(table, "compact", description, AFTER_CONFLICT)
    def compact_table(
        context: dg.OpExecutionContext, account: Account, config: CompactConfig, catalog: PaimonCatalog, spark: Spark
    ) -> Account:
        with step_of(context, catalog, table, "compact"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)  # before Spark is started for nothing
            idle_time = duration(config.partition_idle_time) if config.partition_idle_time else None
            if config.plan_id and not config.dry_run:
                plan = found_plan(catalog, opened, config.plan_id)
                report = apply_compact(spark.session(), opened, plan, context.log.info)
                return _told_compaction(context, account, "compact", report, {"plan id": plan.id})
            kept = {}
            if config.dry_run:
                chosen = config.partitions or None
                plan = plan_compact(
                    opened,
                    full=config.full,
                    partitions=chosen,
                    where=config.where,
                    partition_idle_time=idle_time,
                    order_strategy=config.order_strategy,
                    order_by=config.order_by,
                )
                kept = kept_plan(context, catalog, opened, plan)
            report = compact(
                spark.session(),
                opened,
                full=config.full,
                partitions=config.partitions or None,
                where=config.where,
                partition_idle_time=idle_time,
                order_strategy=config.order_strategy,
                order_by=config.order_by,
                groups_per_commit=config.groups_per_commit,
                dry_run=config.dry_run,
                max_retries=config.max_retries,
                progress=context.log.info,
            )
            return _told_compaction(context, account, "compact", report, kept)

    return compact_table


def changelog_op(table: TableConfig) -> dg.OpDefinition:
    """Write the changelog of what the table's top level has not seen yet."""
    description = "Brings every changed bucket to its top level and writes the changes (+I, -U, +U, -D) beside it."

    @_step(table, "changelog", description, AFTER_CONFLICT)
    def changelog(
        context: dg.OpExecutionContext, account: Account, config: ChangelogConfig, catalog: PaimonCatalog, spark: Spark
    ) -> Account:
        with step_of(context, catalog, table, "changelog"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)  # before Spark is started for nothing
            report = produce_changelog(
                spark.session(),
                opened,
                dry_run=config.dry_run,
                progress=context.log.info,
            )
            return _told_compaction(context, account, "changelog", report)

    return changelog


def file_index_op(table: TableConfig) -> dg.OpDefinition:
    """Build the file indexes that the table's options ask for, where a file lacks them."""
    description = "Builds missing file indexes; commits nothing where every file has its own."

    @_step(table, "file_index", description, AFTER_CONFLICT)
    def file_index(
        context: dg.OpExecutionContext, account: Account, config: FileIndexConfig, catalog: PaimonCatalog, spark: Spark
    ) -> Account:
        with step_of(context, catalog, table, "file_index"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)  # before Spark is started for nothing
            report = rewrite_file_index(
                spark.session(),
                opened.copy(table.index_columns.options(opened.options)),
                where=config.where,
                rebuild=config.rebuild,
                dry_run=config.dry_run,
                progress=context.log.info,
            )
            return _told(context, account, "file_index", report)

    return file_index


def tag_op(table: TableConfig, zone: ZoneInfo) -> dg.OpDefinition:
    """Create the tag that keeps a state of the table beyond the expiry that follows."""
    description = "Tags the newest snapshot, so that the expiry which follows keeps it; an existing tag stays."

    @_step(table, "tag", description, ONCE_MORE)
    def tag(context: dg.OpExecutionContext, account: Account, config: TagConfig, catalog: PaimonCatalog) -> Account:
        with step_of(context, catalog, table, "tag"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            snapshot = config.snapshot_id or opened.snapshots.latest_id()
            if snapshot is None:
                context.log.info("Nothing to tag: the table has no snapshot yet.")
                return account
            name = (config.name or table.tag.name).format(date=f"{datetime.now(zone):%Y-%m-%d}", snapshot=snapshot)
            retained = duration(config.time_retained) if config.time_retained else table.tag.lifetime
            report = create_tag(opened, name, snapshot_id=snapshot, time_retained=retained, ignore_if_exists=True)
            return _told(context, account, "tag", report)

    return tag


def expire_snapshots_op(table: TableConfig, zone: ZoneInfo) -> dg.OpDefinition:
    """Expire snapshots by the retention, and delete the files that only they used; `zone`: the schedule's."""
    description = "Expires snapshots and deletes what only they used; tags and consumers keep theirs."

    @_step(table, "expire_snapshots", description, ONCE_MORE)
    def expire_old_snapshots(
        context: dg.OpExecutionContext, account: Account, config: ExpireSnapshotsConfig, catalog: PaimonCatalog
    ) -> Account:
        with step_of(context, catalog, table, "expire_snapshots"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            if config.plan_id and not config.dry_run:
                plan = found_plan(catalog, opened, config.plan_id)
                report = apply_expire_snapshots(opened, plan, context.log.info)
                return _told(context, account, "expire_snapshots", report, {"plan id": plan.id})
            policy = table.retention
            chosen: dict[str, Any] = {
                "retain_max": config.retain_max or policy.keep_at_most,
                "retain_min": config.retain_min or policy.keep_at_least,
                "older_than": _instant(config.older_than) or policy.older_than(datetime.now(UTC), zone),
                "max_deletes": config.max_deletes,
            }
            kept = {}
            if config.dry_run:
                kept = kept_plan(context, catalog, opened, plan_expire_snapshots(opened, **chosen))
            report = expire_snapshots(opened, **chosen, dry_run=config.dry_run, progress=context.log.info)
            return _told(context, account, "expire_snapshots", report, kept)

    return expire_old_snapshots


def expire_tags_op(table: TableConfig) -> dg.OpDefinition:
    """Delete tags whose time is over, and the files that only they used."""
    description = "Deletes tags past their retention, and what only they used."

    @_step(table, "expire_tags", description, ONCE_MORE)
    def expire_old_tags(
        context: dg.OpExecutionContext, account: Account, config: ExpireTagsConfig, catalog: PaimonCatalog
    ) -> Account:
        with step_of(context, catalog, table, "expire_tags"):
            report = expire_tags(
                catalog.get_table(table.identifier).of_run(context.run_id),
                older_than=_instant(config.older_than),
                dry_run=config.dry_run,
                progress=context.log.info,
            )
            return _told(context, account, "expire_tags", report)

    return expire_old_tags


def describe_op(table: TableConfig) -> dg.OpDefinition:
    """Close an asset's chain: its output is the table as it now stands."""

    @_step(table, "describe", "Reads the table's metadata and records it with the asset.", ONCE_MORE)
    def describe(context: dg.OpExecutionContext, account: Account, catalog: PaimonCatalog) -> dg.Output[Account]:
        with step_of(context, catalog, table, "describe"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            shape = table_shape(opened)
            keep_account(context, catalog, table.identifier, shape, account)
            version = dg.DataVersion(str(shape.snapshot_id or 0))
            page = health_page(context, catalog, table, opened, shape)
            metadata = {**closing_metadata(opened, shape, account), **page}
            return dg.Output(account, metadata=metadata, data_version=version)

    return describe


def record_op(table: TableConfig) -> dg.OpDefinition:
    """Close the chain of a job that is no asset's: report the table's new state to its asset."""

    @_step(table, "record", "Reports the table's new state to its asset.", ONCE_MORE)
    def record(context: dg.OpExecutionContext, account: Account, catalog: PaimonCatalog) -> Account:
        with step_of(context, catalog, table, "record"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            shape = table_shape(opened)
            keep_account(context, catalog, table.identifier, shape, account)
            context.log_event(
                dg.AssetMaterialization(
                    asset_key=keys.asset_key(table.identifier),
                    description=f"After {', '.join(step for step in account if step != 'before') or 'nothing'}.",
                    metadata={
                        **closing_metadata(opened, shape, account),
                        **health_page(context, catalog, table, opened, shape),
                    },
                    tags={"dagster/data_version": str(shape.snapshot_id or 0)},
                )
            )
            return account

    return record


def _instant(text: str | None) -> datetime | None:
    """An ISO 8601 time with an offset. Raises OptionError without one: an hour off deletes the wrong snapshots."""
    if text is None:
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        raise OptionError(f"'{text}' is not a time with an offset", "older_than", "Write 2026-01-31T00:00:00+00:00.")
    return instant
