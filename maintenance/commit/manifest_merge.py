"""Merge small manifests, so that the base list of a table stays short.

Full: when manifests that hold deletions or are small add up to the threshold, they and every manifest that a deletion
may touch (its partitions say so) are rewritten without any DELETE entry. Minor: otherwise, neighbours are merged once
they reach the target size together and fewer come of them, and the rest once it is `manifest.merge-min-count` of them.
That fewer must come of them is stricter than Java, which writes some again with every commit. Source: Java
`ManifestFileMerger`.

Readers do not look at the order of entries: a file that was deleted and comes back with the same identity (it got a
file index and lost it again) would stay deleted. So before it is added again, a full merge drops the deletions.

Which manifests are merged, and in what order, is for `manifest_sort` to say where the table's manifests are sorted.
"""

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.commit.manifest_order import EntryOrder, ManifestSorting
from maintenance.commit.manifest_runs import picked, runs_of
from maintenance.commit.manifest_sort import ManifestSorter, ReadManifest
from maintenance.format.metadata.manifest import EntrySelection, FileKind, ManifestColumns, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.partition_stats import holding
from maintenance.metadata.manifests import ManifestWriter
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataType

_ADDED, _DELETED = (EntrySelection(kind=kind) for kind in (FileKind.ADD, FileKind.DELETE))


@dataclass(frozen=True, slots=True)
class ManifestMergeOptions:
    """Sizes in bytes. `sorting`: None = entries keep their order."""

    target_size: int = 8 << 20
    min_count: int = 30
    full_threshold: int = 16 << 20
    sorting: ManifestSorting | None = None

    @classmethod
    def of(cls, options: TableModel, partition_keys: Sequence[str]) -> "ManifestMergeOptions":
        return cls(
            options.manifest_target_file_size,
            options.manifest_merge_min_count,
            table_options.MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE.of(options),
            ManifestSorting.of(options, partition_keys),
        )


def merge_manifests(
    manifests: Sequence[ManifestFileMeta],
    options: ManifestMergeOptions,
    read: ReadManifest,
    writer: ManifestWriter,
    schema_id: int,
    *,
    returning: Collection[Hashable] = (),
) -> list[ManifestFileMeta]:
    """The manifests of the next base list.

    Args: `manifests`: base list, then delta list, of the snapshot before; `returning`: identities that the next delta
        adds and that may have been there before.
    """
    forced = bool(returning) and not _deleted(manifests, read).keys().isdisjoint(returning)
    full_options = replace(options, full_threshold=0) if forced else options
    order = options.sorting.order(manifests, writer.partition_types) if options.sorting is not None else None
    if order is not None:
        return _sorter(manifests, full_options, order, read, writer, schema_id).merge(manifests)
    full = _full(manifests, full_options, read, writer, schema_id)
    return _minor(manifests, options, read, writer, schema_id) if full is None else full


def is_merged(
    manifests: Sequence[ManifestFileMeta], options: ManifestMergeOptions, partition_types: Sequence[DataType]
) -> bool:
    """Whether a full merge would change nothing: no manifest has deletions, at most one is small, and the large ones
    are sorted, if they are to be.
    """
    small = sum(manifest.file_size < options.target_size for manifest in manifests)
    if small > 1 or any(manifest.num_deleted_files for manifest in manifests):
        return False
    order = options.sorting.order(manifests, partition_types) if options.sorting is not None else None
    if options.sorting is None or order is None:
        return True
    large = [manifest for manifest in manifests if manifest.file_size >= options.target_size]
    return not picked(runs_of(large, order), options.sorting)[0]


def _sorter(
    manifests: Sequence[ManifestFileMeta],
    options: ManifestMergeOptions,
    order: EntryOrder,
    read: ReadManifest,
    writer: ManifestWriter,
    schema_id: int,
) -> ManifestSorter:
    """A full merge where small manifests and those with deletions have reached the threshold, else a minor one."""
    assert options.sorting is not None
    small = {m.file_name for m in manifests if m.file_size < options.target_size}
    growing = sum(m.file_size for m in manifests if m.file_name in small or m.num_deleted_files > 0)
    of_table = (order, options.sorting, read, writer, schema_id, options.target_size, options.min_count)
    if growing < options.full_threshold:
        return ManifestSorter(*of_table, frozenset(small))
    deleted = _deleted(manifests, read)
    partitions = {entry.partition for entry in deleted.values()}
    holds = holding(partitions, writer.partition_types)
    touched = {m.file_name for m in manifests if holds(m.partition_stats)}
    return ManifestSorter(*of_table, frozenset(small | touched), frozenset(touched), deleted)


