"""Manifests and manifest lists: reading the files that a snapshot names, and writing new ones.

The live files of a snapshot are all ADD entries of its base and delta lists whose identity no DELETE entry has (the
*scan merge*: the order of entries plays no role). Source: seed 000 section 3.4–3.6, Java `FileStoreScan`.
"""

import uuid
from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, groupby, repeat
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import ROLL_BACK, CorruptFileError
from maintenance.format.data_format import FileSettings
from maintenance.format.metadata.index_manifest import (
    DELETION_VECTORS_INDEX,
    HASH_INDEX,
    DeletionVectorRange,
    IndexManifestEntry,
    parse_index_manifest,
    serialize_index_manifest,
)
from maintenance.format.metadata.manifest import (
    EVERY_ENTRY,
    EntryCounts,
    EntrySelection,
    FileKind,
    ManifestColumns,
    ManifestEntry,
    decode_manifest,
    select_columns,
)
from maintenance.format.metadata.manifest_format import in_format
from maintenance.format.metadata.manifest_list import ManifestFileMeta, parse_manifest_list, serialize_manifest_list
from maintenance.format.metadata.manifest_records import ManifestRecords
from maintenance.format.metadata.partition_stats import holding, partition_stats_of
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import is_local
from maintenance.metadata.cache import metadata_cache
from maintenance.metadata.expired import unless_expired
from maintenance.metadata.identity import check_size, unexpected
from maintenance.metadata.paths import TablePaths
from maintenance.types.data_type import DataType


@dataclass(frozen=True, slots=True)
class DeletionFile:
    """The deletion vector of one data file. `path`: of the index file that holds it; `file_size`: its bytes."""

    path: str
    range: DeletionVectorRange
    file_size: int


Deletions = Mapping[tuple[bytes, int], Mapping[str, DeletionFile]]
"""Deletion vectors by partition and bucket, then by name of the data file."""

ManifestFilter = Callable[[ManifestFileMeta], bool]

# Manifests decoded ahead of the one whose entries are looked at, and the most bytes that these have on storage; decoded
# they take ten times as many and more.
_AHEAD, _AHEAD_BYTES = 4, 4 << 20
# The same of manifests whose entries are chosen by their heads, so that little of them is decoded: two of full size.
_AHEAD_BYTES_BY_HEADS = 12 << 20
# Of manifests on a disk: what threads would save is less than what it takes to start them.
_SMALL_BYTES = 64 << 10
# Manifests of so many bytes are held at once where all of them are looked at twice.
_HELD_BYTES = 4 << 20
# How many times its bytes a parsed manifest list takes.
_PARSED = 8
# So many entries tell how many bytes each takes; they are encoded twice where a manifest holds more.
_PROBE = 512
# So many entries wait to be written.
_AT_ONCE = 100_000
# What tells the names of a manifest's files in the cache from the manifest, and what they take besides their bytes.
_NAMES, _NAMED_BYTES = "#names", 512


class _Named(NamedTuple):
    """The names of a manifest's files, and what tells whether it is the one that a list names."""

    names: pa.Array
    file_size: int
    counts: EntryCounts


def _is_far_ahead(sizes: Sequence[int], most_bytes: int) -> bool:
    """Whether no further manifest is decoded ahead. `sizes`: of those that are."""
    return len(sizes) > _AHEAD or sum(sizes) > most_bytes


