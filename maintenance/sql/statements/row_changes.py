"""DELETE, UPDATE and MERGE INTO.

Each is carried out with a writer that gets what changes, unless the operation evaluates the statement by itself. So
a plan is made by the same code.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.errors import PredicateError, SqlError, UnsupportedError
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.operations.operation import Run
from maintenance.operations.rows.assignments import resolved
from maintenance.operations.rows.change_writer import ChangePreview, ChangeWriter
from maintenance.operations.rows.delete import OPERATION as DELETE
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.merge_clauses import SOURCE, TARGET, Clause, equal_columns
from maintenance.operations.rows.merge_into import merged_by
from maintenance.operations.rows.row_changes import RowChangeReport, filter_of
from maintenance.operations.rows.update import OPERATION as UPDATE
from maintenance.operations.rows.update import update
from maintenance.sql.assignments import assigned_columns
from maintenance.sql.by_name import ByName
from maintenance.sql.cursor import Cursor
from maintenance.sql.defaults import default_values
from maintenance.sql.duckdb.row_changes import RowChange, RowClause, change_rows, parts_of
from maintenance.sql.expressions.templates import filled
from maintenance.sql.place import unknown_column
from maintenance.sql.query.metadata_columns import rows_with_metadata
from maintenance.sql.query.run import given_columns, in_words_of_spark, prepared
from maintenance.sql.query.zoned import has_moments, with_instants
from maintenance.sql.result import Result
from maintenance.sql.schema_evolution import by_name, change_columns, merging_of, schema_changes
from maintenance.sql.settings import MERGES_SCHEMA
from maintenance.sql.statements.statement import Parse
from maintenance.table.system.metadata_columns import METADATA_COLUMNS
from maintenance.table.table import Table
from maintenance.types.casts.text import has_chars
from maintenance.types.casts.zones import UTC
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType

if TYPE_CHECKING:
    from maintenance.operations.plan_store import StoredPlan
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Delete:
    path: tuple[str, ...]
    alias: str
    where: exp.Expr | None
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        session = session.writing
        table = self.target(session)
        where = self._condition(session, table)
        if self._is_simple(session, table, where):
            delete(session.spark, table, where, zone=session.zone)
        else:
            self.carry_out(session, table, ChangeWriter())
        return Result()

    def plan(self, session: "SessionState") -> "StoredPlan":
        session = session.writing
        table = self.target(session)
        # A plan of the operation would not keep the options that are set.
        where = self._condition(session, table)
        if not table.dynamic_options and self._is_simple(session, table, where):
            return DELETE.dry_run(table, Run(session.spark), where=where, zone=session.zone)
        return _plan(session, table, self)

    def target(self, session: "SessionState") -> Table:
        return session.changed(self.path)

    def carry_out(self, session: "SessionState", table: Table, writer: ChangeWriter) -> RowChangeReport:
        clause = RowClause("matched", "delete", condition=self.where)
        return change_rows(
            session.alone(), table, RowChange("delete", self.alias, [clause], self.cursor.source), writer
        )

    def _condition(self, session: "SessionState", table: Table) -> str | None:
        return _Rows(session, table, self.path, self.alias, self.cursor).condition(self.where)

    def _is_simple(self, session: "SessionState", table: Table, where: str | None) -> bool:
        """Whether the operation evaluates it by itself."""
        if _is_for_query(session, table, [self.where]):
            return False
        on_spark = not session.engine.is_embedded and not _reads_tables(session, [self.where])
        if self.where is None or on_spark:
            return True
        return where is not None and _is_filter(where, table)


@dataclass(frozen=True, slots=True)
class Update:
    """Attributes: `assignments`: new values by columns, or fields of ROWs in them, as they are written."""

    path: tuple[str, ...]
    alias: str
    assignments: Mapping[tuple[str, ...], exp.Expr]
    where: exp.Expr | None
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        session = session.writing
        table = self.target(session)
        texts, where = self._texts(session, table)
        if self._is_simple(session, table, texts, where):
            update(session.spark, table, texts, where, zone=session.zone)
        else:
            self.carry_out(session, table, ChangeWriter())
        return Result()

    def plan(self, session: "SessionState") -> "StoredPlan":
        session = session.writing
        table = self.target(session)
        texts, where = self._texts(session, table)
        if not table.dynamic_options and self._is_simple(session, table, texts, where):
            run = Run(session.spark)
            return UPDATE.dry_run(table, run, assignments=texts, where=where, zone=session.zone)
        return _plan(session, table, self)

    def target(self, session: "SessionState") -> Table:
        return session.changed(self.path)

    def carry_out(self, session: "SessionState", table: Table, writer: ChangeWriter) -> RowChangeReport:
        values = self._values(table)
        # This refuses columns of the primary key.
        resolved(table, dict.fromkeys(values, "NULL"), in_process=True)
        clause = RowClause("matched", "update", values, self.where)
        return change_rows(
            session.alone(), table, RowChange("update", self.alias, [clause], self.cursor.source), writer
        )

    def _values(self, table: Table) -> Mapping[str, exp.Expr]:
        """New values by column. Raises: SqlError: a column or field does not exist, or is assigned twice."""
        return assigned_columns(self.cursor, table, self.assignments, (self.alias, self.path[-1]))

    def _texts(self, session: "SessionState", table: Table) -> tuple[dict[str, str], str | None]:
        """New values and the condition."""
        rows = _Rows(session, table, self.path, self.alias, self.cursor)
        return rows.values(self._values(table)), rows.condition(self.where)

    def _is_simple(self, session: "SessionState", table: Table, texts: Mapping[str, str], where: str | None) -> bool:
        """Whether the operation evaluates it by itself."""
        columns = [exp.column(name) for name in self._values(table)]
        if _is_for_query(session, table, [self.where, *self.assignments.values(), *columns]):
            return False
        if not session.engine.is_embedded:
            return not _reads_tables(session, [self.where, *self.assignments.values()])
        if self.where is not None and where is None:
            return False
        # It has the casts of Spark's dialect, and takes times for those of UTC.
        if session.dialect == "flink" and any(value.find(exp.Cast) for value in self.assignments.values()):
            return False
        if session.zone != UTC and any(has_moments(value) for value in self.assignments.values()):
            return False
        try:
            assigned = resolved(table, texts, in_process=True)
        except PredicateError:
            return False
        values = self._values(table)
        if not all(_is_of_type(values[name], each.field.type) for name, each in assigned.items()):
            return False
        return where is None or _is_filter(where, table)


_MOMENTS = (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ)


def _is_of_type(value: exp.Expr, kind: DataType) -> bool:
    """Whether a value can be stored as it is written. What becomes another type does so by the dialect's rules."""
    if isinstance(value, exp.Literal) and value.is_string:
        return kind.is_string and kind.length == MAX_LENGTH
    if isinstance(value, exp.Cast):
        return kind.is_timestamp if value.is_type(*_MOMENTS) else value.is_type(kind.root)
    if isinstance(value, exp.Boolean):
        return kind.root == "BOOLEAN"
    if isinstance(value, exp.Column | exp.Null):
        return True
    is_whole = value.sql().strip("-() ").isdecimal()
    return kind.is_integer if is_whole else kind.root in ("DECIMAL", "DOUBLE")


