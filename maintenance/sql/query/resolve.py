"""Resolve the names of a query: tables become relations, SQL views become subqueries."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from maintenance.errors import NotFoundError, SqlError
from maintenance.metastore.view import View
from maintenance.sql.cursor import Source, statements_of
from maintenance.sql.names import TableName, path_of
from maintenance.sql.partitions import newest_partition
from maintenance.sql.place import unknown
from maintenance.sql.query.computed import RELATION, compute_columns
from maintenance.sql.query.metadata_columns import show_metadata
from maintenance.sql.query.refused_functions import refuse_functions
from maintenance.sql.query.relations import Readable, Relation, own_alias, place_at
from maintenance.sql.query.table_functions import states_of_other_buckets, take_function
from maintenance.sql.query.travel import check_consumer, options_of, take_hints
from maintenance.table.table import Table
from maintenance.types.casts.zones import UTC
from maintenance.types.data_type import DataType

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

_DEEPEST = 20
MAX_PT = "max_pt"
_CURRENT = ("current_catalog", "current_database", "current_schema")
_CASTABLE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL", "STRING", "DATE", "BOOLEAN")


@dataclass(slots=True)
class Resolved:
    """A query over relations.

    Attributes:
        bound: rows that are here already, by the name that the query reads them under.
        is_wide: decimals have all the bits that there are.
        text: the query in DuckDB's dialect, if it is known.
        zone: of the session.
        columns: what the query gives, by the rules of its dialect; empty if that is not known, or nobody asks.
        declared: the types of these with lengths and NOT NULL, where they are known.
    """

    tree: exp.Expr
    relations: dict[str, Relation]
    source: Source
    bound: Mapping[str, pa.Table] = field(default_factory=dict)
    is_wide: bool = False
    text: str | None = None
    zone: str = UTC
    columns: Sequence[tuple[str, DataType]] = ()
    declared: Sequence[DataType | None] = ()


Evaluate = Callable[["SessionState", exp.Expr, Source], Any]
"""Gives what the session's engine makes of an expression without columns: a time that is travelled to may be one."""


def resolve(
    session: "SessionState", tree: exp.Expr, source: Source, bound: Mapping[str, pa.Table], evaluate: Evaluate
) -> Resolved:
    """Raises: SqlError: a table does not exist, or an option of it is wrong."""
    tables = _Tables(session, evaluate)
    tree = exp.Subquery(this=tree) if isinstance(tree, exp.Table) else tree
    refuse_functions(tree, source)
    nodes = [node for node in tree.find_all(exp.Table) if node.name in bound]
    tables.place(tree, source, left_out={id(node) for node in nodes})
    relations = tables.relations
    show_metadata(tree, relations, of_rows=session.dialect == "spark")
    _name_current(session, tree)
    _newest_partitions(session, tree)
    long = [column for column in tree.find_all(exp.Column) if column.args.get("db") is not None]
    if long:
        places = _tables_of(session, tree, relations)
        for column in long:
            _shorten(column, places)
    return Resolved(tree, relations, source, bound, zone=session.zone)


def _tables_of(
    session: "SessionState", tree: exp.Expr, relations: Mapping[str, Relation]
) -> dict[str, list[tuple[str, ...]]]:
    """By the names that columns may have in front, in lower case: catalog and database, nothing of a query."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for node in tree.find_all(exp.Table, exp.Subquery, exp.CTE):
        relation = relations.get(node.name if isinstance(node, exp.Table) else str(node.meta.get(RELATION, "")))
        name = None if relation is None else session.table_name(relation.path)
        place = () if name is None else (name.catalog.lower(), name.database.lower())
        found.setdefault(node.alias_or_name.lower(), []).append(place)
    return found


def _place_of_table(names: Sequence[str], tables: Mapping[str, Sequence[tuple[str, ...]]]) -> int | None:
    """Which of the names of a column is that of its table; None: the first one is a column."""
    possible = range(min(2, len(names) - 2), -1, -1)
    for number in possible:
        for place in tables.get(names[number], ()):
            if len(place) >= number and place[len(place) - number :] == tuple(names[:number]):
                return number
    # A view has become a query, of which no database is known.
    return next((number for number in possible if () in tables.get(names[number], ())), None)


def _shorten(column: exp.Column, tables: Mapping[str, Sequence[tuple[str, ...]]]) -> None:
    """A column of at least three names: the last of a table's names stays, and fields of a ROW follow the column."""
    parts = list(column.parts)
    start = _place_of_table([part.name.lower() for part in parts], tables)
    first = 0 if start is None else start + 1
    short = exp.Column(this=parts[first], table=None if start is None else parts[start])
    short.meta.update(column.meta)
    whole: exp.Expr = short
    for part in parts[first + 1 :]:
        whole = exp.Dot(this=whole, expression=part)
    column.replace(whole)


