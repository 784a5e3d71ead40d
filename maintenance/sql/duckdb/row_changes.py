"""DELETE, UPDATE and MERGE INTO without Spark: one query says what becomes of each row, and the changes are written.

The query joins the table's rows, which carry a number, with the source. For each pair the first clause that fits gives
the kind of change and the new values. Without a source there is no join.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from maintenance.errors import DataError
from maintenance.format.rows.system_fields import POSITION, ROW_ID, SEQUENCE_NUMBER
from maintenance.format.variant.extension import as_stored
from maintenance.operations.rows import evolved
from maintenance.operations.rows.change_writer import ChangeWriter
from maintenance.operations.rows.evolved import (
    COLUMNS,
    check_columns,
    is_evolved,
    positions_of,
    rows_with_ids,
)
from maintenance.operations.rows.record_changes import (
    DELETED,
    INSERTED,
    KIND,
    UPDATED,
    check_deletes,
    check_moves,
    check_updates,
    newest,
)
from maintenance.operations.rows.row_changes import (
    COPY_ON_WRITE,
    DELETION_VECTORS,
    RECORDS,
    RowChangeReport,
    TargetState,
    check_newest,
    gathered,
    of_branches,
    repeated,
    whole_rows,
)
from maintenance.operations.rows.stand_ins import own_partitions
from maintenance.operations.rows.update_effects import UpdateEffects
from maintenance.read.positioned import FILE
from maintenance.read.split_read import SplitRead
from maintenance.scan.split import Split
from maintenance.sql.by_name import ByName, lacks_fields, with_kept_fields
from maintenance.sql.cursor import Source
from maintenance.sql.dialects import Flink
from maintenance.sql.expressions.filters import with_itself
from maintenance.sql.query.carried import carried, natural, with_declared
from maintenance.sql.query.metadata_columns import rows_with_metadata
from maintenance.sql.query.run import prepared
from maintenance.table.other_branches import branches_of
from maintenance.table.rows import read_splits
from maintenance.table.system.metadata_columns import BUCKET, FILE_PATH, ROW_INDEX
from maintenance.table.table import Table
from maintenance.types.arrow import arrow_type
from maintenance.types.casts.text import filled_up, with_blanks
from maintenance.types.data_type import DataField, DataType
from maintenance.write.conversion import converted

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

TARGET = "paimon_target"
_ROW, _CLAUSE, _IN_SOURCE = "_paimon_row", "_paimon_clause", "_paimon_in_source"
_KINDS = {"update": UPDATED, "delete": DELETED, "insert": INSERTED}
_JOINS = {(False, False): "inner", (True, False): "right", (False, True): "left", (True, True): "full"}


@dataclass(frozen=True, slots=True)
class RowClause:
    """What becomes of some rows.

    Attributes: `values`: column to new value; None: each from the source's of the same name; `keeps_fields`: fields of
        ROWs that a new value has not stay as they are, instead of being null.
    """

    when: Literal["matched", "not_matched", "not_matched_by_source"]
    action: Literal["update", "delete", "insert"]
    values: Mapping[str, exp.Expr] | None = None
    condition: exp.Expr | None = None
    keeps_fields: bool = False


@dataclass(frozen=True, slots=True)
class RowChange:
    """A statement.

    Attributes:
        alias: of the table.
        using, on: the source and which rows match, None without one.
        bound: rows that are here already, by the name that the source reads them under.
        names: how the fields of new values meet those of the table; None: by position.
    """

    operation: Literal["delete", "update", "merge"]
    alias: str
    clauses: Sequence[RowClause]
    source: Source
    using: exp.Expr | None = None
    on: exp.Expr | None = None
    bound: Mapping[str, pa.Table] = field(default_factory=dict)
    names: ByName | None = None

    def said(self, words: Callable[[Sequence[exp.Expr]], Sequence[exp.Expr]]) -> "RowChange":
        """The same statement in other words. `words`: what its expressions become, in their order."""
        others = iter(words([part for part in parts_of(self) if part is not None]))

        def other(part: exp.Expr | None) -> exp.Expr | None:
            return None if part is None else next(others)

        def of(clause: RowClause) -> RowClause:
            condition = other(clause.condition)
            values = None if clause.values is None else {name: next(others) for name in clause.values}
            return replace(clause, condition=condition, values=values)

        on = other(self.on)
        return replace(self, on=on, clauses=[of(clause) for clause in self.clauses])


def change_rows(
    session: "SessionState", table: Table, change: RowChange, writer: ChangeWriter | None = None
) -> RowChangeReport:
    """Carry out a statement in this process. Raises: SqlError; errors as of `operations.merge_into`.

    `writer`: gets what changes; None: it is written.
    """
    writer = writer or ChangeWriter()
    check_newest(table)
    if change.operation != "merge" and branches_of(table) is not None:
        raise of_branches(table)
    table = own_partitions(table, lambda splits, read: _concerns(session, table, (splits, read), change))
    if is_evolved(table):
        check_columns(table, _updated(table, change))
        if any(clause.action == "delete" for clause in change.clauses):
            evolved.check_deletes(table)
        return repeated(lambda: _by_row_id(session, table, change, writer))
    if not table.is_primary_key_table:
        return repeated(lambda: _in_files(session, table, change, writer))
    actions = {clause.action for clause in change.clauses}
    if "update" in actions or "insert" in actions:
        check_updates(table, change.operation.upper())
    if "delete" in actions:
        check_deletes(table)
    for clause in change.clauses:
        if clause.action == "update":
            check_moves(table, clause.values or ())
    old = as_stored(newest(table).to_arrow())
    rows = _changed(session, table, old, change)
    if "update" in actions:
        effects_of = UpdateEffects.of if change.operation == "update" else UpdateEffects.of_merge
        effects, updates = effects_of(table, _updated(table, change)), rows.filter(pc.equal(rows.column(KIND), UPDATED))
        effects.check(old.take(updates.column(_ROW)), updates)
        rows = effects.records(rows)
    report = _counted(RowChangeReport(table.identifier, change.operation, RECORDS), rows)
    return writer.as_records(table, rows.select([*table.schema.field_names, KIND]), report)


def _concerns(
    session: "SessionState", table: Table, branch: tuple[Sequence[Split], SplitRead], change: RowChange
) -> bool:
    """Whether a merge would change rows of a branch."""
    rows = [as_stored(part) for part in read_splits(*branch)]
    if not rows:
        return False
    kinds = _changed(session, table, pa.concat_tables(rows), change).column(KIND)
    return bool(pc.any(pc.not_equal(kinds, INSERTED)).as_py())


def _in_files(session: "SessionState", table: Table, change: RowChange, writer: ChangeWriter) -> RowChangeReport:
    state = TargetState.of(table, None, _columns(table, change))
    old = state.rows()
    rows = _changed(session, table, _seen(table, _placed(state, old, change)), change)
    gone = rows.filter(pc.not_equal(rows.column(KIND), INSERTED)).column(_ROW)
    written = _written(table, old, rows)
    vectors = table.model.has_deletion_vectors
    report = RowChangeReport(table.identifier, change.operation, DELETION_VECTORS if vectors else COPY_ON_WRITE)
    positions = gathered([old.select([FILE.name, POSITION.name]).take(gone)]) if len(gone) else {}
    return writer.in_files(None, state, positions, written, _counted(report, rows))


def _by_row_id(session: "SessionState", table: Table, change: RowChange, writer: ChangeWriter) -> RowChangeReport:
    """Write the columns that change alone."""
    state = TargetState.of(table, None, _columns(table, change))
    old = rows_with_ids(None, state)
    assert isinstance(old, pa.Table)
    rows = _changed(session, table, _seen(table, old), change)
    gone = rows.filter(pc.equal(rows.column(KIND), DELETED)).column(_ROW)
    positions = positions_of(None, state, old.take(gone)) if len(gone) else {}
    report = _counted(RowChangeReport(table.identifier, change.operation, COLUMNS), rows)
    return writer.in_columns(None, state, _written(table, old, rows), tuple(_updated(table, change)), report, positions)


def _updated(table: Table, change: RowChange) -> list[str]:
    """The columns that some clause gives new values."""
    updates = [clause.values for clause in change.clauses if clause.action == "update"]
    return [name for name in table.schema.field_names if any(v is None or name in v for v in updates)]


_KNOWN = (ROW_ID, SEQUENCE_NUMBER, FILE_PATH, ROW_INDEX, BUCKET)
"""What a statement can name of rows besides the columns, as far as it is there."""


def _named(change: RowChange) -> set[str]:
    columns = [column for part in parts_of(change) if part is not None for column in part.find_all(exp.Column)]
    return {column.name for column in columns}


def _columns(table: Table, change: RowChange) -> tuple[DataField, ...]:
    """The columns to read: the table's, the ids of rows that are tracked, and their sequence numbers if named."""
    is_named = SEQUENCE_NUMBER.name in _named(change)
    return (*whole_rows(table), *([SEQUENCE_NUMBER] if is_named and table.model.tracks_rows else []))