_UNNAMED = "paimon_source"
"""What rows of a query without a name are named in MERGE."""


@dataclass(frozen=True, slots=True)
class Merge:
    tree: exp.Merge
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        session = session.writing
        self.carry_out(session, self.target(session), ChangeWriter())
        return Result()

    def plan(self, session: "SessionState") -> "StoredPlan":
        session = session.writing
        return _plan(session, self.target(session), self)

    def target(self, session: "SessionState") -> Table:
        return session.changed(tuple(part.name for part in self.tree.this.parts))

    def carry_out(self, session: "SessionState", table: Table, writer: ChangeWriter) -> RowChangeReport:
        target, using, on = self.tree.this, self.tree.args["using"], self.tree.args["on"]
        if not using.alias_or_name:
            using = using.copy()
            using.set("alias", exp.TableAlias(this=exp.to_identifier(_UNNAMED, quoted=True)))
        whens = self.tree.args["whens"].expressions
        names, stars = None, None
        if session.dialect == "spark":
            given = self._given(session, using)
            table = self._evolved(session, table, given, writer)
            names = by_name(session, f"table {table.identifier}")
            sides = {target.alias_or_name: TARGET, using.alias_or_name: SOURCE}
            stars = _Stars(table, given, names, _aliased(on, sides), sides)
        clauses = [
            _clause(self.cursor, when, table, target.alias_or_name, using.alias_or_name, stars) for when in whens
        ]
        change = RowChange("merge", target.alias_or_name, clauses, self.cursor.source, using, on, names=names)
        spark = session.spark
        if spark is None or self._is_for_query(session, table, change):
            return change_rows(session.alone(), table, change, writer)
        from maintenance.sql.query.on_spark import frame_of

        aliases = {target.alias_or_name: TARGET, using.alias_or_name: SOURCE}
        tables = exp.Select().from_(target.copy()).join(using.copy(), join_type="cross")
        change = change.said(lambda nodes: in_words_of_spark(session, self.cursor.source, tables, nodes))
        rows = rows_with_metadata(using, parts_of(change))
        frame = frame_of(spark, prepared(session, rows, self.cursor.source))
        spoken = [
            Clause(
                clause.when,
                clause.action,
                None
                if clause.values is None
                else {
                    name: _aliased(_filled(value, table.schema.field(name).type, session), aliases)
                    for name, value in clause.values.items()
                },
                None if clause.condition is None else _aliased(clause.condition, aliases),
            )
            for clause in change.clauses
        ]
        if names is not None:
            spoken = self._in_order(session, table, tables, change, spoken, names)
        return merged_by(writer, spark, table, frame, _aliased(change.on or on, aliases), spoken)

    def _in_order(
        self,
        session: "SessionState",
        table: Table,
        tables: exp.Select,
        change: RowChange,
        spoken: list[Clause],
        names: ByName,
    ) -> list[Clause]:
        """The clauses for Spark, with the fields of ROWs in the order of the table's."""
        from maintenance.sql.query.in_order import has_rows, in_order

        fields = {field.name: field for field in table.schema.fields}
        values = [
            exp.alias_(value.copy(), f"x{number}", quoted=True)
            for number, clause in enumerate(change.clauses)
            for name, value in (clause.values or {}).items()
            if has_rows(fields[name].type)
        ]
        if not values:
            return spoken
        query = prepared(session, tables.select(*values), self.cursor.source)
        given = [field.type for field in given_columns(session, query)]
        keeps = [clause.keeps_fields for clause in change.clauses]
        return in_order(spoken, keeps, table.schema.fields, given, names)

    @staticmethod
    def _is_for_query(session: "SessionState", table: Table, change: RowChange) -> bool:
        """Whether Spark, which has the table's rows as they are stored, would judge or store other values."""
        source = None if change.using is None else change.using.alias_or_name
        parts = [part for part in parts_of(change) if part is not None]
        named = [each for part in parts for each in part.find_all(exp.Column) if each.table != source]
        named = [each for each in named if each.name != ROW_ID.name]  # which its rows have there, too
        assigned = {name for clause in change.clauses for name in clause.values or table.schema.field_names}
        nested = [field.name for field in table.schema.fields if field.name in assigned and field.type.root != "CHAR"]
        return _is_for_query(session, table, [*named, *map(exp.column, nested)])

    def _given(self, session: "SessionState", using: exp.Expr) -> Sequence[DataField]:
        """The columns of the source."""
        rows = exp.select(exp.Star()).from_(using.copy())
        return given_columns(session, prepared(session, rows, self.cursor.source))

    def _evolved(
        self, session: "SessionState", table: Table, given: Sequence[DataField], writer: ChangeWriter
    ) -> Table:
        """The table with the columns that it gets: of a star all that the source has, else those that are named.

        Raises: UnsupportedError: it would get some, and this is about a plan.
        """
        merging = merging_of(session)
        if merging is None:
            return table
        whens = [when for when in self.tree.args["whens"].expressions if not when.args.get("source")]
        thens = [when.args["then"] for when in whens]
        if not any(map(_is_star, thens)):
            columns = table.schema.fields
            named = [name for then in thens for name in _assigned(then) if not merging.named(columns, name)]
            given = [own for own in given if any(merging.named([own], name) for name in named)]
        changes = schema_changes(table, given, merging) if given else []
        if changes and isinstance(writer, ChangePreview):
            raise UnsupportedError(
                "a MERGE INTO that changes columns has no plan",
                f"table {table.identifier}",
                f"Run it, SET {MERGES_SCHEMA} = false, or change the columns with ALTER TABLE.",
            )
        if not changes:
            return table
        change_columns(session, tuple(part.name for part in self.tree.this.parts), changes)
        return self.target(session)


