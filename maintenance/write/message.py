"""Commit messages: what one task wrote for one bucket. The files exist when the message is made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import IndexManifestEntry


@dataclass(frozen=True, slots=True)
class VectorsChange:
    """What happens to the deletion vectors of one bucket, planned on one snapshot.

    Attributes:
        seen: for each data file that gets a vector or is replaced, the index file that held its vector, None without.
        removed: names of index files that go; `added`: those that come. Vectors that stay are in them too.
        only: the bucket has one index file at most, so what is added stands in place of all that it had.
    """

    seen: Mapping[str, str | None]
    removed: tuple[str, ...] = ()
    added: tuple[IndexManifestEntry, ...] = ()
    only: bool = False


@dataclass(frozen=True, slots=True)
class CommitMessage:
    """New and replaced files of one bucket. Source: Java `CommitMessageImpl`.

    Attributes:
        partition: serialized partition row.
        total_buckets: of the partition: the fixed number, -1 for unaware and dynamic buckets.
        new_files: written by an append; they make the APPEND snapshot.
        changelog_files: changelog of `new_files`, with the producer `input`.
        new_index_files: HASH files that take the place of the bucket's; they go with `new_files`.
        compact_before, compact_after, compact_changelog: of a compaction; they make the COMPACT snapshot.
        vectors: what happens to deletion vectors, None for nothing.
        highest: of rows that leave the postpone bucket, the largest sequence number in this bucket when they were
            numbered: no later rows may have come to it since. None = it does not matter.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    new_files: tuple[DataFileMeta, ...] = ()
    changelog_files: tuple[DataFileMeta, ...] = ()
    new_index_files: tuple[IndexManifestEntry, ...] = ()
    compact_before: tuple[DataFileMeta, ...] = ()
    compact_after: tuple[DataFileMeta, ...] = ()
    compact_changelog: tuple[DataFileMeta, ...] = ()
    vectors: VectorsChange | None = None
    highest: int | None = None

    @property
    def is_empty(self) -> bool:
        files = self.new_files or self.changelog_files or self.compact_before or self.compact_after
        return not (files or (self.vectors and (self.vectors.removed or self.vectors.added)))

    @property
    def index_files(self) -> tuple[IndexManifestEntry, ...]:
        """Index files that exist because of this message."""
        return (*self.new_index_files, *(self.vectors.added if self.vectors else ()))

    def written(self) -> Iterator[DataFileMeta]:
        """Files that exist on storage because of this message alone; files that only changed their level do not."""
        kept = {file.file_name for file in self.compact_before}
        yield from self.new_files
        yield from self.changelog_files
        yield from (file for file in self.compact_after if file.file_name not in kept)
        yield from self.compact_changelog
