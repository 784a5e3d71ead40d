"""Updates that are written as records, and what the merge engine makes of such a record.

A record of partial-update sets nothing to null outside of sequence groups, changes no group whose sequence it lacks or
does not reach, and adds to what has an aggregate function. A record whose `sequence.field` is smaller than the row's
comes too late. An update that would so be committed without the effect that its statement has is refused, by the rule;
what it does not name is left out of the record where it would be aggregated again.
Source: Java `PartialUpdateMergeFunction`, `SequenceGenerator`. Paimon's Spark commands commit such updates.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError
from maintenance.merge.aggregated import configured_function
from maintenance.merge.sequence_groups import SequenceGroup, sequence_groups
from maintenance.merge.sort_words import key_ranks
from maintenance.operations.rows.merge_clauses import quoted
from maintenance.operations.rows.record_changes import KIND, UPDATED
from maintenance.spark.cancellation import ended_with_caller
from maintenance.table.table import Table
from maintenance.types.data_type import DataField
from maintenance.write.conversion import converted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Functions that take a null as a value, so that the row's own value changes nothing.
_SETS = ("last_value", "primary-key")
_KEEPS = (*_SETS, "first_value")
_FILLS = "last_non_null_value"
_REWRITE = "Write coalesce(new, old) where the old value is to stay. Else delete the row, and insert it as it is to be."
EMPTIED, UNORDERED, TOO_LATE = "emptied", "unordered", "too late"


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of row that would not become what an update says.

    Attributes:
        case: `EMPTIED`: the column gets null in place of a value; `UNORDERED`: all the columns are null; `TOO_LATE`:
            they are smaller than the row's.
        descending: of `TOO_LATE`: smaller is what is larger.
    """

    case: str
    columns: tuple[str, ...]
    problem: str
    descending: bool = False


@dataclass(frozen=True, slots=True)
class UpdateEffects:
    """What the records of an update must not have, and must leave out. `left_out`: columns that are null in them."""

    table: Table
    rules: tuple[Rule, ...] = ()
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, updated: Collection[str]) -> "UpdateEffects":
        """Of an UPDATE. `updated`: the columns that get new values. Raises: UnsupportedError: one can get none."""
        rules = tuple(_order_of_rows(table, updated))
        if table.model.merge_engine != "partial-update":
            return cls(table, rules)
        groups = sequence_groups(table.schema, table.options)
        rules += tuple(_emptied(table, updated, groups))
        for group in groups:
            rules += tuple(_of_group(group, updated))
        return cls(table, rules, tuple(_left_out(table, updated, groups)))

    @classmethod
    def of_merge(cls, table: Table, updated: Collection[str]) -> "UpdateEffects":
        """As `of`, of a MERGE: rows of its source that come too late are left out, which is what a sequence is for."""
        effects = cls.of(table, updated)
        return replace(effects, rules=tuple(rule for rule in effects.rules if rule.case != TOO_LATE))

    @property
    def columns(self) -> tuple[str, ...]:
        """Those whose values before the update are looked at."""
        return tuple(dict.fromkeys(name for rule in self.rules for name in rule.columns))

    def check(self, old: pa.Table, new: pa.Table) -> None:
        """Check rows and their new versions, in one order. Raises: UnsupportedError: a rule is broken."""
        for rule in self.rules if old.num_rows else ():
            self._refuse(rule, int(np.count_nonzero(_breaks(self.table, rule, old, new))))

    def check_frame(self, rows: "DataFrame", old: str, new: str) -> None:
        """The same of a DataFrame. `old`, `new`: what stands before a column's name, of the row before and after."""
        from pyspark.sql import functions

        if not self.rules:
            return
        counts = [functions.count_if(functions.expr(_text(rule, old, new))) for rule in self.rules]
        with ended_with_caller(rows.sparkSession):
            found = rows.agg(*(count.alias(str(number)) for number, count in enumerate(counts))).collect()[0]
        for rule, broken in zip(self.rules, found, strict=True):
            self._refuse(rule, broken)

    def _refuse(self, rule: Rule, rows: int) -> None:
        if rows:
            raise _refused(self.table, f"{rule.problem}, as in {rows} row{'s' if rows > 1 else ''}")

    def records(self, rows: "DataFrame | pa.Table") -> Any:
        """Rows as they are to be written. `rows`: with `KIND`, or of updates alone. Returns: what `rows` is."""
        for name in self.left_out:
            if isinstance(rows, pa.Table):
                at = rows.schema.get_field_index(name)
                updates = pc.equal(rows.column(KIND), UPDATED) if KIND in rows.column_names else pa.scalar(True)
                column = pc.if_else(updates, pa.scalar(None, rows.schema.field(at).type), rows.column(at))
                rows = rows.set_column(at, rows.schema.field(at), column)
            else:
                from pyspark.sql import functions

                others = f"CASE WHEN {KIND} <> '{UPDATED}' THEN {quoted(name)} END" if KIND in rows.columns else "NULL"
                rows = rows.withColumn(name, functions.expr(others).cast(rows.schema[name].dataType))
        return rows


