"""Make an earlier state the newest one by a commit: procedure `rollback_to_as_latest`.

One OVERWRITE snapshot takes out the files that came since and brings back those that went; no file is copied, and later
snapshots and tags stay. So writers may go on meanwhile, readers see one state or the other, and the step can be taken
back in the same way. An expiry of Java deletes files by what snapshots took out, not by what needs them: therefore a
snapshot without a tag gets one, as there. The schema stays the newest, since it reads older files. Commits keep their
numbers: a writer that repeats a batch which was taken out learns that the table already has it.
Source: Java `RollbackToAsLatestProcedure`, `FileStoreCommitImpl.rollbackToAsLatest`.
"""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.errors import CommitError, NotFoundError, OptionError
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.completeness import check_complete
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.refs.create_tag import create_tag, snapshot_to_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.options import table as table_options
from maintenance.table.table import Table, identity_of

_TAG_PREFIX = "rollback-to-as-latest-"


@dataclass(frozen=True, slots=True)
class RollbackToAsLatestReport(OperationReport):
    """What it did, or would do.

    Attributes:
        previous: id of the newest snapshot before.
        target: id of the snapshot whose state is the newest again.
        current: id of the new snapshot; None: of a dry run, or the state is the newest one already.
        tag: that keeps the target; None as before.
        returning_files, leaving_files: how many come back, and how many are taken out.
        returning_rows, leaving_rows: in these.
    """

    table: str
    previous: int
    target: int
    current: int | None
    tag: str | None
    returning_files: int
    leaving_files: int
    returning_rows: int
    leaving_rows: int


@dataclass(frozen=True, slots=True)
class RollbackToAsLatest:
    """The state to bring back: that of one of these."""

    snapshot_id: Annotated[int | None, Param("The snapshot whose state becomes the newest.", others=("snapshot",))] = (
        None
    )
    tag: Annotated[str | None, Param("Restore the state of this tag.")] = None


@dataclass(frozen=True, slots=True)
class _Work:
    target: Snapshot
    latest: Snapshot
    differs: bool


def plan(_: Run, table: Table, request: RollbackToAsLatest) -> Plan[RollbackToAsLatest, RollbackToAsLatestReport]:
    """The files that would come back, and those that would be taken out."""
    if (request.snapshot_id is None) == (request.tag is None):
        raise OptionError("a rollback needs exactly one target", table.identifier, "Name one snapshot or tag.")
    table_options.check_keepable(table.options, table.identifier)
    by_tag = None if request.tag is None else table.tags.get(request.tag).snapshot
    target = snapshot_to_tag(table, request.snapshot_id) if by_tag is None else by_tag
    latest = table.latest_snapshot()
    if latest is None:
        raise NotFoundError("the table has no snapshot", table.identifier, "Write to the table first.")
    check_complete(table.manifests, target)
    changes = _changes(table, target, latest)
    report = _report(table, latest.id, target, changes)

    def groups() -> Iterator[PlannedGroup]:
        if report.previous == report.target:
            return
        state = f"{number_of(report.leaving_files, 'file')} with {report.leaving_rows} rows are taken out"
        yield PlannedGroup(f"state of snapshot {report.previous}", (), 0, 0, state)
        state = f"{number_of(report.returning_files, 'file')} with {report.returning_rows} rows come back"
        yield PlannedGroup.of_snapshot(f"state of snapshot {report.target}", target, 0, state)

    return Plan(request, report, groups, _Work(target, latest, _differs(table, changes, latest)))


def apply(
    _run: Run, table: Table, planned: Plan[RollbackToAsLatest, RollbackToAsLatestReport]
) -> RollbackToAsLatestReport:
    """Commit the planned state again."""
    work: _Work = planned.work
    target = work.target
    if not work.differs:
        return planned.report
    held = planned.request.tag or _tag_of(table, target)
    kept = held or create_tag(table, f"{_TAG_PREFIX}{target.id}-{uuid.uuid4()}", snapshot_id=target.id).name
    identity = identity_of(table, "rollback_to_as_latest")
    commit, before, changes = CommitAttempts(table.commit_target(), identity), work.latest, None
    try:
        for attempt in commit:
            with attempt:
                before = attempt.latest or work.latest
                changes = _changes(table, target, before)
                attempt.commit(changes)
    except CommitError:
        # Nothing is published, so the tag is of no use.
        if held is None and not commit.may_be_published:
            delete_tag(table, kept)
        raise
    assert changes is not None
    report = _report(table, before.id, target, changes)
    return replace(report, current=commit.snapshot_id(), tag=kept)


def _shown(report: RollbackToAsLatestReport) -> Shown:
    row: dict[str, object] = {
        "previous_snapshot_id": report.previous,
        "rolled_back_snapshot_id": report.target,
        "current_snapshot_id": report.current or report.previous,
    }
    if report.dry_run:
        counts = ("returning_files", "returning_rows", "leaving_files", "leaving_rows")
        row |= {name: getattr(report, name) for name in counts}
    return Shown.one(row, nothing_to_do=report.current is None and not report.dry_run)


def _said(report: RollbackToAsLatestReport) -> Iterator[str]:
    verb = "would come back" if report.dry_run else "come back"
    back = f"{number_of(report.returning_files, 'file')} with {report.returning_rows:,} rows {verb}"
    back += f" from snapshot {report.target}"
    yield f"{report.table}: {back}, in place of {report.leaving_files} with {number_of(report.leaving_rows, 'row')}."


OPERATION = Operation(
    "rollback_to_as_latest",
    "Commit the state of a snapshot or tag as the newest snapshot.",
    RollbackToAsLatest,
    plan,
    apply,
    _shown,
    said=_said,
)


def _tag_of(table: Table, target: Snapshot) -> str | None:
    """The tag that an earlier rollback, maybe one that died, has given the target."""
    tags = table.tags.all().items()
    return next((name for name, tag in tags if name.startswith(_TAG_PREFIX) and tag.snapshot == target), None)


def _changes(table: Table, target: Snapshot, newest: Snapshot) -> Changes:
    """What turns the newest state into that of the target."""
    there = {entry.identity: entry for entry in table.manifests.live_entries(newest)}
    wanted = {entry.identity: entry for entry in table.manifests.live_entries(target)}
    leaving = (replace(e, kind=FileKind.DELETE) for identity, e in there.items() if identity not in wanted)
    returning = (entry for identity, entry in wanted.items() if identity not in there)
    index = table.manifests.read_index(target)
    return Changes(CommitKind.OVERWRITE, (*leaving, *returning), index=lambda _: index, bring_back=True)


def _differs(table: Table, changes: Changes, newest: Snapshot) -> bool:
    assert changes.index is not None
    now = table.manifests.read_index(newest)
    return bool(changes.entries) or changes.index(now) != now


def _report(table: Table, previous: int, target: Snapshot, changes: Changes) -> RollbackToAsLatestReport:
    returning, leaving = (
        [entry.file.row_count for entry in changes.entries if entry.kind == kind]
        for kind in (FileKind.ADD, FileKind.DELETE)
    )
    files = len(returning), len(leaving), sum(returning), sum(leaving)
    return RollbackToAsLatestReport(table.identifier, previous, target.id, None, None, *files)


rollback_to_as_latest = OPERATION.function(
    """Commit the state of a snapshot or tag as the newest snapshot.

    Args:
        dry_run: only report what would change.
    Raises: OptionError: not exactly one target; NotFoundError: no such snapshot or tag; CorruptFileError: a file of the
        target is missing or damaged, nothing has changed then; CommitError: other writers kept publishing first.
    """
)