def _placed(state: TargetState, rows: pa.Table, change: RowChange) -> pa.Table:
    """The rows with those of the columns that say where they lie which the statement names."""
    wanted = _named(change) & {FILE_PATH.name, ROW_INDEX.name, BUCKET.name}
    if not wanted:
        return rows
    files = rows.column(FILE.name).combine_chunks().dictionary_encode()
    entries = [state.entries[name] for name in files.dictionary.to_pylist()]
    places = [state.table.paths.data_file(each.partition, each.bucket, each.file) for each in entries]
    known = {
        FILE_PATH.name: pa.array(places, pa.string()).take(files.indices),
        BUCKET.name: pa.array([each.bucket for each in entries], pa.int32()).take(files.indices),
        ROW_INDEX.name: rows.column(POSITION.name),
    }
    for name in sorted(wanted):
        rows = rows.append_column(name, known[name])
    return rows


def _seen(table: Table, old: pa.Table) -> pa.Table:
    """What a statement can name of the rows."""
    known = [field.name for field in _KNOWN if field.name in old.column_names]
    return old.select([*table.schema.field_names, *known])


def _written(table: Table, old: pa.Table, rows: pa.Table) -> pa.Table:
    """New rows and new versions of rows, with the ids of the latter if rows have any."""
    kept = rows.filter(pc.not_equal(rows.column(KIND), DELETED))
    written = kept.select(list(table.schema.field_names))
    if ROW_ID.name not in old.column_names:
        return written
    return written.append_column(ROW_ID.name, old.column(ROW_ID.name).take(kept.column(_ROW)))