def _order_of_rows(table: Table, updated: Collection[str]) -> Iterator[Rule]:
    order = table.model.sequence_field
    if set(order) & set(updated):
        descending = table.model.sequence_field_sort_order == "descending"
        names = ", ".join(order)
        problem = f"'sequence.field' = '{names}' orders the records of a row: one that does not reach the row's is late"
        yield Rule(TOO_LATE, order, problem, descending)


def _emptied(table: Table, updated: Collection[str], groups: Sequence[SequenceGroup]) -> Iterator[Rule]:
    """Columns in which null means: as before."""
    grouped = {name for group in groups for name in (*group.order_by, *group.members)}
    for name in (name for name in table.schema.field_names if name in updated):
        function = configured_function(table.schema.field(name), table.options) if name in grouped else None
        is_ordering = any(name in group.order_by for group in groups)
        if function is not None and not is_ordering and function not in (*_SETS, _FILLS):
            raise _refused(table, f"'{name}' has the aggregate function {function}: a new value would be aggregated")
        if name not in grouped or (function == _FILLS and not is_ordering):
            yield Rule(
                EMPTIED, (name,), f"merge engine partial-update keeps the value of '{name}' where the new is null"
            )


def _of_group(group: SequenceGroup, updated: Collection[str]) -> Iterator[Rule]:
    if set(updated).isdisjoint((*group.order_by, *group.members)):
        return
    name = ", ".join(group.order_by)
    yield Rule(UNORDERED, group.order_by, f"the sequence group of '{name}' changes no column where '{name}' is null")
    if set(group.order_by) & set(updated):
        problem = f"the sequence group of '{name}' changes no column where '{name}' is smaller than before"
        yield Rule(TOO_LATE, group.order_by, problem)


def _left_out(table: Table, updated: Collection[str], groups: Sequence[SequenceGroup]) -> Iterator[str]:
    """Columns whose values would be aggregated again. Raises: UnsupportedError: they cannot be left out."""
    for name in (name for group in groups for name in group.members if name not in updated):
        field = table.schema.field(name)
        function = configured_function(field, table.options)
        if function is None or function in _KEEPS:
            continue
        if not field.type.nullable:
            problem = (
                f"'{name}' has the aggregate function {function} and is NOT NULL: its value would be aggregated again"
            )
            raise _refused(table, problem)
        yield name


def _refused(table: Table, problem: str) -> UnsupportedError:
    return UnsupportedError(problem, f"table {table.identifier}", _REWRITE)


def _breaks(table: Table, rule: Rule, old: pa.Table, new: pa.Table) -> np.ndarray:
    """Which rows break a rule. bool, shape (n,)."""
    after = [new.column(name).combine_chunks() for name in rule.columns]
    if rule.case == UNORDERED:
        return np.asarray(np.logical_and.reduce([part.is_null().to_numpy(zero_copy_only=False) for part in after]))
    before = [old.column(name).combine_chunks() for name in rule.columns]
    if rule.case == EMPTIED:
        broken = pc.and_(after[0].is_null(), before[0].is_valid())
        return np.asarray(broken.to_numpy(zero_copy_only=False))
    fields = [table.schema.field(name) for name in rule.columns]
    ranks = key_ranks([_joined(*parts) for parts in zip(fields, before, after, strict=True)])
    then, now = ranks[: old.num_rows], ranks[old.num_rows :]
    return np.asarray(now > then if rule.descending else now < then)


def _joined(field: DataField, before: pa.Array, after: pa.Array) -> pa.Array:
    """The values of a column before and after, of one type: rows that were read may have another than new values."""
    if before.type != after.type:
        before, after = (converted(part, field, f"column {field.name}") for part in (before, after))
    return pa.concat_arrays([before, after])


def _text(rule: Rule, old: str, new: str) -> str:
    """The condition of a rule for Spark."""
    names = [quoted(name) for name in rule.columns]
    if rule.case == UNORDERED:
        return " AND ".join(f"{new}{name} IS NULL" for name in names)
    if rule.case == EMPTIED:
        return f"{new}{names[0]} IS NULL AND {old}{names[0]} IS NOT NULL"
    then, now = (f"struct({', '.join(f'{side}{name}' for name in names)})" for side in (old, new))
    return f"{now} > {then}" if rule.descending else f"{now} < {then}"
