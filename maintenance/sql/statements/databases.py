"""Databases: CREATE, ALTER, COMMENT ON, DROP. Spark calls them schemas and namespaces as well."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from maintenance.errors import NotFoundError, SqlError
from maintenance.metastore.database import COMMENT, LOCATION
from maintenance.sql.cursor import Cursor
from maintenance.sql.place import unknown
from maintenance.sql.result import Result
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    path: tuple[str, ...]
    if_not_exists: bool
    options: Mapping[str, str]

    def run(self, session: "SessionState") -> Result:
        catalog, name = session.database_name(self.path)
        session.catalog_of(catalog).create_database(name, self.if_not_exists, session.owned(self.options))
        return Result()


@dataclass(frozen=True, slots=True)
class DropDatabase:
    path: tuple[str, ...]
    if_exists: bool
    cascade: bool

    def run(self, session: "SessionState") -> Result:
        catalog, name = session.database_name(self.path)
        opened = session.catalog_of(catalog)
        if name not in opened.list_databases() and not self.if_exists:
            raise SqlError(*_missing(name, opened.list_databases()))
        opened.drop_database(name, self.if_exists, self.cascade)
        return Result()


@dataclass(frozen=True, slots=True)
class AlterDatabase:
    """`options`: to set; `removed`: to forget."""

    path: tuple[str, ...]
    cursor: Cursor
    options: Mapping[str, str] = field(default_factory=dict)
    removed: Sequence[str] = ()

    def run(self, session: "SessionState") -> Result:
        catalog, name = session.database_name(self.path)
        opened = session.catalog_of(catalog)
        if name not in opened.list_databases():
            token = self.cursor.find("database", name)
            raise self.cursor.error(
                *unknown("database", name, opened.list_databases()), token=token, kind=NotFoundError
            )
        opened.alter_database(name, set=dict(self.options), remove=list(self.removed))
        return Result()


def _missing(name: str, databases: list[str]) -> tuple[str, str, str]:
    problem, fix = unknown("database", name, databases)
    return problem, "catalog", fix


def _create_database(cursor: Cursor) -> CreateDatabase:
    if_not_exists = cursor.if_not_exists()
    path = cursor.path()
    options: dict[str, str] = {}
    while not cursor.at_end():
        if cursor.take("COMMENT"):
            options[COMMENT] = cursor.string()
        elif cursor.take("LOCATION"):
            options[LOCATION] = cursor.string()
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


def _alter_database(cursor: Cursor) -> AlterDatabase:
    path = cursor.path("the name of a database")
    if cursor.take("SET"):
        if cursor.take("LOCATION"):
            return AlterDatabase(path, cursor, {LOCATION: cursor.string("a path in quotes")})
        cursor.take_one_of("DBPROPERTIES", "PROPERTIES")
        return AlterDatabase(path, cursor, cursor.options())
    if cursor.take("UNSET"):
        if not cursor.take_one_of("DBPROPERTIES", "PROPERTIES"):
            raise cursor.unexpected("DBPROPERTIES", "PROPERTIES")
        cursor.if_exists()
        return AlterDatabase(path, cursor, removed=cursor.option_keys())
    raise cursor.unexpected("SET", "UNSET")


def _comment(cursor: Cursor) -> AlterDatabase:
    path = cursor.path("the name of a database")
    cursor.expect("IS")
    if cursor.take("NULL"):
        return AlterDatabase(path, cursor, removed=(COMMENT,))
    return AlterDatabase(path, cursor, {COMMENT: cursor.string()})


_KINDS = ("DATABASE", "SCHEMA", "NAMESPACE")
STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    **{("CREATE", kind): _create_database for kind in _KINDS},
    **{("ALTER", kind): _alter_database for kind in _KINDS},
    **{("DROP", kind): _drop_database for kind in _KINDS},
    **{("COMMENT", "ON", kind): _comment for kind in _KINDS},
}