def _counted(report: RowChangeReport, rows: pa.Table) -> RowChangeReport:
    rows_by_kind = {row["values"]: row["counts"] for row in rows.column(KIND).value_counts().to_pylist()}
    return report.counted({action: rows_by_kind.get(kind, 0) for action, kind in _KINDS.items()})


def _changed(session: "SessionState", table: Table, old: pa.Table, change: RowChange) -> pa.Table:
    """`KIND`, the number of the old row, and the table's columns, of each row that changes.

    Only new values are computed. All others are taken from the old rows, so that they stay as they are.
    """
    fields = [*table.schema.fields, *(field for field in _KNOWN if field.name in old.column_names)]
    seen, is_flink = old.select([field.name for field in fields]), change.source.dialect is Flink
    target = with_declared(carried(seen if is_flink else filled_up(seen, fields), fields), fields)
    bound = {**change.bound, TARGET: target.append_column(_ROW, pa.array(np.arange(old.num_rows)))}
    computed = _computed(table, change)
    resolved = prepared(session, _query(change, computed), change.source, bound)
    numbers = [DataField(0, name, DataType("BIGINT")) for name in (_CLAUSE, _ROW)]
    given = [kind for _, kind in resolved.columns[len(numbers) :]]
    types = [*numbers, *_types(change.names, [field for _, field in computed], given)]
    from maintenance.sql.duckdb.embedded import run_embedded  # takes long to import, and Spark has no need of it

    found = _once(table, run_embedded(resolved, types, is_update=True), change)
    chosen = found.column(_CLAUSE).to_numpy()
    kinds = pa.array([_KINDS[clause.action] for clause in change.clauses], pa.string()).take(pa.array(chosen))
    columns = [kinds, found.column(_ROW)]
    for column in table.schema.fields:
        own = {
            number: found.column(len(numbers) + place)
            for place, (number, each) in enumerate(computed)
            if each.name == column.name
        }
        keeping = {
            number: types[len(numbers) + place].type
            for place, (number, each) in enumerate(computed)
            if each.name == column.name and change.clauses[number].keeps_fields
        }
        if not is_flink:
            own = {number: with_blanks(value, column.type) for number, value in own.items()}
        columns.append(_merged(table, column, old, found.column(_ROW), chosen, own, keeping))
    return pa.Table.from_arrays(columns, names=[KIND, _ROW, *table.schema.field_names])


