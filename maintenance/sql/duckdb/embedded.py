"""Queries run in this process by DuckDB, over Arrow datasets of our own reader."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import duckdb
import pyarrow as pa
from sqlglot.errors import SqlglotError

from maintenance.errors import PaimonError, SqlError
from maintenance.sql.dialects import Flink
from maintenance.sql.duckdb.dataset import RelationDataset, held
from maintenance.sql.duckdb.digests import register_digests
from maintenance.sql.duckdb.duck_types import like_given, named_like, shown_type
from maintenance.sql.duckdb.faults import explained
from maintenance.sql.duckdb.plain_files import plain_query
from maintenance.sql.duckdb.quotients import register_quotients
from maintenance.sql.duckdb.variant_functions import register_variant_functions
from maintenance.sql.expressions.assigned import assigned
from maintenance.sql.expressions.decimals import widened
from maintenance.sql.expressions.macros import register_macros
from maintenance.sql.expressions.queries import unique_names
from maintenance.sql.expressions.templates import Duck
from maintenance.sql.query.carried import carried, uncarried
from maintenance.sql.query.case_names import marked_rows, plain_rows
from maintenance.sql.query.relations import PlannedTable, fields_of_view
from maintenance.sql.query.resolve import Resolved
from maintenance.sql.query.variants import with_variants
from maintenance.sql.zones import duck_zone
from maintenance.table.rows import WHOLE_TABLE_MEMORY
from maintenance.types.casts.text import filled_up
from maintenance.types.casts.zones import UTC
from maintenance.types.data_type import DataField

# Wider than any type of Paimon: DuckDB's sums of integers.
_WIDE = frozenset({"HUGEINT", "UHUGEINT", "UBIGINT", "UINTEGER"})


@dataclass(slots=True)
class BoundQuery:
    """What DuckDB has bound of a query over files: it can run again for as long as its text names the same files."""

    text: str = ""
    process: int = 0
    zone: str = ""
    relation: duckdb.DuckDBPyRelation | None = None

    def run(self, text: str, zone: str) -> pa.Table:
        """The rows. `zone`: of the session. Raises: duckdb.Error."""
        if self.relation is None or (text, os.getpid(), zone) != (self.text, self.process, self.zone):
            # It keeps its connection, which no other thread uses.
            self.relation = _cursor(zone).sql(text)
            self.text, self.process, self.zone = text, os.getpid(), zone
        return _rows_of(self.relation)


def run_embedded(
    resolved: Resolved,
    fields: Sequence[DataField] | None = None,
    bound: BoundQuery | None = None,
    *,
    is_update: bool = False,
) -> pa.Table:
    """The rows of a query. `fields`: see `run_query`, those of an UPDATE or of others; `bound`: of its earlier runs."""
    plainly = True
    if fields is not None:
        resolved = assigned(resolved, fields, is_update=is_update)
    while True:
        try:
            rows = _run(resolved, fields, bound, plainly=plainly)
            return rows if fields is not None else _of_flink(rows, resolved)
        except _PlainFilesError:
            plainly = False
        except _OverflowError:
            resolved = replace(resolved, tree=widened(resolved.tree), is_wide=True, text=None)


_MILLI_DIGITS = 3


class _PlainFilesError(Exception):
    """A query failed that reads files without our reader: that one finds out why, if it fails as well."""


class _OverflowError(Exception):
    """A number needs more bits than DuckDB gave it."""


@cache
def _root(_: int) -> duckdb.DuckDBPyConnection:
    """The DuckDB of a process, by its id: opening one takes longer than many queries, and a fork needs its own."""
    connection = duckdb.connect()
    # A file is bound more than once for a query, and its footer read each time; files that change are noticed.
    connection.execute("SET GLOBAL parquet_metadata_cache = true")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    register_variant_functions(connection)
    register_digests(connection)
    register_macros(connection)
    return connection


def _cursor(zone: str) -> duckdb.DuckDBPyConnection:
    """A connection of its own, with views and settings that no other one sees. `zone`: of instants."""
    cursor = _root(os.getpid()).cursor()
    if zone != UTC:
        cursor.execute(f"SET TimeZone = '{duck_zone(zone)}'")
    return cursor


def _run(
    resolved: Resolved, fields: Sequence[DataField] | None, bound: BoundQuery | None, *, plainly: bool
) -> pa.Table:
    """The rows of a query. `plainly`: DuckDB reads by itself what it can."""
    connection = _cursor(resolved.zone)
    plain: dict[str, str] = {}
    datasets: dict[str, RelationDataset] = {}
    query = translated(resolved)
    try:
        for relation in resolved.relations.values():
            over_files = plain_query(connection, relation) if plainly and not relation.same else None
            if over_files is not None:
                plain[relation.name] = over_files
                continue
            view = relation.opened()
            if isinstance(view, PlannedTable):
                datasets[relation.name] = RelationDataset(relation, view)
            else:
                rows, fields_there = view.to_arrow(where=relation.condition), fields_of_view(view)
                rows = carried(filled_up(rows, fields_there) if relation.fills_chars else rows, fields_there)
                connection.register(relation.name, marked_rows(rows, relation.same))
        is_joined = len(resolved.relations) + len(resolved.bound) > 1
        tables = held(list(datasets.values()), WHOLE_TABLE_MEMORY) if is_joined else None
        for name, planned in zip(datasets, tables or datasets.values(), strict=True):
            connection.register(name, planned)
        for name, bound_rows in resolved.bound.items():
            connection.register(name, bound_rows)
        query = _over_files(query, plain)
        register_quotients(_root(os.getpid()), query, os.getpid())
        if bound is not None and len(plain) == len(resolved.relations):
            return with_variants(bound.run(query, resolved.zone))
        return with_variants(_fetched(connection, query, fields))
    except duckdb.Error as error:
        if not resolved.is_wide and _is_overflow(error, resolved):
            raise _OverflowError from error
        if plain:
            raise _PlainFilesError from error
        for dataset in datasets.values():
            if isinstance(dataset.failure, PaimonError):
                raise dataset.failure from error
        raise explained(error, connection, query, resolved) from error
    finally:
        connection.close()


def _is_overflow(error: duckdb.Error, resolved: Resolved) -> bool:
    """Whether there is another way to reckon. In Flink integers wrap around."""
    is_flink = resolved.source.dialect is Flink
    return isinstance(error, duckdb.OutOfRangeException) and ("DECIMAL" in str(error) or is_flink)


def translated(resolved: Resolved) -> str:
    """The query in DuckDB's dialect. Raises: SqlError: sqlglot cannot say it."""
    if resolved.text is not None:
        return resolved.text
    try:
        return resolved.tree.sql(Duck, comments=False)
    except SqlglotError as error:
        fix = "Open the session with a Spark session, or with engine='spark'."
        raise SqlError("something in the query is not known without Spark", "query", fix) from error


