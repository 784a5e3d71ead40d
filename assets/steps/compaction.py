"""The steps that rewrite files: compaction, changelog, file indexes."""

from assets.project.step_config import ChangelogConfig, CompactConfig, FileIndexConfig
from assets.steps.step import Arguments, Preview, Step, Work, open_table, show_compaction
from maintenance.operations.compaction.compact import carry_out
from maintenance.operations.compaction.partition_choice import no_match
from maintenance.operations.compaction.produce_changelog import changelog_request
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.indexes.rewrite_file_index import RewriteFileIndexReport, rewrite_file_index
from maintenance.operations.plans.step_plans import (
    apply_changelog,
    apply_file_index,
    plan_file_index,
    preview_changelog,
)
from maintenance.operations.plans.stored_plan import apply_compact, preview_compact
from maintenance.options.option import duration
from maintenance.table.table import Table


def _open_to_compact(work: Work) -> Table:
    table = open_table(work)
    return table.copy(work.described.compaction.options(table.is_primary_key_table))


def _compact_request(work: Work) -> CompactRequest:
    config: CompactConfig = work.config
    return CompactRequest(
        full=config.full,
        partitions=config.partitions or None,
        where=config.where,
        partition_idle_time=duration(config.partition_idle_time) if config.partition_idle_time else None,
        order_strategy=config.order_strategy,
        order_by=config.order_by,
        proof=config.proof,
        max_retries=config.max_retries,
        groups_per_commit=config.groups_per_commit,
    )


def _changelog_request(work: Work) -> CompactRequest:
    config: ChangelogConfig = work.config
    chosen = CompactRequest(partitions=config.partitions or None, where=config.where, proof=config.proof)
    return changelog_request(work.table, chosen)


def _carry_out(work: Work, request: CompactRequest) -> CompactReport:
    request.checked(work.table)  # before Spark is started for nothing
    return carry_out(work.session(), work.table, request, progress=work.say)


def _preview_compact(work: Work, request: CompactRequest) -> Preview:
    report, plan = preview_compact(work.table, request, work.say)
    return Preview(plan, report)


def _preview_changelog(work: Work, request: CompactRequest) -> Preview:
    report, plan = preview_changelog(work.table, request, work.say)
    return Preview(plan, report)


COMPACT = Step(
    "compact",
    "Dedicated compaction: plans from the snapshot, merges in Spark, commits each group that did not lose.",
    CompactConfig,
    arguments=_compact_request,
    preview=_preview_compact,
    apply=lambda work, plan: apply_compact(work.session(), work.table, plan, work.say),
    run=_carry_out,
    show=show_compaction,
    opened=_open_to_compact,
    uses_spark=True,
)
CHANGELOG = Step(
    "changelog",
    "Brings every changed bucket to its top level and writes the changes (+I, -U, +U, -D) beside it.",
    ChangelogConfig,
    arguments=_changelog_request,
    preview=_preview_changelog,
    apply=lambda work, plan: apply_changelog(work.session(), work.table, plan, work.say),
    run=_carry_out,
    show=show_compaction,
    opened=lambda work: open_table(work).copy(work.described.compaction.conduct),
    uses_spark=True,
)


def _open_to_index(work: Work) -> Table:
    table = open_table(work)
    return table.copy(work.described.index_columns.options(table.options))


def _rewrite_file_index(work: Work, scope: Arguments) -> RewriteFileIndexReport:
    return rewrite_file_index(work.session(), work.table, **scope, progress=work.say)


def _preview_file_index(work: Work, scope: Arguments) -> Preview:
    """The plan; and, where it is empty, whether the condition matches no partition."""
    plan = plan_file_index(None, work.table, **scope)
    where: str | None = work.config.where
    finding = no_match(work.table, where) if where and not plan.groups else None
    if finding is None:
        return Preview(plan)
    work.context.log.warning(finding)
    return Preview(plan, beside={"finding": finding})


FILE_INDEX = Step(
    "file_index",
    "Builds missing file indexes; commits nothing where every file has its own.",
    FileIndexConfig,
    arguments=lambda work: {"where": work.config.where, "rebuild": work.config.rebuild},
    preview=_preview_file_index,
    apply=lambda work, plan: apply_file_index(work.session(), work.table, plan, work.say),
    run=_rewrite_file_index,
    opened=_open_to_index,
    uses_spark=True,
)
