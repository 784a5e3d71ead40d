"""The partitions of a table, as a catalog lists and drops them. Source: Java `Partition`, `AbstractCatalog`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from maintenance.commit.identity import CommitIdentity
from maintenance.commit.overwrite import Overwrite
from maintenance.commit.overwrite import drop_partitions as commit_drop
from maintenance.errors import DataError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.partition_value import PartitionValue
from maintenance.options import table as table_options
from maintenance.table.other_branches import seen_branches
from maintenance.table.partitions import entries_in_buckets, forget_partitions, named_partitions
from maintenance.table.system.local_time import instant_of
from maintenance.table.table import Table, new_commit_user

Spec = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition of a table.

    Attributes:
        spec: partition columns to texts, as the partition's folder shows them.
        last_file_creation_time: milliseconds since 1970-01-01 UTC, None if no file says.
        total_buckets: number of buckets, -1 without.
        done: whether it was marked done in the catalog.
        value: what it is, which others with the same folder are not; None: the catalog alone says that there is one.
    """

    spec: Spec
    record_count: int
    file_size_in_bytes: int
    file_count: int
    last_file_creation_time: int | None
    total_buckets: int
    done: bool = False
    value: PartitionValue | None = field(default=None, compare=False)


def list_partitions(table: Table) -> list[Partition]:
    """The partitions that have live files in the newest snapshot, also those that reads take from other branches.

    Rows that wait for their buckets make none, as in Paimon.
    """
    found: dict[bytes, Partition] = {}
    for side in seen_branches(table) if table.schema.partition_keys else ():
        groups = _by_partition(side)
        found |= {row: _partition(table, row, entries) for row, entries in groups.items() if row not in found}
    return list(found.values())


def _by_partition(table: Table) -> dict[bytes, list[ManifestEntry]]:
    groups: dict[bytes, list[ManifestEntry]] = {}
    for entry in entries_in_buckets(table, table.latest_snapshot()):
        groups.setdefault(entry.partition, []).append(entry)
    return groups


def _partition(table: Table, partition: bytes, entries: Sequence[ManifestEntry]) -> Partition:
    created = (entry.file.creation_time for entry in entries)
    return Partition(
        table.paths.spec_of(partition),
        sum(entry.file.row_count for entry in entries),
        sum(entry.file.file_size for entry in entries),
        len(entries),
        max((instant_of(millis) for millis in created if millis is not None), default=None),
        max(entry.total_buckets for entry in entries),
        value=table.paths.partition(partition),
    )


def truncate(table: Table) -> None:
    """Delete all rows; nothing happens if there are none. Raises: CommitError."""
    table_options.check_keepable(table.options, table.identifier)
    commit_drop(
        table.commit_target(),
        CommitIdentity(new_commit_user(table.options)),
        lambda live: {entry.partition for entry in live},
    )


def drop_partitions(table: Table, partitions: Sequence[Spec]) -> None:
    """Delete all rows of partitions; those that do not exist are passed over, as in Paimon. The catalog forgets them.

    Raises: DataError: none is named, or one of a column that is not a partition column; CommitError.
    """
    table_options.check_keepable(table.options, table.identifier)
    if not partitions:
        raise DataError("no partition is named", f"table {table.identifier}", "Name some, or truncate the table.")
    target = table.commit_target()
    named = named_partitions(table, partitions)
    replaces = Overwrite(named, dynamic=False).replaces(target, ())

    def chosen(live: Sequence[ManifestEntry]) -> set[bytes]:
        return {entry.partition for entry in live if replaces is not None and replaces(entry.partition)}

    commit_drop(target, CommitIdentity(new_commit_user(table.options)), chosen)
    forget_partitions(table, [*map(table.paths.folder_texts, named)])
