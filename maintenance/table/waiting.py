"""Plan reads that see rows of the postpone bucket: `postpone.merge-on-read`. See `read.waiting`.

A partition with such rows is one split, whole, whatever statistics say of its files; all others are read as without the
option. Source: Java `PostponeMergeReadBuilder`.
"""

from dataclasses import replace

from maintenance.compaction.postpone import in_order
from maintenance.errors import UnsupportedError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import DeletionFile, Deletions
from maintenance.options import table as table_options
from maintenance.predicate.tree import Predicate, restrict
from maintenance.scan.plan import ScanPlan, ScanSource, entry_filter, live_entries
from maintenance.scan.split import Split
from maintenance.scan.target import FullState, ScanTarget
from maintenance.scan.vectors import live_deletions
from maintenance.table.handle import TableHandle


def sees_waiting_rows(table: TableHandle) -> bool:
    """Whether batch reads of a table merge rows that wait for a bucket."""
    merges = table_options.POSTPONE_MERGE_ON_READ.of(table.options)
    return merges and table.model.is_postponed and table.is_primary_key_table and not table.read_optimized


def with_waiting(table: TableHandle, target: ScanTarget, plan: ScanPlan, predicate: Predicate | None) -> ScanPlan:
    """The plan of a state, with partitions in which rows wait put together. Raises: UnsupportedError: of changes."""
    if not isinstance(target, FullState) or target.files_since is not None:
        raise UnsupportedError(
            "'postpone.merge-on-read' in a read that is not of a whole state",
            f"table {table.identifier}",
            "Set it to 'false' for this read.",
        )
    if target.snapshot is None:
        return plan
    source = table.scan_source()
    waiting = _by_partition(_waiting_entries(source, target.snapshot, predicate))
    if not waiting:
        return plan
    keys = frozenset(table.schema.partition_keys)
    over = None if predicate is None else restrict(predicate, keys)
    there = [entry for entry in live_entries(source, target.snapshot, over) if entry.partition in waiting]
    deletions: Deletions = {}
    if there and source.model.has_deletion_vectors:
        deletions = live_deletions(source.manifests, target.snapshot, there)
    real = _by_partition(there)
    whole = [
        _split(target.snapshot, partition, real.get(partition, []), waiting[partition], deletions)
        for partition in sorted(waiting)
    ]
    others = [split for split in plan.splits if not (isinstance(split, Split) and split.partition in waiting)]
    entries = [entry for part in (*real.values(), *waiting.values()) for entry in part]
    schemas = {**plan.schemas, **source.load_schemas(sorted({entry.file.schema_id for entry in entries}))}
    files = plan.live_files + sum(len(part) for part in waiting.values())
    return replace(plan, splits=(*others, *whole), schemas=schemas, live_files=files)


def _waiting_entries(source: ScanSource, snapshot: Snapshot, predicate: Predicate | None) -> list[ManifestEntry]:
    over = None if predicate is None else restrict(predicate, frozenset(source.schema.partition_keys))
    selection, keep_manifest = entry_filter(source, over, all_levels=True)
    chosen = replace(selection, buckets=None, test=lambda entry: entry.bucket == table_options.POSTPONE_BUCKET)
    return source.manifests.live_entries(snapshot, chosen, keep_manifest)


def _by_partition(entries: list[ManifestEntry]) -> dict[bytes, list[ManifestEntry]]:
    found: dict[bytes, list[ManifestEntry]] = {}
    for entry in entries:
        found.setdefault(entry.partition, []).append(entry)
    return found


def _split(
    snapshot: Snapshot,
    partition: bytes,
    real: list[ManifestEntry],
    waiting: list[ManifestEntry],
    deletions: Deletions,
) -> Split:
    """All that a partition holds."""
    vectors: dict[str, DeletionFile] = {}
    for bucket in {entry.bucket for entry in real}:
        vectors.update(deletions.get((partition, bucket), {}))
    return Split(
        snapshot.id,
        partition,
        table_options.POSTPONE_BUCKET,
        tuple(entry.file for entry in real),
        raw=False,
        deletions=vectors,
        home={entry.file.file_name: (partition, entry.bucket) for entry in real},
        waiting=in_order([entry.file for entry in waiting], {}),
    )
