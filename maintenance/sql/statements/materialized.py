"""Materialized tables: a table that keeps the query which fills it, and is kept fresh by refreshing it.

The definition is stored in the options that Paimon has for it. CREATE fills the table and says that it is kept fresh
from here; what does that, at the freshness asked for, is a scheduler such as Dagster.
Source: seed 000 section 3.6.5, Flink's statements of materialized tables, Java `FlinkCatalog`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from maintenance.catalog import AddColumn, Schema, SchemaChange, SetOption
from maintenance.errors import NotFoundError, SqlError
from maintenance.metastore.schema import PARTITION, PRIMARY_KEY, keys_of
from maintenance.options.materialized import (
    DEFAULT_FRESHNESS,
    FRESHNESS,
    LOGICAL_REFRESH_MODE,
    MATERIALIZED_TABLE,
    QUERY,
    REFRESH_MODE,
    REFRESH_STATUS,
    THRESHOLD,
    TIME_UNIT,
    TYPE,
    UNITS,
    Definition,
    Freshness,
    RefreshMode,
    RefreshStatus,
    date_formatters,
    is_materialized,
)
from maintenance.options.own import MATERIALIZED_TABLE_DIALECT, MATERIALIZED_TABLE_ZONE
from maintenance.sql.created_table import created_table
from maintenance.sql.cursor import Cursor
from maintenance.sql.materialized.refresh import refresh_materialized_table
from maintenance.sql.materialized.status import activate, resume, suspend
from maintenance.sql.names import TableName
from maintenance.sql.partitions import Written, partition_of, read_spec
from maintenance.sql.query.qualified import qualified_text
from maintenance.sql.query.resolve import is_of_with
from maintenance.sql.query.run import run_query
from maintenance.sql.result import Result
from maintenance.sql.statements.drops import DropTable, plan_drop
from maintenance.sql.statements.statement import Parse, Statement
from maintenance.table.table import Table
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from maintenance.operations.plan_store import StoredPlan
    from maintenance.sql.session_state import SessionState

_TEXTS = ("CHAR", "VARCHAR", "STRING")


@dataclass(frozen=True, slots=True)
class Query:
    """The query of a definition. `span`: its place in the statement."""

    tree: exp.Expr
    span: tuple[int, int]
    cursor: Cursor

    def text(self, session: "SessionState") -> str:
        """As it is stored, with every table under its full name. Raises: SqlError: it reads a view of the session."""
        for node in self.tree.find_all(exp.Table):
            path = tuple(part.name for part in node.parts)
            if isinstance(node.this, exp.Identifier) and not is_of_with(node) and session.is_temporary_view(path):
                token = self.cursor.find("", node.name)
                fix = "Create the view in a catalog, or write its query here."
                raise self.cursor.error(f"'{node.name}' is a temporary view of this session", fix, token=token)
        return qualified_text(session, self.tree, self.cursor.source, self.span)

    def fields(self, session: "SessionState") -> list[DataField]:
        """The columns that it gives. Raises: SqlError: it does not fit what there is."""
        alias = exp.TableAlias(this=exp.to_identifier("definition"))
        empty = exp.select("*").from_(exp.Subquery(this=self.tree.copy(), alias=alias)).limit(0)
        schema = run_query(session.writing, empty, self.cursor).schema
        return [DataField(number, f.name, data_type_of_arrow(f.type)) for number, f in enumerate(schema)]

    def stored(self, session: "SessionState") -> dict[str, str]:
        """The options that it is kept in."""
        dialect = {} if session.dialect == "flink" else {MATERIALIZED_TABLE_DIALECT.key: session.dialect}
        return {QUERY: self.text(session), **dialect, MATERIALIZED_TABLE_ZONE.key: session.zone}


@dataclass(frozen=True, slots=True)
class CreateMaterializedTable:
    """`freshness`, `mode`: None = one follows from the other."""

    path: tuple[str, ...]
    if_not_exists: bool
    primary_keys: tuple[str, ...]
    comment: str | None
    partition_keys: tuple[str, ...]
    options: Mapping[str, str]
    freshness: Freshness | None
    mode: RefreshMode | None
    query: Query

    def run(self, session: "SessionState") -> Result:
        if self.if_not_exists and session.table_exists(self.path):
            return Result()
        name = session.table_name(self.path)
        catalog = session.catalog_of(name.catalog)
        definition = self._definition(session)
        fields = self.query.fields(session)
        self._check_partitions(fields)
        schema = Schema(
            fields, self.primary_keys, self.partition_keys, session.owned({**self.options, **definition}), self.comment
        )
        with created_table(session, self.path, schema):
            refresh_materialized_table(session, f"{name.catalog}.{name.identifier}", full=True)
            activate(catalog, session.table(self.path))
        return Result()

    def _definition(self, session: "SessionState") -> dict[str, str]:
        """Raises: SqlError: Flink could not schedule it."""
        freshness = self.freshness or DEFAULT_FRESHNESS[self.mode or RefreshMode.CONTINUOUS]
        mode = self.mode or freshness.mode(THRESHOLD.of(session.settings))
        if mode == RefreshMode.FULL and not freshness.fits_a_cron:
            raise self.query.cursor.error(
                f"a table that is refreshed in full cannot have the freshness {freshness}",
                "Use 1 DAY, or a divisor of 24 HOURs, 60 MINUTEs or 60 SECONDs; or REFRESH_MODE = CONTINUOUS.",
                token=next(t for t in self.query.cursor.words if t.text.upper() in ("FRESHNESS", "REFRESH_MODE")),
            )
        return {
            TYPE: MATERIALIZED_TABLE,
            **self.query.stored(session),
            FRESHNESS: freshness.number,
            TIME_UNIT: freshness.unit,
            LOGICAL_REFRESH_MODE: self.mode or "AUTOMATIC",
            REFRESH_MODE: mode,
            REFRESH_STATUS: RefreshStatus.INITIALIZING,
        }

    def _check_partitions(self, fields: Sequence[DataField]) -> None:
        """Raises: SqlError: a pattern is for a column that is not a partition column of texts."""
        roots = {field.name: field.type.root for field in fields}
        for name in (*self.partition_keys, *self.primary_keys):
            if name not in roots:
                raise SqlError(
                    f"the query gives no column '{name}'", f"materialized table {self.path[-1]}",
                    f"It gives {', '.join(roots)}.",
                )  # fmt: skip
        for name in date_formatters(self.options):
            if name not in self.partition_keys or roots[name] not in _TEXTS:
                raise SqlError(
                    f"'partition.fields.{name}.date-formatter' is not for a partition column of type STRING",
                    f"materialized table {self.path[-1]}",
                    f"Partition columns are {', '.join(self.partition_keys) or 'none'}.",
                )


@dataclass(frozen=True, slots=True)
class Refresh:
    """Fill a table again, whatever has changed. `partition`: the one to fill again, None = the whole table."""

    path: tuple[str, ...]
    partition: Written | None

    def run(self, session: "SessionState") -> Result:
        name = session.table_name(self.path)
        identifier = f"{name.catalog}.{name.identifier}"
        partition = (
            None if self.partition is None else partition_of(session.table(self.path), self.partition, session.zone)
        )
        refresh_materialized_table(session, identifier, partition=partition, full=partition is None)
        return Result()


@dataclass(frozen=True, slots=True)
class ChangeStatus:
    path: tuple[str, ...]
    resumes: bool

    def run(self, session: "SessionState") -> Result:
        catalog = session.catalog_of(session.table_name(self.path).catalog)
        (resume if self.resumes else suspend)(catalog, session.table(self.path))
        return Result()


@dataclass(frozen=True, slots=True)
class ChangeQuery:
    """Give a table another query; its rows stay until the next refresh, which is of the whole table."""

    path: tuple[str, ...]
    query: Query

    def run(self, session: "SessionState") -> Result:
        table = session.table(self.path)
        Definition.of(table.options, f"table {table.identifier}")
        old, new = table.schema.fields, self.query.fields(session)
        added = new[len(old) :]
        same = [(f.name, f.type.as_nullable()) for f in old] == [
            (f.name, f.type.as_nullable()) for f in new[: len(old)]
        ]
        if not same:
            columns = ", ".join(f"{f.name} {f.type.as_nullable()}" for f in old)
            raise SqlError(
                f"the query gives {', '.join(f'{f.name} {f.type.as_nullable()}' for f in new)}",
                f"materialized table {table.identifier}",
                f"Give {columns} first; further columns may follow.",
            )
        options = self.query.stored(session)
        changes: list[SchemaChange] = [SetOption(key, value) for key, value in options.items()]
        if MATERIALIZED_TABLE_DIALECT.key not in options:
            changes.append(SetOption(MATERIALIZED_TABLE_DIALECT.key, "flink"))
        changes += [AddColumn(f.name, f.type.as_nullable()) for f in added]
        session.catalog_of(session.table_name(self.path).catalog).alter_table(table.identifier, changes)
        return Result()


@dataclass(frozen=True, slots=True)
class DropMaterializedTable:
    """A table that is not a materialized one does not exist for it, as in Flink."""

    path: tuple[str, ...]
    if_exists: bool
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        name = self._found(session)
        if name is not None:
            session.catalog_of(name.catalog).drop_table(name.identifier, self.if_exists)
        return Result()

    def plan(self, session: "SessionState") -> "StoredPlan":
        return plan_drop(session, self.path, self._found(session))

    def _found(self, session: "SessionState") -> TableName | None:
        """The table; None: it need not exist. Raises: SqlError, of the class `NotFoundError` too."""
        name = session.table_name(self.path)
        found = session.view(self.path) if session.table_exists(self.path) else None
        if isinstance(found, Table) and is_materialized(found.options):
            return name
        if self.if_exists:
            return None
        if found is None:
            return DropTable(self.path, self.if_exists, self.cursor).found(session)
        token = self.cursor.find("table", name.identifier)
        problem, fix = f"'{name.table}' is not a materialized table", "DROP TABLE drops it."
        raise self.cursor.error(problem, fix, token=token, kind=NotFoundError)


def _create(cursor: Cursor) -> CreateMaterializedTable:
    if_not_exists = cursor.if_not_exists()
    path = cursor.path("the name of a table")
    primary_keys = _constraint(cursor) if cursor.take("(") else ()
    comment = cursor.comment()
    keys = cursor.names() if cursor.take("PARTITIONED", "BY") else ()
    options = cursor.options() if cursor.take("WITH") else {}
    primary_keys, keys = keys_of(options, PRIMARY_KEY, primary_keys), keys_of(options, PARTITION, keys)
    freshness = _freshness(cursor) if cursor.take("FRESHNESS") else None
    mode = None
    if cursor.take("REFRESH_MODE"):
        cursor.expect("=")
        asked = cursor.take_one_of(*RefreshMode)
        if asked is None:
            raise cursor.unexpected(*RefreshMode)
        mode = RefreshMode(asked)
    cursor.expect("AS")
    return CreateMaterializedTable(
        path, if_not_exists, primary_keys, comment, keys, options, freshness, mode, _query(cursor)
    )


def _constraint(cursor: Cursor) -> tuple[str, ...]:
    """``[CONSTRAINT name] PRIMARY KEY (column, …) NOT ENFORCED)``; columns are those of the query."""
    if cursor.take("CONSTRAINT"):
        cursor.name("the name of the constraint")
    cursor.expect("PRIMARY", "KEY")
    names = cursor.names()
    cursor.expect("NOT", "ENFORCED", ")")
    return names


def _query(cursor: Cursor) -> Query:
    start = cursor.index
    span = cursor.span()
    cursor.index = start
    return Query(cursor.query(), span, cursor)


def _freshness(cursor: Cursor) -> Freshness:
    cursor.expect("=", "INTERVAL")
    number = cursor.string("a number in quotes")
    if not (number.isascii() and number.isdigit()):
        raise cursor.error(f"'{number}' is not a whole number", "Write one, such as '30'.")
    unit = cursor.take_one_of(*UNITS)
    if unit is None:
        raise cursor.unexpected(*UNITS)
    return Freshness(number, unit)


def _alter(cursor: Cursor) -> Statement:
    path = cursor.path("the name of a table")
    match cursor.take_one_of("REFRESH", "SUSPEND", "RESUME", "AS"):
        case "REFRESH":
            return Refresh(path, read_spec(cursor) if cursor.take("PARTITION") else None)
        case "AS":
            return ChangeQuery(path, _query(cursor))
        case "SUSPEND":
            return ChangeStatus(path, resumes=False)
        case "RESUME":
            if cursor.take("WITH"):
                fix = "Leave them out, and give the table its options with ALTER TABLE … SET."
                raise cursor.error("options of RESUME are for one job, and here is none that runs on", fix)
            return ChangeStatus(path, resumes=True)
        case _:
            raise cursor.unexpected("REFRESH", "SUSPEND", "RESUME", "AS")


def _drop(cursor: Cursor) -> DropMaterializedTable:
    if_exists = cursor.if_exists()
    return DropMaterializedTable(cursor.path("the name of a table"), if_exists, cursor)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("CREATE", "MATERIALIZED", "TABLE"): _create,
    ("ALTER", "MATERIALIZED", "TABLE"): _alter,
    ("DROP", "MATERIALIZED", "TABLE"): _drop,
}