@dataclass(frozen=True, slots=True)
class _Tables:
    """Finds the tables of a query. `relations`: those that were found, by name."""

    session: "SessionState"
    evaluate: Evaluate
    relations: dict[str, Relation] = field(default_factory=dict)

    def place(self, tree: exp.Expr, source: Source, depth: int = 0, left_out: Set[int] = frozenset()) -> None:
        """Put relations in the place of tables. `depth`: of how many views; `left_out`: nodes that stay."""
        take_hints(tree, source, kept=not self.session.engine.is_embedded)
        for node in list(tree.find_all(exp.Table)):
            if isinstance(node.parent, exp.JoinHint):  # it names a table of the query, as that is called there
                continue
            if isinstance(node.this, exp.Dot):
                raise _too_long(node, source)
            options = take_function(node)
            if not isinstance(node.this, exp.Identifier) or id(node) in left_out or is_of_with(node):
                continue
            path = tuple(part.name for part in node.parts)
            same = next((relation.view for relation in self.relations.values() if relation.path == path), None)
            known = self.session.existing(path) if same is None else same
            view = None if known is not None or "$" in node.name else self.session.sql_view(path)
            if view is not None:
                self._expand(node, view, source, depth)
                continue
            relation = self._relation(node, path, source, known)
            if options:
                whole = relation
                relation = replace(relation, options={**relation.options, **options}, _opened=None)
                states = states_of_other_buckets(relation.opened())
                if states is not None:
                    self._compare(node, whole, states)
                    continue
            self.relations[relation.name] = relation
            _rename(node, relation.name)
            if self.session.dialect == "flink":
                compute_columns(node, relation, source)

    def _relation(self, node: exp.Table, path: tuple[str, ...], source: Source, known: Readable | None) -> Relation:
        """The relation of a node. `known`: the table, if it was opened already."""
        session, name = self.session, f"paimon_{len(self.relations)}"
        # Source: Java `copyWithoutTimeTravel` of Flink's options; what FOR SYSTEM_TIME AS OF names has its own columns.
        keeps_schema = session.dialect == "flink" and node.args.get("version") is None
        travelled = options_of(node, source, lambda time: self.evaluate(session, time, source), session.zone)
        options = {**session.read_options(path), **travelled}
        first, last = node.parts[0], node.parts[-1]
        start = first.meta.get("start")
        try:
            relation = Relation(name, path, session.view(path) if known is None else known, options)
            relation.keeps_schema, relation.fills_chars = keeps_schema, session.dialect == "spark"
            opened = relation.opened()
            if session.dialect == "flink" and isinstance(opened, Table):
                check_consumer(opened)
        except NotFoundError as error:
            if start is None or "$" in node.name or options:
                raise
            catalog_name = session.table_name(path)
            problem, fix = error.found, error.fix
            catalog = session.catalog_of(catalog_name.catalog)
            if catalog_name.database in catalog.list_databases():
                problem, fix = unknown("table", catalog_name.identifier, catalog.list_tables(catalog_name.database))
                fix = unknown("table", catalog_name.table, catalog.list_tables(catalog_name.database))[1]
            raise source.error(start, last.meta["end"] - start + 1, problem, fix, kind=NotFoundError) from error
        except SqlError as error:
            if start is None or error.line is not None:
                raise
            raise source.error(start, last.meta["end"] - start + 1, error.found, error.fix) from error
        return relation

    def _compare(self, node: exp.Table, whole: Relation, states: tuple[int, int]) -> None:
        """Put the rows of the later state that are not in the earlier one in the place of a function. Both states have
        the present columns.

        Source: Java `PaimonTableValuedFunctions.sparkIncrementQuery`.
        """
        sides = []
        for snapshot_id in reversed(states):
            name, options = f"paimon_{len(self.relations)}", {**whole.options, "scan.version": str(snapshot_id)}
            self.relations[name] = replace(whole, name=name, options=options, keeps_schema=True, _opened=None)
            sides.append(exp.select("*").from_(exp.Table(this=exp.to_identifier(name, quoted=True))))
        rows = exp.except_(*sides)
        place_at(rows, node)
        named = exp.TableAlias(this=exp.to_identifier(own_alias(node), quoted=True))
        node.replace(exp.Subquery(this=rows, alias=named))

    def _expand(self, node: exp.Table, view: View, source: Source, depth: int) -> None:
        """Put the query of a view in its place."""
        if depth > _DEEPEST:
            raise SqlError(f"view '{node.name}' is nested too deeply", "query", "A view may not read itself.")
        inner = Source(view.query_for(self.session.dialect), source.dialect)
        columns = [exp.to_identifier(field.name, quoted=True) for field in view.columns()]
        named = exp.TableAlias(this=exp.to_identifier(own_alias(node), quoted=True), columns=columns)
        query = statements_of(inner)[0].query()
        place_at(query, node)
        _cast_computed(query, view)
        _place(query, self.session.table_name(tuple(part.name for part in node.parts)))
        subquery = exp.Subquery(this=query, alias=named)
        self.place(subquery, source, depth + 1)
        node.replace(subquery)


