"""`t$audit_log` and `t$binlog`: the rows of any read with what they do to their key.

A read of the audit log reads what the table would, deletions included: those that a merged state still holds, or the
records of an incremental read. `rowkind` comes first, `_SEQUENCE_NUMBER` next if the table's option
`table-read.sequence-number.enabled` says so, then the table's columns; the binlog has each as an array of one value,
or of the two of an update, before and after, whose kind is then ``+U``.
Source: seed 000 (audit log, binlog), data section 6.8, Java `AuditLogTable`, `BinlogTable`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maintenance.errors import OptionError, PredicateError, UnsupportedError
from maintenance.format.system_fields import ROW_KIND, SEQUENCE_NUMBER, VALUE_KIND
from maintenance.options.table import TABLE_READ_SEQUENCE_NUMBER_ENABLED
from maintenance.predicate.arrow import mask
from maintenance.predicate.sql import parse
from maintenance.predicate.tree import Predicate, columns_of, restrict
from maintenance.read.split_read import SplitRead
from maintenance.scan.plan import ScanPlan
from maintenance.scan.split import AnySplit
from maintenance.scan.time_travel import Changes
from maintenance.table.table import WHOLE_TABLE_MEMORY, Table, read_splits, splits_to_spark
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, DataType
from maintenance.types.row_kind import RowKind, texts_of_kinds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


LOGS = ("audit_log", "binlog")


@dataclass(frozen=True, slots=True)
class AuditRead:
    """How to read the splits of an audit log or binlog; travels to Spark's tasks.

    Attributes:
        read: of the table, with `_VALUE_KIND` and perhaps `_SEQUENCE_NUMBER`.
        columns: wanted columns, in order.
        predicate: over the columns of the log; None = all rows.
        packed: columns as arrays.
        paired: -U and the +U right behind it are one row.
    """

    read: SplitRead
    columns: tuple[DataField, ...]
    predicate: Predicate | None
    packed: bool
    paired: bool

    def tables(self, split: AnySplit) -> Iterator[pa.Table]:
        """Rows of the split with the wanted columns."""
        found = self.read.tables(split)
        if self.paired:
            # A pair may stand across two tables of one split.
            whole = list(found)
            found = iter([pa.concat_tables(whole)] if whole else [])
        for rows in found:
            shown = self._packed(_with_kinds(rows)) if self.packed else _with_kinds(rows)
            kept = shown if self.predicate is None else shown.filter(mask(self.predicate, shown))
            if kept.num_rows:
                yield kept.select([column.name for column in self.columns])

    def _packed(self, rows: pa.Table) -> pa.Table:
        """Each row's values as arrays of one, or of two where it is an update's first and the next its second."""
        kinds = rows.column(ROW_KIND.name).combine_chunks()
        first = _first_of_pairs(kinds) if self.paired else np.zeros(len(kinds), bool)
        starts = np.flatnonzero(~np.append(False, first[:-1]))
        offsets = np.append(starts, len(kinds)).astype(np.int32)
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


def _with_kinds(rows: pa.Table) -> pa.Table:
    """Rows with `rowkind` in the place of `_VALUE_KIND`."""
    position = rows.schema.get_field_index(VALUE_KIND.name)
    kinds = texts_of_kinds(rows.column(position).combine_chunks())
    return rows.set_column(position, ROW_KIND.name, kinds)


def _first_of_pairs(kinds: pa.Array) -> np.ndarray:
    """True for each -U that a +U follows."""
    texts = kinds.to_numpy(zero_copy_only=False)
    first = np.zeros(len(texts), bool)
    first[:-1] = (texts[:-1] == RowKind.UPDATE_BEFORE.text) & (texts[1:] == RowKind.UPDATE_AFTER.text)
    return first


@dataclass(frozen=True, slots=True)
class AuditLogView:
    """`table$audit_log` or `table$binlog`, read like a table."""

    table: Table
    name: str

    @property
    def identifier(self) -> str:
        return f"{self.table.identifier}${self.name}"

    @property
    def fields(self) -> tuple[DataField, ...]:
        """The columns. Raises: OptionError: sequence numbers of a table without a primary key."""
        table, _ = self.table.target()
        system: tuple[DataField, ...] = (ROW_KIND,)
        if TABLE_READ_SEQUENCE_NUMBER_ENABLED.of(self.table.options):
            if not self.table.is_primary_key_table:
                raise OptionError(
                    f"'{TABLE_READ_SEQUENCE_NUMBER_ENABLED.key}' is set and the table has no primary key",
                    self.table.identifier,
                    "Unset the option.",
                )
            system = (ROW_KIND, SEQUENCE_NUMBER)
        return (*system, *(self._shown(column) for column in table.schema.fields))

    def _shown(self, column: DataField) -> DataField:
        if self.name == "audit_log":
            return column
        return replace(column, type=DataType("ARRAY", element=column.type.as_nullable()))

    def copy(self, options: Mapping[str, str]) -> "AuditLogView":
        """This table with further options for reading. Raises: UnsupportedError: sequence numbers, as in Paimon."""
        key = TABLE_READ_SEQUENCE_NUMBER_ENABLED.key
        if key in options and TABLE_READ_SEQUENCE_NUMBER_ENABLED.of(options):
            raise UnsupportedError(f"option '{key}' of one read", self.identifier, "Set it as an option of the table.")
        return replace(self, table=self.table.copy(options))

    def plan(
        self, columns: Sequence[str] | None = None, predicate: Predicate | None = None
    ) -> tuple[ScanPlan, AuditRead]:
        """Splits of a read, and how to read them. Raises: PredicateError: a column does not exist."""
        by_name = {column.name: column for column in self.fields}
        wanted = list(by_name) if columns is None else list(columns)
        for name in wanted:
            if name not in by_name:
                raise PredicateError(f"no column '{name}'", self.identifier, f"Columns are {', '.join(by_name)}.")
        filtered = frozenset() if predicate is None else columns_of(predicate)
        own = [name for name in by_name if name in {*wanted, *filtered}]
        system = (SEQUENCE_NUMBER, VALUE_KIND) if SEQUENCE_NUMBER.name in own else (VALUE_KIND,)
        data = [name for name in own if name not in (ROW_KIND.name, SEQUENCE_NUMBER.name)]
        table, target = self.table.target()
        pushed = None if predicate is None else restrict(predicate, table.schema.field_names)
        plan, read = self.table.plan(data, pushed, system=system, keep_retractions=True)
        packed = self.name == "binlog"
        # Only records of changes can be pairs; a merged state has one record for each key.
        paired = packed and isinstance(target, Changes)
        return plan, AuditRead(read, tuple(by_name[name] for name in wanted), predicate, packed, paired)

    def predicate(self, where: str | None) -> Predicate | None:
        """The filter of a SQL text; arrays cannot be filtered."""
        plain = [column for column in self.fields if not column.type.is_nested]
        return None if where is None else parse(where, plain)

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """The rows; arguments as of `Table.to_arrow`."""
        view = self.copy(options or {})
        if columns is not None and not columns:
            return view.to_arrow([ROW_KIND.name], where).select([])
        plan, read = view.plan(columns, view.predicate(where))
        found = read_splits(plan.splits, replace(read, read=replace(read.read, memory=WHOLE_TABLE_MEMORY)))
        return pa.concat_tables(found) if found else pa.schema(map(_arrow_field, read.columns)).empty_table()

    def to_spark(
        self,
        spark: "SparkSession",
        columns: Sequence[str] | None = None,
        where: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> "DataFrame":
        """The rows as a DataFrame, one task for each split. Arguments as of `to_arrow`."""
        view = self.copy(options or {})
        plan, read = view.plan(columns, view.predicate(where))
        return splits_to_spark(spark, plan.splits, read)


def _arrow_field(column: DataField) -> pa.Field:
    element = column.type.element if column.type.root == "ARRAY" else None
    where = f"column {column.name}"
    natural = arrow_type(column.type, where) if element is None else pa.list_(arrow_type(element, where))
    return pa.field(column.name, natural)
