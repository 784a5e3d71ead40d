"""Merge engine `partial-update`: records fill and change columns of their key's row.

Without sequence groups the newest value of a column that is not null wins. A column in a sequence group follows its
group; with an aggregate function it aggregates the records of the group: in order if a record wins the group, before
the others if it is too late. A record whose sequence is all null does not change its group.

Retractions: ignored with `ignore-delete`; with sequence groups they set the columns of the groups they win to null;
with `partial-update.remove-record-on-delete` a -D removes the row; else they are an error. A row is *opened* by its
first record: if that is a retraction, the row starts from its values, as a removed row starts over from the values of
the -D.
Source: seed 002 (partial update), Java `PartialUpdateMergeFunction`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from maintenance.errors import DataError
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.merge.aggregated import configured_function, function_named, reduced_where, refuse_retractions
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn, Reduced
from maintenance.merge.inputs import Inputs, Op
from maintenance.merge.records import Merged, Records
from maintenance.merge.sequence_groups import SequenceGroup, removals, sequence_groups, sequence_ranks, winners
from maintenance.options.model import TableModel
from maintenance.types.row_kind import RowKind, is_retract

_SKIP = -1
_REMEDIES = (
    "Set 'ignore-delete' to leave retractions out, 'partial-update.remove-record-on-delete' to remove the row, or "
    "use sequence groups, which set their columns to null."
)


@dataclass(frozen=True, slots=True)
class PartialUpdate:
    """The rules of a table.

    Attributes:
        schema: of the table.
        functions: of the columns that aggregate.
    """

    schema: TableSchema
    groups: tuple[SequenceGroup, ...] = ()
    functions: Mapping[str, tuple[AggregatedColumn, Aggregate]] = field(default_factory=dict)
    ignore_delete: bool = False
    remove_record_on_delete: bool = False

    @classmethod
    def of(cls, schema: TableSchema, options: TableModel) -> "PartialUpdate":
        """Raises: OptionError, SchemaError: an option or a column's type does not fit."""
        groups = sequence_groups(schema, options)
        functions: dict[str, tuple[AggregatedColumn, Aggregate]] = {}
        for name in (name for group in groups for name in group.members):
            column = AggregatedColumn(schema.field(name), options)
            function = configured_function(column.field, options)
            if function is not None:
                functions[name] = (column, function_named(function, column))
        return cls(
            schema,
            groups,
            functions,
            options.ignores_deletes,
            options.partial_update_removes,
        )

    def needs(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Sequence columns of the groups that wanted columns are in, and of those that remove rows."""
        names = frozenset(columns)
        concerned = [group for group in self.groups if group.removes or names & {*group.order_by, *group.members}]
        return tuple(name for group in concerned for name in group.order_by)

    def merge(self, records: Records, names: Iterable[str]) -> Merged:
        if records.retract.any():
            self._check_retractions()
        return _Merge(self, records).run(tuple(names))

    def refuse(self, rows: pa.Table) -> None:
        kinds = rows.column(VALUE_KIND.name).to_numpy()
        retract = is_retract(kinds)
        if not retract.any():
            return
        self._check_retractions()
        if any(group.removes for group in self.groups):
            # Whether a -D removes its row, and so aggregates nothing, depends on what is there already.
            retract = kinds == RowKind.UPDATE_BEFORE
        for group in self.groups:
            if retract.any() and _has_sequence(rows, group)[retract].any():
                for name in (name for name in group.members if name in self.functions):
                    column, function = self.functions[name]
                    refuse_retractions(function, column)

    def _check_retractions(self) -> None:
        if not (self.ignore_delete or self.groups or self.remove_record_on_delete):
            raise DataError("merge engine partial-update does not take -U and -D", "row kinds", _REMEDIES)


def _has_sequence(rows: pa.Table, group: SequenceGroup) -> np.ndarray:
    """Whether each row has a sequence of the group, so that it changes it. bool, shape (n,)."""
    has_sequence = np.zeros(rows.num_rows, bool)
    for name in group.order_by:
        has_sequence |= rows.column(name).is_valid().to_numpy()
    return has_sequence


class _Merge:
    """One merge. Every record is one step, but a retraction that opens a row is two: it sets, then it retracts."""

    def __init__(self, engine: PartialUpdate, records: Records) -> None:
        self._engine = engine
        self._records = records
        self._removed = self._removals()
        opens = np.zeros(len(records.order), bool)
        opens[records.starts] = records.retract[records.starts] & ~self._removed[records.starts]
        self._twice = bool(opens.any())
        step = np.arange(len(records.order))
        if self._twice:
            step = np.repeat(step, 1 + opens)
        self._step = step
        sets = self._removed[step]
        if self._twice:
            # Of the two steps of a record the first one sets.
            sets |= opens[step] & (np.diff(step, append=-1) == 0)
        self._sets = sets
        self._begins = records.starts
        if self._twice:
            self._begins = np.searchsorted(step, records.starts)
        self._retract = records.retract[step]
        self._plain = not records.retract.any()

    def _removals(self) -> np.ndarray:
        records, engine = self._records, self._engine
        if engine.ignore_delete or not records.retract.any():
            return np.zeros(len(records.order), bool)
        if engine.remove_record_on_delete:
            return np.asarray(records.kinds == RowKind.DELETE)
        return removals(records, engine.groups)

    def run(self, names: tuple[str, ...]) -> Merged:
        columns: dict[str, Reduced] = {}
        for group in self._engine.groups:
            if set(names) & {*group.order_by, *group.members}:
                self._merge_group(group, names, columns)
        for name in names:
            if name not in columns:
                columns[name] = self._overlaid(name)
        return Merged(self._kinds(), self._numbered_by(), columns)

    def _kinds(self) -> np.ndarray:
        records = self._records
        added = np.logical_or.reduceat(~records.retract, records.starts)
        gone = self._removed[records.ends - 1] | ~added
        return np.where(gone, RowKind.DELETE, RowKind.INSERT).astype(np.int8)

    def _numbered_by(self) -> np.ndarray:
        records = self._records
        if not self._engine.ignore_delete or self._plain:
            return np.asarray(records.order[records.ends - 1])
        added = Inputs(records.rows.column(0), records.order, records.starts).last(~records.retract)
        return records.order[np.where(added >= 0, added, records.ends - 1)]

    def _inputs(self, name: str, ops: np.ndarray | None) -> Inputs:
        records = self._records
        return Inputs(records.column(name), records.order[self._step], self._begins, ops)

    def _overlaid(self, name: str) -> np.ndarray:
        """A column outside of all groups: the newest value that is not null, or what the row started from."""
        column = self._engine.schema.field(name)
        inputs = self._inputs(name, None)
        if not column.type.nullable and not inputs.valid.all():
            fix = f"Write a value into '{name}', or make the column nullable."
            raise DataError(f"null in column '{name}', which is {column.type}", "records to merge", fix)
        return inputs.records(inputs.last(self._sets | (inputs.valid & ~self._retract)))

    def _merge_group(self, group: SequenceGroup, names: tuple[str, ...], columns: dict[str, Reduced]) -> None:
        ranks = sequence_ranks(self._records, group)
        begins = self._removed.copy()
        begins[self._records.starts] = True
        if self._engine.ignore_delete:
            # Only where it opens a row does a retraction leave its sequence.
            ranks = np.where(self._records.retract & ~begins, -1, ranks)
        wins = winners(ranks, begins)[self._step]
        present = (ranks >= 0)[self._step]
        ops = np.where(self._retract, Op.RETRACT, np.where(wins, Op.ADD, Op.BEHIND)).astype(np.int8)
        ops[~present] = _SKIP
        if self._engine.ignore_delete:
            ops[self._retract] = _SKIP
        ops[self._sets] = Op.SET
        anything = self._inputs(group.order_by[0], ops)
        newest = anything.last((ops == Op.SET) | (wins & (ops != _SKIP)))
        # A retraction that wins leaves its sequence, and nothing else.
        sequence = anything.records(newest)
        emptied = (newest >= 0) & (ops[newest] == Op.RETRACT)
        values = np.where(emptied, -1, sequence)
        for name in names:
            if name in group.order_by:
                columns[name] = sequence
            elif name in group.members:
                columns[name] = self._aggregated(name, ops) if name in self._engine.functions else values

    def _aggregated(self, name: str, ops: np.ndarray) -> Reduced:
        column, function = self._engine.functions[name]
        if (ops == Op.ADD).all():
            return reduced_where(function, self._inputs(name, None), np.ones(len(ops), bool), column)
        return reduced_where(function, self._inputs(name, ops), ops != _SKIP, column)
