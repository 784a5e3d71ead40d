"""Which manifests, entries and files a filter rules out, from metadata alone.

Rules of tables with a primary key: statistics of keys prune single files; a condition on other columns may prune a file
only if no other file of its bucket can hold another version of its rows, and else only the whole bucket, when no file
of it matches. Otherwise the newest version of a row could be hidden and an older one resurrected.
Source: data section 6.3, Java `KeyValueFileStoreScan`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from maintenance.bucket.fixed import assign_buckets
from maintenance.errors import CorruptFileError
from maintenance.format.file_index.selection import Selection
from maintenance.format.metadata.column_stats import stats_values
from maintenance.format.metadata.data_file import DataFileMeta, written_fields
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.simple_stats import SimpleStats
from maintenance.format.rows.binary_row import parse_row
from maintenance.predicate.evolution import devolved
from maintenance.predicate.statistics import ColumnStats, may_match
from maintenance.predicate.tree import Compare, In, Predicate, columns_of, conjunction, conjuncts, restrict
from maintenance.scan.file_index import IndexContainer, index_selection
from maintenance.scan.split import by_bucket, raw_convertible
from maintenance.types.casts.matrix import keeps_values
from maintenance.types.data_type import DataField
from maintenance.types.values import Value, arrow_of_values

_MAX_KEYS = 1000


@dataclass(frozen=True, slots=True)
class Pruning:
    """Tests of one filter against metadata of one table.

    Attributes:
        schema: the schema that the filter's columns are named in.
        schemas: schemas that files were written with, by id.
        predicate: None keeps everything.
    """

    schema: TableSchema
    schemas: Mapping[int, TableSchema]
    predicate: Predicate | None

    def _over(self, columns: Sequence[str]) -> Predicate | None:
        return None if self.predicate is None or not columns else restrict(self.predicate, frozenset(columns))

    @property
    def of_files(self) -> "Pruning":
        """The same for files of partitions that match: without the conditions on partition columns alone.

        A partition has one value of each, so that no statistics and no index of its files say more of them.
        """
        if self.predicate is None:
            return self
        of_partitions = frozenset(self.schema.partition_keys)
        left = [part for part in conjuncts(self.predicate) if not frozenset() < columns_of(part) <= of_partitions]
        return replace(self, predicate=conjunction(left) if left else None)

    @property
    def prunes_partitions(self) -> bool:
        """Whether the filter says anything of partitions."""
        return self._over(self.schema.partition_keys) is not None

    def keeps_manifest(self, manifest: ManifestFileMeta) -> bool:
        """Whether a manifest may hold entries of partitions that match."""
        over = self._over(self.schema.partition_keys)
        if over is None:
            return True
        count = manifest.num_added_files + manifest.num_deleted_files
        return may_match(over, stats_by_column(manifest.partition_stats, self.schema.partition_fields), count)

    def keeps_partition(self, partition: bytes) -> bool:
        over = self._over(self.schema.partition_keys)
        if over is None:
            return True
        values = parse_row(partition, [field.type for field in self.schema.partition_fields])
        stats = {
            name: ColumnStats(value, value, int(value is None))
            for name, value in zip(self.schema.partition_keys, values, strict=True)
        }
        return may_match(over, stats, 1)

    def buckets(self, total_buckets: int, function: str) -> frozenset[int] | None:
        """The buckets that rows matching the filter can be in, None for any."""
        names = self.schema.bucket_keys
        if self.predicate is None or total_buckets <= 0 or not names:
            return None
        choices: dict[str, tuple[Value, ...]] = {}
        for part in conjuncts(self.predicate):
            if isinstance(part, Compare) and part.op == "=":
                choices[part.column] = _stored_forms((part.value,))
            elif isinstance(part, In) and len(part.values) <= _MAX_KEYS:
                choices[part.column] = _stored_forms(part.values)
        if not all(choices.get(name) for name in names):
            return None
        if np.prod([len(choices[name]) for name in names]) > _MAX_KEYS:
            return None
        fields = self.schema.bucket_fields
        keys = list(product(*(choices[name] for name in names)))
        columns = [arrow_of_values([key[i] for key in keys], field.type) for i, field in enumerate(fields)]
        rows = pa.Table.from_arrays(columns, names=list(names))
        return frozenset(assign_buckets(rows, fields, total_buckets, function).tolist())

    def keeps_key_range(self, file: DataFileMeta) -> bool:
        """Whether the keys of a file may match; always legal."""
        over = self._over(self.schema.trimmed_primary_keys)
        if over is None:
            return True
        return may_match(over, stats_by_column(file.key_stats, self.schema.key_fields), file.row_count)

    def keeps_values(self, file: DataFileMeta) -> bool:
        """Whether rows of a file may match, by the statistics of its columns."""
        if self.predicate is None:
            return True
        return may_match(self.predicate, self._value_stats(file), file.row_count)

    def least(self, file: DataFileMeta, column: str) -> Any:
        """The smallest value of a column in a file, an internal value; None where statistics do not say it."""
        stats = self._value_stats(file).get(column)
        return None if stats is None else stats.min

    def selection(self, file: DataFileMeta, load: Callable[[], IndexContainer | None]) -> Selection:
        """Rows of a file that may match, by its file index. Columns are resolved by field id.

        `load`: the file's container, if there is a reason to look at it.
        """
        if self.predicate is None:
            return Selection()
        own = {field.id: field for field in written_fields(file, self.schemas[file.schema_id])}
        elsewhere = {field.id for field in self.schemas[file.schema_id].fields} - set(own)
        fields = [field for field in self.schema.fields if field.id not in elsewhere]
        return index_selection(devolved(self.predicate, fields, own), file, list(own.values()), load)

    def _value_stats(self, file: DataFileMeta) -> dict[str, ColumnStats]:
        own = written_fields(file, self.schemas[file.schema_id])
        by_name = {field.name: field for field in own}
        names = file.value_stats_cols
        source_fields = own if names is None else [by_name[name] for name in names if name in by_name]
        if names is not None and len(source_fields) != len(names):
            raise CorruptFileError(
                f"statistics of columns {', '.join(names)}, not all of which the file has",
                file.file_name,
                "Roll back to a snapshot without the file.",
            )
        stored = stats_by_column(file.value_stats, source_fields)
        by_id = {field.id: field for field in own}
        # What the file's schema has and the file has not, another file of the same rows has.
        elsewhere = {field.id for field in self.schemas[file.schema_id].fields} - set(by_id)
        result: dict[str, ColumnStats] = {}
        for field in self.schema.fields:
            source = by_id.get(field.id)
            if source is None and field.id in elsewhere:
                continue
            if source is None:
                result[field.name] = ColumnStats(None, None, file.row_count)
            elif source.name in stored and keeps_values(source.type, field.type):
                result[field.name] = stored[source.name]
        return result


def _stored_forms(values: Sequence[Value]) -> tuple[Value, ...]:
    """Values as rows may hold them: filters take both zeros for one, buckets do not. Nothing where NaN is one."""
    if any(isinstance(value, float) and math.isnan(value) for value in values):
        return ()
    zeros = (0.0, -0.0) if any(isinstance(value, float) and value == 0 for value in values) else ()
    return (*(value for value in values if not (isinstance(value, float) and value == 0)), *zeros)


def prune_primary_key(
    entries: Sequence[ManifestEntry], pruning: Pruning, *, one_version: bool = False, computed: bool = False
) -> list[ManifestEntry]:
    """Entries that may hold matching rows, or versions of them.

    Args: `entries`: live, by partition and bucket whole; `one_version`: as of `raw_convertible`; `computed`: the values
        of a row are put together from several records, so a bucket may match though none of its files does.
    """
    kept: list[ManifestEntry] = []
    for group in by_bucket(entries).values():
        if stands_alone(group, one_version=one_version):
            kept.extend(e for e in group if pruning.keeps_values(e.file))
        elif computed or any(pruning.keeps_values(entry.file) for entry in group):
            kept.extend(group)
    return [entry for entry in kept if pruning.keeps_key_range(entry.file)]


def stands_alone(group: Sequence[ManifestEntry], *, one_version: bool = False) -> bool:
    """Whether no other file of a bucket can hold another version of a file's rows. `group`: all live files of it."""
    return len(group) == 1 or raw_convertible([entry.file for entry in group], one_version=one_version)


def alone_by_bucket(entries: Sequence[ManifestEntry], *, one_version: bool = False) -> frozenset[tuple[bytes, int]]:
    """The (partition, bucket) groups whose files stand alone. `entries`: live, by partition and bucket whole."""
    return frozenset(key for key, group in by_bucket(entries).items() if stands_alone(group, one_version=one_version))


def stats_by_column(stats: SimpleStats, fields: Sequence[DataField]) -> dict[str, ColumnStats]:
    """Statistics of columns by name. Columns without a known bound or count are unknown to `may_match`."""
    return {field.name: ColumnStats(*values) for field, values in zip(fields, stats_values(stats, fields), strict=True)}