def _is_star(then: exp.Expr) -> bool:
    parts = then.expressions if isinstance(then, exp.Update) else [then.this]
    return any(isinstance(part, exp.Star) for part in parts)


def _assigned(then: exp.Expr) -> list[str]:
    """The columns that a clause names without a table."""
    if isinstance(then, exp.Update):
        return [part.this.name for part in then.expressions if isinstance(part, exp.EQ) and len(part.this.parts) == 1]
    return [part.name for part in then.this.expressions] if isinstance(then, exp.Insert) and then.this else []


@dataclass(frozen=True, slots=True)
class _Stars:
    """What stars of a MERGE stand for, and what its clauses may say of the primary key.

    Attributes: `given`: the columns of the source; `names`: how they meet the table's; `on`, `sides`: which rows match,
        in the words of `merge_clauses`.
    """

    table: Table
    given: Sequence[DataField]
    names: ByName
    on: str
    sides: Mapping[str, str]

    def without_keys(self, values: Mapping[str, exp.Expr]) -> dict[str, exp.Expr]:
        """The new values of an update, which leaves the primary key as it is. Raises: UnsupportedError: it does not."""
        keys = self.table.schema.primary_keys
        same = {(key.lower(), other.lower()) for key, other in equal_columns(self.on)}
        for key in keys:
            value = values.get(key)
            side = self.sides.get(value.table, "") if isinstance(value, exp.Column) else ""
            own = (key.lower(), value.name.lower()) if isinstance(value, exp.Column) else ("", "")
            is_kept = own in same if side == SOURCE else side == TARGET and own[0] == own[1]
            if value is not None and not is_kept:
                raise UnsupportedError(
                    f"'{key}' belongs to the primary key, which cannot be updated",
                    self.names.where,
                    f"Match the rows by t.{key} = s.{key}, or name the columns without '{key}'.",
                )
        return {name: value for name, value in values.items() if name not in keys}

    def values(self, using: str, action: str) -> dict[str, exp.Expr]:
        """The source's columns by the table's; others that the source has count for nothing.

        Raises: SqlError: one is there several times; it is missing, and columns do not follow the rows.
        """
        where, fields = self.names.where, self.table.schema.fields
        pairs = [(target.name, own.name) for own in self.given for target in self.names.named(fields, own.name)]
        found = dict(pairs)
        if len(found) < len(pairs):
            name = next(name for name in found if sum(name == other for other, _ in pairs) > 1)
            fix = "Write an assignment for each column: a = s.a, b = s.b."
            raise SqlError(f"the source has several columns '{name}'", where, fix)
        missing = next((field.name for field in fields if field.name not in found), None)
        if missing is not None and self.names.merging is None:
            raise SqlError(
                f"{action} * gives nothing to column '{missing}', which the source has not",
                where,
                f"Name the columns, or SET {MERGES_SCHEMA} = true.",
            )
        return {name: exp.column(own, using, quoted=True) for name, own in found.items()}