def _full(
    manifests: Sequence[ManifestFileMeta],
    options: ManifestMergeOptions,
    read: ReadManifest,
    writer: ManifestWriter,
    schema_id: int,
) -> list[ManifestFileMeta] | None:
    types = writer.partition_types
    must = {m.file_name for m in manifests if m.num_deleted_files > 0 or m.file_size < options.target_size}
    if sum(m.file_size for m in manifests if m.file_name in must) < options.full_threshold:
        return None
    deleted = _deleted(manifests, read)
    partitions = {entry.partition for entry in deleted.values()}
    holds = holding(partitions, types)
    touched = [m for m in manifests if m.file_name in must or holds(m.partition_stats)]
    if len(touched) <= 1 and not any(m.num_deleted_files for m in touched):
        return None
    names = {m.file_name for m in touched}
    kept = [m for m in manifests if m.file_name not in names]
    deleted_names = pa.array({entry.file.file_name for entry in deleted.values()}, pa.string())

    def rewritten() -> Iterator[ManifestColumns]:
        for manifest in touched:
            columns = read(manifest)
            live = columns.narrowed(_ADDED).without(deleted, deleted_names)
            if manifest.file_name not in must and len(live) == len(columns):
                kept.append(manifest)
            else:
                yield live

    written = writer.write_columns(rewritten(), schema_id)
    return kept + written


def _deleted(manifests: Sequence[ManifestFileMeta], read: ReadManifest) -> dict[Hashable, ManifestEntry]:
    """Deletions in some manifest, by identity."""
    return {
        entry.identity: entry
        for manifest in manifests
        if manifest.num_deleted_files > 0
        for entry in read(manifest).select(_DELETED)
    }


def _minor(
    manifests: Sequence[ManifestFileMeta],
    options: ManifestMergeOptions,
    read: ReadManifest,
    writer: ManifestWriter,
    schema_id: int,
) -> list[ManifestFileMeta]:
    result: list[ManifestFileMeta] = []
    group: list[ManifestFileMeta] = []
    for manifest in manifests:
        group.append(manifest)
        size = sum(m.file_size for m in group)
        if size >= options.target_size:
            # What would be as many again, such as a small one beside one that is large already, is not read and written
            # with every commit.
            fewer = -(-size // options.target_size) < len(group)
            result.extend(_merged(group, read, writer, schema_id) if fewer else group)
            group = []
    if len(group) >= options.min_count:
        return result + _merged(group, read, writer, schema_id)
    return result + group


def _merged(
    group: Sequence[ManifestFileMeta], read: ReadManifest, writer: ManifestWriter, schema_id: int
) -> list[ManifestFileMeta]:
    """One group as new manifests: pairs of ADD and DELETE cancel, a DELETE of an older manifest's file stays."""
    if len(group) == 1:
        return list(group)
    return writer.write_columns(cancelled(list(map(read, group))), schema_id)


def cancelled(parts: Sequence[ManifestColumns]) -> list[ManifestColumns]:
    """What is left when each DELETE cancels the ADD before it; applied in order, as commits were.

    Entries are made of files alone whose names are there more than once.
    """
    names = [part.table("_FILE_NAME").column(0) for part in parts]
    counts = pa.chunked_array([chunk for each in names for chunk in each.chunks], pa.string()).value_counts()
    repeated = counts.field(0).filter(pc.greater(counts.field(1), 1))
    if not len(repeated):
        return list(parts)
    left = [np.ones(len(part), np.bool_) for part in parts]
    merged: dict[Hashable, tuple[int, int]] = {}
    for number, part in enumerate(parts):
        met = pc.is_in(names[number], value_set=repeated).to_numpy()
        left[number][met] = False
        for row, entry in zip(np.flatnonzero(met).tolist(), part.filtered(met).select(), strict=True):
            if entry.kind == FileKind.DELETE and merged.pop(entry.identity, None) is not None:
                continue
            merged[entry.identity] = number, row
    for number, row in merged.values():
        left[number][row] = True
    return [part.filtered(kept) for part, kept in zip(parts, left, strict=True)]
