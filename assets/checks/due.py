"""Is something due that nothing will do? A table is healthy only when nothing is left undone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import dagster as dg

from maintenance.amounts import number_of, time_text
from maintenance.errors import NotFoundError
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.triggers import NOTHING_DUE, CompactionNeed
from maintenance.operations.expiry.expire_partitions import DuePartitions
from maintenance.operations.refs.period_tags import state_at
from maintenance.project.config import TableConfig
from maintenance.project.tag_periods import last_period, schedule_of
from maintenance.table.shape import TableShape
from maintenance.table.table import Table
from paimon_maintenance.assets import keys

# After so long without a commit no compaction is going to come by.
_IDLE = timedelta(days=1)
# States of a sensor that somebody switched on; one that its definition alone switches on has no state of its own.
_ON = ("RUNNING", "AUTOMATICALLY_RUNNING")
# A sensor whose last tick is older does not tick any more: ticks come every half minute, and may take as long.
_TICKS_WITHIN = timedelta(minutes=3)


@dataclass(frozen=True, slots=True)
class Automation:
    """What is switched on.

    Attributes:
        compacts: the sensor that starts compactions. expires: the schedule of the expiry.
        on: names of all sensors and schedules that somebody has switched on.
        judges: the sensor that judges each new snapshot, and shows what it finds, ticks.
    """

    compacts: bool = False
    expires: bool = False
    on: frozenset[str] = frozenset()
    judges: bool = False


def automation_of(instance: dg.DagsterInstance, location: str | None) -> Automation:
    """What is switched on. `location`: name of the code location; None = any."""
    on, judges = set(), False
    since = (datetime.now(UTC) - _TICKS_WITHIN).timestamp()
    for state in instance.all_instigator_state():
        origin = state.origin.repository_origin.code_location_origin
        if location is None or origin.location_name == location:
            if state.status.value in _ON:
                on.add(state.name)
            ticked = getattr(state.instigator_data, "last_tick_timestamp", None)
            judges |= state.name == keys.RADAR_SENSOR and state.is_running and (ticked or 0.0) > since
    return Automation(keys.LATEST_SENSOR in on, keys.EXPIRY_SCHEDULE in on, frozenset(on), judges)


def location_of(run: dg.DagsterRun) -> str | None:
    """The name of the code location that a run belongs to, where it is known."""
    origin = run.remote_job_origin
    return None if origin is None else origin.repository_origin.code_location_origin.location_name


@dataclass(frozen=True, slots=True)
class Chore:
    """Something that is due.

    Attributes:
        what: a clause: ``3 snapshots can expire``.
        done_by: what does it, as ``the schedule daily_expiry``; empty: nothing will.
        why: why nothing will; `fix`: what to do then.
    """

    what: str
    done_by: str
    why: str = ""
    fix: str = ""


def nothing_due(need: CompactionNeed, chores: Sequence[Chore]) -> Judgement:
    """Nothing is due, or something is going to do it. `chores`: what is due, the compaction among it."""
    details = {"due": int(need.due), "files": need.files, "sorted runs": need.max_sorted_runs}
    if not chores:
        return Judgement(NOTHING_DUE, True, f"nothing is due: {need.reason}", details=details)
    undone = [chore for chore in chores if not chore.done_by]
    if not undone:
        summary = "; ".join(f"{chore.what}; {chore.done_by}" for chore in chores)
        return Judgement(NOTHING_DUE, True, summary, details=details)
    summary = "; ".join(f"{chore.what}, and {chore.why}" for chore in undone)
    return Judgement(NOTHING_DUE, False, summary, " ".join(dict.fromkeys(chore.fix for chore in undone)), details)


def compaction_chore(
    config: TableConfig, need: CompactionNeed, automation: Automation, reported_by: str | None
) -> Iterator[Chore]:
    """The compaction, if it is due. `reported_by`: the check that asks for it already."""
    if not need.due:
        return
    what, job = f"a compaction is due: {need.reason}", keys.job_of(config, "compact")
    if reported_by is not None:
        yield Chore(what, f"{reported_by} reports it")
    elif not config.compaction.automatic:
        fix = f"Launch the job {job}, or set a larger 'trigger'."
        yield Chore(what, "", "'automatic' of its compaction is false", fix)
    elif automation.compacts:
        yield Chore(what, f"the sensor {keys.LATEST_SENSOR} starts it")
    else:
        yield Chore(
            what, "", f"the sensor {keys.LATEST_SENSOR} is off", f"Switch the sensor on, or launch the job {job}."
        )


def expiry_chore(
    config: TableConfig, snapshots: int, tags: int, partitions: DuePartitions | None, automation: Automation
) -> Iterator[Chore]:
    """The expiry, if there is something to expire. `snapshots`, `tags`: how many."""
    counts = [(snapshots, "snapshot"), (tags, "tag"), (partitions.count if partitions else 0, "partition")]
    going = [number_of(count, noun) for count, noun in counts if count]
    if not going:
        return
    listed = f"{', '.join(going[:-1])} and {going[-1]}" if len(going) > 1 else going[0]
    what, schedule = f"{listed} can expire", keys.EXPIRY_SCHEDULE
    fix = f"Switch the schedule {schedule} on, or launch the job {keys.job_of(config, 'expire')}."
    done_by = f"the schedule {schedule} does it" if automation.expires else ""
    yield Chore(what, done_by, f"the schedule {schedule} is off", fix)


def index_chore(
    config: TableConfig, table: Table, shape: TableShape, automation: Automation, now: datetime
) -> Iterator[Chore]:
    """File indexes that are declared and that files have not got. A compaction that is started builds them."""
    lacking = shape.files - shape.index_files
    if not lacking or not config.has_file_index:
        return
    lack = "lacks" if lacking == 1 else "lack"
    what = f"{lacking:,} of {number_of(shape.files, 'file')} {lack} a file index that is declared"
    job = keys.job_of(config, "compact")
    fix = f"Launch the job {job}: its step rewrite_file_index builds them."
    snapshot = table.latest_snapshot()
    idle = snapshot is not None and now - datetime.fromtimestamp(snapshot.time_millis / 1000, now.tzinfo) > _IDLE
    if idle:
        yield Chore(what, "", "no compaction has come by for a day", fix)
    elif config.compaction.automatic and automation.compacts:
        yield Chore(what, "the next compaction builds them")
    else:
        yield Chore(what, "", "nothing starts its compactions", fix)


def tag_chore(config: TableConfig, table: Table, automation: Automation, zone: ZoneInfo) -> Iterator[Chore]:
    """The tag of the last period, if it is missing and its state is still there."""
    policy = config.period_tags
    period = None if policy is None else last_period(policy, zone)
    if policy is None or period is None or table.tags.find(period.name) is not None:
        return
    try:
        if state_at(table, period.end) is None:
            return  # the table is younger
    except NotFoundError:
        return  # that state has expired: no tag can be made any more
    what = f"the tag {period.name} of the period that ended at {time_text(period.end)} is missing"
    schedule = schedule_of(policy.cron or "", policy.time_zone or str(zone))
    asset = "/".join(keys.tags(config.identifier).path)
    fix = f"Switch the schedule {schedule} on, or materialise the period of the asset {asset}."
    done_by = f"the schedule {schedule} makes it" if schedule in automation.on else ""
    yield Chore(what, done_by, f"the schedule {schedule} is off", fix)
