"""EXPLAIN of a query, or of a statement that inserts or changes rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.sql.cursor import Cursor, table_node
from maintenance.sql.query.case_names import plain
from maintenance.sql.query.resolve import Resolved
from maintenance.sql.query.run import prepared
from maintenance.sql.result import Result
from maintenance.sql.statements import inserts, row_changes
from maintenance.sql.statements.inserts import Insert
from maintenance.sql.statements.row_changes import Delete, Merge, Update
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class Explain:
    """Shows what each scan is asked for, and the query as the engine gets it."""

    tree: exp.Expr
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        resolved = prepared(session, self.tree, self.cursor.source)
        return _result(session, [*_scans(resolved), _query(session, resolved)])


@dataclass(frozen=True, slots=True)
class ExplainInsert:
    """Shows the same of the rows that are inserted. `statement`: nothing of it is carried out."""

    statement: Insert

    def run(self, session: "SessionState") -> Result:
        made, session = self.statement, session.writing
        table = session.writable(made.path)
        resolved = prepared(session, made.query, made.cursor.source)
        verb = "Overwrite" if made.overwrites else "Insert into"
        columns = ", ".join(made.columns or table.schema.field_names)
        lines = [f"{verb} {table.identifier}", f"  columns: {columns}"]
        return _result(session, [*lines, *_scans(resolved), _query(session, resolved)])


@dataclass(frozen=True, slots=True)
class ExplainChange:
    """Shows which rows are looked at for a change of some. `statement`: nothing of it is carried out."""

    statement: Delete | Update | Merge

    def run(self, session: "SessionState") -> Result:
        made, session = self.statement, session.writing
        table = made.target(session)
        match made:
            case Delete():
                verb, rows = "Delete from", _rows([exp.Star()], made)
            case Update():
                values = [exp.alias_(value.copy(), name[-1], quoted=True) for name, value in made.assignments.items()]
                verb, rows = "Update", _rows([exp.Star(), *values], made)
            case Merge():
                verb, rows = "Merge into", _pairs(made.tree)
        resolved = prepared(session, rows, made.cursor.source)
        return _result(session, [f"{verb} {table.identifier}", *_scans(resolved)])


def _rows(values: Sequence[exp.Expr], made: Delete | Update) -> exp.Select:
    """The query of the rows that are changed."""
    table = table_node(made.path)
    table.set("alias", exp.TableAlias(this=exp.to_identifier(made.alias, quoted=True)))
    query = exp.select(*values).from_(table)
    return query if made.where is None else query.where(made.where.copy())


def _pairs(tree: exp.Merge) -> exp.Select:
    """The query of the rows of a MERGE's table and of its source, each with those of the other that it matches."""
    whens = tree.args["whens"].expressions
    sides = {"left" if when.args.get("source") else "right" for when in whens if not when.args.get("matched")}
    kind = "inner" if not sides else sides.pop() if len(sides) == 1 else "full"
    join = exp.Join(this=tree.args["using"].copy(), on=tree.args["on"].copy())
    join.set("kind" if kind == "inner" else "side", kind.upper())
    return exp.select(exp.Star()).from_(tree.this.copy()).join(join)


def _result(session: "SessionState", lines: Sequence[str]) -> Result:
    return Result.of_texts(("plan",), [(line,) for line in (f"Engine: {session.engine.told()}", *lines)])


def _scans(resolved: Resolved) -> list[str]:
    lines = []
    for relation in resolved.relations.values():
        view = relation.opened()
        columns = [plain(f.name) for f in relation.fields() if f.name.lower() in relation.mentioned]
        lines.append(f"Scan {view.identifier} as {relation.name}")
        lines.append(f"  columns: {', '.join(columns) or 'none'}")
        lines.append(f"  filter: {relation.condition or 'none'}")
        lines.append(f"  limit: {'none' if relation.limit is None else relation.limit}")
        if relation.options:
            lines.append(f"  options: {', '.join(f'{k} = {v}' for k, v in relation.options.items())}")
    return lines


def _query(session: "SessionState", resolved: Resolved) -> str:
    dialect = "duckdb" if session.engine.is_embedded else "spark"
    return f"Query for {dialect}: {plain(resolved.tree.sql(dialect, comments=False))}"


def _explain(cursor: Cursor) -> Explain | ExplainInsert | ExplainChange:
    if not cursor.take("PLAN", "FOR"):
        while cursor.take_one_of(*_DETAILS):
            cursor.take(",")
    for words, read in {**inserts.STATEMENTS, **row_changes.STATEMENTS}.items():
        if cursor.take(*words):
            statement = read(cursor)
            if isinstance(statement, Insert):
                return ExplainInsert(statement)
            assert isinstance(statement, Delete | Update | Merge)
            return ExplainChange(statement)
    return Explain(cursor.query(), cursor)


# More that the engines tell: here each scan is shown in any case.
_DETAILS = ("EXTENDED", "FORMATTED", "COST", "CODEGEN", "ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN")

STATEMENTS: Mapping[tuple[str, ...], Parse] = {("EXPLAIN",): _explain}
