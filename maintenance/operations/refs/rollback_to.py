"""Go back to an earlier state: procedures `rollback`, `rollback_to_timestamp`,
`rollback_to_watermark`. Source: metadata section 10.3, Java
`RollbackHelper`.

First it checks that all files of the target state exist. Then later snapshots are deleted, newest first, so that after
a crash the table is in an earlier complete state, and the same call finishes the work. Then long-lived changelogs and
tags of later snapshots are deleted. As in Paimon, no data files, manifests or schemas are deleted: files that only the
lost snapshots used become orphans.

Of an expired snapshot that a tag holds the file is written first. It counts as the earliest once the others are gone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.commit.iceberg.follow import follow
from maintenance.errors import ConflictError, NotFoundError, OptionError, WriteError
from maintenance.format.metadata.snapshot import Snapshot, serialize_snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.changelogs import Changelogs
from maintenance.metadata.completeness import check_complete
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.identity import unexpected
from maintenance.metadata.own_files import check_own_files
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown, Spelling
from maintenance.operations.parameters import MILLIS, Param, Value, text
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.planned_groups import committed
from maintenance.operations.refs.expired_changes import without_expired_changes
from maintenance.operations.refs.snapshot_choice import counted_or_tagged
from maintenance.options import table as table_options
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class RollbackReport(OperationReport):
    """What a rollback did, or would do.

    `previous`, `current`: ids of the latest snapshot; `tags`: those that went; `snapshots`: ids of those that went.
    """

    table: str
    previous: int
    current: int
    tags: tuple[str, ...]
    snapshots: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RollbackTo:
    """The state to go back to: one of these."""

    snapshot_id: Annotated[int | None, Param("The snapshot that is the newest afterwards.", others=("snapshot",))] = (
        None
    )
    tag: Annotated[str | None, Param("Go back to the snapshot of this tag.")] = None
    timestamp_millis: Annotated[
        int | None, Param("Go back to the last snapshot at or before this time.", name="timestamp", unit=MILLIS)
    ] = None
    watermark: Annotated[int | None, Param("Go back to the last snapshot with at most this watermark.")] = None


def plan(_: Run, table: Table, request: RollbackTo) -> Plan[RollbackTo, RollbackReport]:
    """The snapshots and tags that would go; everything is checked that can be before they do."""
    table.record.check_may_move("a rollback", table.identifier)
    target = _target(table, request)
    previous = table.snapshots.latest_id()
    if previous is None:
        raise NotFoundError("the table has no snapshot", table.identifier, "Write to the table first.")
    # Before anything goes: a tag that cannot be read must end this while the table is still whole.
    held = {name: tag.snapshot for name, tag in table.tags.all().items() if tag.snapshot.id > target.id}
    check_complete(table.manifests, target)
    _check_replaced(table, target)
    later = tuple(number for number in table.snapshots.list_ids() if number > target.id)
    report = RollbackReport(table.identifier, previous, target.id, tuple(held), later)

    def groups() -> Iterator[PlannedGroup]:
        for number in later:
            snapshot = table.snapshots.find(number)
            reason = f"is after snapshot {target.id}; {committed(snapshot)}"
            yield PlannedGroup.of_snapshot(f"snapshot {number}", snapshot, 0, reason)
        for name, snapshot in held.items():
            yield PlannedGroup.of_snapshot(f"tag {name}", snapshot, 0, f"is of a later snapshot; {committed(snapshot)}")

    return Plan(request, report, groups, target)


def _target(table: Table, request: RollbackTo) -> Snapshot:
    chosen = (request.snapshot_id, request.tag, request.timestamp_millis, request.watermark)
    if sum(part is not None for part in chosen) != 1:
        raise OptionError(
            "a rollback needs exactly one target", table.identifier, "Name one snapshot, tag, time or watermark."
        )
    table_options.check_keepable(table.options, table.identifier)
    if request.tag is not None:
        return table.tags.get(request.tag).snapshot
    if request.timestamp_millis is not None:
        return table.history().at_time(request.timestamp_millis)
    if request.watermark is not None:
        return table.history().before_watermark(request.watermark)
    return _by_id(table, request.snapshot_id or 0)


def apply(_: Run, table: Table, planned: Plan[RollbackTo, RollbackReport]) -> RollbackReport:
    """Make the planned snapshot the newest."""
    target: Snapshot = planned.work
    truncate_history(table, target)
    for name in planned.report.tags:
        table.tags.remove(name)
    paths = table.paths
    table.file_io.flush_folders((paths.snapshot_folder(), paths.changelog_folder(), paths.tag_folder()))
    latest = table.snapshots.latest_id()
    if latest != target.id:
        raise ConflictError(
            f"another writer committed snapshot {latest} meanwhile", table.identifier, "Stop the writers and run again."
        )
    follow(table.identifier, table.file_io, table.paths, table.options)
    return planned.report


def _shown(report: RollbackReport) -> Shown:
    row: dict[str, object] = {"previous_snapshot_id": report.previous, "current_snapshot_id": report.current}
    if report.dry_run:
        row |= {"snapshots": len(report.snapshots), "tags": ", ".join(report.tags)}
    return Shown.one(row)


def _by_version(value: Value) -> dict[str, object]:
    """The version is the id of a snapshot, or the name of a tag."""
    return {"snapshot_id": int(value)} if str(value).isdecimal() else {"tag": str(value)}


def _by_tag_or_id(value: Value) -> dict[str, object]:
    """Flink gives a tag or a snapshot in the second place."""
    is_id = isinstance(value, int) and not isinstance(value, bool)
    return {"snapshot_id": value} if is_id else {"tag": text(value)}


def _said(report: RollbackReport) -> Iterator[str]:
    verb = "would go" if report.dry_run else "are gone"
    lost = f"{number_of(len(report.snapshots), 'snapshot')} and {number_of(len(report.tags), 'tag')} {verb}"
    yield f"{report.table}: from snapshot {report.previous} to {report.current}; {lost}."


OPERATION = Operation(
    "rollback_to",
    "Roll a table back to an earlier state; later snapshots and their tags go.",
    RollbackTo,
    plan,
    apply,
    _shown,
    said=_said,
    spellings=(
        Spelling(
            "rollback",
            "Roll a table back to a snapshot or tag.",
            (Param(name="version", read=_by_version), "snapshot_id", "tag"),
        ),
        Spelling("rollback_to", "", (Param(name="tag", read=_by_tag_or_id), "snapshot_id"), has_plans=False),
        Spelling("rollback_to_timestamp", "Roll a table back to a time.", ("timestamp!",)),
        Spelling("rollback_to_watermark", "Roll a table back to a watermark.", ("watermark!",)),
    ),
)


rollback_to = OPERATION.function(
    """Roll a table or branch back to a snapshot, tag, time or watermark. Give exactly one.

    Args:
        snapshot_id: the snapshot; it may have expired if a tag holds it.
        tag: the name of the tag.
        timestamp_millis: the last snapshot at that time or before, milliseconds since 1970-01-01 UTC.
        watermark: the last snapshot whose watermark is that or earlier.
        dry_run: only check whether that is possible, and report what would go.
    Raises: OptionError: not exactly one is given; NotFoundError: no such snapshot; CorruptFileError: a file that the
        snapshot needs is missing or damaged, or a file that is to go holds another's content: nothing has changed then;
        ConflictError: another writer committed meanwhile: run again; UnsupportedError: the catalog forbids it.
    """
)


def _by_id(table: Table, snapshot_id: int) -> Snapshot:
    snapshot = counted_or_tagged(table, snapshot_id)
    if snapshot is not None:
        return snapshot
    earliest = table.snapshots.earliest_id()
    raise NotFoundError(
        f"snapshot {snapshot_id} does not exist and no tag holds it",
        table.identifier,
        f"Use one of {earliest} to {table.snapshots.latest_id()}, or a tag: {', '.join(table.tags.names()) or 'none'}.",
    )


def _check_replaced(table: Table, last: Snapshot) -> None:
    """Check what is there of the snapshot to stay, and that what goes holds no other. Raises: CorruptFileError."""
    there = table.snapshots.find(last.id)
    if there is not None and _state(there) != _state(last):
        path = table.paths.snapshot(last.id)
        raise unexpected(f"snapshot {last.id} as the tag holds it", "another one", path)
    check_own_files(Branches(table.file_io, table.paths))


def _state(snapshot: Snapshot) -> tuple[str | None, ...]:
    return snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.index_manifest


def truncate_history(table: Table, last: Snapshot) -> None:
    """Make a snapshot the latest: those after it go, newest first, and long-lived changelogs of theirs."""
    snapshots, file_io = table.snapshots, table.file_io
    earliest = snapshots.earliest_id()
    if not snapshots.exists(last.id):
        file_io.publish(snapshots.paths.snapshot(last.id), serialize_snapshot(without_expired_changes(table, last)))
    check_hint(snapshots.write_hint(LATEST, last.id), snapshots.paths.snapshot_folder())
    table.commit_records.forget_after(last.id)
    for snapshot_id in reversed(snapshots.list_ids()):
        if snapshot_id > last.id:
            file_io.delete_quietly([snapshots.paths.snapshot(snapshot_id)])
    if earliest is None or earliest > last.id:
        snapshots.write_hint(EARLIEST, last.id)
    _truncate_changelogs(table, last.id)


def check_hint(written: bool, folder: str) -> None:
    """Raises: WriteError: a LATEST hint would name a file that is about to go, where Java looks no further."""
    if not written:
        fix = "Allow this user to write into the folder 'snapshot', then run the rollback again."
        raise WriteError("the LATEST hint can neither be written nor deleted", folder, fix)


def _truncate_changelogs(table: Table, last: int) -> None:
    changelogs = Changelogs(table.file_io, table.paths)
    ids = changelogs.list_ids()
    if not ids or ids[-1] <= last:
        return
    # Java writes -1 where none is left.
    newest = max((number for number in ids if number <= last), default=-1)
    check_hint(changelogs.write_hint(LATEST, newest), table.paths.changelog_folder())
    table.file_io.delete_quietly(table.paths.changelog(number) for number in reversed(ids) if number > last)
