"""The merge engine of a table: how records are ordered and what each key's result is.

A new engine is one module with a function (rows, groups) -> result, and one line in `_ENGINES`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.format.schema import TableSchema
from maintenance.merge.deduplicate import deduplicate, deduplicate_ignoring_deletes
from maintenance.merge.ordered import KeyGroups, RecordOrder
from maintenance.options import table as table_options
from maintenance.types.data_type import DataField

PickResult = Callable[[pa.Table, KeyGroups], np.ndarray]

_ENGINES: Mapping[str, PickResult] = {"deduplicate": deduplicate}


@dataclass(frozen=True, slots=True)
class MergeEngine:
    """Order and result of a table's records."""

    order: RecordOrder
    pick: PickResult

    @classmethod
    def of(cls, schema: TableSchema, options: Mapping[str, str]) -> "MergeEngine":
        """The engine a table is declared with. Raises: UnsupportedError naming it."""
        name = table_options.MERGE_ENGINE.of(options)
        if name not in _ENGINES:
            raise UnsupportedError(
                f"merge engine '{name}' is not supported yet", "option 'merge-engine'", "Read the table with Paimon."
            )
        descending = table_options.SEQUENCE_FIELD_SORT_ORDER.of(options) == "descending"
        sequence_fields = table_options.SEQUENCE_FIELD.of(options)
        engine = deduplicate_ignoring_deletes if table_options.IGNORE_DELETE.of(options) else _ENGINES[name]
        return cls(RecordOrder(schema.trimmed_primary_keys, sequence_fields, descending), engine)

    def needs(self, wanted: Iterable[DataField]) -> tuple[str, ...]:
        """Names of the columns that merging needs besides those wanted."""
        del wanted
        return (*self.order.key, *self.order.sequence_fields)

    def merge(self, rows: pa.Table, groups: KeyGroups) -> pa.Table:
        """One record for each key, in key order; retractions included. `rows`: n > 0 records."""
        return rows.take(pa.array(self.pick(rows, groups)))
