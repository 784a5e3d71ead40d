"""The state of a table that a clone copies: its live files and index files, and what turns another state into it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from maintenance.commit.changes import Changes
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.index_manifest import IndexManifestEntry
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.operations.compaction.partition_choice import over_partitions
from maintenance.scan.pruning import Pruning
from maintenance.table.table import Table


class PartitionFilter:
    """Which partitions are copied.

    Args: `where`: over partition columns, None = all; `only`: serialized partitions, None = all.
    Raises: PredicateError.
    """

    def __init__(self, table: Table, where: str | None, only: Collection[bytes] | None = None) -> None:
        self._table, self._where, self._only = table, where, only
        self._pruning = Pruning(table.schema, {}, over_partitions(table, where))
        self._keeps = lru_cache(maxsize=None)(self._pruning.keeps_partition)

    def keeps(self, partition: bytes) -> bool:
        return (self._only is None or partition in self._only) and self._keeps(partition)

    def among(self, partitions: Collection[bytes]) -> "PartitionFilter":
        """Of these partitions those that are copied."""
        return PartitionFilter(self._table, self._where, partitions)


@dataclass(frozen=True, slots=True)
class CloneState:
    """The live files and index files of a snapshot, of the partitions that are copied."""

    entries: Sequence[ManifestEntry] = ()
    index: Sequence[IndexManifestEntry] = ()

    @classmethod
    def of(cls, table: Table, snapshot: Snapshot | None, chosen: PartitionFilter) -> "CloneState":
        if snapshot is None:
            return cls()
        entries, index = table.manifests.live_entries(snapshot), table.manifests.read_index(snapshot)
        return cls(
            [entry for entry in entries if chosen.keeps(entry.partition)],
            [entry for entry in index if chosen.keeps(entry.partition)],
        )

    @property
    def in_folder(self) -> "CloneState":
        """The same with all files in the folders of their buckets."""
        entries = [replace(entry, file=replace(entry.file, external_path=None)) for entry in self.entries]
        return CloneState(entries, [replace(entry, external_path=None) for entry in self.index])

    @property
    def names(self) -> set[str]:
        """Of all its files."""
        data = {name for e in self.entries for name in (e.file.file_name, *e.file.extra_files)}
        return data | {entry.file_name for entry in self.index}

    @property
    def bytes(self) -> int:
        return sum(e.file.file_size for e in self.entries) + sum(part.file_size for part in self.index)

    def with_schema(self, schema_id: int | None, columns: Sequence[str], target: Sequence[str]) -> "CloneState":
        """The same files under the number that their schema has in the target; None: its own.

        Args: `columns`, `target`: names of both sides' columns. The files say theirs where the target's are not the
            same in the same order.
        """
        if schema_id is None:
            return self

        def there(file: DataFileMeta) -> DataFileMeta:
            if list(columns) == list(target):
                return replace(file, schema_id=schema_id)
            written = tuple(columns) if file.write_cols is None else file.write_cols
            named = written if file.value_stats_cols is None else file.value_stats_cols
            return replace(file, schema_id=schema_id, value_stats_cols=named, write_cols=written)

        return replace(self, entries=[replace(entry, file=there(entry.file)) for entry in self.entries])

    def changes_of(self, there: "CloneState", chosen: PartitionFilter) -> Changes:
        """What turns a state of the target into this one. Partitions that are not copied stay as they are."""
        old = {entry.identity: entry for entry in there.entries}
        new = {entry.identity: entry for entry in self.entries}
        leaving = (replace(entry, kind=FileKind.DELETE) for identity, entry in old.items() if identity not in new)
        coming = (entry for identity, entry in new.items() if identity not in old)

        def index(before: Sequence[IndexManifestEntry]) -> list[IndexManifestEntry]:
            return [*(entry for entry in before if not chosen.keeps(entry.partition)), *self.index]

        return Changes(CommitKind.OVERWRITE, (*leaving, *coming), index=index, bring_back=True)