def _over_files(query: str, plain: Mapping[str, str]) -> str:
    """The query with queries over files in the place of relations. `plain`: by the name of the relation."""
    for name, over_files in plain.items():
        # Each relation stands in one place, under another name. A view would be bound once more.
        before, place, behind = query.partition(f'"{name}" AS ')
        if not place or place in behind:
            raise _PlainFilesError
        query = f"{before}({over_files}) AS {behind}"
    return query


def _fetched(connection: duckdb.DuckDBPyConnection, query: str, fields: Sequence[DataField] | None) -> pa.Table:
    relation = connection.sql(query)
    if relation is None or fields is None:
        return _rows_of(relation)
    types = [str(kind) for kind in relation.types]
    check_assignable(types, fields)
    target_types = [like_given(field.type, given) for field, given in zip(fields, relation.types, strict=True)]
    if target_types != types:
        names = [f"column_{number}" for number in range(len(types))]
        listed = ", ".join(f"CAST({name} AS {kind})" for name, kind in zip(names, target_types, strict=True))
        relation = connection.sql(f"SELECT {listed} FROM ({query}) AS q({', '.join(names)})")
    rows = relation.to_arrow_table().rename_columns([field.name for field in fields])
    return uncarried(_named(_narrowed(rows, target_types), fields))


def _rows_of(relation: duckdb.DuckDBPyRelation | None) -> pa.Table:
    if relation is None:
        return pa.table({})
    rows = plain_rows(relation.to_arrow_table().rename_columns(relation.columns))
    return uncarried(_narrowed(rows, list(map(str, relation.types))))


def _of_flink(rows: pa.Table, resolved: Resolved) -> pa.Table:
    """Columns of one name each, and instants with as many digits as Flink gives them: DuckDB has microseconds alone."""
    if resolved.source.dialect is not Flink or len(resolved.columns) != rows.num_columns:
        return rows
    rows = rows.rename_columns(unique_names(rows.column_names))
    for number, (_, kind) in enumerate(resolved.columns):
        column = rows.column(number)
        is_short = kind.root == "TIMESTAMP_LTZ" and (kind.precision or 0) <= _MILLI_DIGITS
        if is_short and pa.types.is_timestamp(column.type):
            short = column.cast(pa.timestamp("ms", column.type.tz), safe=False)
            rows = rows.set_column(number, rows.field(number).with_type(short.type), short)
    return rows


def _narrowed(rows: pa.Table, types: Sequence[str]) -> pa.Table:
    """Integers that are wider than any type of Paimon as BIGINT. Binding a query once more would take longer."""
    for number, kind in enumerate(types):
        if kind in _WIDE:
            try:
                rows = rows.set_column(number, rows.field(number).name, rows.column(number).cast(pa.int64()))
            except pa.ArrowInvalid:
                problem = f"column '{rows.field(number).name}' has integers that BIGINT does not hold"
                raise SqlError(problem, "query", "Cast what it is made of to DECIMAL(38, 0).") from None
    return rows


def _named(rows: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """The fields of nested rows under the names that they have in the table."""
    for number, field in enumerate(fields):
        column = rows.column(number)
        kind = named_like(column.type, field.type)
        if kind != column.type:
            column = pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)
            rows = rows.set_column(number, field.name, column)
    return rows


def check_assignable(types: Sequence[str], fields: Sequence[DataField]) -> None:
    """Raises: SqlError: another number of columns, or a text where a VARIANT or VECTOR belongs."""
    if len(types) != len(fields):
        names = ", ".join(field.name for field in fields)
        fix = f"Give a value for each of these columns: {names}."
        raise SqlError(f"{len(types)} columns are given where {len(fields)} are needed", "query", fix)
    for kind, field in zip(types, fields, strict=True):
        if kind == "VARCHAR" and not field.type.is_string:
            problem = f"column '{field.name}' is {field.type}, and the query gives {shown_type(kind)}"
            raise SqlError(problem, "query", "Cast it in the query.")
