"""One thin op per operation: typed config in, the operation, its report out as metadata.

The ops of a table form a chain, along which an account goes. Each op of a table has a name and the pool of its own
table, so the ops are made per table.
"""

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import dagster as dg

from assets import keys
from assets.pages.catalogue import columns_metadata
from assets.pages.health import health_page
from assets.pages.metadata import (
    before_and_after,
    closing_metadata,
    report_metadata,
    report_numbers,
    shape_numbers,
    warn_of_finding,
)
from assets.project.config import TableConfig
from assets.project.step_config import (
    ChangelogConfig,
    CompactConfig,
    ExpirePartitionsConfig,
    ExpireSnapshotsConfig,
    ExpireTagsConfig,
    FileIndexConfig,
    IngestConfig,
    TagConfig,
    chosen_plan,
)
from assets.resources.catalog import PaimonCatalog
from assets.resources.spark import Spark
from assets.runs.account import BEFORE, Account, after_dry_step, is_dry, steps_of
from assets.runs.failures import check_groups, refuse_if_cancelled, told_as_failure
from assets.runs.history import keep_account, keep_failure
from assets.steps.ingestion import apply_ingest, ingest_landed, plan_ingest
from assets.steps.plans import found_plan, kept_plan, planned
from assets.steps.tags import last_period
from maintenance.errors import NotFoundError, OptionError
from maintenance.operations.compaction.compact import carry_out
from maintenance.operations.compaction.partition_choice import no_match
from maintenance.operations.compaction.produce_changelog import changelog_request
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.expiry.expire_partitions import expire_partitions
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.expiry.partition_rules import PartitionRules
from maintenance.operations.indexes.rewrite_file_index import rewrite_file_index
from maintenance.operations.plans.step_plans import (
    apply_changelog,
    apply_expire_partitions,
    apply_expire_tags,
    apply_file_index,
    apply_tag,
    plan_expire_partitions,
    plan_expire_tags,
    plan_file_index,
    plan_tag,
    preview_changelog,
)
from maintenance.operations.plans.stored_plan import (
    apply_compact,
    apply_expire_snapshots,
    plan_expire_snapshots,
    preview_compact,
)
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.period_tags import state_at
from maintenance.options.option import duration
from maintenance.table.shape import table_shape
from maintenance.table.table import Table

# Only for the lineage: the ingestion lists the landing folder itself.
LANDED = "landed"
_GIVEN = ("context", "account", "return")


@functools.cache
def _schema(config: type[dg.Config]) -> Any:
    """What the Launchpad knows of a step's config. The same for every table, and slow to work out."""
    return config.to_config_schema()


def _step(
    table: TableConfig,
    step: str,
    description: str,
    more_ins: Mapping[str, dg.In] = MappingProxyType({}),
) -> Callable[[Callable[..., Any]], dg.OpDefinition]:
    """The decorator of one step of one table. The first step of a job gets an empty account.

    It does what `dg.op` does with the annotations `config` and resources, without looking at them again for each of a
    thousand tables.
    """

    def decorate(function: Callable[..., Any]) -> dg.OpDefinition:
        asked = {name: kind for name, kind in function.__annotations__.items() if name not in _GIVEN}
        config = asked.pop("config", None)

        def compute(context: dg.OpExecutionContext, inputs: Mapping[str, Any]) -> Iterator[dg.Output[Account]]:
            given = {name: getattr(context.resources, name) for name in asked}
            if config is not None:
                given["config"] = config(**context.op_config)
            account = inputs["account"]
            dry = is_dry(account) or (config is not None and given["config"].dry_run)
            if dry and config is not None:
                given["config"] = given["config"].model_copy(update={"dry_run": True})
            with told_as_failure(context):
                absent = is_dry(account) and given["catalog"].get_or_none(table.identifier)[1] is None
            if absent:
                context.log.info("Nothing to plan: the table does not exist yet.")
                yield dg.Output(account)
                return
            done = function(context, account, **given)
            if isinstance(done, dg.Output):
                yield done
            else:
                yield dg.Output(after_dry_step(account) if dry else done)

        return dg.OpDefinition(
            compute,
            name=keys.node(table.identifier, step),
            description=description,
            ins={
                "account": dg.In(dict, default_value={}, description="What the steps before this one did."),
                **more_ins,
            },
            outs={"result": dg.Out(dict)},
            config_schema=None if config is None else _schema(config),
            required_resource_keys=set(asked),
            pool=keys.pool(table.identifier),
            tags={"paimon/table": table.identifier, "paimon/action": step},
        )

    return decorate


