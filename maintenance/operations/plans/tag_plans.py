"""Stored plans of what moves tags and consumers: another snapshot, another name, or none any more."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.operations.expiry.tag_removal import plan_tag_removal
from maintenance.operations.plans.dry_run_plans import DryRunPlan, tag_group
from maintenance.operations.plans.stored_plan import PlannedGroup
from maintenance.operations.refs.clear_consumers import clear_consumers
from maintenance.operations.refs.create_tag import TagReport
from maintenance.operations.refs.rename_tag import rename_tag
from maintenance.operations.refs.replace_tag import replace_tag
from maintenance.operations.refs.reset_consumer import reset_consumer
from maintenance.operations.refs.snapshot_choice import counted_or_tagged
from maintenance.operations.refs.trigger_tag_automatic_creation import (
    AutomaticTagsReport,
    trigger_tag_automatic_creation,
)
from maintenance.table.table import Table

# What a dry run says besides its report.
_Moved = tuple[str, str]


def _files_of(table: Table, names: Iterable[str]) -> Iterator[PlannedGroup]:
    """What only these tags need."""
    deletions = plan_tag_removal(table, {name: table.tags.get(name) for name in names}).deletions
    if deletions:
        yield PlannedGroup("files", tuple(sorted(deletions)), sum(deletions.values()), 0, "only they use")


def _replaced(table: Table, report: TagReport) -> Iterator[PlannedGroup]:
    before, after = table.tags.get(report.name), counted_or_tagged(table, report.snapshot_id)
    life = "" if before.time_retained is None else f", kept for {before.time_retained}"
    group = tag_group(table, report.name, f"{life}; holds snapshot {report.snapshot_id} then", 1)
    yield group if after is None else replace(group, state=f"{group.state} {SnapshotIdentity.of(after)}")
    if before.snapshot.id != report.snapshot_id:
        yield from _files_of(table, [report.name])


def _rename(table: Table, *, tag: str, target_tag: str, dry_run: bool = False) -> _Moved:
    rename_tag(table, tag, target_tag, dry_run=dry_run)
    return tag, target_tag


def _renamed(table: Table, names: _Moved) -> Iterator[PlannedGroup]:
    old, new = names
    if old != new:
        yield tag_group(table, old, f"; is named {new} then", 1)


def _automatic(table: Table, report: AutomaticTagsReport) -> Iterator[PlannedGroup]:
    there = set(table.tags.names())
    yield from (PlannedGroup(f"tag {name}", (), 0, 1, "is created") for name in report.created)
    gone = dict.fromkeys(report.deleted, "is beyond tag.num-retained-max")
    gone |= dict.fromkeys(report.expired, "is past its retention")
    for name, why in gone.items():
        if name in there:
            yield tag_group(table, name, f"; {why}")
    yield from _files_of(table, [name for name in gone if name in there])


def _position(table: Table, consumer: str) -> str:
    try:
        return f"reads snapshot {table.consumers.find(consumer)} next"
    except CorruptFileError:
        return "its file is damaged"


def _reset(table: Table, *, consumer: str, next_snapshot: int | None = None, dry_run: bool = False) -> _Moved:
    reset_consumer(table, consumer, next_snapshot, dry_run=dry_run)
    return consumer, "is deleted" if next_snapshot is None else f"reads snapshot {next_snapshot} next then"


def _moved_consumer(table: Table, moved: _Moved) -> Iterator[PlannedGroup]:
    consumer, then = moved
    now = _position(table, consumer) if consumer in table.consumers.names() else "is new"
    yield PlannedGroup(f"consumer {consumer}", (), 0, int(then != "is deleted"), f"{now}; {then}")


def _cleared(table: Table, names: Iterable[str]) -> Iterator[PlannedGroup]:
    for name in names:
        yield PlannedGroup(f"consumer {name}", (), 0, 0, f"{_position(table, name)}; is deleted")


REPLACE_TAG: DryRunPlan[TagReport] = DryRunPlan("replace_tag", replace_tag, _replaced)
RENAME_TAG: DryRunPlan[Any] = DryRunPlan("rename_tag", _rename, _renamed)
AUTOMATIC_TAGS: DryRunPlan[AutomaticTagsReport] = DryRunPlan(
    "trigger_tag_automatic_creation", trigger_tag_automatic_creation, _automatic, timed=True
)
RESET_CONSUMER: DryRunPlan[Any] = DryRunPlan("reset_consumer", _reset, _moved_consumer)
CLEAR_CONSUMERS: DryRunPlan[tuple[str, ...]] = DryRunPlan("clear_consumers", clear_consumers, _cleared)
