"""The steps that tag and expire: the tag before an expiry; then partitions, snapshots, tags and orphan files."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from maintenance.errors import NotFoundError
from maintenance.operations.expiry.expire_partitions import OPERATION as PARTITIONS_OPERATION
from maintenance.operations.expiry.expire_snapshots import OPERATION as SNAPSHOTS_OPERATION
from maintenance.operations.expiry.expire_snapshots import ExpireSnapshotsReport
from maintenance.operations.expiry.expire_tags import OPERATION as TAGS_OPERATION
from maintenance.operations.expiry.partition_rules import PartitionRules
from maintenance.operations.orphans.remove_orphan_files import OPERATION as ORPHANS_OPERATION
from maintenance.operations.refs.create_tag import OPERATION as TAG_OPERATION
from maintenance.operations.refs.create_tag import CreateTag
from maintenance.operations.refs.period_tags import state_at
from maintenance.options.option import duration
from paimon_maintenance.assets.pages.holders import IN_RUNS, WHO_HOLDS, who_holds
from paimon_maintenance.assets.pages.table_page import text_table
from paimon_maintenance.assets.project.policies import DEFAULT_NAME, TagPolicy
from paimon_maintenance.assets.project.tag_periods import last_period
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
        if policy is None:
            work.say("Nothing to tag: tables.yaml asks for no tags of this table, and the config names none.")
            return None
        if policy.cron:
            return _of_last_period(work, policy)
    snapshot = config.snapshot_id or work.table.snapshots.latest_id()
    if snapshot is None:
        work.say("Nothing to tag: the table has no snapshot yet.")
        return None
    now = datetime.now(work.zone)
    filled = {"date": f"{now:%Y-%m-%d}", "time": f"{now:%H%M}", "snapshot": snapshot}
    return (config.name or (policy.name if policy else DEFAULT_NAME)).format(**filled), snapshot


def _of_last_period(work: Work, policy: TagPolicy) -> tuple[str, int] | None:
    """Before an expiry its tag is made sure of. One whose snapshot has expired already does not block expiry."""
    period = last_period(policy, work.zone)
    if period is None:
        return None
    existing = work.table.tags.find(period.name)
    try:
        snapshot = existing.snapshot if existing is not None else state_at(work.table, period.end)
    except NotFoundError as error:
        work.context.log.warning(f"No tag '{period.name}': {error}")
        return None
    if snapshot is None:
        work.say(f"Nothing to tag: there was no snapshot yet at {period.end.isoformat()}.")
    return None if snapshot is None else (period.name, snapshot.id)


def _retention(work: Work) -> Metadata:
    policy = work.described.retention
    return {
        "retain_max": policy.keep_at_most,
        "retain_min": policy.keep_at_least,
        "older_than": policy.older_than(datetime.now(UTC), work.zone),
    }


class _ExpireSnapshots(Step):
    def show(self, work: Work, report: ExpireSnapshotsReport, metadata: Metadata) -> StepSummary:
        """With who holds the rest."""
        left = {}
        if not work.dry_run:
            found = who_holds(work.context.instance, work.catalog, work.table, IN_RUNS, work.context.log.warning)
            left = {} if found is None else {WHO_HOLDS: text_table(list(found.rows()))}
        return super().show(work, report, {**metadata, **left})


class _ExpirePartitions(Step):
    def request(self, work: Work) -> Any:
        made = super().request(work)
        if PartitionRules.of(work.table, made.expiration_time) is None:
            work.say("Nothing expires: the table has no partitions, or no 'partition.expiration-time'.")
            return None
        return made


def _orphans(work: Work) -> Metadata:
    policy = work.described.orphans
    return {} if policy is None else {
        "minimum_age": duration(policy.minimum_age), "max_deletes": policy.max_files, **_time_limit(work)
    }  # fmt: skip


def _time_limit(work: Work) -> Metadata:
    policy = work.described.orphans
    return {} if policy is None or policy.time_limit is None else {"time_limit": duration(policy.time_limit)}


TAG = _Tag(
    TAG_OPERATION,
    "Tags the newest snapshot where tables.yaml says so: the expiry which follows keeps it. An existing tag stays.",
    step_config(TAG_OPERATION, optional=("name",)),
)
NEW_TAG = _NewTag(TAG_OPERATION, "Keeps a snapshot under a name.", launched_config(TAG_OPERATION))
EXPIRE_SNAPSHOTS = _ExpireSnapshots(
    SNAPSHOTS_OPERATION,
    "Expires snapshots and deletes what only they used; tags and consumers keep theirs.",
    policy=_retention,
)
EXPIRE_PARTITIONS = _ExpirePartitions(
    PARTITIONS_OPERATION, "Drops partitions older than partition.expiration-time; without that option it does nothing."
)
EXPIRE_TAGS = Step(TAGS_OPERATION, "Deletes tags past their retention, and what only they used.")
ORPHANS = Step(
    ORPHANS_OPERATION,
    "Removes files that no snapshot, tag, changelog or branch names and that are old enough.",
    policy=_orphans,
    with_plan=_time_limit,
)
