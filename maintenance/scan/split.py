"""Splits: files of one bucket that one task reads together.

Source: data section 6.2, Java `MergeTreeSplitGenerator`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from maintenance.format.data_file import DataFileMeta
from maintenance.format.manifest import ManifestEntry
from maintenance.merge.sections import Key, partition_into_sections
from maintenance.options import table as table_options

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Split:
    """Files of one bucket to read together.

    Attributes:
        partition: serialized partition row.
        raw: no two files hold the same key and none holds a retraction: they can be read one after the other, unmerged.
    """

    snapshot_id: int
    partition: bytes
    bucket: int
    files: tuple[DataFileMeta, ...]
    raw: bool

    @property
    def size(self) -> int:
        return sum(file.file_size for file in self.files)

    @property
    def row_count(self) -> int:
        """Physical rows: an upper bound of what a read returns."""
        return sum(file.row_count for file in self.files)


@dataclass(frozen=True, slots=True)
class SplitOptions:
    """How much goes into a split, in bytes."""

    target_size: int
    open_file_cost: int

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "SplitOptions":
        return cls(
            table_options.SOURCE_SPLIT_TARGET_SIZE.of(options), table_options.SOURCE_SPLIT_OPEN_FILE_COST.of(options)
        )


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
) -> Iterator[Split]:
    """Splits of a table with a primary key. Sections are never cut: records of one key stay together."""
    for (partition, bucket), group in by_bucket(entries).items():
        files = [entry.file for entry in group]
        if raw_convertible(files):
            for packed in pack(files, lambda file: file.file_size, options):
                yield Split(snapshot_id, partition, bucket, tuple(packed), raw=True)
            continue
        sections = partition_into_sections(files, key_of)
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


def raw_convertible(files: Sequence[DataFileMeta]) -> bool:
    """Whether files of a bucket cannot overlap: all on one level above 0, and known to hold no retraction."""
    levels = {file.level for file in files}
    return len(levels) == 1 and 0 not in levels and all(file.delete_row_count == 0 for file in files)


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