def _types(names: ByName | None, fields: Sequence[DataField], given: Sequence[DataType]) -> Sequence[DataField]:
    """The columns that a query gives for others."""
    if names is None or len(given) != len(fields):
        return fields
    pairs = zip(fields, given, strict=True)
    return [replace(field, type=names.like(kind, field.type, (field.name,))) for field, kind in pairs]


def _merged(
    table: Table,
    field: DataField,
    old: pa.Table,
    rows: pa.ChunkedArray,
    chosen: np.ndarray,
    computed: Mapping[int, pa.ChunkedArray],
    keeping: Mapping[int, DataType],
) -> pa.ChunkedArray:
    """A column of the rows that change.

    Args: `rows`: the number of the old one, null where there is none; `chosen`: int64, shape (n,), the clause of each;
        `computed`: what a clause has computed; `keeping`: its type, where fields that it has not stay.
    """
    where = f"table {table.identifier}"
    values = {number: converted(column, field, where) for number, column in computed.items()}
    for number, kind in keeping.items():
        if lacks_fields(kind, field.type):
            before = natural(old.column(field.name), field).take(rows)
            values[number] = converted(with_kept_fields(values[number], before, kind, field.type), field, where)
    if len(values) == 1 and (chosen == next(iter(values))).all():
        return next(iter(values.values()))
    kept = natural(old.column(field.name), field)
    row = rows.to_numpy(zero_copy_only=False)
    is_new = np.isin(chosen, list(values))
    nothing = ~is_new & np.isnan(row)
    places = np.where(is_new | np.isnan(row), 0, row).astype(np.int64)
    chunks, start = kept.chunks, len(kept)
    for number, column in values.items():
        places = np.where(chosen == number, start + np.arange(len(places)), places)
        chunks, start = [*chunks, *column.chunks], start + len(column)
    both = pa.chunked_array(chunks, arrow_type(field.type))
    return both.take(pa.array(places, mask=nothing))


def _computed(table: Table, change: RowChange) -> list[tuple[int, DataField]]:
    """What clauses compute: the number of each, and the column, whose type it has by itself."""
    numbered = list(enumerate(change.clauses))
    return [(number, each) for each in table.schema.fields for number, clause in numbered if _is_new(clause, each.name)]


def _is_new(clause: RowClause, name: str) -> bool:
    return clause.action != "delete" and (clause.values is None or name in clause.values)


