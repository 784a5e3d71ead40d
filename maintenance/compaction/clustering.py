"""Incremental clustering of append tables: which files to bring into the order of `clustering.columns`, and how.

A file of level 0 is unsorted, those of each higher level are one sorted run. The rules of universal compaction pick
runs of the same partition and bucket; what they pick is sorted and written to a higher level. A full clustering takes
all of them, unless they are one run of the highest level already, sorted by the same columns.
Source: Java `IncrementalClusterManager`, `IncrementalClusterStrategy`.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from maintenance.compaction.levels import SortedRun, level_count, sorted_runs
from maintenance.compaction.order.orders import ORDERS, SortedBy
from maintenance.compaction.universal import CompactUnit, UniversalOptions, pick, pick_full
from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.options import table as table_options
from maintenance.options.model import TableModel

NEW_ORDER, DELETED_ROWS = "other clustering columns", "deleted rows"
# More columns are ordered along a Hilbert curve.
_ZORDER_COLUMNS = 4


def is_clustered(schema: TableSchema, options: TableModel) -> bool:
    """Whether compactions of the table are clusterings. With data evolution rows stay in the order of their ids."""
    return options.clustering_incremental and not schema.primary_keys and not options.evolves


def clustered_by(schema: TableSchema, options: TableModel, where: str) -> SortedBy:
    """The order of a table that is clustered. Raises: OptionError, UnsupportedError: its options do not name one."""
    columns = options.clustering_columns
    key = table_options.CLUSTERING_COLUMNS.key
    unknown = [column for column in columns if column not in schema.field_names]
    if unknown or len(set(columns)) < max(1, len(columns)):
        problem = f"'{key}' names '{unknown[0]}'" if unknown else f"'{key}' = '{', '.join(columns)}'"
        raise OptionError(problem, where, "Name one or more different columns of the table.")
    nested = [column for column in columns if schema.field(column).type.is_nested]
    if nested:
        raise UnsupportedError(f"'{key}' names '{nested[0]}' of a nested type", where, "Use another column.")
    strategy = table_options.CLUSTERING_STRATEGY.of(options)
    if strategy == "auto":
        strategy = "order" if len(columns) == 1 else "zorder" if len(columns) <= _ZORDER_COLUMNS else "hilbert"
    if len(columns) < ORDERS[strategy].min_columns:
        option = table_options.CLUSTERING_STRATEGY.key
        raise OptionError(f"'{option}' = '{strategy}' with one column", where, "Use 'order', or name more columns.")
    return SortedBy(strategy, columns, options.zorder_var_length_contribution)


@dataclass(frozen=True, slots=True)
class ClusterRules:
    """How the files of a bucket are picked. `columns_of`: `clustering.columns` of a schema, by its id."""

    options: TableModel
    columns_of: Callable[[int], tuple[str, ...]]

    def pick(
        self, files: Sequence[DataFileMeta], with_vectors: Collection[str], *, full: bool, now_millis: int
    ) -> CompactUnit | None:
        """The files to sort together, and the level that they go to; None if there is nothing to do.

        `files`: in the order of manifests; `with_vectors`: names of files with deleted rows, which a full clustering
        writes again, unlike Java's.
        """
        max_level = level_count(files, self.options.num_levels) - 1
        runs = _runs(files)
        if not full:
            return pick(runs, max_level, self._universal, now_millis=now_millis)
        unit = pick_full(runs, max_level)
        if unit is not None or not runs:
            return unit
        every = runs[0].files
        if self.columns_of(every[0].schema_id) != self.options.clustering_columns:
            return CompactUnit(max_level, every, NEW_ORDER)
        deleted = tuple(file for file in every if file.file_name in with_vectors)
        return CompactUnit(max_level, deleted, DELETED_ROWS) if deleted else None

    @property
    def _universal(self) -> UniversalOptions:
        return UniversalOptions(
            self.options.num_sorted_run_compaction_trigger,
            self.options.compaction_max_size_amplification_percent,
            self.options.compaction_size_ratio,
        )

    def sorted_together(self, files: Sequence[DataFileMeta]) -> Iterator[tuple[DataFileMeta, ...]]:
        """All files at once, or with `clustering.incremental.mode` = `local-sort` about a new file's worth of them."""
        if table_options.CLUSTERING_INCREMENTAL_MODE.of(self.options) == "global-sort":
            yield tuple(files)
            return
        target = self.options.target_file_size(has_primary_key=False)
        part: list[DataFileMeta] = []
        for file in files:
            if part and sum(each.file_size for each in part) + file.file_size > target:
                yield tuple(part)
                part = []
            part.append(file)
        yield tuple(part)


def _runs(files: Sequence[DataFileMeta]) -> list[SortedRun]:
    """The runs of a bucket, unsorted files first, in the order of manifests that Java takes them in."""
    unsorted = sorted((file for file in files if file.level == 0), key=lambda file: file.min_sequence_number)
    return [
        *(SortedRun(0, (file,)) for file in unsorted),
        *sorted_runs([file for file in files if file.level > 0]),
    ]
