"""What a writer must know of a table before it writes: sequence numbers, buckets, runs, and where keys are."""

from collections.abc import Callable, Collection

from maintenance.compaction.levels import run_count
from maintenance.format.metadata.manifest import EVERY_ENTRY, EntrySelection
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.live_groups import live_groups
from maintenance.metadata.manifests import ManifestFilter, keep_all, of_partitions
from maintenance.table.handle import TableHandle
from maintenance.table.key_index import key_index
from maintenance.write.buckets import has_dynamic_buckets, moves_keys
from maintenance.write.hash_index import HashFiles
from maintenance.write.state import WriteState

# Of fewer files the whole state is known in no time.
_MANY_FILES = 100_000


def state_of(
    table: TableHandle, snapshot: Snapshot | None, user: str, partitions: Callable[[], Collection[bytes]] | None = None
) -> WriteState:
    """The state of a snapshot, for rows that a user will commit; None = the table has no snapshot.

    `partitions`: all that the rows are of, asked only where there are many files; None = these are not known.
    """
    hash_files = hash_files_of(table, snapshot)
    index = key_index(table, snapshot) if moves_keys(table.write_context()) else None
    if snapshot is None or not (table.is_primary_key_table or table.model.bucket > 0):
        return WriteState(hash_files=hash_files, user=user, key_index=index)
    last: dict[tuple[bytes, int], int] = {}
    levels: dict[tuple[bytes, int], list[int]] = {}
    numbers: dict[bytes, int] = {}
    created: dict[bytes, int] = {}
    wanted: tuple[EntrySelection, ManifestFilter] = EVERY_ENTRY, keep_all
    if partitions is not None and index is None and _has_many_files(table, snapshot):
        wanted = of_partitions(partitions(), [field.type for field in table.schema.partition_fields])
    for group in live_groups(table.manifests, snapshot, *wanted):
        key = (group.partition, group.bucket)
        last[key] = max(last.get(key, -1), group.max_sequence_number)
        levels.setdefault(key, []).extend([group.level] * (1 if group.level else group.files))
        if group.total_buckets > 0:
            numbers[group.partition] = group.total_buckets
        if table.model.is_postponed and group.created is not None:
            created[group.partition] = max(created.get(group.partition, 0), group.created)
    runs = {key: run_count(of_group) for key, of_group in levels.items()} if table.is_primary_key_table else {}
    return WriteState(last, hash_files, numbers, user, index, runs, snapshot=snapshot, created=created)


def _has_many_files(table: TableHandle, snapshot: Snapshot) -> bool:
    return sum(meta.num_added_files for meta in table.manifests.data_manifests(snapshot)) >= _MANY_FILES


def hash_files_of(table: TableHandle, snapshot: Snapshot | None) -> HashFiles | None:
    """The HASH index files of a snapshot by (partition, bucket); None for a table without dynamic buckets."""
    if not has_dynamic_buckets(table.write_context()):
        return None
    return {} if snapshot is None else table.manifests.hash_files(snapshot)
