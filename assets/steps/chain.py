"""The steps of a table's chain, in order: what each adds to its operation, and how they are connected.

Which steps a table has, and what tables.yaml says of each, is in `project/chain.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from types import MappingProxyType
from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.operations.compaction.partition_choice import no_match
from maintenance.operations.compaction.partition_range import between
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.expiry.expire_snapshots import ExpireSnapshotsReport
from maintenance.operations.expiry.partition_rules import PartitionRules
from maintenance.operations.ingestion.ingest_landed import plan_ingest
from maintenance.operations.ingestion.landing import LandingFolder
from maintenance.operations.operation import Run, operation
from maintenance.operations.refs.create_tag import snapshot_asked_for
from maintenance.project.chain import filled_name, folder, operations_of, orphans, retention, time_limit, wanted_tag
from maintenance.project.config import TableConfig
from maintenance.project.policies import DEFAULT_NAME
from maintenance.sql import Session
from maintenance.sql.session_names import SessionNames
from maintenance.table.table import Table
from paimon_maintenance.assets.pages.holders import IN_RUNS, WHO_HOLDS, OrphansOf, who_holds
from paimon_maintenance.assets.pages.metadata import before_and_after, report_metadata, shape_numbers, warn_of_finding
from paimon_maintenance.assets.pages.table_page import text_table
from paimon_maintenance.assets.runs.failures import check_groups
from paimon_maintenance.assets.runs.summary import StepSummary, report_numbers
from paimon_maintenance.assets.steps.config import RANGE, request_of, step_config
from paimon_maintenance.assets.steps.step import Metadata, Preview, Step, Work

# The short name of a step, and its op.
NamedOp = tuple[str, dg.OpDefinition]


class _Ingest(Step):
    def found(self, work: Work) -> Table:
        return work.catalog.get_or_create(work.described)

    def preview(self, work: Work, request: Any) -> Preview:
        """A dry run creates no table: the plan is made without one where it does not exist."""
        identifier = work.described.identifier
        return Preview(plan_ingest(*work.catalog.get_or_none(identifier), identifier, request))


class _Refresh(Step):
    def run_of(self, work: Work) -> Run:
        # Spark starts only if there is something to do.
        session = Session(work.catalog.open(), None, "flink", makes_default=False)
        return replace(super().run_of(work), names=SessionNames(session))


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


class _Tag(Step):
    def request(self, work: Work) -> Any:
        """The tag that tables.yaml asks for, unless the config of the run says what to tag or how to call it."""
        policy, zone, table = work.described.tag, work.described.zone, work.table
        lifetime = policy.lifetime if policy else None
        name = policy.name if policy else DEFAULT_NAME
        asked = request_of(self.operation, work.config, {"name": name, "time_retained": lifetime})
        targets = (work.config.name, asked.snapshot_id, asked.timestamp_millis, asked.watermark)
        wanted: tuple[str, int] | str = "the table has no snapshot yet"
        if all(each is None for each in targets):
            wanted = wanted_tag(work.described, table, zone)
        elif table.snapshots.latest_id() is not None:
            snapshot = snapshot_asked_for(table, asked).id
            wanted = filled_name(asked.name, zone, snapshot), snapshot
        if isinstance(wanted, str):
            work.say(f"Nothing to tag: {wanted}.")
            return None
        named, snapshot = wanted
        return replace(asked, name=named, snapshot_id=snapshot, timestamp_millis=None, watermark=None)

    def run(self, work: Work, request: Any) -> Any:
        made = super().run(work, request)
        work.say("A tag is one small file: this process wrote it." if made.created else "The tag was there before.")
        return made


class _ExpirePartitions(Step):
    def request(self, work: Work) -> Any:
        made = super().request(work)
        if PartitionRules.of(work.table, made.expiration_time) is None:
            work.say("Nothing expires: the table has no partitions, or no 'partition.expiration-time'.")
            return None
        return made


class _ExpireSnapshots(Step):
    def show(self, work: Work, report: ExpireSnapshotsReport, metadata: Metadata) -> StepSummary:
        """With who holds the rest."""
        left = {}
        if not work.dry_run:
            asked, warn = OrphansOf(work.context.instance), work.context.log.warning
            found = who_holds(asked, work.catalog, work.table, IN_RUNS, warn)
            left = {} if found is None else {WHO_HOLDS: text_table(list(found.rows()))}
        return super().show(work, report, {**metadata, **left})


def _folder(work: Work) -> Mapping[str, Any]:
    return folder(work.described)


INGEST = _Ingest(
    operation("ingest_landed"),
    "Commits each landed micro-batch once: repeated deliveries are recognised by their commit identifier.",
    instead=dict.fromkeys(field.name for field in fields(LandingFolder)),
    policy=_folder,
    with_plan=_folder,
)
REFRESH = _Refresh(
    operation("refresh_materialized_table"),
    "Makes rows again from the table's query: those of partitions that changes of its sources reach, or all.",
    instead={"zone": None},
    policy=lambda work: {"zone": str(work.described.zone)},
)
COMPACT = _Rewriting(
    operation("compact"),
    "Dedicated compaction: plans from the snapshot, merges in Spark, commits each group that did not lose.",
    instead=RANGE,
)
CHANGELOG = _Rewriting(
    operation("produce_changelog"),
    "Brings every changed bucket to its top level and writes the changes (+I, -U, +U, -D) beside it.",
    instead=RANGE,
)
FILE_INDEX = _FileIndex(
    operation("rewrite_file_index"),
    "Builds missing file indexes; commits nothing where every file has its own.",
    instead=RANGE,
)
_STAYS = (bool, Field(default=True, description="Leave a tag of that name as it is; else it is an error."))
TAG = _Tag(
    operation("create_tag"),
    "Tags the newest snapshot where tables.yaml says so: the expiry which follows keeps it. An existing tag stays.",
    step_config(operation("create_tag"), optional=("name",), instead={"ignore_if_exists": _STAYS}),
)
EXPIRE_PARTITIONS = _ExpirePartitions(
    operation("expire_partitions"),
    "Drops partitions older than partition.expiration-time; without that option it does nothing.",
)
EXPIRE_SNAPSHOTS = _ExpireSnapshots(
    operation("expire_snapshots"),
    "Expires snapshots and deletes what only they used; tags and consumers keep theirs.",
    policy=lambda work: retention(work.described, work.described.zone),
)
EXPIRE_TAGS = Step(operation("expire_tags"), "Deletes tags past their retention, and what only they used.")
ORPHANS = Step(
    operation("remove_orphan_files"),
    "Removes files that no snapshot, tag, changelog or branch names and that are old enough.",
    policy=lambda work: orphans(work.described),
    with_plan=lambda work: time_limit(work.described),
)
NEW_TAG = _Tag.alone("create_tag", "Keeps a snapshot under a name.")
# The steps of each part of the chain, as far as they apply to a table.
COMPACTION = (COMPACT, CHANGELOG, FILE_INDEX)
EXPIRY = (TAG, EXPIRE_PARTITIONS, EXPIRE_SNAPSHOTS, EXPIRE_TAGS, ORPHANS)


def applies(step: Step, table: TableConfig) -> bool:
    """Whether a table has that step."""
    return step.operation.name in operations_of(table)


def chain(steps: Sequence[NamedOp], above: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Connect the steps inside a graph's body, each under its short name; returns the last one's output.

    `above`: the graph's inputs, for the first step.
    """
    (name, first), *others = steps
    summary = first.alias(name)(**above)
    for name, step in others:
        summary = step.alias(name)(summary)
    return summary
