"""The merge engine of a table: how records are ordered and what each key's result is.

A new engine is one module with its rules, and one line in `_ENGINES`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from maintenance.format.data_format import RowFilter
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER, VALUE_KIND
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregation import Aggregation
from maintenance.merge.deduplicate import deduplicate, deduplicate_ignoring_deletes
from maintenance.merge.first_row import first_row, first_row_ignoring_deletes, refuse_retractions
from maintenance.merge.ordered import RUN_COLUMN, KeyGroups, RecordOrder, without_covered_levels
from maintenance.merge.partial_update import PartialUpdate
from maintenance.merge.records import Merged, Records, merge_several
from maintenance.options.model import TableModel

PickResult = Callable[[pa.Table, KeyGroups], np.ndarray]


class EngineRules(Protocol):
    """What an engine makes of the records of a key. `functions`: of the columns that aggregate."""

    @property
    def functions(self) -> Mapping[str, tuple[AggregatedColumn, Aggregate]]: ...

    def needs(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Names of the columns that the values of `columns` depend on."""

    def merge(self, records: Records, names: Iterable[str]) -> Merged:
        """The row of each key. Only keys with several records get here. `names`: of the columns to merge."""

    def refuse(self, rows: pa.Table) -> None:
        """Raises: DataError: rows about to be written are retractions that no merging with others could take."""


@dataclass(frozen=True, slots=True)
class PickRules:
    """Rules of an engine whose result is one of the records, whole.

    `check`: what it refuses even of a key with a single record: of writers, and where compactions look older records
    up.
    """

    pick: PickResult
    check: Callable[[pa.Table], None] | None = None


_ENGINES: Mapping[str, Callable[[TableSchema, TableModel], "EngineRules | PickRules"]] = {
    "deduplicate": lambda schema, options: _picking(options, deduplicate, deduplicate_ignoring_deletes),
    "first-row": lambda schema, options: _picking(options, first_row, first_row_ignoring_deletes, refuse_retractions),
    "partial-update": PartialUpdate.of,
    "aggregation": Aggregation.of,
}


def _picking(
    options: TableModel,
    pick: PickResult,
    ignoring_deletes: PickResult,
    check: Callable[[pa.Table], None] | None = None,
) -> PickRules:
    return PickRules(ignoring_deletes) if options.ignores_deletes else PickRules(pick, check)


@dataclass(frozen=True, slots=True)
class MergeEngine:
    """Order and result of a table's records.

    Attributes:
        levels_cover: of records above level 0 only the one of the lowest level counts, see `without_covered_levels`.
    """

    order: RecordOrder
    rules: EngineRules | PickRules
    levels_cover: bool = False

    @classmethod
    def of(cls, schema: TableSchema, options: TableModel) -> "MergeEngine":
        """The engine a table is declared with. Raises: OptionError, SchemaError: its options do not fit."""
        descending = options.sequence_field_sort_order == "descending"
        order = RecordOrder(schema.trimmed_primary_keys, options.sequence_field, descending)
        name = options.merge_engine
        covers = name != "first-row" and options.looks_up
        return cls(order, _ENGINES[name](schema, options), covers)

    @property
    def stored(self) -> "Mapping[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]]":
        """What writers store for the values of columns, where it is not the values themselves."""
        if isinstance(self.rules, PickRules):
            return {}
        return {
            name: function.stored for name, (_, function) in self.rules.functions.items() if function.stored is not None
        }

    def refuse(self, rows: pa.Table) -> None:
        """Refuse rows that could be stored, and with which no read or compaction of their keys would succeed again.

        Real Paimon's writers store them where the key has one record in a batch. Args: `rows`: with `_VALUE_KIND`, of
        whose kinds those that the table ignores are left out. Raises: DataError.
        """
        if not isinstance(self.rules, PickRules):
            self.rules.refuse(rows)
        elif self.rules.check is not None:
            self.rules.check(rows)

    def needs(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Names of further columns that merging needs to produce `columns`."""
        further = () if isinstance(self.rules, PickRules) else self.rules.needs(columns)
        return (*self.order.key, *self.order.sequence_fields, *further)

    def merge(
        self,
        rows: pa.Table,
        groups: KeyGroups,
        run_levels: np.ndarray | None = None,
        *,
        lone_too: bool = False,
        matching: RowFilter | None = None,
    ) -> pa.Table:
        """One record for each key, in key order; retractions included.

        Args: `rows`: n > 0 records with `_SEQUENCE_NUMBER`, `_VALUE_KIND` and columns of the table; `_RUN` is left out;
            `run_levels`: the level of each run, where the records are of files; `lone_too`: a key's only record is
            merged as well, as compactions that look up do, instead of being the key's row as is; `matching`: of the
            table's columns; results for which it does not hold may be left out.
        Raises: DataError: the records break a rule of the engine.
        """
        system = (SEQUENCE_NUMBER.name, VALUE_KIND.name)
        names = [name for name in rows.column_names if name not in (*system, RUN_COLUMN)]
        if self.levels_cover and run_levels is not None:
            groups = without_covered_levels(groups, run_levels[rows.column(RUN_COLUMN).to_numpy()])
        if isinstance(self.rules, PickRules):
            if lone_too and self.rules.check is not None:
                self.rules.check(rows)
            picked = self.rules.pick(rows, groups)
            if matching is not None:
                # Most columns are then put together for few rows.
                picked = picked[matching.mask(rows.select(sorted(matching.columns)).take(pa.array(picked)))]
            return rows.select([*system, *names]).take(pa.array(picked))
        rules = self.rules
        return merge_several(rows, groups, names, lambda records: rules.merge(records, names), lone_too=lone_too)


def newest_is_the_row(options: TableModel) -> bool:
    """Whether merging takes the newest record as it is, so that older ones need not be known."""
    plain = options.merge_engine == "deduplicate"
    return plain and not options.sequence_field
