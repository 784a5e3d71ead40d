"""Catalogs and databases: CREATE, DROP, USE."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maintenance.catalog import open_catalog
from maintenance.errors import SqlError
from maintenance.sql.cursor import Cursor
from maintenance.sql.place import unknown
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.sql.session import Session


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    name: str
    options: Mapping[str, str]
    if_not_exists: bool

    def run(self, session: "Session") -> Result:
        if self.name in session.catalogs:
            if self.if_not_exists:
                return Result()
            raise SqlError(f"catalog '{self.name}' exists", "session", "Use it, or choose another name.")
        options = dict(self.options)
        kind = options.pop("type", "paimon")
        if kind != "paimon":
            raise SqlError(f"catalogs of type '{kind}' are not supported", "catalog options", "Use 'type' = 'paimon'.")
        session.add_catalog(self.name, open_catalog(options))
        return Result()


@dataclass(frozen=True, slots=True)
class DropCatalog:
    name: str
    if_exists: bool

    def run(self, session: "Session") -> Result:
        if self.if_exists and self.name not in session.catalogs:
            return Result()
        session.catalog_of(self.name)
        if self.name == session.current_catalog:
            raise SqlError(f"catalog '{self.name}' is in use", "session", "Use another one first.")
        del session.catalogs[self.name]
        return Result()


@dataclass(frozen=True, slots=True)
class UseCatalog:
    name: str

    def run(self, session: "Session") -> Result:
        session.use(self.name, None)
        return Result()


@dataclass(frozen=True, slots=True)
class UseDatabase:
    path: tuple[str, ...]

    def run(self, session: "Session") -> Result:
        if len(self.path) == 1 and self.path[0] in session.catalogs and not self._is_database(session):
            session.use(self.path[0], None)
        else:
            session.use(*session.database_name(self.path))
        return Result()

    def _is_database(self, session: "Session") -> bool:
        return self.path[0] in session.current().list_databases()


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    path: tuple[str, ...]
    if_not_exists: bool
    options: Mapping[str, str]

    def run(self, session: "Session") -> Result:
        catalog, name = session.database_name(self.path)
        session.catalog_of(catalog).create_database(name, self.if_not_exists, session.owned(self.options))
        return Result()


@dataclass(frozen=True, slots=True)
class DropDatabase:
    path: tuple[str, ...]
    if_exists: bool
    cascade: bool

    def run(self, session: "Session") -> Result:
        catalog, name = session.database_name(self.path)
        opened = session.catalog_of(catalog)
        if name not in opened.list_databases() and not self.if_exists:
            raise SqlError(*_missing(name, opened.list_databases()))
        opened.drop_database(name, self.if_exists, self.cascade)
        return Result()


def _missing(name: str, databases: list[str]) -> tuple[str, str, str]:
    problem, fix = unknown("database", name, databases)
    return problem, "catalog", fix


def _create_catalog(cursor: Cursor) -> CreateCatalog:
    if_not_exists = cursor.if_not_exists()
    name = cursor.name()
    cursor.comment()
    return CreateCatalog(name, cursor.options() if cursor.take("WITH") else {}, if_not_exists)


def _drop_catalog(cursor: Cursor) -> DropCatalog:
    if_exists = cursor.if_exists()
    return DropCatalog(cursor.name(), if_exists)


def _create_database(cursor: Cursor) -> CreateDatabase:
    if_not_exists = cursor.if_not_exists()
    path = cursor.path()
    options: dict[str, str] = {}
    while not cursor.at_end():
        if cursor.take("COMMENT"):
            options["comment"] = cursor.string()
        elif cursor.take("LOCATION"):
            options["location"] = cursor.string()
        elif cursor.take("WITH", "DBPROPERTIES") or cursor.take("WITH"):
            options |= cursor.options()
        else:
            raise cursor.unexpected("COMMENT", "WITH")
    return CreateDatabase(path, if_not_exists, options)


def _drop_database(cursor: Cursor) -> DropDatabase:
    if_exists = cursor.if_exists()
    path = cursor.path()
    cascade = cursor.take_one_of("CASCADE", "RESTRICT") == "CASCADE"
    return DropDatabase(path, if_exists, cascade)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("CREATE", "CATALOG"): _create_catalog,
    ("DROP", "CATALOG"): _drop_catalog,
    ("USE", "CATALOG"): lambda cursor: UseCatalog(cursor.name()),
    ("USE",): lambda cursor: UseDatabase(cursor.path()),
    ("USE", "DATABASE"): lambda cursor: UseDatabase(cursor.path()),
    ("CREATE", "DATABASE"): _create_database,
    ("CREATE", "SCHEMA"): _create_database,
    ("CREATE", "NAMESPACE"): _create_database,
    ("DROP", "DATABASE"): _drop_database,
    ("DROP", "SCHEMA"): _drop_database,
    ("DROP", "NAMESPACE"): _drop_database,
}
