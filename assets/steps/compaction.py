"""The steps that rewrite files: compaction, changelog, file indexes."""

from dataclasses import replace
from typing import Any

from maintenance.operations.compaction.compact import OPERATION as COMPACT_OPERATION
from maintenance.operations.compaction.partition_choice import no_match
from maintenance.operations.compaction.partition_range import between
from maintenance.operations.compaction.produce_changelog import OPERATION as CHANGELOG_OPERATION
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.indexes.rewrite_file_index import OPERATION as FILE_INDEX_OPERATION
from maintenance.project import chain
from paimon_maintenance.assets.pages.metadata import (
    before_and_after,
    report_metadata,
    shape_numbers,
    warn_of_finding,
)
from paimon_maintenance.assets.runs.failures import check_groups
from paimon_maintenance.assets.runs.summary import StepSummary, report_numbers
from paimon_maintenance.assets.steps.config import RANGE, step_config
from paimon_maintenance.assets.steps.step import Metadata, Preview, Step, Work


class OfPartitions(Step):
    """A step over partitions, which may be those from one to another."""

    def request(self, work: Work) -> Any:
        made, config = super().request(work), work.config
        keys = work.table.schema.partition_keys
        return replace(made, where=between(keys, getattr(config, "from"), config.to, made.where))


class _Rewriting(OfPartitions):
    """A step whose report is that of a compaction."""

    def show(self, work: Work, report: CompactReport, metadata: Metadata) -> StepSummary:
        """With the table before and after; fails if a group failed, which must not look like success."""
        warn_of_finding(work.context, report)
        before, after = shape_numbers(report.before), shape_numbers(report.after)
        check_groups(report.groups)
        # A dry run leaves the table as it is: its plan says what is expected.
        sizes = {} if work.dry_run else {"before and after": before_and_after(before, after)}
        work.context.add_output_metadata({**metadata, **report_metadata(report, plotted=False), **sizes})
        facts = {
            **report_numbers(report),
            "input_bytes": sum(group.input_bytes for group in report.groups),
            "rows": sum(group.output_rows for group in report.groups if group.changed),
            "proof": str(report.proof.get("mode", "")),
        }
        return StepSummary(facts, before, after)


class _FileIndex(OfPartitions):
    def preview(self, work: Work, request: Any) -> Preview:
        """The plan; and, where it is empty, whether the condition matches no partition."""
        _, plan = self.operation.keepable(self.run_of(work), work.table, request)
        finding = no_match(work.table, request.where) if request.where and not plan.groups else None
        if finding is None:
            return Preview(plan)
        work.context.log.warning(finding)
        return Preview(plan, more={"finding": finding})


COMPACT = _Rewriting(
    COMPACT_OPERATION,
    "Dedicated compaction: plans from the snapshot, merges in Spark, commits each group that did not lose.",
    step_config(COMPACT_OPERATION, instead=RANGE),
    options=chain.compaction_options,
)
CHANGELOG = _Rewriting(
    CHANGELOG_OPERATION,
    "Brings every changed bucket to its top level and writes the changes (+I, -U, +U, -D) beside it.",
    step_config(CHANGELOG_OPERATION, instead=RANGE),
    options=chain.conduct,
)
FILE_INDEX = _FileIndex(
    FILE_INDEX_OPERATION,
    "Builds missing file indexes; commits nothing where every file has its own.",
    step_config(FILE_INDEX_OPERATION, instead=RANGE),
    options=chain.index_options,
)
