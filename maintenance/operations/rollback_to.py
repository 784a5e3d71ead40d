"""Go back to an earlier state: procedures `rollback`, `rollback_to_timestamp`. Source: metadata section 10.3, Java
`RollbackHelper`.

The snapshots after the one to stay go, newest first, so that a process that dies leaves an earlier state of the table,
never a part of one; the same call finishes the work. Then long-lived changelogs and tags of later snapshots go. As with
Paimon no data and no manifest is deleted, and schemas stay: what only the lost snapshots used belongs to nobody then.

Of an expired snapshot that a tag holds the file is written first. It counts as the earliest once the others are gone.
"""

from dataclasses import dataclass

from maintenance.errors import ConflictError, NotFoundError
from maintenance.format.snapshot import Snapshot, serialize_snapshot
from maintenance.metadata.snapshots import EARLIEST, LATEST
from maintenance.options import table as table_options
from maintenance.scan.startup import AtTime
from maintenance.scan.time_travel import FullState
from maintenance.table.table import Table

_CHANGELOG = "changelog-"


@dataclass(frozen=True, slots=True)
class RollbackReport:
    """What a rollback did. `previous`, `current`: ids of the latest snapshot; `tags`: those that went."""

    table: str
    previous: int
    current: int
    tags: tuple[str, ...]


def rollback_to(
    table: Table, *, snapshot_id: int | None = None, tag: str | None = None, timestamp_millis: int | None = None
) -> RollbackReport:
    """Roll a table or branch back.

    Args: exactly one of `snapshot_id`: also of an expired snapshot that a tag holds; `tag`: its name;
        `timestamp_millis`: the last snapshot at that time or before, milliseconds since 1970-01-01 UTC.
    Raises: NotFoundError: no such snapshot; ConflictError: another writer committed meanwhile: run again.
    """
    assert sum(part is not None for part in (snapshot_id, tag, timestamp_millis)) == 1
    table_options.check_writable(table.options, table.identifier)
    if tag is not None:
        target = table.tags.get(tag).snapshot
    elif timestamp_millis is not None:
        target = _at_time(table, timestamp_millis)
    else:
        assert snapshot_id is not None
        target = _by_id(table, snapshot_id)
    previous = table.snapshots.latest_id()
    if previous is None:
        raise NotFoundError("there is no snapshot to go back from", table.identifier, "Write to the table first.")
    # Before anything goes: a tag that cannot be read must end this while the table is still whole.
    gone = tuple(name for name, held in table.tags.all().items() if held.snapshot.id > target.id)
    truncate_history(table, target)
    for name in gone:
        table.tags.remove(name)
    latest = table.snapshots.latest_id()
    if latest != target.id:
        raise ConflictError(
            f"another writer committed snapshot {latest} meanwhile", table.identifier, "Stop the writers and run again."
        )
    return RollbackReport(table.identifier, previous, target.id, gone)


def _at_time(table: Table, millis: int) -> Snapshot:
    found = table.history().target(AtTime(millis))
    assert isinstance(found, FullState)
    assert found.snapshot is not None
    return found.snapshot


def _by_id(table: Table, snapshot_id: int) -> Snapshot:
    found = table.snapshots.find(snapshot_id)
    earliest = table.snapshots.earliest_id()
    if found is not None and earliest is not None and snapshot_id >= earliest:
        return found
    for held in table.tags.all().values():
        if held.snapshot.id == snapshot_id:
            return held.snapshot
    raise NotFoundError(
        f"snapshot {snapshot_id} does not exist and no tag holds it",
        table.identifier,
        f"Use one of {earliest} to {table.snapshots.latest_id()}, or a tag: {', '.join(table.tags.names()) or 'none'}.",
    )


def truncate_history(table: Table, last: Snapshot) -> None:
    """Make a snapshot the latest: those after it go, newest first, and long-lived changelogs of theirs."""
    snapshots, file_io = table.snapshots, table.file_io
    earliest = snapshots.earliest_id()
    if not snapshots.exists(last.id):
        file_io.publish(snapshots.paths.snapshot(last.id), serialize_snapshot(last))
    snapshots.write_hint(LATEST, last.id)
    for snapshot_id in reversed(snapshots.list_ids()):
        if snapshot_id > last.id:
            file_io.delete_quietly([snapshots.paths.snapshot(snapshot_id)])
    if earliest is None or earliest > last.id:
        snapshots.write_hint(EARLIEST, last.id)
    _truncate_changelogs(table, last.id)


def _truncate_changelogs(table: Table, last: int) -> None:
    folder = table.paths.changelog_folder()
    names = [name for name in table.file_io.list_names(folder) if name.startswith(_CHANGELOG)]
    ids = sorted(int(text) for name in names if (text := name.removeprefix(_CHANGELOG)).isdecimal())
    if not ids or ids[-1] <= last:
        return
    kept = [number for number in ids if number <= last]
    # Java writes -1 where none is left.
    table.file_io.overwrite(f"{folder}/{LATEST}", str(kept[-1] if kept else -1).encode())
    for number in reversed(ids):
        if number > last:
            table.file_io.delete_quietly([f"{folder}/{_CHANGELOG}{number}"])
