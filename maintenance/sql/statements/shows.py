"""SHOW CATALOGS, DATABASES, TABLES, VIEWS, PARTITIONS, COLUMNS and what is current."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from maintenance.errors import SqlError
from maintenance.metadata.partition_value import covering
from maintenance.metadata.paths import matches_spec, partition_text_of
from maintenance.options.materialized import is_materialized
from maintenance.sql.cursor import Cursor
from maintenance.sql.expressions.table import function_names
from maintenance.sql.partitions import PartitionLiteral, partition_of, read_partition, spark_name
from maintenance.sql.patterns import fits
from maintenance.sql.plain_partitions import plain_spec
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse
from maintenance.table.format_table import FormatTable
from maintenance.table.partitions import readable_partitions
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

Kind = Literal["CATALOGS", "DATABASES", "TABLES", "VIEWS", "MATERIALIZED TABLES"]
_HEADS: Mapping[Kind, str] = {
    "CATALOGS": "catalog name",
    "DATABASES": "database name",
    "TABLES": "table name",
    "VIEWS": "view name",
    "MATERIALIZED TABLES": "table name",
}
_SPARK_HEADS: Mapping[Kind, str] = {
    "CATALOGS": "catalog",
    "DATABASES": "namespace",
    "TABLES": "tableName",
    "VIEWS": "viewName",
}


@dataclass(frozen=True, slots=True)
class Show:
    """Lists names. `like`: a pattern that they fit, see `fits`; `others`: those that do not fit it."""

    kind: Kind
    path: tuple[str, ...] | None
    like: str | None
    is_spark: bool
    others: bool = False

    def run(self, session: "SessionState") -> Result:
        names = [name for name in self._names(session) if self._is_shown(name)]
        if self.is_spark and self.kind in ("TABLES", "VIEWS"):
            database = self.path[-1] if self.path else session.current_database
            temporary = [self.kind == "VIEWS" and session.is_temporary_view((*(self.path or ()), n)) for n in names]
            return Result(
                pa.table(
                    {
                        "namespace": pa.array([database] * len(names), pa.string()),
                        _SPARK_HEADS[self.kind]: pa.array(names, pa.string()),
                        "isTemporary": pa.array(temporary, pa.bool_()),
                    }
                )
            )
        heads = _SPARK_HEADS if self.is_spark else _HEADS
        return Result.of_texts((heads[self.kind],), [(name,) for name in names])

    def _is_shown(self, name: str) -> bool:
        return self.like is None or fits(self.like, name, is_spark=self.is_spark) != self.others

    def _names(self, session: "SessionState") -> list[str]:
        if self.kind == "CATALOGS":
            return sorted(session.catalogs)
        if self.kind == "DATABASES":
            catalog = session.catalog_of(self.path[0]) if self.path else session.current()
            return catalog.list_databases()
        path = session.database_name(self.path) if self.path else (session.current_catalog, session.current_database)
        if self.kind == "VIEWS":
            return session.view_names(*path)
        if self.kind == "MATERIALIZED TABLES":
            return _materialized(session, *path)
        return sorted([*session.catalog_of(path[0]).list_tables(path[1])])


def _materialized(session: "SessionState", catalog: str, database: str) -> list[str]:
    names = sorted(session.catalog_of(catalog).list_tables(database))
    views = ((name, session.view((catalog, database, name))) for name in names)
    return [name for name, view in views if isinstance(view, Table) and is_materialized(view.options)]


@dataclass(frozen=True, slots=True)
class ShowCurrent:
    database: bool

    def run(self, session: "SessionState") -> Result:
        head = "current database name" if self.database else "current catalog name"
        return Result.of_texts((head,), [(session.current_database if self.database else session.current_catalog,)])


@dataclass(frozen=True, slots=True)
class ShowFunctions:
    """The functions of the engine behind the session. `users`: those of users alone, of whom there are none."""

    users: bool
    like: str | None
    is_spark: bool

    def run(self, session: "SessionState") -> Result:
        names = [
            name for name in self._names(session) if self.like is None or fits(self.like, name, is_spark=self.is_spark)
        ]
        return Result.of_texts(("function" if self.is_spark else "function name",), [(name,) for name in names])

    def _names(self, session: "SessionState") -> list[str]:
        if self.users:
            return []
        if session.spark is not None:
            functions = {function.name for function in session.spark.catalog.listFunctions()}
        else:
            functions = set(function_names("spark" if self.is_spark else "flink"))
        return sorted(name for name in functions if name.isidentifier())


def _functions(cursor: Cursor, *, users: bool = False) -> ShowFunctions:
    if cursor.take_one_of("FROM", "IN"):
        cursor.path()
    cursor.take("LIKE")
    like = None if cursor.at_end() else cursor.string("a pattern in quotes")
    return ShowFunctions(users, like, cursor.is_spark)


@dataclass(frozen=True, slots=True)
class RefreshTable:
    """Nothing is kept of a table between statements, so there is nothing to refresh but the name to check."""

    path: tuple[str, ...]

    def run(self, session: "SessionState") -> Result:
        session.view(self.path)
        return Result()


@dataclass(frozen=True, slots=True)
class ShowPartitions:
    """`spec`: what the columns of the partitions to show have."""

    path: tuple[str, ...]
    spec: Mapping[str, PartitionLiteral | None]
    is_spark: bool

    def run(self, session: "SessionState") -> Result:
        table = session.writable(self.path)
        if not table.schema.partition_keys:
            raise SqlError(
                "the table is not partitioned", table.identifier, "Name a table that was created with PARTITIONED BY."
            )
        asked = {name: value for name, value in self.spec.items() if value is not None}
        if isinstance(table, FormatTable):
            chosen = plain_spec(table, asked)
            specs = [spec for spec, *_ in table.partitions() if matches_spec(spec, [chosen])]
            return self._shown(
                "/".join(spark_name(table.partition_values(spec), table.schema.partition_fields, session.zone))
                if self.is_spark
                else partition_text_of(spec)
                for spec in specs
            )
        partitions = [table.paths.partition(row) for row in readable_partitions(table)]
        if asked:
            covers = covering(table.schema.partition_fields, [partition_of(table, asked, session.zone)])
            partitions = [partition for partition in partitions if covers(partition.row)]
        names = [
            "/".join(spark_name(partition.values_by_name, partition.fields, session.zone))
            if self.is_spark
            else partition_text_of(table.paths.spec_of(partition.row))
            for partition in partitions
        ]
        # A name of several partitions would name none of them.
        counts = Counter(names)
        return self._shown(
            name if counts[name] == 1 else str(partition) for name, partition in zip(names, partitions, strict=True)
        )

    def _shown(self, names: Iterable[str]) -> Result:
        rows = sorted(names)
        return Result.of_texts(("partition" if self.is_spark else "partition name",), [(row,) for row in rows])


def _partitions(cursor: Cursor) -> ShowPartitions:
    path = cursor.path("the name of a table")
    return ShowPartitions(path, read_partition(cursor) if cursor.take("PARTITION") else {}, cursor.is_spark)


@dataclass(frozen=True, slots=True)
class ShowNamespace:
    def run(self, session: "SessionState") -> Result:
        return Result.of_texts(("catalog", "namespace"), [(session.current_catalog, session.current_database)])


@dataclass(frozen=True, slots=True)
class ShowProcedures:
    """What CALL knows."""

    is_spark: bool

    def run(self, session: "SessionState") -> Result:
        # The operations take long to import, and some need statements themselves.
        from maintenance.sql.procedures.registry import PROCEDURES

        if not self.is_spark:
            return Result.of_texts(("procedure name",), [(f"sys.{name}",) for name in sorted(PROCEDURES)])
        rows = [(session.current_catalog, "sys", "sys", name) for name in sorted(PROCEDURES)]
        return Result.of_texts(("catalog", "namespace", "schema", "procedure_name"), rows)


def _procedures(cursor: Cursor) -> ShowProcedures:
    if cursor.take_one_of("FROM", "IN"):
        cursor.path()
    return ShowProcedures(cursor.is_spark)


def _show(kind: Kind) -> Parse:
    def read(cursor: Cursor) -> Show:
        path = cursor.path() if cursor.take_one_of("FROM", "IN") else None
        others = cursor.take("NOT", "LIKE")
        if others or cursor.take("LIKE") or (cursor.is_spark and not cursor.at_end()):
            return Show(kind, path, cursor.string("a pattern in quotes"), cursor.is_spark, others)
        return Show(kind, path, None, cursor.is_spark)

    return read


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("SHOW", "CATALOGS"): _show("CATALOGS"),
    ("SHOW", "DATABASES"): _show("DATABASES"),
    ("SHOW", "SCHEMAS"): _show("DATABASES"),
    ("SHOW", "NAMESPACES"): _show("DATABASES"),
    ("SHOW", "TABLES"): _show("TABLES"),
    ("SHOW", "VIEWS"): _show("VIEWS"),
    ("SHOW", "MATERIALIZED", "TABLES"): _show("MATERIALIZED TABLES"),
    ("SHOW", "PARTITIONS"): _partitions,
    ("SHOW", "FUNCTIONS"): _functions,
    ("SHOW", "ALL", "FUNCTIONS"): _functions,
    ("SHOW", "SYSTEM", "FUNCTIONS"): _functions,
    ("SHOW", "USER", "FUNCTIONS"): lambda cursor: _functions(cursor, users=True),
    ("REFRESH", "TABLE"): lambda cursor: RefreshTable(cursor.path("the name of a table")),
    ("SHOW", "PROCEDURES"): _procedures,
    ("SHOW", "CURRENT", "NAMESPACE"): lambda cursor: ShowNamespace(),
    ("SHOW", "CURRENT", "CATALOG"): lambda cursor: ShowCurrent(database=False),
    ("SHOW", "CURRENT", "DATABASE"): lambda cursor: ShowCurrent(database=True),
}
