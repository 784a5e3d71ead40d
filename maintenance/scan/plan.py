"""Plan a batch read: a snapshot and a filter become splits."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache

from pyroaring import BitMap64

from maintenance.errors import NotFoundError, UnsupportedError
from maintenance.format.file_index.selection import Selection
from maintenance.format.metadata.manifest import EntrySelection, ManifestEntry
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.key import key_reader
from maintenance.metadata.manifests import ManifestFilter
from maintenance.metadata.table_files import TableFiles
from maintenance.predicate.tree import Predicate
from maintenance.scan.data_evolution import alone_or_together, data_evolution_splits
from maintenance.scan.file_index import has_index, open_container
from maintenance.scan.global_index import candidates_of, candidates_together, wanted_rows, with_candidates
from maintenance.scan.pruning import Pruning, alone_by_bucket, prune_primary_key
from maintenance.scan.split import AnySplit, Split, SplitOptions, append_splits, primary_key_splits, with_deletions
from maintenance.scan.statistics_columns import may_match_columns
from maintenance.scan.vectors import live_deletions

_THREADS = 16


@dataclass(frozen=True, slots=True)
class ScanSource(TableFiles):
    """The table scanned.

    Attributes:
        schema: of the read.
        level: see no other.
        level_from: see this level and those above it; None = those that batch reads see.
        left_out: partitions not to see, as serialized rows.
    """

    level: int | None = None
    left_out: frozenset[bytes] = frozenset()
    level_from: int | None = None


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """Splits to read, and what was left out. Counts are of files.

    Attributes:
        schemas: schemas of the files, by id.
        live_files: in the partitions and buckets that the filter can touch.
        skipped_by_stats, skipped_by_index: of those, what statistics and file indexes ruled out.
    """

    splits: tuple[AnySplit, ...]
    schemas: Mapping[int, TableSchema]
    live_files: int = 0
    skipped_by_stats: int = 0
    skipped_by_index: int = 0


def plan_scan(
    source: ScanSource,
    snapshot: Snapshot | None,
    predicate: Predicate | None,
    files_since: int | None = None,
    with_ids: Predicate | None = None,
) -> ScanPlan:
    """The splits of a snapshot that may hold rows matching the filter.

    Args: `predicate`: over columns of the table; `files_since`: leave out files made before that moment, milliseconds
        since 1970-01-01 UTC; `with_ids`: the filter with what it says about `_ROW_ID`, None = nothing.
    Raises: UnsupportedError; CorruptFileError: of metadata, or a deletion vector is of a file that does not live.
    """
    if snapshot is None:
        return ScanPlan((), {source.schema.id: source.schema})
    entries, live = _entries(source, snapshot, predicate, files_since)
    schemas = dict(source.load_schemas(sorted({entry.file.schema_id for entry in entries})))
    schemas[source.schema.id] = source.schema
    pruning = Pruning(source.schema, schemas, predicate).of_files
    by_stats, testable = by_statistics(source, entries, pruning)
    excluded = excluded_by_index(source, pruning, testable)
    kept = [entry for entry in by_stats if id(entry) not in excluded]
    wanted = wanted_of(source, snapshot, with_ids or predicate, kept)
    if wanted is not None:
        kept = with_candidates(kept, wanted)
    splits = _splits(source, snapshot.id, kept)
    if wanted is not None:
        splits = [
            replace(split, candidates=candidates_of(split, wanted) | candidates_together(split, wanted))
            for split in splits
        ]
    if kept and source.model.has_deletion_vectors:
        splits = with_deletions(splits, live_deletions(source.manifests, snapshot, entries))
    return ScanPlan(tuple(splits), schemas, live, live - len(by_stats), len(by_stats) - len(kept))


def _entries(
    source: ScanSource, snapshot: Snapshot, predicate: Predicate | None, files_since: int | None
) -> tuple[list[ManifestEntry], int]:
    """Live entries of the partitions and buckets that the filter can touch, and how many they are.

    Where each file stands for itself, those that statistics rule out are not among them: a table may have millions.
    """
    if predicate is None or source.schema.primary_keys or source.model.evolves or source.model.has_deletion_vectors:
        found = since(live_entries(source, snapshot, predicate), files_since)
        return found, len(found)
    found, live = [], 0
    for columns in source.manifests.live_columns(snapshot, *entry_filter(source, predicate)):
        ids = columns.table("_SCHEMA_ID").column(0).unique().to_pylist()
        pruning = Pruning(source.schema, source.load_schemas(sorted(ids)), predicate).of_files
        if files_since is None:
            live += len(columns)
            part = columns.filtered(
                may_match_columns(columns, pruning.predicate, source.schema, pruning.schemas)
            ).select()
        else:
            part = since(columns.select(), files_since)
            live += len(part)
        found += [entry for entry in part if pruning.keeps_values(entry.file)]
    return found, live


def since(entries: list[ManifestEntry], millis: int | None) -> list[ManifestEntry]:
    """The files that were made at a moment or later, milliseconds since 1970-01-01 UTC; None = all."""
    return entries if millis is None else [entry for entry in entries if _made_since(entry, millis)]


def wanted_of(
    source: ScanSource, snapshot: Snapshot, predicate: Predicate | None, kept: Sequence[ManifestEntry]
) -> BitMap64 | None:
    """Ids of the rows that may match, by global indexes and conditions on `_ROW_ID`; None = these say nothing."""
    if not source.model.evolves:
        return None
    return wanted_rows(source.manifests, snapshot, source.schema, source.model, source.load_schemas, predicate, kept)


def by_statistics(
    source: ScanSource, entries: Sequence[ManifestEntry], pruning: Pruning
) -> tuple[list[ManifestEntry], list[ManifestEntry]]:
    """Entries that may match by statistics, and those of them that a file index may still rule out.

    As with statistics, an index may rule a file out only if no other file can hold a version of its rows.
    """
    if source.schema.primary_keys:
        one_version = source.model.has_one_version
        computed = source.model.merge_engine in ("partial-update", "aggregation")
        kept = prune_primary_key(entries, pruning, one_version=one_version, computed=computed)
        alone = alone_by_bucket(entries, one_version=one_version)
        return kept, [entry for entry in kept if (entry.partition, entry.bucket) in alone]
    if source.model.evolves:
        return alone_or_together(entries, pruning.keeps_values), []
    kept = [entry for entry in entries if pruning.keeps_values(entry.file)]
    return kept, kept


def _splits(source: ScanSource, snapshot_id: int, kept: Sequence[ManifestEntry]) -> Iterable[Split]:
    options = SplitOptions.of(source.model)
    if source.schema.primary_keys:
        one_version = source.model.has_one_version
        read_key = key_reader([field.type for field in source.schema.key_fields])
        by_key = not source.model.clusters_keys
        return primary_key_splits(snapshot_id, kept, options, read_key, one_version=one_version, by_key=by_key)
    if source.model.evolves:
        return data_evolution_splits(snapshot_id, kept, options)
    return append_splits(snapshot_id, kept, options)


def _made_since(entry: ManifestEntry, millis: int) -> bool:
    if entry.file.creation_time is None:
        raise UnsupportedError(
            f"file {entry.file.file_name} does not say when it was made",
            "its manifest",
            "Read without a creation time.",
        )
    # Files have the local time of their writer.
    try:
        moment = dt.datetime.fromtimestamp(millis / 1000)
    except (OverflowError, ValueError):  # beyond all calendars
        return millis < 0
    return moment <= _local(entry.file.creation_time)


def _local(millis: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(millis / 1000, dt.UTC).replace(tzinfo=None)


def entry_filter(
    source: ScanSource, predicate: Predicate | None, *, all_levels: bool = False
) -> tuple[EntrySelection, ManifestFilter]:
    """What is wanted of entries and manifests: whether they are of partitions and buckets that the filter can touch.

    `all_levels`: level 0 counts also where reads of a state leave it out, as reads of changes do.
    """
    pruning = Pruning(source.schema, {}, predicate)
    function = source.model.bucket_function_type
    state = bool(source.schema.primary_keys) and not all_levels and source.level_from is None
    skips_level_0 = state and source.model.skips_level_0
    # A postpone bucket holds what a compaction has not given a bucket yet; reads do not look at it.
    real_only = source.model.is_postponed

    lowest = source.level_from or 0

    def of_level(level: int) -> bool:
        return source.level in (None, level) and level >= lowest and not (skips_level_0 and level == 0)

    def of_partition(partition: bytes) -> bool:
        return partition not in source.left_out and pruning.keeps_partition(partition)

    selection = EntrySelection(
        partition=cache(of_partition) if pruning.prunes_partitions or source.left_out else None,
        buckets=cache(lambda total: _buckets(source, pruning.buckets(total, function)))
        if predicate is not None
        else None,
        level=of_level if skips_level_0 or source.level is not None or lowest else None,
        test=(lambda entry: entry.bucket >= 0) if real_only else None,
    )
    return selection, pruning.keeps_manifest


def _buckets(source: ScanSource, buckets: frozenset[int] | None) -> frozenset[int] | None:
    """The buckets found, None for any where the bucket key had another type once: its values had other buckets then.

    Files do not tell, for compactions write the newest types into old buckets. Primary keys never change their types.
    """
    schema = source.schema
    if buckets is None or schema.primary_keys or schema.id == 0:
        return buckets
    now = {field.id: field.type.as_nullable() for field in schema.bucket_fields}
    try:
        earlier = source.load_schemas(range(schema.id)).values()
    except NotFoundError:
        return None
    then = (field for old in earlier for field in old.fields if field.id in now)
    return buckets if all(field.type.as_nullable() == now[field.id] for field in then) else None


def live_entries(
    source: ScanSource, snapshot: Snapshot, predicate: Predicate | None, *, all_levels: bool = False
) -> list[ManifestEntry]:
    """Live entries of the partitions and buckets that the filter can touch. `all_levels`: as of `entry_filter`."""
    return source.manifests.live_entries(snapshot, *entry_filter(source, predicate, all_levels=all_levels))


def excluded_by_index(source: ScanSource, pruning: Pruning, entries: Sequence[ManifestEntry]) -> set[int]:
    """The entries, by `id`, whose file indexes rule out every row."""
    return {id(entry) for entry, selection in selections(source, pruning, entries) if selection.is_empty}


def selections(
    source: ScanSource, pruning: Pruning, entries: Sequence[ManifestEntry]
) -> Iterator[tuple[ManifestEntry, Selection]]:
    """Rows of each entry's file that may match, by its file index. Index files beside data files are read at once."""
    if pruning.predicate is None or not source.model.file_index_read_enabled:
        return
    manifests = source.manifests

    def select(entry: ManifestEntry) -> Selection:
        path = manifests.paths.data_file(entry.partition, entry.bucket, entry.file)
        return pruning.selection(entry.file, lambda: open_container(manifests.file_io, path, entry.file))

    separate = sum(entry.file.embedded_index is None and has_index(entry.file) for entry in entries)
    if separate < _THREADS:
        yield from ((entry, select(entry)) for entry in entries)
        return
    with ThreadPoolExecutor(_THREADS) as pool:
        yield from zip(entries, pool.map(select, entries), strict=True)
