"""Partitions that were dropped and can still come back, each with the newest state that holds it. Reads metadata alone.

A partition went with the last snapshot whose delta deletes files of it; what these files held is what
`restore_partitions` brings back from the snapshot before. Where that one has expired, a tag may still hold them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import pyarrow as pa

from maintenance.amounts import number_of, size_text
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import again_if_expired
from maintenance.metadata.partition_value import PartitionValue
from maintenance.operations.operation import Operation, Plan, Run, Shown, as_asked
from maintenance.table.table import Table

_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class RestorablePartition:
    """A partition that no live file is of.

    Attributes:
        snapshot_id: the newest state that holds it; `tag`: that holds this state, where its snapshot has expired.
        files, rows, bytes: of it in that state; rows before merging.
        gone_at: when it went; None where the snapshot that dropped it has expired.
    """

    partition: PartitionValue
    snapshot_id: int
    tag: str | None
    files: int
    rows: int
    bytes: int
    gone_at: datetime | None


@dataclass(frozen=True, slots=True)
class RestorablePartitions:
    """All partitions of a table that can come back."""


@dataclass(frozen=True, slots=True)
class RestorablePartitionsReport:
    """`partitions`: those that went last come first."""

    table: str
    partitions: tuple[RestorablePartition, ...]


def apply(_: Run, table: Table, __: Plan[RestorablePartitions, None]) -> RestorablePartitionsReport:
    """Look for them, newest state first."""
    return again_if_expired(partial(_found, table), _ATTEMPTS)


def _found(table: Table) -> RestorablePartitionsReport:
    latest = table.latest_snapshot()
    found: dict[bytes, RestorablePartition] = {}
    if latest is None or not table.schema.partition_fields:
        return RestorablePartitionsReport(table.identifier, ())
    live = {entry.partition for entry in table.manifests.live_entries(latest)}
    tagged = {tag.snapshot.id: (name, tag.snapshot) for name, tag in table.tags.all().items()}
    kept = table.snapshots.find_many(table.snapshots.list_ids())
    for snapshot in sorted(kept.values(), key=lambda each: -each.id):
        # The state before this one; without it, what it deleted cannot be read any more.
        if snapshot.id - 1 in kept or snapshot.id - 1 in tagged:
            tag = None if snapshot.id - 1 in kept else tagged[snapshot.id - 1][0]
            gone = [entry for entry in table.manifests.delta_entries(snapshot) if entry.kind == FileKind.DELETE]
            _add(found, table, live, gone, snapshot.id - 1, tag, snapshot)
    for snapshot_id, (name, state) in sorted(tagged.items(), reverse=True):
        if snapshot_id not in kept:
            _add(found, table, live, table.manifests.live_entries(state), snapshot_id, name, None)
    return RestorablePartitionsReport(table.identifier, tuple(found.values()))


def _add(
    found: dict[bytes, RestorablePartition],
    table: Table,
    live: set[bytes],
    entries: list[ManifestEntry],
    snapshot_id: int,
    tag: str | None,
    dropped: Snapshot | None,
) -> None:
    """Add the partitions of some files that are neither live nor found in a newer state."""
    files: dict[bytes, list[ManifestEntry]] = {}
    for entry in entries:
        if entry.partition not in live and entry.partition not in found:
            files.setdefault(entry.partition, []).append(entry)
    gone_at = None if dropped is None else dropped.committed_at
    for row, of_partition in files.items():
        found[row] = RestorablePartition(
            table.paths.partition(row),
            snapshot_id,
            tag,
            len(of_partition),
            sum(entry.file.row_count for entry in of_partition),
            sum(entry.file.file_size for entry in of_partition),
            gone_at,
        )


def _shown(report: RestorablePartitionsReport) -> Shown:
    listed = report.partitions
    instant = pa.timestamp("us", "UTC")
    columns = {
        "partition": pa.array([str(each.partition) for each in listed], pa.string()),
        "snapshot_id": pa.array([each.snapshot_id for each in listed], pa.int64()),
        "tag": pa.array([each.tag for each in listed], pa.string()),
        **{name: pa.array([getattr(each, name) for each in listed], pa.int64()) for name in ("files", "rows", "bytes")},
        "gone_at": pa.array([each.gone_at for each in listed], instant),
    }
    return Shown(pa.table(columns), nothing_to_do=not listed)


def _said(report: RestorablePartitionsReport) -> Iterator[str]:
    for each in report.partitions:
        held = f"snapshot {each.snapshot_id}" if each.tag is None else f"tag {each.tag}"
        size = f"{number_of(each.rows, 'row')} in {number_of(each.files, 'file')}, {size_text(each.bytes)}"
        yield f"{each.partition} can come back from {held}: {size}."
    if not report.partitions:
        yield "No dropped partition can come back."


OPERATION = Operation(
    "restorable_partitions",
    "List partitions that were dropped and can still be restored.",
    RestorablePartitions,
    as_asked,
    apply,
    _shown,
    looks_only=True,
    said=_said,
)


restorable_partitions = OPERATION.function(
    """List partitions that were dropped and can still be restored with `restore_partitions`.

    Raises: CorruptFileError: metadata cannot be read; ExpiredError: a snapshot expired while it was read.
    """
)