@contextmanager
def step_of(context: dg.OpExecutionContext, catalog: PaimonCatalog, table: TableConfig, step: str) -> Iterator[None]:
    """A step's failure is told in one form, and written into the history."""
    try:
        with told_as_failure(context, lambda: catalog.place_of(table.identifier)):
            refuse_if_cancelled(context.instance, context.run_id)
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
    warn_of_finding(context, report)
    context.add_output_metadata({**more, **report_metadata(report)})
    return {**account, step: report_numbers(report)}


def _told_plan(context: dg.OpExecutionContext, account: Account, kept: Mapping[str, Any]) -> Account:
    """Show a plan alone: the step that made it has done nothing."""
    context.add_output_metadata(dict(kept))
    return account


def _told_compaction(
    context: dg.OpExecutionContext,
    account: Account,
    step: str,
    report: CompactReport,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Account:
    """As `_told`, with the table before and after; fails if a group failed, which must not look like success."""
    warn_of_finding(context, report)
    before, after = shape_numbers(report.before), shape_numbers(report.after)
    check_groups(report.groups)
    told = {**more, **report_metadata(report), "before and after": before_and_after(before, after)}
    context.add_output_metadata(told)
    numbers = {**report_numbers(report), "input_bytes": sum(group.input_bytes for group in report.groups)}
    return {BEFORE: before, **account, step: {**numbers, "before": before, "after": after}}


def ingest_op(table: TableConfig) -> dg.OpDefinition:
    """Commit the micro-batches that landed since the last run."""
    description = "Commits each landed micro-batch once: repeated deliveries are recognised by their commit identifier."

    @_step(table, "ingest", description, {LANDED: dg.In(dg.Nothing)})
    def ingest(
        context: dg.OpExecutionContext, account: Account, config: IngestConfig, catalog: PaimonCatalog, spark: Spark
    ) -> Account:
        with step_of(context, catalog, table, "ingest"):
            plan_id = chosen_plan(config)
            if config.dry_run:
                file_io, opened = catalog.get_or_none(table.identifier)
                plan = plan_ingest(file_io, opened, table, config)
                return _told_plan(context, account, kept_plan(context, catalog, file_io, plan))
            opened = catalog.get_or_create(table).of_run(context.run_id).copy(table.compaction.conduct)
            if plan_id:
                plan = found_plan(catalog, opened.file_io, plan_id)
                report = apply_ingest(spark.session, opened, table, plan, context.log.info)
                return _told(context, account, "ingest", report, {"plan id": plan.id, **spark.metadata()})
            report = ingest_landed(spark.session, opened, table, config=config, progress=context.log.info)
            return _told(context, account, "ingest", report, spark.metadata())

    return ingest


def compact_op(table: TableConfig) -> dg.OpDefinition:
    """Merge sorted runs, or small files, as the table's options say."""
    description = (
        "Dedicated compaction: plans from the snapshot, merges in Spark, commits each group that did not lose."
    )

    @_step(table, "compact", description)
    def compact_table(
        context: dg.OpExecutionContext, account: Account, config: CompactConfig, catalog: PaimonCatalog, spark: Spark
    ) -> Account:
        with step_of(context, catalog, table, "compact"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)  # before Spark is started for nothing
            opened = opened.copy(table.compaction.options(opened.is_primary_key_table))
            idle_time = duration(config.partition_idle_time) if config.partition_idle_time else None
            plan = planned(config, catalog, opened.file_io)
            if plan is not None:
                report = apply_compact(spark.session(), opened, plan, context.log.info)
                return _told_compaction(context, account, "compact", report, {"plan id": plan.id, **spark.metadata()})
            request = CompactRequest(
                full=config.full,
                partitions=config.partitions or None,
                where=config.where,
                partition_idle_time=idle_time,
                order_strategy=config.order_strategy,
                order_by=config.order_by,
                proof=config.proof,
                max_retries=config.max_retries,
                groups_per_commit=config.groups_per_commit,
            )
            kept = {}
            if config.dry_run:
                report, plan = preview_compact(opened, request, context.log.info)
                kept = kept_plan(context, catalog, opened.file_io, plan)
            else:
                request.checked(opened)  # before Spark is started for nothing
                report = carry_out(spark.session(), opened, request, progress=context.log.info)
            return _told_compaction(context, account, "compact", report, {**kept, **spark.metadata()})

    return compact_table


def changelog_op(table: TableConfig) -> dg.OpDefinition:
    """Write the changelog of what the table's top level has not seen yet."""
    description = "Brings every changed bucket to its top level and writes the changes (+I, -U, +U, -D) beside it."

    @_step(table, "changelog", description)
    def changelog(
        context: dg.OpExecutionContext, account: Account, config: ChangelogConfig, catalog: PaimonCatalog, spark: Spark
    ) -> Account:
        with step_of(context, catalog, table, "changelog"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)  # before Spark is started for nothing
            opened = opened.copy(table.compaction.conduct)
            plan = planned(config, catalog, opened.file_io)
            if plan is not None:
                report = apply_changelog(spark.session(), opened, plan, context.log.info)
                return _told_compaction(context, account, "changelog", report, {"plan id": plan.id, **spark.metadata()})
            chosen = CompactRequest(partitions=config.partitions or None, where=config.where, proof=config.proof)
            request = changelog_request(opened, chosen)
            kept = {}
            if config.dry_run:
                report, plan = preview_changelog(opened, request, context.log.info)
                kept = kept_plan(context, catalog, opened.file_io, plan)
            else:
                request.checked(opened)  # before Spark is started for nothing
                report = carry_out(spark.session(), opened, request, progress=context.log.info)
            return _told_compaction(context, account, "changelog", report, {**kept, **spark.metadata()})

    return changelog


def file_index_op(table: TableConfig) -> dg.OpDefinition:
    """Build the file indexes that the table's options ask for, where a file lacks them."""
    description = "Builds missing file indexes; commits nothing where every file has its own."

    @_step(table, "file_index", description)
    def file_index(
        context: dg.OpExecutionContext, account: Account, config: FileIndexConfig, catalog: PaimonCatalog, spark: Spark
    ) -> Account:
        with step_of(context, catalog, table, "file_index"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)  # before Spark is started for nothing
            opened = opened.copy(table.index_columns.options(opened.options))
            plan = planned(config, catalog, opened.file_io)
            if plan is not None:
                report = apply_file_index(spark.session(), opened, plan, context.log.info)
                return _told(context, account, "file_index", report, {"plan id": plan.id, **spark.metadata()})
            scope: dict[str, Any] = {"where": config.where, "rebuild": config.rebuild}
            if config.dry_run:
                plan = plan_file_index(None, opened, **scope)
                kept = kept_plan(context, catalog, opened.file_io, plan)
                finding = no_match(opened, config.where) if config.where and not plan.groups else None
                if finding is not None:
                    context.log.warning(finding)
                    kept["finding"] = finding
                return _told_plan(context, account, kept)
            report = rewrite_file_index(spark.session(), opened, **scope, progress=context.log.info)
            return _told(context, account, "file_index", report, spark.metadata())

    return file_index


def tag_op(table: TableConfig, zone: ZoneInfo) -> dg.OpDefinition:
    """Create the tag that keeps a state of the table beyond the expiry that follows."""
    description = "Tags the newest snapshot, so that the expiry which follows keeps it; an existing tag stays."

    @_step(table, "tag", description)
    def tag(context: dg.OpExecutionContext, account: Account, config: TagConfig, catalog: PaimonCatalog) -> Account:
        with step_of(context, catalog, table, "tag"):
            started = time.monotonic()
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            plan = planned(config, catalog, opened.file_io)
            if plan is not None:
                made = apply_tag(opened, plan)
                return _told(context, account, "tag", made, {"plan id": plan.id}) if made else account
            wanted = _wanted_tag(context, config, opened, table, zone)
            if wanted is None:
                return account
            name, snapshot = wanted
            retained = duration(config.time_retained) if config.time_retained else table.tag.lifetime
            if config.dry_run:
                plan = plan_tag(opened, name, snapshot_id=snapshot, time_retained=retained)
                return _told_plan(context, account, kept_plan(context, catalog, opened.file_io, plan))
            report = create_tag(opened, name, snapshot_id=snapshot, time_retained=retained, ignore_if_exists=True)
            told = _told(context, account, "tag", report)
            told["tag"]["seconds"] = time.monotonic() - started
            return told

    return tag


def _wanted_tag(
    context: dg.OpExecutionContext, config: TagConfig, opened: Table, table: TableConfig, zone: ZoneInfo
) -> tuple[str, int] | None:
    """The tag's name and its snapshot; None where there is nothing to tag. With a cron: that of the last period."""
    if table.tag.cron and config.name is None and config.snapshot_id is None:
        return _of_last_period(context, opened, table, zone)
    snapshot = config.snapshot_id or opened.snapshots.latest_id()
    if snapshot is None:
        context.log.info("Nothing to tag: the table has no snapshot yet.")
        return None
    now = datetime.now(zone)
    filled = {"date": f"{now:%Y-%m-%d}", "time": f"{now:%H%M}", "snapshot": snapshot}
    return (config.name or table.tag.name).format(**filled), snapshot


def _of_last_period(
    context: dg.OpExecutionContext, opened: Table, table: TableConfig, zone: ZoneInfo
) -> tuple[str, int] | None:
    """Before an expiry its tag is made sure of. One whose snapshot has expired already does not block expiry."""
    period = last_period(table.tag, zone)
    if period is None:
        return None
    known = opened.tags.find(period.name)
    try:
        snapshot = known.snapshot if known is not None else state_at(opened, period.end)
    except NotFoundError as error:
        context.log.warning(f"No tag '{period.name}': {error}")
        return None
    if snapshot is None:
        context.log.info(f"Nothing to tag: there was no snapshot yet at {period.end.isoformat()}.")
    return None if snapshot is None else (period.name, snapshot.id)


def expire_snapshots_op(table: TableConfig, zone: ZoneInfo) -> dg.OpDefinition:
    """Expire snapshots by the retention, and delete the files that only they used; `zone`: the schedule's."""
    description = "Expires snapshots and deletes what only they used; tags and consumers keep theirs."

    @_step(table, "expire_snapshots", description)
    def expire_old_snapshots(
        context: dg.OpExecutionContext, account: Account, config: ExpireSnapshotsConfig, catalog: PaimonCatalog
    ) -> Account:
        with step_of(context, catalog, table, "expire_snapshots"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            plan = planned(config, catalog, opened.file_io)
            if plan is not None:
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
                kept = kept_plan(context, catalog, opened.file_io, plan_expire_snapshots(opened, **chosen))
            report = expire_snapshots(opened, **chosen, dry_run=config.dry_run, progress=context.log.info)
            return _told(context, account, "expire_snapshots", report, kept)

    return expire_old_snapshots


def expire_partitions_op(table: TableConfig) -> dg.OpDefinition:
    """Drop partitions whose time is over, as the table's options say; a table that sets no time keeps them all."""
    description = "Drops partitions older than partition.expiration-time; without that option it does nothing."

    @_step(table, "expire_partitions", description)
    def expire_old_partitions(
        context: dg.OpExecutionContext, account: Account, config: ExpirePartitionsConfig, catalog: PaimonCatalog
    ) -> Account:
        with step_of(context, catalog, table, "expire_partitions"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            plan = planned(config, catalog, opened.file_io)
            if plan is not None:
                report = apply_expire_partitions(opened, plan, context.log.info)
                return _told(context, account, "expire_partitions", report, {"plan id": plan.id})
            life = duration(config.expiration_time) if config.expiration_time else None
            if PartitionRules.of(opened, life) is None:
                context.log.info("Nothing expires: the table has no partitions, or no 'partition.expiration-time'.")
                return account
            chosen: dict[str, Any] = {"expiration_time": life, "max_expires": config.max_expires}
            kept = {}
            if config.dry_run:
                kept = kept_plan(context, catalog, opened.file_io, plan_expire_partitions(opened, **chosen))
            report = expire_partitions(opened, **chosen, dry_run=config.dry_run, progress=context.log.info)
            return _told(context, account, "expire_partitions", report, kept)

    return expire_old_partitions


def expire_tags_op(table: TableConfig) -> dg.OpDefinition:
    """Delete tags whose time is over, and the files that only they used."""
    description = "Deletes tags past their retention, and what only they used."

    @_step(table, "expire_tags", description)
    def expire_old_tags(
        context: dg.OpExecutionContext, account: Account, config: ExpireTagsConfig, catalog: PaimonCatalog
    ) -> Account:
        with step_of(context, catalog, table, "expire_tags"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            plan = planned(config, catalog, opened.file_io)
            if plan is not None:
                report = apply_expire_tags(opened, plan, context.log.info)
                return _told(context, account, "expire_tags", report, {"plan id": plan.id})
            older_than, kept = _instant(config.older_than), {}
            if config.dry_run:
                plan = plan_expire_tags(opened, older_than=older_than)
                kept = kept_plan(context, catalog, opened.file_io, plan)
            report = expire_tags(opened, older_than=older_than, dry_run=config.dry_run, progress=context.log.info)
            return _told(context, account, "expire_tags", report, kept)

    return expire_old_tags


def describe_op(table: TableConfig) -> dg.OpDefinition:
    """Close an asset's chain: its output is the table as it now stands."""

    @_step(table, "describe", "Reads the table's metadata and records it with the asset.")
    def describe(context: dg.OpExecutionContext, account: Account, catalog: PaimonCatalog) -> dg.Output[Account]:
        with step_of(context, catalog, table, "describe"):
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            shape = table_shape(opened)
            keep_account(context, catalog, table.identifier, shape, account)
            version = dg.DataVersion(str(shape.snapshot_id or 0))
            page = health_page(context, catalog, table, shape)
            metadata = {**closing_metadata(opened, shape, account), **columns_metadata(table, opened.schema), **page}
            return dg.Output(account, metadata=metadata, data_version=version)

    return describe


def record_op(table: TableConfig) -> dg.OpDefinition:
    """Close the chain of a job that is not an asset's: report the table's new state to its asset."""

    @_step(table, "record", "Reports the table's new state to its asset.")
    def record(context: dg.OpExecutionContext, account: Account, catalog: PaimonCatalog) -> Account:
        with step_of(context, catalog, table, "record"):
            if is_dry(account) and not steps_of(account):
                context.log.info("Nothing to record: this was a dry run.")
                return account
            opened = catalog.get_table(table.identifier).of_run(context.run_id)
            shape = table_shape(opened)
            keep_account(context, catalog, table.identifier, shape, account)
            context.log_event(
                dg.AssetMaterialization(
                    asset_key=keys.asset_key(table.identifier),
                    description=f"After {', '.join(steps_of(account)) or 'nothing'}.",
                    metadata={
                        **closing_metadata(opened, shape, account),
                        **columns_metadata(table, opened.schema),
                        **health_page(context, catalog, table, shape),
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