def _once(table: Table, rows: pa.Table, change: RowChange) -> pa.Table:
    """The rows, one that is deleted several times once. Raises: DataError: a row changes in several ways."""
    numbers = rows.column(_ROW).to_numpy()
    is_matched = rows.column(_ROW).is_valid().to_numpy()
    _, first = np.unique(numbers[is_matched], return_index=True)
    if len(first) == int(is_matched.sum()):
        return rows
    if [clause.action for clause in change.clauses if clause.when == "matched"] != ["delete"]:
        raise DataError(
            "several rows of the source match one row of the table",
            f"table {table.identifier}",
            "Make the source have one row for each that matches.",
        )
    places = np.flatnonzero(is_matched)[first]
    return rows.take(pa.array(np.sort(np.concatenate([places, np.flatnonzero(~is_matched)]))))


def _query(change: RowChange, computed: Sequence[tuple[int, DataField]]) -> exp.Expr:
    """The number of the clause that fits, the row, and what the clauses compute."""
    fits = [_fits(change, clause) for clause in change.clauses]
    numbers: list[exp.Expr] = [exp.Literal.number(number) for number in range(len(fits))]
    outputs = [exp.alias_(_case(fits, numbers), _CLAUSE), exp.alias_(_column(_ROW, change.alias), _ROW)]
    for place, (number, column) in enumerate(computed):
        value = _value(change, change.clauses[number], column.name)
        # A clause has the rows that no one before it has. What is NULL in all of them has no type in Flink.
        before = [exp.null() for _ in range(number)]
        made = value if isinstance(value, exp.Null) else _case(fits[: number + 1], [*before, value])
        outputs.append(exp.alias_(made, f"{column.name} {place}", quoted=True))
    query = exp.select(*outputs).from_(exp.alias_(exp.to_table(TARGET), change.alias, table=True, quoted=True))
    if change.using is not None:
        whens = {clause.when for clause in change.clauses}
        side = _JOINS["not_matched" in whens, "not_matched_by_source" in whens]
        source = rows_with_metadata(change.using, parts_of(change)).select(exp.alias_(exp.true(), _IN_SOURCE))
        joined = exp.Subquery(this=source, alias=_alias(change.using.alias_or_name))
        condition = change.on.copy() if change.on is not None else exp.true()
        query = query.join(joined, on=condition, join_type="" if side == "inner" else side)
    filtered: exp.Expr = query.where(exp.or_(*(fit.copy() for fit in fits)))
    return filtered


def parts_of(change: RowChange) -> Iterator[exp.Expr | None]:
    """What a statement says of rows."""
    yield change.on
    for clause in change.clauses:
        yield clause.condition
        yield from (clause.values or {}).values()


def _alias(name: str) -> exp.TableAlias:
    return exp.TableAlias(this=exp.to_identifier(name, quoted=True))


def _column(name: str, table: str) -> exp.Expr:
    return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(table, quoted=True))


def _fits(change: RowChange, clause: RowClause) -> exp.Expr:
    parts: list[exp.Expr] = []
    if change.using is not None:
        there = exp.Not(this=exp.Is(this=_column(_ROW, change.alias), expression=exp.null()))
        in_source = exp.Not(this=exp.Is(this=_column(_IN_SOURCE, change.using.alias_or_name), expression=exp.null()))
        parts.append(exp.Not(this=there) if clause.when == "not_matched" else there)
        parts.append(exp.Not(this=in_source) if clause.when == "not_matched_by_source" else in_source)
    if clause.condition is not None:
        is_filter = change.using is None and change.source.dialect is Flink
        simple = with_itself(clause.condition, [change.alias.lower()]) if is_filter else None
        parts.append(exp.paren((simple or clause.condition).copy()))
    return exp.and_(*parts) if parts else exp.true()


def _value(change: RowChange, clause: RowClause, name: str) -> exp.Expr:
    """The new value of a column."""
    if clause.values is None:
        assert change.using is not None
        return _column(name, change.using.alias_or_name)
    return clause.values[name].copy()


def _case(fits: Sequence[exp.Expr], values: Sequence[exp.Expr]) -> exp.Expr:
    chosen = exp.Case()
    for fit, value in zip(fits, values, strict=True):
        chosen = chosen.when(fit.copy(), value)
    return chosen
