"""MERGE INTO without Spark: conditions of equal columns, and values that are columns or literals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from sqlglot import exp

from maintenance.errors import DataError, PredicateError, UnsupportedError
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.operations.rows.assignments import literal_value
from maintenance.operations.rows.merge_clauses import SOURCE, TARGET, Clause, only_equal_columns
from maintenance.operations.rows.record_changes import DELETED, INSERTED, KIND, UPDATED
from maintenance.operations.rows.row_changes import Positions, gathered
from maintenance.predicate.sql_syntax import syntax_tree
from maintenance.spelling import meant
from maintenance.table.table import Table
from maintenance.types.arrow import arrow_type, has_nanos
from maintenance.types.data_type import DataField
from maintenance.write.conversion import converted

_ROW = "_paimon_row"
_OTHER = "_paimon_other"


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows that one clause changes. `old`: rows of the table, none of an insert; `new`: of it, none of a deletion."""

    clause: Clause
    old: pa.Table | None
    new: pa.Table | None


@dataclass(frozen=True, slots=True)
class MergedRows:
    """What changes, by clause."""

    table: Table
    parts: tuple[_Part, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Rows by action."""
        counts: dict[str, int] = {}
        for part in self.parts:
            rows = part.new if part.new is not None else part.old
            assert rows is not None
            counts[part.clause.action] = counts.get(part.clause.action, 0) + rows.num_rows
        return counts

    def updates(self) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Rows that are updated, before and after."""
        for part in self.parts:
            if part.old is not None and part.new is not None:
                yield part.old, part.new

    def positions(self) -> Positions:
        """Locations of the deleted and updated rows."""
        return gathered([part.old for part in self.parts if part.old is not None and part.old.num_rows])

    def written(self) -> pa.Table:
        """New rows and new versions of rows, with `_ROW_ID` where the table's rows have one: null of new ones."""
        written = [part.new for part in self.parts if part.new is not None]
        return pa.concat_tables(written) if written else self._empty()

    def records(self) -> pa.Table:
        """All changes as records."""
        kinds = {"update": UPDATED, "delete": DELETED, "insert": INSERTED}
        tables = [self._empty().append_column(KIND, pa.array([], pa.string()))]
        for part in self.parts:
            rows = part.new if part.new is not None else part.old
            assert rows is not None
            rows = rows.select(list(self.table.schema.field_names))
            tables.append(rows.append_column(KIND, pa.repeat(pa.scalar(kinds[part.clause.action]), rows.num_rows)))
        return pa.concat_tables(tables)

    def _empty(self) -> pa.Table:
        fields = self.table.schema.fields
        return pa.schema([(f.name, arrow_type(f.type, f"column {f.name}")) for f in fields]).empty_table()


def merge(table: Table, target: pa.Table, source: pa.Table, on: str, clauses: Sequence[Clause]) -> MergedRows:
    """The changes. `target`: rows of the table, without a primary key with their locations.

    Raises: PredicateError: only Spark understands a condition or value; DataError: several rows of the source change
        one row of the table.
    """
    for clause in clauses:
        if clause.condition is not None:
            raise PredicateError(
                "a clause has a condition", f"condition {clause.condition!r}", "Give a Spark session to evaluate it."
            )
    target = _natural(target, table)
    ours, theirs = _pairs(table, target, source, only_equal_columns(on))
    parts = []
    for when in ("matched", "not_matched", "not_matched_by_source"):
        # Without conditions the first clause of its kind takes all rows.
        fitting = [clause for clause in clauses if clause.when == when]
        if not fitting:
            continue
        clause = fitting[0]
        if when == "matched":
            if clause.action == "delete":
                parts.append(_Part(clause, target.take(pa.array(np.unique(ours))), None))
                continue
            if len(np.unique(ours)) < len(ours):
                raise DataError(
                    "several rows of the source match one row of the table",
                    f"table {table.identifier}",
                    "Make the source have one row for each that matches.",
                )
            old, new = target.take(pa.array(ours)), source.take(pa.array(theirs))
            parts.append(_Part(clause, old, _new(table, clause, old, new)))
        elif when == "not_matched":
            rest = np.setdiff1d(np.arange(source.num_rows), theirs)
            parts.append(_Part(clause, None, _new(table, clause, None, source.take(pa.array(rest)))))
        else:
            rest = np.setdiff1d(np.arange(target.num_rows), ours)
            old = target.take(pa.array(rest))
            parts.append(_Part(clause, old, None if clause.action == "delete" else _new(table, clause, old, None)))
    return MergedRows(table, tuple(parts))


def any_match(table: Table, target: pa.Table, source: pa.Table, on: str) -> bool:
    """Whether a row of the source matches one of these. `target`: rows of the table."""
    ours, _ = _pairs(table, _natural(target, table), source, only_equal_columns(on))
    return bool(len(ours))


def _natural(rows: pa.Table, table: Table) -> pa.Table:
    """Rows of the table with timestamps as the engine has them, whichever way they were read."""
    for field in table.schema.fields:
        kind = arrow_type(field.type, f"column {field.name}")
        number = rows.schema.get_field_index(field.name)
        if number >= 0 and rows.schema.field(number).type != kind:
            rows = rows.set_column(number, field.name, converted(rows.column(number), field, f"column {field.name}"))
    return rows


def _cast(column: pa.ChunkedArray, field: DataField, kind: pa.DataType) -> pa.ChunkedArray:
    return converted(column, field, f"column {field.name}") if has_nanos(field.type) else column.cast(kind)


def _pairs(
    table: Table, target: pa.Table, source: pa.Table, equal: Sequence[tuple[str, str]]
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the rows that match, of both sides."""
    left, right = {_ROW: pa.array(np.arange(target.num_rows))}, {_OTHER: pa.array(np.arange(source.num_rows))}
    names = []
    for number, (ours, theirs) in enumerate(equal):
        field = _field(table, ours)
        if field.type.is_nested or field.type.root in ("FLOAT", "DOUBLE"):
            fix = "Give merge_into a Spark session, which compares values of this type."
            raise UnsupportedError(f"rows are matched by '{field.name}', which is {field.type}", "a merge", fix)
        name = f"_{number}"
        names.append(name)
        left[name] = target.column(field.name)
        right[name] = _cast(_column(source, theirs), field, left[name].type)
    joined = pa.table(left).join(pa.table(right), names, join_type="inner", use_threads=False)
    ours, theirs = joined.column(_ROW).to_numpy(), joined.column(_OTHER).to_numpy()
    order = np.lexsort((theirs, ours))
    return ours[order], theirs[order]


def _new(table: Table, clause: Clause, old: pa.Table | None, source: pa.Table | None) -> pa.Table:
    sides = {TARGET: old, SOURCE: source}
    rows = next(side.num_rows for side in sides.values() if side is not None)
    columns = []
    for field in table.schema.fields:
        kind = arrow_type(field.type, f"column {field.name}")
        text = (clause.values or {}).get(field.name)
        if text is not None:
            columns.append(_value(table, field, text, sides, rows))
        elif old is not None:
            columns.append(old.column(field.name))
        else:
            columns.append(pa.nulls(rows, kind))
    made = pa.Table.from_arrays(columns, names=list(table.schema.field_names))
    if not table.model.tracks_rows:
        return made
    return made.append_column(ROW_ID.name, pa.nulls(rows, pa.int64()) if old is None else old.column(ROW_ID.name))


def _value(
    table: Table, field: DataField, text: str, sides: Mapping[str, pa.Table | None], rows: int
) -> pa.ChunkedArray | pa.Array:
    try:
        node = syntax_tree(text)
    except ValueError as error:
        raise PredicateError(
            str(error), f"value {text!r} of column '{field.name}'", "Write the condition in Spark's SQL."
        ) from None
    if not isinstance(node, exp.Column):
        return pa.repeat(literal_value(field, text), rows)
    candidates = [side for alias, side in sides.items() if side is not None and node.table in ("", alias)]
    candidates = [side for side in candidates if meant(side.column_names, node.name)]
    if len(candidates) != 1:
        raise PredicateError(
            f"column '{text}' is {'ambiguous' if candidates else 'unknown'}",
            f"value of column '{field.name}'",
            "Name a column as t.<name> or s.<name>.",
        )
    return converted(_column(candidates[0], node.name), field, f"table {table.identifier}")


def _column(rows: pa.Table, name: str) -> pa.ChunkedArray:
    matches = meant(rows.column_names, name)
    if len(matches) != 1:
        raise DataError(f"the source has no column '{name}'", "a merge", f"It has {', '.join(rows.column_names)}.")
    return rows.column(matches[0])


def _field(table: Table, name: str) -> DataField:
    matches = meant(table.schema.field_names, name)
    if len(matches) == 1:
        return table.schema.field(matches[0])
    raise DataError(
        f"column '{name}' {'is ambiguous' if matches else 'does not exist'}",
        f"table {table.identifier}",
        f"Columns are {', '.join(table.schema.field_names)}.",
    )
