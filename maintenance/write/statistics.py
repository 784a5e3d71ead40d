"""Statistics of a data file while it is written. Source: options `metadata.stats-*`, Java `SimpleStatsCollector`."""

from collections.abc import Sequence

import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.format.metadata.column_stats import CollectedStats, collect_stats, merge_stats, stored_stats
from maintenance.format.metadata.simple_stats import EMPTY_STATS, SimpleStats
from maintenance.format.metadata.stats_mode import FULL_STATS, NO_STATS, SYSTEM_STATS, StatsMode, parse_stats_mode
from maintenance.options import table as table_options
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField
from maintenance.write.context import WriteContext


class FileStatistics:
    """Collects the key and value statistics of one file.

    Args: `mode`: of the columns that have none of their own; `nested`: whether nulls of nested columns are counted.
    """

    def __init__(self, context: WriteContext, mode: str, *, nested: bool) -> None:
        self._nested = nested
        self._fields = context.columns
        self._named = context.write_cols is not None
        self._keys = context.schema.key_fields
        thin_keys = context.schema.trimmed_primary_keys if context.is_thin else ()
        self._modes = stats_modes(self._fields, context.model, mode, thin_keys)
        self._dense = table_options.METADATA_STATS_DENSE_STORE.of(context.options)
        # Key statistics are always full; where a key column is collected in full anyway it is not read twice.
        self._collect = [FULL_STATS if field in self._keys else mode for field, mode in self._by_field()]
        self._so_far: tuple[CollectedStats, ...] | None = None

    def _by_field(self) -> Sequence[tuple[DataField, StatsMode]]:
        return list(zip(self._fields, self._modes, strict=True))

    def add(self, rows: pa.Table) -> None:
        """Take further rows, with the table's columns."""
        columns = [rows.column(field.name) for field in self._fields]
        stats = collect_stats(columns, self._fields, self._collect, nested=self._nested)
        self._so_far = stats if self._so_far is None else merge_stats(self._so_far, stats)

    def finish(self) -> tuple[SimpleStats, SimpleStats, tuple[str, ...] | None]:
        """Key statistics, value statistics, and the columns that the latter cover (None = all)."""
        collected = self._so_far or ()
        by_name = dict(zip((field.name for field in self._fields), collected, strict=True))
        values = [CollectedStats() if mode == NO_STATS else by_name[field.name] for field, mode in self._by_field()]
        value_stats, columns = stored_stats(values, self._fields, self._modes, dense=self._dense)
        if self._named and columns is None:
            columns = tuple(field.name for field in self._fields)
        if not self._keys:
            return EMPTY_STATS, value_stats, columns
        keys = [by_name[field.name] for field in self._keys]
        key_stats, _ = stored_stats(keys, self._keys, [FULL_STATS] * len(keys), dense=False)
        return key_stats, value_stats, columns


def stats_modes(
    fields: Sequence[DataField], options: TableModel, default: str, thin_keys: Sequence[str] = ()
) -> list[StatsMode]:
    """The mode of each column.

    Args: `default`: of columns without a mode; `thin_keys`: key columns of files without `_KEY_` columns, which keep
        statistics whatever the default is and do not count for `metadata.stats-keep-first-n-columns`.
    Raises: OptionError: a mode that does not exist.
    """
    keep = table_options.METADATA_STATS_KEEP_FIRST_N_COLUMNS.of(options)
    modes, counted = [], 0
    for field in fields:
        own = options.get(f"fields.{field.name}.stats-mode")
        if own is None and field.name in thin_keys:
            modes.append(SYSTEM_STATS)
            continue
        modes.append(_mode(own or (default if keep < 0 or counted < keep else "none"), field))
        counted += 1
    return modes


def _mode(text: str, field: DataField) -> StatsMode:
    try:
        return parse_stats_mode(text)
    except ValueError as error:
        fix = "Set the option to none, counts, full or truncate(16)."
        raise OptionError(f"statistics mode '{text}': {error}", f"column {field.name}", fix) from error
