"""Would these changes corrupt the table if they were applied to this state? Source: Java `ConflictDetection`.

A conflict is never waited out: the state has moved, so the work must be planned again on it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.metadata.manifest import FileKind, ManifestColumns, ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.manifests import Manifests, merge_scan, of_partitions
from maintenance.types.data_type import DataType

OTHER_BUCKETS = "the number of buckets of the partition has changed"
Group = tuple[bytes, int]
Total = tuple[bytes, int]
"""A partition, and a number of buckets that files of it were written under."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why changes cannot be applied, and the (partition, bucket) groups that are to blame.

    `fix`: what to do where another number of buckets is the reason, since repeating the work does not help then.
    `replayed`: the same commit is in the table already.
    """

    reason: str
    groups: frozenset[Group]
    fix: str | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Base:
    """What changes may meet in the partitions that they touch.

    Attributes:
        entries: live ones, at least those of files that the changes name, and those of the levels that get files.
        totals: of all other live files.
    """

    entries: Sequence[ManifestEntry] = ()
    totals: frozenset[Total] = frozenset()

    @classmethod
    def of(
        cls,
        manifests: Manifests,
        snapshot: Snapshot,
        delta: Sequence[ManifestEntry],
        partition_types: Sequence[DataType],
        *,
        by_key: bool,
    ) -> "Base":
        """The base of changes in a snapshot, however many files it has. `by_key`: levels have their keys in order."""
        wanted = of_partitions({entry.partition for entry in delta}, partition_types)
        met = _Met.of(delta, by_key=by_key)
        return cls.joined(met.among(columns) for columns in manifests.live_columns(snapshot, *wanted))

    @classmethod
    def joined(cls, parts: Iterable["Base"]) -> "Base":
        """All of them."""
        entries: list[ManifestEntry] = []
        totals: set[Total] = set()
        for part in parts:
            entries += part.entries
            totals |= part.totals
        return cls(entries, frozenset(totals))


@dataclass(frozen=True, slots=True)
class _Met:
    """Which entries changes may meet: those of files of these names, and of these levels of these buckets."""

    names: pa.Array
    levels: pa.Array
    buckets: pa.Array

    @classmethod
    def of(cls, delta: Sequence[ManifestEntry], *, by_key: bool) -> "_Met":
        added = [entry for entry in delta if entry.kind == FileKind.ADD and entry.file.level > 0 and by_key]
        return cls(
            pa.array({entry.file.file_name for entry in delta}, pa.string()),
            pa.array({entry.file.level for entry in added}, pa.int32()),
            pa.array({entry.bucket for entry in added}, pa.int32()),
        )

    def among(self, columns: ManifestColumns) -> Base:
        """What is met of the entries of one manifest, and the totals of its other files, deleted ones left out."""
        rows = columns.table("_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", "_LEVEL", "_FILE_NAME")
        beside = pc.and_(
            pc.is_in(rows.column("_LEVEL"), value_set=self.levels),
            pc.is_in(rows.column("_BUCKET"), value_set=self.buckets),
        )
        met = pc.or_(pc.is_in(rows.column("_FILE_NAME"), value_set=self.names), beside)
        added = pc.equal(rows.column("_KIND"), int(FileKind.ADD))
        others = rows.filter(pc.and_(pc.invert(met), added)).select(["_PARTITION", "_TOTAL_BUCKETS"])
        distinct = others.group_by(others.column_names, use_threads=False).aggregate([])
        totals = zip(*(column.to_pylist() for column in distinct.columns), strict=True)
        return Base(columns.filtered(met.to_numpy()).select(), frozenset(totals))


@dataclass(frozen=True, slots=True)
class ManifestsMet:
    """What changes meet, in manifests that are opened once each, however often the changes are tried.

    A manifest never changes under its name. So when another writer was first, only the manifests that its snapshot does
    not share with the one before are opened: its own, and those that a merge of manifests has made.

    Attributes:
        delta: the changes, or more than those.
        by_manifest: what is met in each; files that another manifest deletes are among them, and in the totals.
    """

    manifests: Manifests
    delta: Sequence[ManifestEntry]
    partition_types: Sequence[DataType]
    by_key: bool
    by_manifest: dict[str, Base] = field(default_factory=dict)

    def base(self, snapshot: Snapshot) -> Base:
        """As `Base.of`, but that the totals may have those of deleted files, too."""
        selection, keep = of_partitions({entry.partition for entry in self.delta}, self.partition_types)
        metas = [meta for meta in self.manifests.data_manifests(snapshot) if keep(meta)]
        unknown = [meta for meta in metas if meta.file_name not in self.by_manifest]
        met = _Met.of(self.delta, by_key=self.by_key)
        with self.manifests.reading(snapshot):
            for meta, columns in zip(unknown, self.manifests.columns_of(unknown, selection), strict=True):
                self.by_manifest[meta.file_name] = met.among(columns)
        found = Base.joined(self.by_manifest[meta.file_name] for meta in metas)
        return Base(merge_scan(found.entries), found.totals)


def find_conflict(
    base: Base,
    delta: Sequence[ManifestEntry],
    *,
    key_of: Callable[[bytes], tuple[Any, ...]] | None,
    check_buckets: bool = True,
) -> Conflict | None:
    """The first kind of conflict, with every group that has it.

    Args:
        delta: the changes, in order.
        key_of: reads a serialized key, None for a table without primary key.
        check_buckets: entries of a partition must agree on the number of buckets (not when overwriting).
    """
    merged, broken, reason = _merge(base.entries, delta)
    if broken:
        return Conflict(reason, frozenset(broken))
    unmatched = {(entry.partition, entry.bucket) for entry in merged.values() if entry.kind == FileKind.DELETE}
    if unmatched:
        return Conflict("files that this commit replaces were already replaced or deleted", frozenset(unmatched))
    if check_buckets:
        wrong = bucket_mismatch([*base.totals, *map(_total_of, merged.values())], delta)
        if wrong:
            return Conflict(OTHER_BUCKETS, frozenset(wrong))
    if key_of is not None:
        overlapping = _overlaps(merged.values(), delta, key_of)
        if overlapping:
            return Conflict("key ranges of files on one level would overlap", frozenset(overlapping))
    return None


def _merge(
    base: Iterable[ManifestEntry], delta: Sequence[ManifestEntry]
) -> tuple[dict[Any, ManifestEntry], set[Group], str]:
    """Base and changes applied in order; a DELETE without its ADD is kept."""
    merged = {entry.identity: entry for entry in base}
    broken: set[Group] = set()
    for entry in delta:
        if entry.kind == FileKind.ADD:
            if entry.identity in merged:
                broken.add((entry.partition, entry.bucket))
            merged[entry.identity] = entry
        elif merged.pop(entry.identity, None) is None:
            merged[entry.identity] = entry
    return merged, broken, "a file that this commit adds already exists"


def _total_of(entry: ManifestEntry) -> Total:
    return entry.partition, entry.total_buckets


def bucket_mismatch(totals: Iterable[Total], delta: Sequence[ManifestEntry]) -> set[Group]:
    """Groups of `delta` in partitions with different numbers of buckets. `totals`: of all files."""
    numbers: dict[bytes, set[int]] = {}
    for partition, total in totals:
        if total > 0:
            numbers.setdefault(partition, set()).add(total)
    mixed = {partition for partition, of_partition in numbers.items() if len(of_partition) > 1}
    return {(entry.partition, entry.bucket) for entry in delta if entry.partition in mixed}


def _overlaps(
    entries: Iterable[ManifestEntry], delta: Sequence[ManifestEntry], key_of: Callable[[bytes], tuple[Any, ...]]
) -> set[Group]:
    touched = {(entry.partition, entry.bucket, entry.file.level) for entry in delta if entry.kind == FileKind.ADD}
    levels: dict[tuple[bytes, int, int], list[tuple[Any, Any]]] = {}
    for entry in entries:
        place = (entry.partition, entry.bucket, entry.file.level)
        if entry.kind == FileKind.ADD and entry.file.level > 0 and place in touched:
            levels.setdefault(place, []).append((key_of(entry.file.min_key), key_of(entry.file.max_key)))
    wrong = set()
    for (partition, bucket, _), ranges in levels.items():
        ranges.sort()
        if any(before[1] >= after[0] for before, after in zip(ranges, ranges[1:], strict=False)):
            wrong.add((partition, bucket))
    return wrong
