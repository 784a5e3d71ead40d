"""The steps that tag and expire: the tag before an expiry, then partitions, snapshots and tags."""

import time
from datetime import UTC, datetime, timedelta

from assets.pages.holders import IN_RUNS, WHO_HOLDS, who_holds
from assets.pages.table_page import text_table
from assets.project.policies import DEFAULT_NAME, TagPolicy
from assets.project.step_config import ExpirePartitionsConfig, ExpireSnapshotsConfig, ExpireTagsConfig, TagConfig
from assets.runs.account import Account
from assets.steps.into_bin import into_bin
from assets.steps.step import Arguments, Metadata, Preview, Step, Work, show_report
from assets.steps.tags import last_period
from maintenance.errors import NotFoundError, OptionError
from maintenance.operations.expiry.expire_partitions import expire_partitions
from maintenance.operations.expiry.expire_snapshots import ExpireSnapshotsReport, expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.expiry.partition_rules import PartitionRules
from maintenance.operations.plans.step_plans import (
    apply_expire_partitions,
    apply_expire_tags,
    apply_tag,
    plan_expire_partitions,
    plan_expire_tags,
    plan_tag,
)
from maintenance.operations.plans.stored_plan import StoredPlan, apply_expire_snapshots, plan_expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.period_tags import state_at
from maintenance.options.option import duration


def _tag_arguments(work: Work) -> Arguments | None:
    tag = _wanted_tag(work)
    if tag is None:
        return None
    name, snapshot = tag
    return {"name": name, "snapshot_id": snapshot, "time_retained": _lifetime(work)}


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


def _show_tag(work: Work, account: Account, step: str, report: tuple[object, float], metadata: Metadata) -> Account:
    """A tag's report says nothing of the time it took."""
    made, seconds = report
    shown = show_report(work, account, step, made, metadata)
    return {**shown, step: {**shown[step], "seconds": seconds}}


def _create_tag(work: Work, chosen: Arguments) -> tuple[object, float]:
    started = time.monotonic()
    made = create_tag(work.table, **chosen, ignore_if_exists=True, spark=work.spark_source)
    work.say("A tag is one small file: this process wrote it." if made.created else "The tag was there before.")
    return made, time.monotonic() - started


def _apply_tag(work: Work, plan: StoredPlan) -> tuple[object, float] | None:
    started = time.monotonic()
    made = apply_tag(work.table, plan, work.spark_source)
    return None if made is None else (made, time.monotonic() - started)


TAG = Step(
    "tag",
    "Tags the newest snapshot where tables.yaml says so: the expiry which follows keeps it. An existing tag stays.",
    TagConfig,
    arguments=_tag_arguments,
    preview=lambda work, chosen: Preview(plan_tag(work.table, **chosen)),
    apply=_apply_tag,
    run=_create_tag,
    show=_show_tag,
    uses_spark=True,
)


def _expire_snapshots_arguments(work: Work) -> Arguments:
    config, policy = work.config, work.described.retention
    return {
        "retain_max": config.retain_max or policy.keep_at_most,
        "retain_min": config.retain_min or policy.keep_at_least,
        "older_than": instant(config.older_than) or policy.older_than(datetime.now(UTC), work.zone),
        "max_deletes": config.max_deletes,
    }


def _show_expiry(work: Work, account: Account, step: str, report: ExpireSnapshotsReport, metadata: Metadata) -> Account:
    """As `show_report`, with who holds the rest."""
    left = {}
    if not work.dry_run:
        found = who_holds(work.context.instance, work.catalog, work.table, IN_RUNS, work.context.log.warning)
        left = {} if found is None else {WHO_HOLDS: text_table(list(found.rows()))}
    return show_report(work, account, step, report, {**metadata, **left})


EXPIRE_SNAPSHOTS = Step(
    "expire_snapshots",
    "Expires snapshots and deletes what only they used; tags and consumers keep theirs.",
    ExpireSnapshotsConfig,
    arguments=_expire_snapshots_arguments,
    preview=lambda work, chosen: Preview(
        plan_expire_snapshots(work.table, spark=work.spark_source, **chosen),
        expire_snapshots(work.table, **chosen, dry_run=True, progress=work.say, spark=work.spark_source),
    ),
    apply=lambda work, plan: apply_expire_snapshots(
        work.table, plan, work.say, into_bin(work, "expire_snapshots"), work.spark_source
    ),
    run=lambda work, chosen: expire_snapshots(
        work.table, **chosen, progress=work.say, into=into_bin(work, "expire_snapshots"), spark=work.spark_source
    ),
    show=_show_expiry,
    uses_spark=True,
)


def _expire_partitions_arguments(work: Work) -> Arguments | None:
    life = duration(work.config.expiration_time) if work.config.expiration_time else None
    if PartitionRules.of(work.table, life) is None:
        work.say("Nothing expires: the table has no partitions, or no 'partition.expiration-time'.")
        return None
    return {"expiration_time": life, "max_expires": work.config.max_expires}


EXPIRE_PARTITIONS = Step(
    "expire_partitions",
    "Drops partitions older than partition.expiration-time; without that option it does nothing.",
    ExpirePartitionsConfig,
    arguments=_expire_partitions_arguments,
    preview=lambda work, chosen: Preview(
        plan_expire_partitions(work.table, spark=work.spark_source, **chosen),
        expire_partitions(work.table, **chosen, dry_run=True, progress=work.say, spark=work.spark_source),
    ),
    apply=lambda work, plan: apply_expire_partitions(work.table, plan, work.say, work.spark_source),
    run=lambda work, chosen: expire_partitions(work.table, **chosen, progress=work.say, spark=work.spark_source),
    uses_spark=True,
)

EXPIRE_TAGS = Step(
    "expire_tags",
    "Deletes tags past their retention, and what only they used.",
    ExpireTagsConfig,
    arguments=lambda work: {"older_than": instant(work.config.older_than)},
    preview=lambda work, chosen: Preview(
        plan_expire_tags(work.table, spark=work.spark_source, **chosen),
        expire_tags(work.table, **chosen, dry_run=True, progress=work.say, spark=work.spark_source),
    ),
    apply=lambda work, plan: apply_expire_tags(
        work.table, plan, work.say, into_bin(work, "expire_tags"), work.spark_source
    ),
    run=lambda work, chosen: expire_tags(
        work.table, **chosen, progress=work.say, into=into_bin(work, "expire_tags"), spark=work.spark_source
    ),
    uses_spark=True,
)


def instant(text: str | None) -> datetime | None:
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