def _plan(session: "SessionState", table: Table, statement: Delete | Update | Merge) -> "StoredPlan":
    # Plans know all operations, which take long to import.
    from maintenance.sql.planned_rows import statement_plan

    return statement_plan(session, table, statement)


def _reads_tables(session: "SessionState", nodes: Iterable[exp.Expr | None]) -> bool:
    """Whether an expression has a query of tables that this session knows and Spark does not."""
    queries = [query for node in nodes if node is not None for query in node.find_all(exp.Query)]
    paths = [tuple(part.name for part in table.parts) for query in queries for table in query.find_all(exp.Table)]
    return any(session.existing(path) is not None or session.sql_view(path) is not None for path in paths)


def _is_for_query(session: "SessionState", table: Table, nodes: Iterable[exp.Expr | None]) -> bool:
    """Whether an expression of Spark's dialect names what a query in this process knows, and operations do not.

    That is a CHAR, which is filled up with blanks, and a metadata column.
    """
    if session.dialect != "spark":
        return False
    known = {*METADATA_COLUMNS, *(field.name.lower() for field in table.schema.fields if has_chars(field.type))}
    columns = [column for node in nodes if node is not None for column in node.find_all(exp.Column)]
    return any(part.name in known or part.name.lower() in known for column in columns for part in column.parts)


