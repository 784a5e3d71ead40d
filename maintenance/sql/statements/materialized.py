"""Materialized tables: a table that keeps the query which fills it, and is filled again by REFRESH.

The definition is stored in the options that Paimon has for it. No job keeps the table fresh: CREATE fills it, and each
`ALTER MATERIALIZED TABLE … REFRESH` replaces its rows, or those of one partition, by what the query gives then.
Source: Java `MaterializedTableUtils` of Paimon's Flink connector.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.catalog import CatalogTable, Schema
from maintenance.commit.overwrite import Overwrite
from maintenance.errors import SqlError
from maintenance.sql.cursor import Cursor, Source, statements_of
from maintenance.sql.partitions import folder_spec
from maintenance.sql.query.qualified import qualified_text
from maintenance.sql.query.run import run_query
from maintenance.sql.result import Result
from maintenance.sql.statements.drops import DropTable, read_spec
from maintenance.sql.statements.statement import Parse
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from maintenance.sql.session import Session

_PREFIX = "materialized-table."
QUERY = _PREFIX + "definition-query"
_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY")


@dataclass(frozen=True, slots=True)
class CreateMaterializedTable:
    """`freshness`: number and unit, as text; `refresh_mode`: None = it follows from the freshness."""

    path: tuple[str, ...]
    if_not_exists: bool
    comment: str | None
    partition_keys: tuple[str, ...]
    options: Mapping[str, str]
    freshness: tuple[str, str] | None
    refresh_mode: str | None
    query: exp.Expr
    span: tuple[int, int]
    cursor: Cursor

    def run(self, session: "Session") -> Result:
        if self.if_not_exists and session.table_exists(self.path):
            return Result()
        name = session.table_name(self.path)
        text = qualified_text(session, self.query, self.cursor.source, self.span)
        rows = run_query(session, self.query, self.cursor)
        fields = [DataField(0, f.name, data_type_of_arrow(f.type)) for f in rows.schema]
        schema = Schema(fields, (), self.partition_keys, self._stored(text), self.comment)
        session.catalog_of(name.catalog).create_table(name.identifier, schema)
        table = session.table(self.path)
        assert isinstance(table, CatalogTable)
        if rows.num_rows:
            table.write_arrow(rows)
        return Result()

    def _stored(self, text: str) -> dict[str, str]:
        stored = {
            **self.options,
            "type": "materialized-table",
            QUERY: text,
            _PREFIX + "logical-refresh-mode": self.refresh_mode or "AUTOMATIC",
            _PREFIX + "refresh-mode": self.refresh_mode or "CONTINUOUS",
        }
        if self.freshness is not None:
            stored[_PREFIX + "interval-freshness"] = self.freshness[0]
            stored[_PREFIX + "interval-freshness.time-unit"] = self.freshness[1]
        return stored


@dataclass(frozen=True, slots=True)
class Refresh:
    """`partition`: the one to fill again, None = the whole table."""

    path: tuple[str, ...]
    partition: Mapping[str, str] | None

    def run(self, session: "Session") -> Result:
        table = session.table(self.path)
        assert isinstance(table, CatalogTable)
        text = table.options.get(QUERY)
        if text is None:
            where, fix = f"table {table.identifier}", "Only materialized tables can be refreshed."
            raise SqlError("the table has no query that defines it", where, fix)
        source = Source(text, session.sql_dialect)
        query = statements_of(source)[0].query()
        replaced = None
        if self.partition is not None:
            replaced = [folder_spec(table, self.partition)]
            query = self._restricted(query, self.partition)
        rows = run_query(session, query, source, table.schema.fields)
        table.overwrite_arrow(rows, Overwrite(replaced, dynamic=False))
        return Result()

    @staticmethod
    def _restricted(query: exp.Expr, partition: Mapping[str, str]) -> exp.Expr:
        inner = exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier("definition")))
        parts = [
            exp.EQ(this=exp.cast(exp.column(name, quoted=True), "STRING"), expression=exp.Literal.string(text))
            for name, text in partition.items()
        ]
        restricted: exp.Expr = exp.select("*").from_(inner).where(exp.and_(*parts))
        return restricted


def _create(cursor: Cursor) -> CreateMaterializedTable:
    if_not_exists = cursor.if_not_exists()
    path = cursor.path("the name of a table")
    comment = cursor.comment()
    keys = cursor.names() if cursor.take("PARTITIONED", "BY") else ()
    options = cursor.options() if cursor.take("WITH") else {}
    freshness = _freshness(cursor) if cursor.take("FRESHNESS") else None
    mode = None
    if cursor.take("REFRESH_MODE"):
        cursor.expect("=")
        mode = cursor.take_one_of("CONTINUOUS", "FULL")
        if mode is None:
            raise cursor.unexpected("CONTINUOUS", "FULL")
    cursor.expect("AS")
    start = cursor.index
    span = cursor.span()
    cursor.index = start
    query = cursor.query()
    return CreateMaterializedTable(path, if_not_exists, comment, keys, options, freshness, mode, query, span, cursor)


def _freshness(cursor: Cursor) -> tuple[str, str]:
    cursor.expect("=", "INTERVAL")
    number = cursor.string("a number in quotes")
    unit = cursor.take_one_of(*_UNITS)
    if unit is None or not number.isdecimal():
        raise cursor.unexpected(*_UNITS)
    return number, unit


def _alter(cursor: Cursor) -> Refresh:
    path = cursor.path("the name of a table")
    cursor.expect("REFRESH")
    return Refresh(path, read_spec(cursor) if cursor.take("PARTITION") else None)


def _drop(cursor: Cursor) -> DropTable:
    if_exists = cursor.if_exists()
    return DropTable(cursor.path("the name of a table"), if_exists, cursor)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("CREATE", "MATERIALIZED", "TABLE"): _create,
    ("ALTER", "MATERIALIZED", "TABLE"): _alter,
    ("DROP", "MATERIALIZED", "TABLE"): _drop,
}
