"""The order of entries in sorted manifests, and which manifests follow each other in it: `manifest-sort.enabled`.

By a partition column, the first unless `manifest-sort.partition-field` names another. In a table with data evolution
whose manifests all know their row ids: by that column or all of the partition, then by row id.
Source: Java `ManifestFileSorter`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.partition_stats import sort_word
from maintenance.format.rows.binary_row import parse_row
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataType

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ManifestSorting:
    """How manifests are sorted when they are merged.

    Attributes:
        column: position of the partition column that comes first, None = as the table's kind says.
        max_rewrite_size: bytes of manifests that one commit sorts.
        size_amplification: per cent that the smaller sorted runs may add to the largest; `size_ratio`: per cent by
            which a run may be larger than those picked before it.
        by_row_ids: whether row ids are part of the order, where all manifests know them.
    """

    column: int | None = None
    max_rewrite_size: int = 256 << 20
    size_amplification: int = 200
    size_ratio: int = 1
    by_row_ids: bool = False

    @classmethod
    def of(cls, options: TableModel, partition_keys: Sequence[str]) -> "ManifestSorting | None":
        """None if the table's manifests are not sorted. Raises: ValueError: no partition column has the option's name,
        which `check_options` finds before.
        """
        if not options.manifest_sort_enabled:
            return None
        name = table_options.MANIFEST_SORT_PARTITION_FIELD.of(options)
        return cls(
            partition_keys.index(name) if name else None,
            table_options.MANIFEST_SORT_MAX_REWRITE_SIZE.of(options),
            options.compaction_max_size_amplification_percent,
            options.compaction_size_ratio,
            options.evolves,
        )

    def order(self, manifests: Sequence[ManifestFileMeta], types: Sequence[DataType]) -> "EntryOrder | None":
        """None if there is nothing to sort these manifests by."""
        by_row_ids = self.by_row_ids and all(meta.min_row_id is not None for meta in manifests)
        if not types and not by_row_ids:
            return None
        if self.column is not None:
            return EntryOrder(types, (self.column,), by_row_ids)
        return EntryOrder(types, tuple(range(len(types))) if by_row_ids else (0,), by_row_ids)


@dataclass(frozen=True, slots=True)
class EntryOrder:
    """`columns`: positions of partition columns; `by_row_ids`: whether row ids come behind them."""

    types: Sequence[DataType]
    columns: tuple[int, ...]
    by_row_ids: bool
    _known: dict[bytes, Key] = field(default_factory=dict)

    def lowest(self, meta: ManifestFileMeta) -> Key:
        """Where a manifest begins, as far as its list says."""
        start = self._of_partition(meta.partition_stats.min_values)
        return (*start, meta.min_row_id) if self.by_row_ids else start

    def highest(self, meta: ManifestFileMeta) -> Key:
        end = self._of_partition(meta.partition_stats.max_values)
        return (*end, meta.max_row_id) if self.by_row_ids else end

    def follows(self, low: Key, high: Key) -> bool:
        """Whether what begins at `low` comes behind what ends at `high`. A partition may go on in the next manifest, a
        range of row ids may not.
        """
        return low > high if self.by_row_ids else low >= high

    def of(self, entry: ManifestEntry) -> Key:
        """The place of an entry."""
        file = entry.file
        partition = self._of_partition(entry.partition)
        if not self.by_row_ids:
            return (*partition, file.file_name)
        first = -1 if file.first_row_id is None else file.first_row_id
        return (*partition, first, first + file.row_count, -file.max_sequence_number, file.file_name)

    def sorted(self, manifests: Sequence[ManifestFileMeta]) -> list[ManifestFileMeta]:
        """Manifests by where they begin."""
        place: Callable[[ManifestFileMeta], Key] = lambda meta: (self.lowest(meta), self.highest(meta))  # noqa: E731
        return sorted(manifests, key=place)

    def _of_partition(self, row: bytes) -> Key:
        key = self._known.get(row)
        if key is None:
            values = parse_row(row, self.types) if self.types else ()
            key = self._known[row] = tuple(part for column in self.columns for part in sort_word(values[column]))
        return key
