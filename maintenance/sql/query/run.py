"""Run a query: by Spark when the session has one, else by DuckDB."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from maintenance.sql.cursor import Cursor, Source
from maintenance.sql.expressions.kinds import is_storable
from maintenance.sql.query.case_names import mark_names, marked_rows, plain_type, same_but_case
from maintenance.sql.query.pushdown import push_down
from maintenance.sql.query.resolve import Resolved, resolve
from maintenance.sql.query.shape import shaped
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


def run_query(
    session: "SessionState",
    tree: exp.Expr,
    cursor_or_source: Cursor | Source,
    fields: Sequence[DataField] | None = None,
) -> pa.Table:
    """The rows of a query.

    Args: `fields`: columns of a table that the rows are for, by position; they get their names and types.
    Raises: SqlError; errors of reading the tables.
    """
    source = cursor_or_source.source if isinstance(cursor_or_source, Cursor) else cursor_or_source
    return _rows_of(session, prepared(session, tree, source), fields)


def run_by_name(
    session: "SessionState",
    tree: exp.Expr,
    cursor: Cursor,
    chosen: Callable[[Sequence[DataField]], Sequence[DataField]],
) -> pa.Table:
    """The rows of a query, whose columns get the names and types that are chosen for what it gives.

    Raises: as `run_query`, and as `chosen`.
    """
    resolved = prepared(session, tree, cursor.source)
    return _rows_of(session, resolved, chosen(given_columns(session, resolved)))


def given_columns(session: "SessionState", resolved: Resolved) -> list[DataField]:
    """What a prepared query gives."""
    spark = session.spark
    if spark is not None:
        from maintenance.sql.query.on_spark import fields_of_frame

        return fields_of_frame(spark, resolved)
    return [DataField(number, name, kind) for number, (name, kind) in enumerate(resolved.columns)]


def run_for_table(
    session: "SessionState", tree: exp.Expr, cursor: Cursor
) -> tuple[pa.Table, Sequence[DataType | None]]:
    """The rows of a query, and what the types of columns are that are made for them; None where Arrow tells it.

    Raises: as `run_query`.
    """
    resolved = prepared(session, tree, cursor.source)
    rows = _rows_of(session, resolved, None)
    kinds: Sequence[DataType | None] = [None] * rows.num_columns
    if session.dialect == "flink" and len(resolved.columns) == len(kinds):
        # In Arrow a TIME has no digits, and a text no length.
        declared = resolved.declared or kinds
        typed = [own or kind for (_, kind), own in zip(resolved.columns, declared, strict=True)]
        kinds = [plain_type(kind).as_nullable() if is_storable(kind) else None for kind in typed]
    elif session.dialect == "spark":
        # A CHAR or VARCHAR of Spark's keeps its length.
        declared = _declared_in_spark(session, resolved) or kinds
        sized = [own is not None and own.is_string and own.length != MAX_LENGTH for own in declared]
        kinds = [own and own.as_nullable() if is_sized else None
                 for own, is_sized in zip(declared, sized, strict=True)]  # fmt: skip
    return rows, kinds


def _declared_in_spark(session: "SessionState", resolved: Resolved) -> Sequence[DataType | None]:
    if session.spark is None:
        return resolved.declared
    columns = [column for each in resolved.relations.values() for column in each.fields()]
    if not any(column.type.is_string and column.type.length != MAX_LENGTH for column in columns):
        return ()  # nothing tells Spark of a length
    from maintenance.sql.query.on_spark import declared_on_spark

    return declared_on_spark(session.spark, resolved)


def _rows_of(session: "SessionState", resolved: Resolved, fields: Sequence[DataField] | None) -> pa.Table:
    # Both engines take long to import, and only one is needed.
    spark = session.spark
    if spark is None:
        from maintenance.sql.duckdb.embedded import run_embedded

        return run_embedded(resolved, fields)
    from maintenance.sql.query.on_spark import run_on_spark

    return run_on_spark(spark, resolved, fields)


def prepared(
    session: "SessionState", tree: exp.Expr, source: Source, bound: Mapping[str, pa.Table] | None = None
) -> Resolved:
    """The query over relations that know what is asked of them. `bound`: rows that are read under a name."""
    resolved = over_relations(session, tree, source, bound)
    if session.engine.is_embedded:
        resolved = _told_apart(resolved, is_case_sensitive=session.dialect == "flink")
    push_down(resolved)
    shaped(resolved, embedded=session.engine.is_embedded)
    return resolved


def over_relations(
    session: "SessionState", tree: exp.Expr, source: Source, bound: Mapping[str, pa.Table] | None = None
) -> Resolved:
    """The query over relations, views in place of their names, and nothing else changed. Raises: SqlError."""
    return resolve(session, tree.copy(), source, bound or {}, _value)


def _value(session: "SessionState", expression: exp.Expr, source: Source) -> Any:
    query = exp.select(exp.alias_(expression.copy(), "value"))
    return run_query(session, query, source).column(0)[0].as_py()


def in_words_of_spark(
    session: "SessionState", source: Source, tables: exp.Select, nodes: Sequence[exp.Expr]
) -> list[exp.Expr]:
    """Expressions of Flink's dialect as a Spark has to be asked for them, which has other functions and types.

    Args: `tables`: a query of nothing, from the tables whose columns they are of. Raises: SqlError, as `run_query`.
    """
    if session.dialect != "flink" or session.engine.is_embedded or not nodes:
        return list(nodes)
    named = [exp.alias_(node.copy(), f"x{number}", quoted=True) for number, node in enumerate(nodes)]
    query = prepared(session, tables.select(*named), source).tree
    return [output.unalias() for output in query.expressions]


def _told_apart(resolved: Resolved, *, is_case_sensitive: bool) -> Resolved:
    """The query with names that DuckDB tells apart, where some differ only in case."""
    relations, bound = resolved.relations.values(), resolved.bound
    same = same_but_case(
        [each.fields() for each in relations], bound.values(), resolved.tree, is_case_sensitive=is_case_sensitive
    )
    if not same:
        return resolved
    for relation in relations:
        relation.tell_apart(same)
    mark_names(resolved.tree, same)
    return replace(resolved, bound={name: marked_rows(rows, same) for name, rows in bound.items()})
