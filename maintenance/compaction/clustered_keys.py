"""Compaction of buckets whose files are sorted by `clustering.columns`: option `pk-clustering-override`.

Level 0 is sorted by key, as ever. What a compaction makes of it is sorted by the clustering columns and goes to level
1, where each file is a sorted run of its own: deletion vectors, or merge engine first-row, leave one version of a key
there. Files of level 1 whose ranges overlap, and small ones, are merged by their order, without looking at keys.
Source: Java `ClusteringCompactManager`, `ClusteringFileRewriter`. Where Java keeps an index of all keys on each worker,
the keys of level 0 are looked up in the files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from maintenance.compaction.plan import BucketCompaction, RewriteStep
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.key import key_reader
from maintenance.merge.sections import Key, partition_into_sections
from maintenance.metadata.manifests import DeletionFile
from maintenance.options.model import TableModel

LEVEL = 1
"""The level of sorted files."""


def columns_in_order(schema: TableSchema) -> tuple[str, ...]:
    """What the sorted files of a schema are sorted by."""
    return schema.model.clustering_columns


@dataclass(frozen=True, slots=True)
class ClusteredBucket:
    """A bucket to plan.

    Attributes:
        schema_of: loads schemas by id.
        deletions: locations of the deletion vectors of its files, by name.
    """

    schema: TableSchema
    options: TableModel
    schema_of: Callable[[int], TableSchema]
    files: Sequence[DataFileMeta]
    deletions: Mapping[str, DeletionFile]

    def plan(self, partition: bytes, bucket: int, total_buckets: int, *, full: bool) -> BucketCompaction | None:
        """What to compact, None for nothing. `full`: all, unless nothing overlaps, is small or has deleted rows."""
        fresh = [file for file in self.files if file.level == 0]
        placed = tuple(file for file in self.files if file.level > 0)
        together = self._together(placed)
        if full and (together or fresh or any(file.file_name in self.deletions for file in placed)):
            together = placed
        if len(together) == 1 and self._is_sorted(together[0]):
            # Alone it stays as it is, unless rows join it or leave it.
            together = together if full and (fresh or together[0].file_name in self.deletions) else ()
        if not fresh and not together:
            return None
        key_of = key_reader([field.type for field in self.schema.key_fields])
        steps = [RewriteStep(tuple(partition_into_sections(fresh, key_of)))] if fresh else []
        if together:
            steps.append(RewriteStep(tuple(((file,),) for file in together)))
        names = {file.file_name for file in together}
        return BucketCompaction(
            partition=partition,
            bucket=bucket,
            total_buckets=total_buckets,
            output_level=LEVEL,
            max_level=LEVEL,
            drop_deletes=True,
            changelog=False,
            steps=tuple(steps),
            reason="full compaction" if full else "new rows" if fresh else "sorted files overlap",
            looks_up=True,
            older=placed if fresh else (),
            deletions=self.deletions,
            marks=self.options.has_deletion_vectors,
            staying=tuple(file for file in placed if file.file_name not in names),
            clustering=columns_in_order(self.schema),
        )

    def _together(self, placed: Sequence[DataFileMeta]) -> tuple[DataFileMeta, ...]:
        """Sorted files that overlap, and small ones beside them. Source: Java `pickMergeCandidates`."""
        ours = [file for file in placed if self._is_sorted(file)]
        others = [file for file in placed if not self._is_sorted(file)]
        key_of = key_reader([self.schema.field(name).type for name in columns_in_order(self.schema)])
        small = self.options.target_file_size(has_primary_key=True) // 2
        groups: list[list[DataFileMeta]] = [[]]
        for files in _sections(ours, key_of):
            if len(files) > 1 or sum(file.file_size for file in files) < small:
                groups[-1] += files
            else:
                groups.append([])
        chosen = [file for group in groups if len(group) > 1 for file in group]
        return (*others, *chosen)

    def _is_sorted(self, file: DataFileMeta) -> bool:
        """Whether a sorted file has the order that the table has now."""
        return columns_in_order(self.schema_of(file.schema_id)) == columns_in_order(self.schema)


def _sections(files: Sequence[DataFileMeta], key_of: Callable[[bytes], Key]) -> Iterator[list[DataFileMeta]]:
    """Files whose ranges overlap, together. Those that merely meet stay apart, as files of one order may."""
    bounds = sorted((key_of(file.min_key), key_of(file.max_key), number) for number, file in enumerate(files))
    section: list[DataFileMeta] = []
    end: Key | None = None
    for low, high, number in bounds:
        if end is not None and low >= end:
            yield section
            section, end = [], None
        section.append(files[number])
        end = high if end is None else max(end, high)
    if section:
        yield section