def _too_long(node: exp.Table, source: Source) -> SqlError:
    problem = f"'{'.'.join(part.name for part in node.parts)}' is not the name of a table"
    start, end = node.parts[0].meta.get("start", 0), node.parts[-1].meta.get("end", 0)
    return source.error(start, end - start + 1, problem, "Write catalog.database.table.")


def _name_current(session: "SessionState", tree: exp.Expr) -> None:
    """Put the session's catalog and database for the functions that ask for them."""
    kinds = (exp.Anonymous, exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentSchema)
    for node in list(tree.find_all(*kinds)):
        called = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
        if called not in _CURRENT or node.expressions:
            continue
        is_catalog = called == "current_catalog"
        name: exp.Expr = exp.Literal.string(session.current_catalog if is_catalog else session.current_database)
        if session.dialect == "spark" and isinstance(node.parent, exp.Select):
            name = exp.alias_(name, "current_catalog()" if is_catalog else "current_database()", quoted=True)
        node.replace(name)


def _newest_partitions(session: "SessionState", tree: exp.Expr) -> None:
    """``sys.max_pt('db.t')``: the largest value that the first partition column of a table has rows for, as a text.

    Source: Java `MaxPtFunction`, `ReplacePaimonFunctions`. Raises: SqlError: there are no rows in a partition that has
        a value.
    """
    for node in list(tree.find_all(exp.Anonymous)):
        if str(node.this).lower() != MAX_PT or not isinstance(node.parent, exp.Dot):
            continue
        if len(node.expressions) != 1 or not node.expressions[0].is_string:
            raise SqlError("max_pt takes the name of a table in quotes", "query", "Write sys.max_pt('db.t').")
        table = session.writable(path_of(node.expressions[0].name))
        node.parent.replace(exp.Literal.string(newest_partition(table, session.zone)))


def _rename(node: exp.Table, name: str) -> None:
    alias = own_alias(node)
    if not node.alias:
        old = node.args.get("alias")
        columns = old.args.get("columns") if old is not None else None
        node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=columns))
    node.set("this", exp.to_identifier(name, quoted=True))
    node.set("db", None)
    node.set("catalog", None)


def _cast_computed(query: exp.Expr, view: View) -> None:
    """What a view computes has the types that it declares, whatever its query gives by now."""
    fields = view.columns()
    if not isinstance(query, exp.Select) or len(query.expressions) != len(fields) or query.find(exp.Star):
        return
    for output, column in zip(query.expressions, fields, strict=True):
        plain = output.unalias()
        if column.type.root in _CASTABLE and not isinstance(plain, exp.Column):
            kind = str(column.type.as_nullable())
            output.replace(exp.alias_(exp.cast(plain.copy(), kind), column.name, quoted=True))


def _place(query: exp.Expr, view: TableName) -> None:
    """Names of a view's text that are not whole are names beside the view. Source: Java `PaimonViewResolver`."""
    for node in list(query.find_all(exp.Table)):
        if not isinstance(node.this, exp.Identifier) or node.catalog or is_of_with(node):
            continue
        if not node.db:
            node.set("db", exp.to_identifier(view.database, quoted=True))
        node.set("catalog", exp.to_identifier(view.catalog, quoted=True))


def is_of_with(node: exp.Table) -> bool:
    """Whether a table's name is one of the queries of a WITH around it."""
    if node.db:
        return False
    inside: exp.Expr = node
    parent = node.parent
    while parent is not None:
        with_ = parent.args.get("with_") or parent.args.get("with")
        if with_ is not None:
            for cte in with_.expressions:
                if cte is inside and not with_.args.get("recursive"):
                    break
                if cte.alias == node.name:
                    return True
        if not isinstance(parent, exp.With):
            inside = parent
        parent = parent.parent
    return False
