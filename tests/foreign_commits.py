"""Commits as another engine makes them: without the properties that this one gives its own."""

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.snapshot import Snapshot, serialize_snapshot
from maintenance.operations.compaction.compact import compact


def as_foreign(table: CatalogTable, snapshot_id: int, user: str, identifier: int | None = None) -> None:
    """Make a snapshot one of another engine. `identifier`: of its commit; None = as it is, of a batch job."""
    snapshot = table.snapshots.get(snapshot_id)
    identifier = snapshot.commit_identifier if identifier is None else identifier
    store(table, replace(snapshot, commit_user=user, commit_identifier=identifier, properties=None))


def foreign_compaction(table: CatalogTable, user: str = "flink", *, identifier: int | None = None) -> tuple[int, ...]:
    """Another engine compacts the table fully. Returns its snapshots. `identifier`: as of `as_foreign`."""
    ids = compact(None, table, full=True, beside_other_compactors=True).snapshot_ids
    for snapshot_id in ids:
        as_foreign(table, snapshot_id, user, identifier)
    return ids


def foreign_write(table: CatalogTable, rows: pa.Table, user: str = "flink") -> tuple[int, ...]:
    """Another engine writes rows, without compacting them."""
    writer = table.copy({"write-only": "true"})
    ids = writer.write_arrow(rows, commit_user=user)
    for snapshot_id in ids:
        as_foreign(table, snapshot_id, user)
    return ids


def store(table: CatalogTable, *snapshots: Snapshot) -> None:
    """Write snapshots again."""
    for snapshot in snapshots:
        table.file_io.overwrite(table.paths.snapshot(snapshot.id), serialize_snapshot(snapshot))


def drop(table: CatalogTable, snapshot_ids: Iterable[int]) -> None:
    """Snapshots that have expired, without their files."""
    for snapshot_id in snapshot_ids:
        table.file_io.delete_quietly([table.paths.snapshot(snapshot_id)])