def keep_all(_: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Manifests:
    """Reads manifests of a table.

    What is asked of a snapshot raises `ExpiredError` if a file is missing because the snapshot is gone; `paths` must be
    of its branch.
    """

    file_io: FileIO
    paths: TablePaths

    def version(self, name: str) -> Hashable | None:
        """What tells a file of that name from another one, None if it is missing or nothing is kept in memory."""
        return self.file_io.lasting_version(self.paths.manifest(name)) if self.file_io.cache.manifest_bytes else None

    def _read(self, name: str, size: int | None = None) -> bytes:
        """The bytes of a file. `size`: how many they must be: Avro files have no end, so a cut may not show."""
        path = self.paths.manifest(name)
        try:
            data = self.file_io.read_bytes(path)
        except FileNotFoundError as error:
            raise CorruptFileError(
                "a manifest file that a snapshot names is missing",
                path,
                ROLL_BACK,
            ) from error
        check_size(size, len(data), path)
        return data

    def read_list(self, name: str, size: int | None = None) -> list[ManifestFileMeta]:
        """The manifests of a list. `size`: bytes of it, where a snapshot says. Raises: CorruptFileError."""
        path, settings, version = self.paths.manifest(name), self.file_io.cache, self.version(name)
        kept = metadata_cache(settings).manifests
        metas: list[ManifestFileMeta] | None = None if version is None else kept.get(path, (version, size))
        if metas is None:
            data = self._read(name, size)
            metas = parse_manifest_list(data, path)
            if version is not None and len(data) <= settings.max_file_bytes:
                kept.put(path, (version, size), metas, _PARSED * len(data))
        return list(metas)

    def read_manifest(self, meta: ManifestFileMeta, selection: EntrySelection = EVERY_ENTRY) -> list[ManifestEntry]:
        """The entries of a manifest that are wanted, in file order.

        Raises: CorruptFileError: it is missing or damaged, or is not the one that its list names.
        """
        return self.read(meta.file_name, selection, meta.file_size, meta.counts)

    def read(
        self,
        name: str,
        selection: EntrySelection = EVERY_ENTRY,
        size: int | None = None,
        counts: EntryCounts | None = None,
    ) -> list[ManifestEntry]:
        """As `read_manifest`, of a name. `size`, `counts`: of the whole manifest, where a list says them."""
        return self.read_columns(name, selection, size, counts).select()

    def read_columns(
        self,
        name: str,
        selection: EntrySelection = EVERY_ENTRY,
        size: int | None = None,
        counts: EntryCounts | None = None,
    ) -> ManifestColumns:
        """As `read`, as columns."""
        path, settings, version = self.paths.manifest(name), self.file_io.cache, self.version(name)
        kept = metadata_cache(settings).manifests
        columns: ManifestColumns | None = None if version is None else kept.get(path, version)
        if columns is None:
            data = self._read(name, size)
            if version is None or len(data) > settings.max_file_bytes:
                return select_columns(data, path, selection, counts)
            columns = decode_manifest(data, path)
            kept.put(path, version, columns, columns.size)
        check_size(size, columns.file_size, path)
        if counts is not None:
            counts.check(columns.counts, path)
        return columns.narrowed(selection)

    def file_names(self, meta: ManifestFileMeta) -> pa.Array:
        """Names of all files that a manifest adds or deletes and of those beside them. Errors as of `read_manifest`.

        They are kept without the rest of the manifest, which expiry and orphan removal have no use for.
        """
        path, settings, version = self.paths.manifest(meta.file_name), self.file_io.cache, self.version(meta.file_name)
        kept, place = metadata_cache(settings).manifests, path + _NAMES
        named: _Named | None = None if version is None else kept.get(place, version)
        if named is None:
            columns: ManifestColumns | None = None if version is None else kept.get(path, version)
            if columns is None:
                columns = decode_manifest(self._read(meta.file_name, meta.file_size), path)
            named = _Named(columns.file_names, columns.file_size, columns.counts)
            if version is not None and named.file_size <= settings.max_file_bytes:
                kept.put(place, version, named, _NAMED_BYTES + named.names.nbytes)
        check_size(meta.file_size, named.file_size, path)
        meta.counts.check(named.counts, path)
        return named.names

    def reading(self, snapshot: Snapshot, *, changes: bool = False) -> AbstractContextManager[None]:
        """Errors inside are `ExpiredError` if the snapshot is gone by then. `changes`: as of `unless_expired`."""
        return unless_expired(self.file_io, self.paths, snapshot.id, changes=changes)

    def read_index(self, snapshot: Snapshot) -> list[IndexManifestEntry]:
        """The complete index state of a snapshot."""
        if snapshot.index_manifest is None:
            return []
        with self.reading(snapshot):
            return self.read_index_manifest(snapshot.index_manifest)

    def read_index_manifest(self, name: str) -> list[IndexManifestEntry]:
        """The entries of an index manifest."""
        return parse_index_manifest(self._read(name), self.paths.manifest(name))

    def hash_files(self, snapshot: Snapshot) -> dict[tuple[bytes, int], IndexManifestEntry]:
        """The HASH index files of a snapshot by (partition, bucket)."""
        entries = (entry for entry in self.read_index(snapshot) if entry.index_type == HASH_INDEX)
        return {(entry.partition, entry.bucket): entry for entry in entries}

    def deletion_vectors(self, snapshot: Snapshot) -> dict[tuple[bytes, int], dict[str, DeletionFile]]:
        """Locations of the deletion vectors of a snapshot: by (partition, bucket), then by name of the data file."""
        by_bucket: dict[tuple[bytes, int], dict[str, DeletionFile]] = {}
        for entry in self.read_index(snapshot):
            if entry.index_type != DELETION_VECTORS_INDEX:
                continue
            path = self.paths.index_file(entry)
            group = by_bucket.setdefault((entry.partition, entry.bucket), {})
            for part in entry.dv_ranges or ():
                if part.data_file_name in group:
                    raise CorruptFileError(f"data file {part.data_file_name} has two deletion vectors", path, ROLL_BACK)
                group[part.data_file_name] = DeletionFile(path, part, entry.file_size)
        return by_bucket

    def data_manifests(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        """Base list, then delta list."""
        with self.reading(snapshot):
            base = self.read_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)
            metas = base + self._delta_manifests(snapshot)
        twice = [name for name, count in Counter(meta.file_name for meta in metas).items() if count > 1]
        if twice:
            lists = f"{snapshot.base_manifest_list} and {snapshot.delta_manifest_list}"
            path = self.paths.manifest(snapshot.base_manifest_list)
            raise unexpected("each manifest once", f"{twice[0]} twice in {lists}", path)
        return metas

    def entries_before(self, snapshot: Snapshot) -> list[ManifestEntry]:
        """The files that were live before the snapshot's own changes."""
        with self.reading(snapshot):
            base = self.read_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)
            return merge_scan(self.entries_of(base))

    def delta_manifests(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        """The manifests of what the snapshot changed."""
        with self.reading(snapshot, changes=True):
            return self._delta_manifests(snapshot)

    def _delta_manifests(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        return self.read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)

    def changelog_manifests(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        """The manifests of the changelog that the snapshot carries."""
        if snapshot.changelog_manifest_list is None:
            return []
        with self.reading(snapshot, changes=True):
            return self.read_list(snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size)

    def entries_of(
        self, manifests: Sequence[ManifestFileMeta], selection: EntrySelection = EVERY_ENTRY
    ) -> Iterator[ManifestEntry]:
        """Entries of manifests in order. A few manifests are decoded ahead, so that storage and cores are kept busy."""
        for columns in self.columns_of(manifests, selection):
            yield from columns.select()

    def columns_of_one(self, meta: ManifestFileMeta, selection: EntrySelection = EVERY_ENTRY) -> ManifestColumns:
        """As `read_manifest`, as columns."""
        return self.read_columns(meta.file_name, selection, meta.file_size, meta.counts)

    def columns_of(
        self, manifests: Sequence[ManifestFileMeta], selection: EntrySelection = EVERY_ENTRY
    ) -> Iterator[ManifestColumns]:
        """The entries wanted of each manifest as columns; decoded ahead as of `entries_of`."""

        read = partial(self.columns_of_one, selection=selection)
        if len(manifests) <= 1 or self._are_at_hand(manifests):
            yield from map(read, manifests)
            return
        most = _AHEAD_BYTES_BY_HEADS if selection.names_heads else _AHEAD_BYTES
        with ThreadPoolExecutor(_AHEAD) as pool:
            started: deque[tuple[Future[ManifestColumns], int]] = deque()
            for manifest in manifests:
                while started and _is_far_ahead([size for _, size in started], most):
                    yield started.popleft()[0].result()
                started.append((pool.submit(read, manifest), manifest.file_size))
            while started:
                yield started.popleft()[0].result()

    def _are_at_hand(self, manifests: Sequence[ManifestFileMeta]) -> bool:
        """Whether manifests are read faster one after the other than by threads, which must be started first."""
        return is_local(self.paths.root) and sum(manifest.file_size for manifest in manifests) <= _SMALL_BYTES

    def delta_entries(self, snapshot: Snapshot, selection: EntrySelection = EVERY_ENTRY) -> list[ManifestEntry]:
        """What the snapshot changed."""
        with self.reading(snapshot, changes=True):
            return list(self.entries_of(self._delta_manifests(snapshot), selection))

    def changelog_entries(self, snapshot: Snapshot) -> list[ManifestEntry]:
        """The changelog files that the snapshot carries."""
        manifests = self.changelog_manifests(snapshot)
        with self.reading(snapshot, changes=True):
            return list(self.entries_of(manifests))

    def live_entries(
        self,
        snapshot: Snapshot,
        selection: EntrySelection = EVERY_ENTRY,
        keep_manifest: ManifestFilter = keep_all,
    ) -> list[ManifestEntry]:
        """The live files of a snapshot that are wanted, in manifest order."""
        manifests = [manifest for manifest in self.data_manifests(snapshot) if keep_manifest(manifest)]
        with self.reading(snapshot):
            return merge_scan(self.entries_of(manifests, selection))

    def live_columns(
        self,
        snapshot: Snapshot,
        selection: EntrySelection = EVERY_ENTRY,
        keep_manifest: ManifestFilter = keep_all,
    ) -> Iterator[ManifestColumns]:
        """The live files of a snapshot that are wanted, as columns of one manifest, or several small ones, at a time.

        However many files there are, no more than those of a few manifests, and all deletions, are held at a time. For
        that, manifests with deletions are read twice, unless all of them are small.
        """
        manifests = [manifest for manifest in self.data_manifests(snapshot) if keep_manifest(manifest)]
        deletions, additions = (replace(selection, kind=kind) for kind in (FileKind.DELETE, FileKind.ADD))
        deleted: Iterable[ManifestEntry]
        added: Iterable[ManifestColumns]
        with self.reading(snapshot):
            if sum(manifest.file_size for manifest in manifests) <= _HELD_BYTES:
                held = list(_gathered(self.columns_of(manifests, selection)))
                deleted = chain.from_iterable(columns.select(deletions) for columns in held)
                added = map(ManifestColumns.narrowed, held, repeat(additions))
            else:
                deleted = self.entries_of([m for m in manifests if m.num_deleted_files], deletions)
                added = self.columns_of(manifests, additions)
            dead = {entry.identity: entry.file.file_name for entry in deleted}
            names = pa.array(dead.values(), pa.string())
            for columns in added:
                yield columns.without(dead, names) if dead else columns


def _gathered(parts: Iterable[ManifestColumns]) -> Iterator[ManifestColumns]:
    """The same entries, those that are made already together: to look at a few takes as long as to look at many."""
    for are_made, alike in groupby(parts, lambda part: part.entries is not None):
        if are_made:
            yield ManifestColumns.of(chain.from_iterable(part.select() for part in alike))
        else:
            yield from alike


def of_partitions(partitions: Collection[bytes], types: Sequence[DataType]) -> tuple[EntrySelection, ManifestFilter]:
    """What is wanted of entries and manifests, where files of some partitions are. `types`: of partition columns."""
    holds = holding(partitions, types)
    return EntrySelection(partitions.__contains__), lambda manifest: holds(manifest.partition_stats)


def merge_scan(entries: Iterable[ManifestEntry]) -> list[ManifestEntry]:
    """ADD entries without a DELETE of the same identity."""
    deleted = set()
    added = []
    for entry in entries:
        if entry.kind == FileKind.ADD:
            added.append(entry)
        else:
            deleted.add(entry.identity)
    if not deleted:
        return added
    return [entry for entry in added if entry.identity not in deleted]


@dataclass(slots=True)
class ManifestWriter:
    """Writes the manifest files of one committer: one UUID, a counter for each kind of file.

    `target_size`: bytes at which a manifest is closed, estimated from what the previous ones took for each entry;
    `other_format`: of the files, None = Avro.
    """

    file_io: FileIO
    paths: TablePaths
    partition_types: Sequence[DataType]
    codec: str = "zstandard"
    level: int = 1
    target_size: int = 8 << 20
    other_format: FileSettings | None = None
    _uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    _manifests: int = 0
    _lists: int = 0
    _indexes: int = 0
    written: list[str] = field(default_factory=list)

    def write(self, entries: Sequence[ManifestEntry], schema_id: int) -> list[ManifestFileMeta]:
        """Write entries in order, rolled at the target size; nothing for no entries. `schema_id`: if there are none."""
        return self.write_columns([ManifestColumns.of(entries)], schema_id)

    def write_columns(self, parts: Iterable[ManifestColumns], schema_id: int) -> list[ManifestFileMeta]:
        """As `write`, of the entries of all parts, however many: no more than those of a few manifests are held."""
        metas: list[ManifestFileMeta] = []
        held = ManifestRecords()
        waiting: list[ManifestRecords] = []
        for columns in parts:
            waiting.append(ManifestRecords.of(columns))
            if sum(map(len, waiting)) >= _AT_ONCE:
                written, held = self._rolled(ManifestRecords.joined([held, *waiting]), schema_id, is_last=False)
                metas, waiting = metas + written, []
        return metas + self._rolled(ManifestRecords.joined([held, *waiting]), schema_id, is_last=True)[0]

    def _rolled(
        self, records: ManifestRecords, schema_id: int, *, is_last: bool
    ) -> tuple[list[ManifestFileMeta], ManifestRecords]:
        """Write manifests of the target size. Returns them, and the entries that are left unless they are the last."""
        metas = []
        start, step = 0, _PROBE
        while start < len(records):
            chunk = records.slice(start, step)
            data = self._formatted(chunk.serialize(self.codec, self.level))
            if len(data) > 2 * self.target_size and len(chunk) > 1:
                step = max(1, len(chunk) // 2)
                continue
            if len(data) < self.target_size // 2:
                if start + step < len(records):
                    step = step * self.target_size // len(data)
                    continue
                if not is_last:
                    break
            metas.append(self._write_one(chunk, data, schema_id))
            start += len(chunk)
        return metas, records.slice(start, len(records))

    def _write_one(self, records: ManifestRecords, data: bytes, schema_id: int) -> ManifestFileMeta:
        name = f"manifest-{self._uuid}-{self._manifests}"
        self._manifests += 1
        self._store(name, data)
        return manifest_meta(name, len(data), records.described, self.partition_types, schema_id)

    def write_list(self, manifests: Sequence[ManifestFileMeta]) -> tuple[str, int]:
        """Write a manifest list, also an empty one; its name and its bytes."""
        name = f"manifest-list-{self._uuid}-{self._lists}"
        self._lists += 1
        data = self._formatted(serialize_manifest_list(manifests, self.codec, self.level))
        self._store(name, data)
        return name, len(data)

    def write_index(self, entries: Sequence[IndexManifestEntry]) -> str:
        """Write a complete index state; its name."""
        name = f"index-manifest-{self._uuid}-{self._indexes}"
        self._indexes += 1
        self._store(name, self._formatted(serialize_index_manifest(entries, self.codec, self.level)))
        return name

    def _formatted(self, container: bytes) -> bytes:
        return container if self.other_format is None else in_format(container, self.other_format)

    def _store(self, name: str, data: bytes) -> None:
        path = self.paths.manifest(name)
        self.file_io.write_bytes(path, data)
        self.written.append(path)


def manifest_meta(
    name: str, size: int, entries: pa.Table, partition_types: Sequence[DataType], schema_id: int
) -> ManifestFileMeta:
    """What a manifest list says of a manifest. `entries`: all of it, the columns `DESCRIBED`."""
    column = entries.column
    deleted = pc.sum(pc.equal(column("_KIND"), int(FileKind.DELETE))).as_py()
    first_ids = column("_FIRST_ROW_ID")
    last_ids = pc.subtract(pc.add(first_ids, column("_ROW_COUNT")), 1)
    complete = not first_ids.null_count
    counts = column("_PARTITION").value_counts()
    partitions = dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True))
    schema = pc.max(column("_SCHEMA_ID")).as_py()
    return ManifestFileMeta(
        file_name=name,
        file_size=size,
        num_added_files=entries.num_rows - deleted,
        num_deleted_files=deleted,
        partition_stats=partition_stats_of(partitions, partition_types),
        schema_id=schema_id if schema is None else schema,
        min_bucket=pc.min(column("_BUCKET")).as_py(),
        max_bucket=pc.max(column("_BUCKET")).as_py(),
        min_level=pc.min(column("_LEVEL")).as_py(),
        max_level=pc.max(column("_LEVEL")).as_py(),
        min_row_id=pc.min(first_ids).as_py() if complete else None,
        max_row_id=pc.max(last_ids).as_py() if complete else None,
    )
