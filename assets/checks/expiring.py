"""Is there something to expire, and nothing that will do it? Old snapshots then pile up, and their files with them."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from maintenance.amounts import number_of, size_text
from maintenance.monitor.judgement import Judgement
from maintenance.operations.expiry.kept_snapshots import KeptSnapshots
from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.project.config import TableConfig
from maintenance.project.effective import said_of
from paimon_maintenance.assets import keys

EXPIRY_DUE = "expiry_due"
_RETENTION_OPTIONS = ("snapshot.num-retained.min", "snapshot.num-retained.max", "snapshot.time-retained")


def retention_of(config: TableConfig, now: datetime, zone: ZoneInfo) -> RetentionChoice:
    """What tables.yaml says of a table's retention. `now`: with a time zone; `zone`: used where that names none."""
    policy = config.retention
    return RetentionChoice(policy.keep_at_most, policy.keep_at_least, policy.older_than(now, zone))


def retention_text(config: TableConfig, options: Mapping[str, str]) -> str:
    """The rule by which snapshots expire, and where it is set. `options`: of the table."""
    named = [f"{key} = {options[key]} (option of the table)" for key in _RETENTION_OPTIONS if key in options]
    return said_of(config, "retention") or "; ".join(named) or "Paimon's defaults"


def expiry_due(
    config: TableConfig,
    kept: KeptSnapshots,
    live_bytes: int,
    *,
    expires: bool,
    freed: int | None = None,
    options: Mapping[str, str] = MappingProxyType({}),
) -> Judgement:
    """No snapshot is past its retention and old states hold few bytes, or the schedule is on that expires them.

    Args: `live_bytes`: of the newest state; `expires`: that schedule is on; `freed`: bytes that the next expiry frees,
        None = they are not added up; `options`: of the table.
    """
    old_bytes = None if kept.by_snapshots is None else kept.by_snapshots.bytes
    share = old_bytes / (old_bytes + live_bytes) if old_bytes else 0.0
    details: dict[str, Any] = {"snapshots": kept.count, "due": kept.due, "share": round(share, 4)}
    if old_bytes is not None:
        details["old bytes"] = old_bytes
    if freed is not None:
        details["bytes that the next expiry frees"] = freed
    details["retention"] = rule = retention_text(config, options)
    frees = "" if freed is None else f"; the next expiry frees {size_text(freed)}, by {rule}"
    held = f", old snapshots hold {size_text(old_bytes)} beside {size_text(live_bytes)}" if old_bytes else ""
    due = f"{number_of(kept.due, 'snapshot')} of {kept.count:,} can expire{held}"
    is_too_much = share > config.checks.max_retained_share
    if expires and kept.due:
        return Judgement(
            EXPIRY_DUE, True, f"{due}; the schedule {keys.EXPIRY_SCHEDULE} does it{frees}", details=details
        )
    if expires or not (kept.due or is_too_much):
        return Judgement(EXPIRY_DUE, True, f"nothing has to expire: {due}{frees}", details=details)
    limit = f", more than max_retained_share, {config.checks.max_retained_share:.0%}" if is_too_much else ""
    summary = f"{due}{limit}, and the schedule {keys.EXPIRY_SCHEDULE} is off{frees}"
    fix = f"Switch the schedule {keys.EXPIRY_SCHEDULE} on, or launch the job {keys.job_of(config, 'expire')}."
    return Judgement(EXPIRY_DUE, False, summary, fix, details)