def _filled(value: exp.Expr, kind: DataType, session: "SessionState") -> exp.Expr:
    """A new value as Spark's dialect stores it."""
    if kind.root != "CHAR" or session.dialect != "spark":
        return value
    parts = {"a": value, "n": exp.Literal.number(kind.length or 1)}
    return filled("CASE WHEN length(a) < n THEN rpad(a, n, ' ') ELSE a END", parts)


def plain_text(node: exp.Expr, names: Sequence[str]) -> str:
    """A condition or value in Spark's dialect, over the table's plain columns."""
    node = node.copy()
    for column in node.find_all(exp.Column):
        if column.table in names and column.find_ancestor(exp.Query) is None:
            column.set("table", None)
    return node.sql("spark", comments=False)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows that a DELETE or UPDATE is about; what it says of them, as texts in Spark's dialect."""

    session: "SessionState"
    table: Table
    path: tuple[str, ...]
    alias: str
    cursor: Cursor

    def values(self, values: Mapping[str, exp.Expr]) -> dict[str, str]:
        """New values by column."""
        return dict(zip(values, map(self._text, self._of_spark(*values.values())), strict=True))

    def condition(self, where: exp.Expr | None) -> str | None:
        """A condition whose instants are in UTC, or which only Spark can judge, and does in the session's zone.

        None if there is none, or DuckDB has to judge it. Raises: SqlError: it is a filter, which Spark would have to
        judge.
        """
        if where is None:
            return None
        session, table = self.session, self.table
        zoned = with_instants(where, table.schema.fields, session.zone, is_flink=session.dialect == "flink")
        if session.engine.is_embedded:
            return None if zoned is None else self._text(zoned)
        text = self._text(where if zoned is None else zoned)
        if not _is_filter(text, table):
            return self._text(*self._of_spark(where))
        if zoned is None:
            problem = f"the condition compares instants with local times, and the session's zone is {session.zone}"
            raise SqlError(problem, f"table {table.identifier}", "Cast one side, or set the zone to UTC.")
        return text

    def _of_spark(self, *nodes: exp.Expr) -> list[exp.Expr]:
        if _reads_tables(self.session, nodes):
            return list(nodes)  # the statement is carried out as a query
        catalog, database, name = (None, None, *self.path)[-3:]
        named = exp.table_(name or "", database, catalog, quoted=True, alias=self.alias)
        return in_words_of_spark(self.session, self.cursor.source, exp.Select().from_(named), nodes)

    def _text(self, node: exp.Expr) -> str:
        return plain_text(node, (self.alias, self.path[-1]))


def _aliased(node: exp.Expr, aliases: Mapping[str, str]) -> str:
    node = node.copy()
    for column in node.find_all(exp.Column):
        if column.table in aliases:
            column.set("table", exp.to_identifier(aliases[column.table]))
    return node.sql("spark", comments=False)


def _is_filter(where: str, table: Table) -> bool:
    """Whether a scan understands the condition. Raises: PredicateError: a column does not exist."""
    try:
        return filter_of(where, table, spark=True) is not None
    except PredicateError:
        return False


def check_columns(cursor: Cursor, table: Table, names: Mapping[str, object]) -> None:
    """Raises: SqlError: one of the assigned columns does not exist."""
    columns = table.schema.field_names
    for name in names:
        if name.lower() not in map(str.lower, columns):
            raise cursor.error(*unknown_column(name, columns), token=cursor.find("column", name))


def _of_one_side(when: exp.When, name: str, other: str) -> exp.When:
    """A clause about rows of one side alone: what it names without a table is of that side, and so are fields."""
    when = when.copy()
    then = when.args["then"]
    values = then.expression if isinstance(then, exp.Insert) else None
    updates = [part.expression for part in then.expressions] if isinstance(then, exp.Update) else []
    for part in (when.args.get("condition"), values, *updates):
        for column in part.find_all(exp.Column) if isinstance(part, exp.Expr) else ():
            outer = next(part for part in ("table", "db", "catalog", "") if not column.args.get(part))
            if isinstance(column.parent, exp.Bracket) and column.name.upper() == "MAP":
                continue  # it makes a map in Flink
            is_named = outer != "table" and column.parts[0].name.lower() in (name.lower(), other.lower())
            if outer and not is_named and column.find_ancestor(exp.Query) is None:
                column.set(outer, exp.to_identifier(name, quoted=True))
    return when


