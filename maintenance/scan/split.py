"""Splits: files of one bucket that one task reads together.

Source: data section 6.2, Java `MergeTreeSplitGenerator`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from pyroaring import BitMap

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.merge.sections import Key, partition_into_sections
from maintenance.metadata.manifests import DeletionFile, Deletions
from maintenance.options import table as table_options
from maintenance.options.model import TableModel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Split:
    """Files of one bucket to read together.

    Attributes:
        partition: serialized partition row.
        raw: no two files hold the same key and none holds a retraction: they can be read one after the other, unmerged.
            Files of changes are raw as well: their records are what is asked for.
        candidates: numbers of the rows that may match the filter, by name of the data file, for files of which some do
            not; of files with the same rows by the name of the newest.
        changes: of files that snapshots brought, the oldest of which is `snapshot_id`.
        taken_back: of files that a snapshot replaced: the kind of each row is the opposite.
        deletions: deletion vectors by name of the data file, for the files that have one.
        home: partition and bucket of the files that lie elsewhere than the split, by name: of chain tables, and of
            partitions with rows that wait.
        waiting: files of the postpone bucket whose rows are merged in, in the order of their rows.
        anchored: of a chain table the names of the files that are of the snapshot branch.
        fallback: of the branch that stands in where the table lacks a partition, to be read as that branch's files.
    """

    snapshot_id: int
    partition: bytes
    bucket: int
    files: tuple[DataFileMeta, ...]
    raw: bool
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)
    fallback: bool = False
    changes: bool = False
    taken_back: bool = False
    candidates: Mapping[str, BitMap] = field(default_factory=dict)
    home: Mapping[str, tuple[bytes, int]] = field(default_factory=dict)
    anchored: frozenset[str] = frozenset()
    waiting: tuple[DataFileMeta, ...] = ()

    @property
    def is_chained(self) -> bool:
        """Whether files of other partitions are read as this one's."""
        return any(partition != self.partition for partition, _ in self.home.values())

    @property
    def file_count(self) -> int:
        return len(self.files) + len(self.waiting)

    @property
    def size(self) -> int:
        return sum(file.file_size for file in (*self.files, *self.waiting))

    @property
    def row_count(self) -> int:
        """Physical rows: an upper bound of what a read returns."""
        return sum(file.row_count for file in (*self.files, *self.waiting))


@dataclass(frozen=True, slots=True)
class DiffSplit:
    """Files of one bucket in two snapshots, without those that both have: what is otherwise is to be found out."""

    before: Split
    after: Split

    @property
    def file_count(self) -> int:
        return self.before.file_count + self.after.file_count

    @property
    def size(self) -> int:
        return self.before.size + self.after.size

    @property
    def row_count(self) -> int:
        """Physical rows: an upper bound of what a read returns."""
        return self.before.row_count + self.after.row_count


AnySplit = Split | DiffSplit


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """How much goes into a split, in bytes."""

    target_size: int
    open_file_cost: int

    @classmethod
    def of(cls, options: TableModel) -> "SplitOptions":
        return cls(table_options.SOURCE_SPLIT_TARGET_SIZE.of(options), options.source_split_open_file_cost)


def by_bucket(entries: Sequence[ManifestEntry]) -> dict[tuple[bytes, int], list[ManifestEntry]]:
    """Entries of each (partition, bucket), in the order they come."""
    groups: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.partition, entry.bucket), []).append(entry)
    return groups


def primary_key_splits(
    snapshot_id: int,
    entries: Sequence[ManifestEntry],
    options: SplitOptions,
    key_of: Callable[[bytes], Key],
    *,
    one_version: bool = False,
    by_key: bool = True,
) -> Iterator[Split]:
    """Splits of a table with a primary key. Sections are never cut: records of one key stay together.

    Args: `one_version`: as of `raw_convertible`; `by_key`: files are in the order of their keys, which only
        `pk-clustering-override` changes: then each stands alone, and its minimum and maximum key are none.
    """
    for (partition, bucket), group in by_bucket(entries).items():
        files = [entry.file for entry in group]
        if raw_convertible(files, one_version=one_version):
            for packed in pack(files, lambda file: file.file_size, options):
                yield Split(snapshot_id, partition, bucket, tuple(packed), raw=True)
            continue
        sections = partition_into_sections(files, key_of) if by_key else [((file,),) for file in files]
        flat = [[file for run in section for file in run] for section in sections]
        for bin_ in pack(flat, lambda section: sum(file.file_size for file in section), options):
            members = tuple(file for section in bin_ for file in section)
            alone = len(members) == 1 and members[0].delete_row_count == 0
            yield Split(snapshot_id, partition, bucket, members, raw=alone)


def append_splits(snapshot_id: int, entries: Sequence[ManifestEntry], options: SplitOptions) -> Iterator[Split]:
    """Splits of a table without a primary key, files by their sequence numbers."""
    for (partition, bucket), group in by_bucket(entries).items():
        files = sorted((entry.file for entry in group), key=lambda file: file.min_sequence_number)
        for packed in pack(files, lambda file: file.file_size, options):
            yield Split(snapshot_id, partition, bucket, tuple(packed), raw=True)


def raw_convertible(files: Sequence[DataFileMeta], *, one_version: bool = False) -> bool:
    """Whether files of a bucket need no merging: all on one level above 0, and known to hold no retraction.

    Args: `one_version`: files above level 0 never hold two live versions of a key, whatever their levels: those of
        tables with deletion vectors, and of merge engine first-row. Source: Java `MergeTreeSplitGenerator`.
    """
    levels = {file.level for file in files}
    apart = len(levels) == 1 or one_version
    return apart and 0 not in levels and all(file.delete_row_count == 0 for file in files)


def with_deletions(splits: Iterable[Split], deletions: Deletions) -> Iterator[Split]:
    """The splits, each with the deletion vectors of its files."""
    for split in splits:
        of_bucket = deletions.get((split.partition, split.bucket), {})
        of_split = {file.file_name: of_bucket[file.file_name] for file in split.files if file.file_name in of_bucket}
        yield replace(split, deletions=of_split) if of_split else split


def pack(items: Sequence[T], size_of: Callable[[T], int], options: SplitOptions) -> Iterator[list[T]]:
    """Items in order, a new bin when the next one would not fit; a single large item is a bin of its own."""
    current: list[T] = []
    weight = 0
    for item in items:
        size = max(size_of(item), options.open_file_cost)
        if current and weight + size > options.target_size:
            yield current
            current, weight = [], 0
        current.append(item)
        weight += size
    if current:
        yield current
