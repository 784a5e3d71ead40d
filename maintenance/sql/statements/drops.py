"""DROP TABLE and TRUNCATE TABLE."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maintenance.errors import NotFoundError, PaimonError, SqlError
from maintenance.operations.compaction.partition_choice import missing_partitions
from maintenance.options.materialized import is_materialized
from maintenance.sql.cursor import Cursor
from maintenance.sql.names import TableName
from maintenance.sql.partitions import Written, partition_of, read_spec
from maintenance.sql.place import unknown
from maintenance.sql.plain_partitions import plain_spec
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse
from maintenance.table.format_table import FormatTable
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.operations.plan_store import StoredPlan
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class DropTable:
    path: tuple[str, ...]
    if_exists: bool
    cursor: Cursor

    def run(self, session: "SessionState") -> Result:
        name = self.found(session)
        if name is not None:
            session.catalog_of(name.catalog).drop_table(name.identifier, self.if_exists)
        return Result()

    def plan(self, session: "SessionState") -> "StoredPlan":
        """Raises: UnsupportedError: the table cannot be read, or holds no snapshots; errors as of running it."""
        return plan_drop(session, self.path, self.found(session))

    def found(self, session: "SessionState") -> TableName | None:
        """The table that is there; None: it need not be. Raises: SqlError, of the class `NotFoundError` too."""
        name = session.table_name(self.path)
        catalog = session.catalog_of(name.catalog)
        databases = catalog.list_databases()
        tables = catalog.list_tables(name.database) if name.database in databases else []
        if name.table not in tables and "$" not in name.table:
            if self.if_exists:
                return None
            token = self.cursor.find("table", name.identifier)
            raise self.cursor.error(*unknown("table", name.table, tables), token=token, kind=NotFoundError)
        if "$" in name.table:
            raise SqlError(f"'{name.table}' is not a table of its own", "session", "Name the table itself.")
        if not self.cursor.is_spark and self._is_materialized(session):
            if self.if_exists:
                return None
            token = self.cursor.find("table", name.identifier)
            problem, fix = f"'{name.table}' is a materialized table", "DROP MATERIALIZED TABLE drops it."
            raise self.cursor.error(problem, fix, token=token, kind=NotFoundError)
        return name

    def _is_materialized(self, session: "SessionState") -> bool:
        """For Flink's DROP TABLE there is no such table. One that cannot be opened is dropped all the same."""
        try:
            table = session.view(self.path)
        except PaimonError:
            return False
        return isinstance(table, Table) and is_materialized(table.options)


def plan_drop(session: "SessionState", path: tuple[str, ...], name: TableName | None) -> "StoredPlan":
    """What dropping a table would delete now. `name`: None: there is none of that path.

    Raises: UnsupportedError: no plan can say it.
    """
    # Operations take long to import.
    from maintenance.operations.databases.drop_table import OPERATION, plan_of_none, without_plan

    if name is None:
        return plan_of_none(".".join(path))
    if session.catalog_of(name.catalog) is not session.current():
        problem = f"it is in the catalog {name.catalog}"
        raise without_plan(name.identifier, problem, f"USE CATALOG {name.catalog} first.")
    return OPERATION.dry_run(session.current(), table=name.identifier)


@dataclass(frozen=True, slots=True)
class Truncate:
    path: tuple[str, ...]
    partition: Written | None

    def run(self, session: "SessionState") -> Result:
        table = session.writable(self.path).copy(session.change_options(self.path))
        if self.partition is None:
            table.truncate()
        elif isinstance(table, FormatTable):
            table.truncate([plain_spec(table, self.partition)])
        else:
            chosen = partition_of(table, self.partition, session.zone)
            if missing_partitions(table, [chosen]):
                return Result(nothing_to_do=True)
            table.truncate([chosen])
        return Result()

    def plan(self, session: "SessionState") -> "StoredPlan":
        from maintenance.operations.rows.truncate import OPERATION

        table = session.changed(self.path)
        chosen = None if self.partition is None else partition_of(table, self.partition, session.zone)
        return OPERATION.dry_run(table, partition=chosen)


def _drop(cursor: Cursor) -> DropTable:
    if_exists = cursor.if_exists()
    path = cursor.path("the name of a table")
    cursor.take("PURGE")
    return DropTable(path, if_exists, cursor)


def _truncate(cursor: Cursor) -> Truncate:
    path = cursor.path("the name of a table")
    return Truncate(path, read_spec(cursor) if cursor.take("PARTITION") else None)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("DROP", "TABLE"): _drop,
    ("TRUNCATE", "TABLE"): _truncate,
}