def _clause(
    cursor: Cursor, when: exp.When, table: Table, target_name: str, using_name: str, stars: _Stars | None
) -> RowClause:
    kind = "matched" if when.args["matched"] else "not_matched_by_source" if when.args.get("source") else "not_matched"
    if kind != "matched":
        sides = (using_name, target_name) if kind == "not_matched" else (target_name, using_name)
        when = _of_one_side(when, *sides)
    then, condition = when.args["then"], when.args.get("condition")
    if isinstance(then, exp.Update):
        if any(isinstance(part, exp.Star) for part in then.expressions):
            keys = table.schema.primary_keys
            columns = [name for name in table.schema.field_names if name not in keys]
            values: Mapping[str, exp.Expr] = {name: exp.column(name, using_name, quoted=True) for name in columns}
            if stars is not None:
                values = stars.without_keys(stars.values(using_name, "UPDATE"))
                keeps = stars.names.merging is not None
                return RowClause(kind, "update", values, condition, keeps)  # type: ignore[arg-type]
        else:
            paths = {tuple(each.name for each in part.this.parts): part.expression for part in then.expressions}
            values = assigned_columns(cursor, table, paths, (target_name,))
            if stars is not None:
                values = stars.without_keys(values)
        check_columns(cursor, table, values)
        return RowClause(kind, "update", values, condition)  # type: ignore[arg-type]
    if isinstance(then, exp.Insert):
        if isinstance(then.this, exp.Star):
            all_values = None if stars is None else stars.values(using_name, "INSERT")
            return RowClause(kind, "insert", all_values, condition)  # type: ignore[arg-type]
        new_values = then.expression.expressions
        columns = [part.name for part in then.this.expressions] if then.this else list(table.schema.field_names)
        if len(columns) != len(new_values):
            raise cursor.error(f"{len(new_values)} values are given for {len(columns)} columns", "Give one for each.")
        inserted = default_values(cursor, table, columns, new_values)
        check_columns(cursor, table, inserted)
        return RowClause(kind, "insert", inserted, condition)  # type: ignore[arg-type]
    return RowClause(kind, "delete", None, condition)  # type: ignore[arg-type]


def _alias(cursor: Cursor) -> str | None:
    if cursor.take("AS"):
        return cursor.name("an alias")
    if cursor.at_end() or cursor.peek("SET") or cursor.peek("WHERE"):
        return None
    return cursor.name("an alias")


def _delete(cursor: Cursor) -> Delete:
    path = cursor.path("the name of a table")
    alias = _alias(cursor) or path[-1]
    return Delete(path, alias, cursor.expression() if cursor.take("WHERE") else None, cursor)


def _update(cursor: Cursor) -> Update:
    path = cursor.path("the name of a table")
    alias = _alias(cursor) or path[-1]
    cursor.expect("SET")
    assignments: dict[tuple[str, ...], exp.Expr] = {}
    while True:
        column = cursor.path("the name of a column")
        if column in assignments:
            raise cursor.error(f"column '{column[-1]}' is assigned twice", "Assign it once.")
        cursor.expect("=")
        assignments[column] = cursor.expression(",", "WHERE")
        if not cursor.take(","):
            break
    return Update(path, alias, assignments, cursor.expression() if cursor.take("WHERE") else None, cursor)


def _merge(cursor: Cursor) -> Merge:
    cursor.index -= 2
    tree = cursor.query()
    if not isinstance(tree, exp.Merge):
        raise cursor.error("this is not a MERGE INTO", token=cursor.words[0])
    cursor.note(tree.this, "the name of a table")
    for when in tree.args["whens"].expressions:
        then = when.args["then"]
        targets = [part.this for part in then.expressions] if isinstance(then, exp.Update) else [then.this]
        for target in targets:
            if isinstance(then, exp.Update | exp.Insert) and isinstance(target, exp.Expr):
                cursor.note(target, "the name of a column")
    return Merge(tree, cursor)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("DELETE", "FROM"): _delete,
    ("UPDATE",): _update,
    ("MERGE", "INTO"): _merge,
}
