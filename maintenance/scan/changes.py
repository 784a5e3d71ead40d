"""Plan incremental reads: the records that snapshots brought, or how one snapshot differs from another.

- *Changes*: the files that APPEND snapshots added, or the changelog files of all but OVERWRITE snapshots. Each file is
  read as is, row by row with its kind: a filter may rule out any file by its statistics. The files of a bucket
  are read in order of the snapshots, but nothing is replayed.
- *Overwritten*: of an OVERWRITE snapshot of a table with a primary key the rows of the files it replaced, taken
  back, then those in the files it added. Both are merged, each for itself.
- *Difference*: the files of both snapshots, without those that both have. A filter may only rule out partitions and
  buckets: with a file less on one side, rows of the other would look changed.

Neither skips level 0. Source: data section 6.6, Java `IncrementalDeltaStartingScanner`, `IncrementalDiffSplitRead`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest

from maintenance.errors import CorruptFileError, NotFoundError, UnsupportedError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.options import table as table_options
from maintenance.predicate.tree import Predicate
from maintenance.scan.data_evolution import data_evolution_splits
from maintenance.scan.plan import ScanPlan, ScanSource, entry_filter, live_entries
from maintenance.scan.pruning import Pruning
from maintenance.scan.split import DiffSplit, Split, SplitOptions, append_splits, by_bucket, pack, with_deletions
from maintenance.scan.target import Difference, RecordChanges
from maintenance.scan.vectors import live_deletions

Groups = Mapping[tuple[bytes, int], Sequence[ManifestEntry]]


def plan_changes(source: ScanSource, changes: RecordChanges, predicate: Predicate | None) -> ScanPlan:
    """Splits of the files that the snapshots brought, each to be read as is. Raises: CorruptFileError."""
    added = list(_added(source, changes, predicate))
    entries = [entry for _, entry in added]
    brought = {entry.file.file_name: snapshot_id for snapshot_id, entry in added}
    schemas = _schemas(source, entries)
    pruning = Pruning(source.schema, schemas, predicate).of_files
    kept = [entry for entry in entries if pruning.keeps_values(entry.file)]
    options = SplitOptions.of(source.model)
    if source.model.evolves:
        first = min(brought.values(), default=0)
        marked = (replace(split, changes=True) for split in data_evolution_splits(first, entries, options))
        return ScanPlan(tuple(marked), schemas, len(entries))
    splits = [
        Split(min(brought[file.file_name] for file in files), partition, bucket, tuple(files), raw=True, changes=True)
        for (partition, bucket), group in by_bucket(kept).items()
        for files in pack([entry.file for entry in group], lambda file: file.file_size, options)
    ]
    return ScanPlan(tuple(splits), schemas, len(entries), len(entries) - len(kept), 0)


def _added(
    source: ScanSource, changes: RecordChanges, predicate: Predicate | None
) -> Iterable[tuple[int, ManifestEntry]]:
    """The files with the ids of the snapshots that brought them."""
    selection, keep_manifest = entry_filter(source, predicate, all_levels=True)
    for snapshot in changes.snapshots:
        read = source.manifests.changelog_manifests if changes.changelog else source.manifests.delta_manifests
        manifests = [meta for meta in read(snapshot) if keep_manifest(meta)]
        with source.manifests.reading(snapshot, changes=True):
            entries = list(source.manifests.entries_of(manifests, selection))
        for entry in entries:
            if entry.kind != FileKind.ADD:
                raise CorruptFileError(
                    f"snapshot {snapshot.id} is of kind {snapshot.commit_kind} and removes file {entry.file.file_name}",
                    f"table {source.name}",
                    "Read the changes with 'incremental-between-scan-mode' = 'diff'.",
                )
            yield snapshot.id, entry


def plan_appended(source: ScanSource, snapshot: Snapshot) -> ScanPlan:
    """Splits of the files that an OVERWRITE snapshot of an append table adds; what it replaces is passed over."""
    entries = [entry for entry in _delta(source, snapshot) if entry.kind == FileKind.ADD]
    splits = append_splits(snapshot.id, entries, SplitOptions.of(source.model))
    marked = (replace(split, changes=True) for split in splits)
    return ScanPlan(tuple(marked), _schemas(source, entries), len(entries))


def plan_overwritten(source: ScanSource, before: Snapshot | None, snapshot: Snapshot) -> ScanPlan:
    """For each bucket the rows that an OVERWRITE snapshot takes back, then those that it brings.

    Args: `before`: the snapshot that was overwritten, None if it is not there any more.
    Raises: NotFoundError: it would be needed. Source: Java `SnapshotReaderImpl.readChanges`,
        `IncrementalChangelogReadProvider`; Java also takes back rows that deletion vectors had deleted.
    """
    entries = _delta(source, snapshot)
    names = {kind: {e.file.file_name for e in entries if e.kind == kind} for kind in (FileKind.ADD, FileKind.DELETE)}
    stay = names[FileKind.ADD] & names[FileKind.DELETE]
    changed = [entry for entry in entries if entry.file.file_name not in stay]
    old = by_bucket([entry for entry in changed if entry.kind == FileKind.DELETE])
    new = by_bucket([entry for entry in changed if entry.kind == FileKind.ADD])
    keys = list(dict.fromkeys([*old, *new]))
    splits: list[Split] = []
    gone: Iterable[Split] = ()
    if old and before is None:
        raise NotFoundError(
            f"snapshot {snapshot.id - 1} expired, and with it the rows that snapshot {snapshot.id} has overwritten",
            f"table {source.name}",
            "Start the stream behind it, or keep snapshots longer.",
        )
    if before is not None and old:
        gone = (replace(split, taken_back=True) for split in _sides(before, keys, old))
        gone = _deleted(source, before, gone, live_entries(source, before, None, all_levels=True))
    come = (replace(split, changes=True) for split in _sides(snapshot, keys, new))
    for pair in zip_longest(gone, come):
        splits += [split for split in pair if split is not None and split.files]
    return ScanPlan(tuple(splits), _schemas(source, changed), len(changed))


def _delta(source: ScanSource, snapshot: Snapshot) -> list[ManifestEntry]:
    """What a snapshot added and deleted."""
    selection, keep_manifest = entry_filter(source, None, all_levels=True)
    manifests = [meta for meta in source.manifests.delta_manifests(snapshot) if keep_manifest(meta)]
    with source.manifests.reading(snapshot, changes=True):
        return list(source.manifests.entries_of(manifests, selection))


def plan_difference(source: ScanSource, difference: Difference, predicate: Predicate | None) -> ScanPlan:
    """A split for each bucket whose files are not the same. Raises: UnsupportedError: its number of buckets changed."""
    _check_comparable(source)
    before = live_entries(source, difference.before, predicate, all_levels=True)
    after = live_entries(source, difference.after, predicate, all_levels=True)
    _check_buckets(source, before, after)
    both = {entry.identity for entry in before} & {entry.identity for entry in after}
    old = [entry for entry in before if entry.identity not in both]
    new = [entry for entry in after if entry.identity not in both]
    schemas = _schemas(source, [*old, *new])
    if not source.schema.primary_keys:
        # Without a key nothing is compared: the rows of new files are new.
        splits = append_splits(difference.after.id, new, SplitOptions.of(source.model))
        return ScanPlan(tuple(_deleted(source, difference.after, splits, after)), schemas, len(new))
    olds, news = by_bucket(old), by_bucket(new)
    keys = list(dict.fromkeys([*olds, *news]))
    then = _deleted(source, difference.before, _sides(difference.before, keys, olds), before)
    now = _deleted(source, difference.after, _sides(difference.after, keys, news), after)
    sides = zip(then, now, strict=True)
    return ScanPlan(tuple(DiffSplit(one, other) for one, other in sides), schemas, len(old) + len(new))


def _sides(snapshot: Snapshot, keys: Sequence[tuple[bytes, int]], groups: Groups) -> Iterable[Split]:
    """The files of a snapshot in each of the buckets, which may be none."""
    return (Split(snapshot.id, *key, _files(groups.get(key, ())), raw=False) for key in keys)


def _files(entries: Iterable[ManifestEntry]) -> tuple[DataFileMeta, ...]:
    return tuple(entry.file for entry in entries)


def _deleted(
    source: ScanSource, snapshot: Snapshot, splits: Iterable[Split], entries: Sequence[ManifestEntry]
) -> Iterable[Split]:
    """The splits with the deletion vectors that their files have in a snapshot. `entries`: its files."""
    if not source.model.has_deletion_vectors:
        return splits
    return with_deletions(splits, live_deletions(source.manifests, snapshot, entries))


def _check_comparable(source: ScanSource) -> None:
    """Raises: UnsupportedError: rows cannot be compared by their keys, or their columns are in different files."""
    for option in (table_options.PK_CLUSTERING_OVERRIDE, table_options.DATA_EVOLUTION_ENABLED):
        if option.of(source.options):
            raise UnsupportedError(
                f"comparing two snapshots of a table with '{option.key}' is not supported yet",
                f"table {source.name}",
                "Read the changes with 'incremental-between-scan-mode' = 'delta'.",
            )


def _check_buckets(source: ScanSource, before: Sequence[ManifestEntry], after: Sequence[ManifestEntry]) -> None:
    old, new = _bucket_numbers(before), _bucket_numbers(after)
    for partition in old.keys() & new.keys():
        if old[partition] != new[partition]:
            raise UnsupportedError(
                f"the number of buckets changed from {old[partition]} to {new[partition]} between the snapshots",
                f"table {source.name}",
                "Compare the two states yourself, or read the changes in mode delta or changelog.",
            )


def _bucket_numbers(entries: Iterable[ManifestEntry]) -> Mapping[bytes, int]:
    return {entry.partition: entry.total_buckets for entry in entries if entry.total_buckets >= 0}


def _schemas(source: ScanSource, entries: Iterable[ManifestEntry]) -> Mapping[int, TableSchema]:
    schemas = dict(source.load_schemas(sorted({entry.file.schema_id for entry in entries})))
    schemas[source.schema.id] = source.schema
    return schemas
