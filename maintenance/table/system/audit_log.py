"""`t$audit_log` and `t$binlog`: the rows of any read with what they do to their key.

A read of the audit log reads what the table would, deletions included: those that a merged state still holds, or the
records of an incremental read. `rowkind` comes first, `_SEQUENCE_NUMBER` next if the table's option
`table-read.sequence-number.enabled` says so, then the table's columns; the binlog has each as an array of one value,
or of the two of an update, before and after, whose kind is then ``+U``.
Source: seed 000 (audit log, binlog), data section 6.8, Java `AuditLogTable`, `BinlogTable`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa

from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.rows.system_fields import ROW_KIND, SEQUENCE_NUMBER, VALUE_KIND
from maintenance.options.model import TableModel
from maintenance.options.table import TABLE_READ_SEQUENCE_NUMBER_ENABLED
from maintenance.predicate.tree import Predicate, restrict
from maintenance.scan.plan import ScanPlan
from maintenance.scan.target import RecordChanges
from maintenance.table.system.planned import PlannedView, ViewRead, selected_columns
from maintenance.table.table import Table
from maintenance.types.data_type import DataField, DataType
from maintenance.types.row_kind import RowKind, texts_of_kinds

AUDIT_LOG = "audit_log"
BINLOG = "binlog"


def with_kinds(rows: pa.Table) -> pa.Table:
    """Rows with `rowkind` in the place of `_VALUE_KIND`."""
    position = rows.schema.get_field_index(VALUE_KIND.name)
    kinds = texts_of_kinds(rows.column(position).combine_chunks())
    return rows.set_column(position, ROW_KIND.name, kinds)


def as_arrays(rows: pa.Table) -> pa.Table:
    """Rows of the binlog, each record one."""
    return _packed(with_kinds(rows), np.zeros(rows.num_rows, bool))


def as_pairs(rows: pa.Table) -> pa.Table:
    """Rows of the binlog, -U and the +U right behind it one."""
    shown = with_kinds(rows)
    kinds = shown.column(ROW_KIND.name).to_numpy()
    first = np.zeros(len(kinds), bool)
    first[:-1] = (kinds[:-1] == RowKind.UPDATE_BEFORE.text) & (kinds[1:] == RowKind.UPDATE_AFTER.text)
    return _packed(shown, first)


def _packed(rows: pa.Table, first: np.ndarray) -> pa.Table:
    """Values as arrays. `first`: True for a row that makes one with the next; its kind is that of the next."""
    starts = np.flatnonzero(~np.append(False, first[:-1]))
    offsets = np.append(starts, rows.num_rows).astype(np.int32)
    arrays = []
    for name in rows.column_names:
        values = rows.column(name).combine_chunks()
        if name == ROW_KIND.name:
            arrays.append(values.take(pa.array(offsets[1:] - 1)))
        elif name == SEQUENCE_NUMBER.name:
            arrays.append(values.take(pa.array(starts)))
        else:
            arrays.append(pa.ListArray.from_arrays(pa.array(offsets), values))
    return pa.Table.from_arrays(arrays, names=rows.column_names)


@dataclass(frozen=True, slots=True)
class AuditLogView(PlannedView):
    """`table$audit_log` or `table$binlog`, read like a table. `name`: the part behind the dollar."""

    table: Table
    name: str = AUDIT_LOG

    @property
    def identifier(self) -> str:
        return f"{self.table.identifier}${self.name}"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns. Raises: OptionError: sequence numbers of a table without a primary key."""
        table, _ = self.table.target()
        system: tuple[DataField, ...] = (ROW_KIND,)
        if self.table.model.table_read_sequence_number_enabled:
            if not self.table.is_primary_key_table:
                raise OptionError(
                    f"'{TABLE_READ_SEQUENCE_NUMBER_ENABLED.key}' is set and the table has no primary key",
                    self.table.identifier,
                    f"Unset '{TABLE_READ_SEQUENCE_NUMBER_ENABLED.key}' of the table.",
                )
            system = (ROW_KIND, SEQUENCE_NUMBER)
        return (*system, *(self._shown(column) for column in table.schema.fields))

    def _shown(self, column: DataField) -> DataField:
        if self.name == AUDIT_LOG:
            return column
        return replace(column, type=DataType("ARRAY", element=column.type.as_nullable()))

    def copy(self, options: Mapping[str, str]) -> Self:
        """This table with further options for reading. Raises: UnsupportedError: sequence numbers, as in Paimon."""
        key = TABLE_READ_SEQUENCE_NUMBER_ENABLED.key
        if key in options and TableModel.of(options).table_read_sequence_number_enabled:
            raise UnsupportedError(f"option '{key}' of one read", self.identifier, "Set it as an option of the table.")
        return replace(self, table=self.table.copy(options))

    def plan(
        self, columns: Sequence[str] | None = None, predicate: Predicate | None = None
    ) -> tuple[ScanPlan, ViewRead]:
        """Splits of a read, and how to read them. Raises: PredicateError: a column does not exist."""
        selected, needed = selected_columns(self, columns, predicate)
        system = (SEQUENCE_NUMBER, VALUE_KIND) if SEQUENCE_NUMBER.name in needed else (VALUE_KIND,)
        data = [name for name in needed if name not in (ROW_KIND.name, SEQUENCE_NUMBER.name)]
        table, target = self.table.target()
        pushed = None if predicate is None else restrict(predicate, table.schema.field_names)
        plan, read = self.table.plan(data, pushed, system=system, keep_retractions=True)
        if self.name == AUDIT_LOG:
            return plan, ViewRead(read, selected, predicate, with_kinds)
        # Only records of changes can be pairs; a merged state has one record for each key.
        paired = isinstance(target, RecordChanges)
        return plan, ViewRead(read, selected, predicate, as_pairs if paired else as_arrays, whole=paired)
