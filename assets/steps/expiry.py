"""The steps that tag and expire: the tag before an expiry; then partitions, snapshots, tags and orphan files."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from maintenance.operations.expiry.expire_partitions import OPERATION as PARTITIONS_OPERATION
from maintenance.operations.expiry.expire_snapshots import OPERATION as SNAPSHOTS_OPERATION
from maintenance.operations.expiry.expire_snapshots import ExpireSnapshotsReport
from maintenance.operations.expiry.expire_tags import OPERATION as TAGS_OPERATION
from maintenance.operations.expiry.partition_rules import PartitionRules
from maintenance.operations.orphans.remove_orphan_files import OPERATION as ORPHANS_OPERATION
from maintenance.operations.refs.create_tag import OPERATION as TAG_OPERATION
from maintenance.operations.refs.create_tag import CreateTag
from maintenance.options.option import duration
from maintenance.project import chain
from maintenance.project.policies import DEFAULT_NAME
from paimon_maintenance.assets.pages.holders import IN_RUNS, WHO_HOLDS, OrphansOf, who_holds
from paimon_maintenance.assets.pages.table_page import text_table
from paimon_maintenance.assets.runs.summary import StepSummary
from paimon_maintenance.assets.steps.config import launched_config, step_config
from paimon_maintenance.assets.steps.step import Metadata, Step, Work


class _Tag(Step):
    def request(self, work: Work) -> Any:
        tag = _wanted_tag(work)
        if tag is None:
            return None
        name, snapshot = tag
        return CreateTag(name, snapshot, time_retained=_lifetime(work), ignore_if_exists=True)

    def run(self, work: Work, request: Any) -> Any:
        made = super().run(work, request)
        work.say("A tag is one small file: this process wrote it." if made.created else "The tag was there before.")
        return made


class _NewTag(_Tag):
    """A tag that somebody asks for: one of that name is a mistake."""

    def request(self, work: Work) -> Any:
        made = super().request(work)
        return None if made is None else replace(made, ignore_if_exists=False)


def _lifetime(work: Work) -> timedelta | None:
    """How long the tag is kept; None: until somebody deletes it."""
    if work.config.time_retained:
        return duration(work.config.time_retained)
    return work.described.tag.lifetime if work.described.tag else None


def _wanted_tag(work: Work) -> tuple[str, int] | None:
    """The tag's name and its snapshot; None where there is nothing to tag. With a cron: that of the last period."""
    config, policy = work.config, work.described.tag
    if config.name is None and config.snapshot_id is None:
        wanted = chain.wanted_tag(work.described, work.table, work.zone)
        if isinstance(wanted, str):
            work.say(f"Nothing to tag: {wanted}.")
            return None
        return wanted
    snapshot = config.snapshot_id or work.table.snapshots.latest_id()
    if snapshot is None:
        work.say("Nothing to tag: the table has no snapshot yet.")
        return None
    pattern = config.name or (policy.name if policy else DEFAULT_NAME)
    return chain.filled_name(pattern, work.zone, snapshot), snapshot


class _ExpireSnapshots(Step):
    def show(self, work: Work, report: ExpireSnapshotsReport, metadata: Metadata) -> StepSummary:
        """With who holds the rest."""
        left = {}
        if not work.dry_run:
            found = who_holds(
                OrphansOf(work.context.instance), work.catalog, work.table, IN_RUNS, work.context.log.warning
            )
            left = {} if found is None else {WHO_HOLDS: text_table(list(found.rows()))}
        return super().show(work, report, {**metadata, **left})


class _ExpirePartitions(Step):
    def request(self, work: Work) -> Any:
        made = super().request(work)
        if PartitionRules.of(work.table, made.expiration_time) is None:
            work.say("Nothing expires: the table has no partitions, or no 'partition.expiration-time'.")
            return None
        return made


TAG = _Tag(
    TAG_OPERATION,
    "Tags the newest snapshot where tables.yaml says so: the expiry which follows keeps it. An existing tag stays.",
    step_config(TAG_OPERATION, optional=("name",)),
)
NEW_TAG = _NewTag(TAG_OPERATION, "Keeps a snapshot under a name.", launched_config(TAG_OPERATION))
EXPIRE_SNAPSHOTS = _ExpireSnapshots(
    SNAPSHOTS_OPERATION,
    "Expires snapshots and deletes what only they used; tags and consumers keep theirs.",
    policy=lambda work: chain.retention(work.described, work.zone),
)
EXPIRE_PARTITIONS = _ExpirePartitions(
    PARTITIONS_OPERATION, "Drops partitions older than partition.expiration-time; without that option it does nothing."
)
EXPIRE_TAGS = Step(TAGS_OPERATION, "Deletes tags past their retention, and what only they used.")
ORPHANS = Step(
    ORPHANS_OPERATION,
    "Removes files that no snapshot, tag, changelog or branch names and that are old enough.",
    policy=lambda work: chain.orphans(work.described),
    with_plan=lambda work: chain.time_limit(work.described),
)
