"""Point a tag to another snapshot: procedure `replace_tag`.

The old snapshot is released only when it is certain that the new one stays: it may be expiring at that moment. So tags
of their own hold both snapshots meanwhile. If the process dies, these expire by themselves after an hour.
Source: metadata section 10.2, Java `TagManager`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Annotated

from maintenance.errors import ConflictError, ExpiredError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.completeness import check_complete
from maintenance.metadata.expired import unless_expired
from maintenance.metadata.zone import local_time
from maintenance.operations.expiry.tag_removal import plan_tag_removal
from maintenance.operations.operation import Operation, Plan, Run
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.planned_groups import files_group, tag_group
from maintenance.operations.refs.create_tag import TagReport, snapshot_to_tag
from maintenance.operations.refs.holding import expired_meanwhile, holding, is_lost, take_back
from maintenance.options import table as table_options
from maintenance.table.table import Table

_HOLDER = "replacing"


@dataclass(frozen=True, slots=True)
class ReplaceTag:
    """Which tag, and what it holds then."""

    name: Annotated[str, Param("Name of the tag.", name="tag", others=("tag_name",))]
    snapshot_id: Annotated[int | None, Param("The snapshot to hold; empty: the newest.", others=("snapshot",))] = None
    time_retained: Annotated[timedelta | None, Param("How long the tag lives from then on, e.g. 90 d.")] = None


@dataclass(frozen=True, slots=True)
class _Tags:
    before: Tag
    after: Tag


def plan(run: Run, table: Table, request: ReplaceTag) -> Plan[ReplaceTag, TagReport]:
    """The tag as it is and as it will be; what only it holds goes with the snapshot that it leaves."""
    table_options.check_keepable(table.options, table.identifier)
    before = table.tags.get(request.name)
    snapshot = snapshot_to_tag(table, request.snapshot_id)
    default = table.model.tag_default_time_retained
    retained = default if request.time_retained is None else request.time_retained
    tag = Tag(snapshot, None if retained is None else local_time(run.now), retained)
    removal = None
    if tag != before:
        _check_stays(table, snapshot)
        removal = plan_tag_removal(table, {request.name: before})

    def groups() -> Iterator[PlannedGroup]:
        life = "" if before.time_retained is None else f", kept for {before.time_retained}"
        group = tag_group(table, request.name, f"{life}; holds snapshot {snapshot.id} then", 1)
        yield replace(group, state=f"{group.state} {SnapshotIdentity.of(snapshot)}")
        if removal is not None and SnapshotIdentity.of(before.snapshot) != SnapshotIdentity.of(snapshot):
            yield from files_group(removal.deletions, sum(removal.deletions.values()))

    report = TagReport.of(table, request.name, snapshot, created=False)
    return Plan(request, report, groups, _Tags(before, tag))


def apply(run: Run, table: Table, planned: Plan[ReplaceTag, TagReport]) -> TagReport:
    """Let the tag hold the planned snapshot."""
    name, tags = planned.request.name, planned.work
    assert isinstance(tags, _Tags)
    if tags.after != tags.before:
        with (
            holding(table, tags.before.snapshot, _HOLDER, run.now, run.progress),
            holding(table, tags.after.snapshot, _HOLDER, run.now, run.progress),
        ):
            if table.tags.find(name) != tags.before:
                problem = f"tag '{name}' was moved or deleted meanwhile"
                raise ConflictError(problem, table.identifier, "Look at the tag, and run again.")
            table.tags.replace(name, tags.after)
            if is_lost(table, name, tags.after.snapshot):
                # Somebody let all tags expire, whatever their time: the one that held it, too.
                take_back(table, name)
                raise expired_meanwhile(table, tags.after.snapshot)
    return planned.report


OPERATION = Operation("replace_tag", "Move a tag to another snapshot.", ReplaceTag, plan, apply, has_job=False)


def _check_stays(table: Table, snapshot: Snapshot) -> None:
    """Check that the snapshot can be read. Raises: NotFoundError: it expired meanwhile; as `check_complete`."""
    try:
        with unless_expired(table.file_io, table.paths, snapshot.id):
            check_complete(table.manifests, snapshot)
    except ExpiredError:
        raise expired_meanwhile(table, snapshot) from None


replace_tag = OPERATION.function(
    """Move a tag to another snapshot, or change its lifetime.

    Files that only the tag used are deleted; Java leaves them.

    Args:
        dry_run: only check that it can be done.
    Raises: NotFoundError: no such tag or snapshot; CorruptFileError: a file that the snapshot needs is missing or
        damaged, or as `expire_tags`: nothing has changed then; UnsupportedError.
    """,
    takes=("progress", "now"),
)
