"""Merge engine `aggregation`: each column has an aggregate function.

Columns of the primary key keep their value, those of `sequence.field` take the newest; the others have the function of
`fields.<column>.aggregate-function`, that of `fields.default-aggregate-function`, or `last_non_null_value`. A key whose
records were merged has a row, even if all of them are retractions. With `aggregation.remove-record-on-delete` a -D
removes the row, and what is added later is aggregated onto the values that came with the -D: so they count, unless a
compaction has dropped the -D in between. Source: seed 002 (aggregation), Java `AggregateMergeFunction`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.errors import OptionError
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.merge.aggregated import (
    IGNORE_RETRACT,
    configured_function,
    function_named,
    reduced,
    refuse_retractions,
)
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.aggregates.last_non_null_value import LAST_NON_NULL_VALUE
from maintenance.merge.aggregates.last_value import LAST_VALUE
from maintenance.merge.aggregates.primary_key import PRIMARY_KEY
from maintenance.merge.inputs import Op
from maintenance.merge.records import Merged, Records
from maintenance.options.model import TableModel
from maintenance.types.row_kind import RowKind, is_retract

ColumnFunction = tuple[AggregatedColumn, Aggregate]


@dataclass(frozen=True, slots=True)
class Aggregation:
    """The functions of a table. `functions`: by column."""

    functions: Mapping[str, ColumnFunction]
    remove_record_on_delete: bool = False

    @classmethod
    def of(cls, schema: TableSchema, options: TableModel) -> "Aggregation":
        """Raises: OptionError, SchemaError: an option or a column's type does not fit."""
        remove = options.aggregation_removes
        sequence_fields = options.sequence_field
        functions: dict[str, ColumnFunction] = {}
        for field in schema.fields:
            column = AggregatedColumn(field, options)
            functions[field.name] = (column, _function(column, schema.primary_keys, sequence_fields))
            if remove and column.flag(IGNORE_RETRACT):
                raise OptionError(
                    f"'{column.key(IGNORE_RETRACT)}' and 'aggregation.remove-record-on-delete' contradict each other",
                    column.where,
                    f"Unset '{column.key(IGNORE_RETRACT)}' or 'aggregation.remove-record-on-delete'.",
                )
        return cls(functions, remove)

    def needs(self, columns: Iterable[str]) -> tuple[str, ...]:
        """No column depends on another."""
        del columns
        return ()

    def refuse(self, rows: pa.Table) -> None:
        kinds = rows.column(VALUE_KIND.name).to_numpy()
        if (kinds == RowKind.UPDATE_BEFORE if self.remove_record_on_delete else is_retract(kinds)).any():
            for column, function in self.functions.values():
                refuse_retractions(function, column)

    def merge(self, records: Records, names: Iterable[str]) -> Merged:
        kinds = np.full(len(records.starts), RowKind.INSERT, np.int8)
        ops = None
        if records.retract.any():
            ops = np.where(records.retract, Op.RETRACT, Op.ADD).astype(np.int8)
            if self.remove_record_on_delete:
                deleted = records.kinds == RowKind.DELETE
                ops[deleted] = Op.SET
                kinds[deleted[records.ends - 1]] = RowKind.DELETE
        columns = {}
        for name in names:
            column, function = self.functions[name]
            columns[name] = reduced(function, records.inputs(name, ops), column)
        return Merged(kinds, records.order[records.ends - 1], columns)


def _function(column: AggregatedColumn, keys: Iterable[str], sequence_fields: Iterable[str]) -> Aggregate:
    if column.field.name in sequence_fields:
        return LAST_VALUE
    if column.field.name in keys:
        return PRIMARY_KEY
    name = configured_function(column.field, column.options)
    return LAST_NON_NULL_VALUE if name is None else function_named(name, column)
