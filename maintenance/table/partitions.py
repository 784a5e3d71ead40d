"""The partitions of a table's newest state, and those that a user names."""

from collections.abc import Iterable, Mapping, Sequence

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.expired import reads_again
from maintenance.metadata.partition_names import PartitionNames, Spec
from maintenance.metadata.partition_value import PartitionValue
from maintenance.table.handle import TableHandle
from maintenance.table.other_branches import seen_branches


@reads_again
def live_partitions(table: TableHandle) -> list[bytes]:
    """The serialized partitions that have files in the newest snapshot, in the order of its manifests."""
    snapshot = table.latest_snapshot()
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    return list(dict.fromkeys(entry.partition for entry in entries))


def entries_in_buckets(table: TableHandle, snapshot: Snapshot | None) -> list[ManifestEntry]:
    """The live entries of a snapshot without rows that wait for their buckets, as Paimon lists files and partitions."""
    entries = [] if snapshot is None else table.manifests.live_entries(snapshot)
    return [entry for entry in entries if entry.bucket >= 0] if table.options.is_postponed else entries


def readable_partitions(table: TableHandle) -> list[bytes]:
    """The serialized partitions that a read of the newest state sees, in whichever branch they are."""
    return list(dict.fromkeys(partition for side in seen_branches(table) for partition in live_partitions(side)))


def partition_names(table: TableHandle) -> PartitionNames:
    """How the partitions of a table are named."""
    return PartitionNames(table.paths, f"table {table.identifier}", lambda: live_partitions(table))


def named_partitions(table: TableHandle, specs: Iterable[Spec]) -> tuple[PartitionValue, ...]:
    """The partitions that are named, whether the table has them or not; some of the columns name several.

    Raises: DataError: a column is not a partition column, a text is not a value of it, or it may mean several of the
        table's partitions.
    """
    return partition_names(table).chosen(specs)


def forget_partitions(table: TableHandle, specs: Sequence[Mapping[str, str]]) -> None:
    """Let the catalog forget dropped partitions, but for folders in which another one, or another branch, has rows.

    Args: `specs`: texts of folders; some of the columns suffice.
    """

    def kept() -> list[Mapping[str, str]]:
        names = Branches(table.file_io, table.paths).names()
        return [table.paths.spec_of(row) for name in names for row in live_partitions(table.on_branch(name))]

    if specs:
        table.record.forget_partitions(specs, kept)


def done_partitions(specs: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """What a catalog lists for partitions that were marked by action `done-partition`."""
    return [{**spec, last: f"{spec[last]}.done"} for spec in specs for last in [*spec][-1:]]
