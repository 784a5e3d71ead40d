"""Catalogs: CREATE, DROP, USE, SHOW CREATE, DESCRIBE. USE of databases, too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maintenance.catalog import open_catalog
from maintenance.errors import SqlError
from maintenance.sql.cursor import Cursor
from maintenance.sql.result import Result
from maintenance.sql.statements.describe import quoted
from maintenance.sql.statements.statement import Parse

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    name: str
    options: Mapping[str, str]
    if_not_exists: bool
    comment: str | None = None

    def run(self, session: "SessionState") -> Result:
        if self.name in session.catalogs:
            if self.if_not_exists:
                return Result()
            raise SqlError(f"catalog '{self.name}' exists", "session", "Use it, or choose another name.")
        options = dict(self.options)
        kind = options.pop("type", "paimon")
        if kind != "paimon":
            raise SqlError(f"catalogs of type '{kind}' are not supported", "catalog options", "Use 'type' = 'paimon'.")
        session.add_catalog(self.name, open_catalog(options), self.comment)
        return Result()


@dataclass(frozen=True, slots=True)
class DropCatalog:
    name: str
    if_exists: bool

    def run(self, session: "SessionState") -> Result:
        if self.if_exists and self.name not in session.catalogs:
            return Result()
        session.catalog_of(self.name)
        if self.name == session.current_catalog:
            raise SqlError(
                f"catalog '{self.name}' is in use", "session", "Choose another catalog with USE CATALOG first."
            )
        del session.catalogs[self.name]
        session.comments.pop(self.name, None)
        return Result()


@dataclass(frozen=True, slots=True)
class UseCatalog:
    name: str

    def run(self, session: "SessionState") -> Result:
        session.use(self.name, None)
        return Result()


@dataclass(frozen=True, slots=True)
class UseDatabase:
    path: tuple[str, ...]

    def run(self, session: "SessionState") -> Result:
        if len(self.path) == 1 and self.path[0] in session.catalogs and not self._is_database(session):
            session.use(self.path[0], None)
        else:
            session.use(*session.database_name(self.path))
        return Result()

    def _is_database(self, session: "SessionState") -> bool:
        return self.path[0] in session.current().list_databases()


@dataclass(frozen=True, slots=True)
class ShowCreateCatalog:
    """A statement that opens the same catalog, but for its secrets."""

    name: str

    def run(self, session: "SessionState") -> Result:
        lines = [f"CREATE CATALOG {quoted(self.name)}"]
        options = _shown_options(session, self.name)
        comment = session.comments.get(self.name)
        if comment is not None:
            lines.append("COMMENT '" + comment.replace("'", "''") + "'")
        doubled = {key: value.replace("'", "''") for key, value in options.items()}
        listed = ",\n".join(f"  '{key}' = '{value}'" for key, value in doubled.items())
        return Result.of_texts(("result",), [("\n".join([*lines, f"WITH (\n{listed}\n)"]),)])


@dataclass(frozen=True, slots=True)
class DescribeCatalog:
    """`extended`: with its options."""

    name: str
    extended: bool

    def run(self, session: "SessionState") -> Result:
        options = _shown_options(session, self.name)
        rows = [("name", self.name), ("type", options.pop("type")), ("comment", session.comments.get(self.name))]
        if self.extended:
            rows += [(f"option:{key}", value) for key, value in options.items()]
        return Result.of_texts(("info name", "info value"), rows)


# Parts of keys whose values are nobody's business. Source: Flink's `GlobalConfiguration`.
_SECRET = (
    "password",
    "secret",
    "account.key",
    "api-key",
    "access-key",
    "apikey",
    "token",
    "auth",
    "service-key",
    "jaas",
)


def _shown_options(session: "SessionState", name: str) -> dict[str, str]:
    """The options of a catalog, sorted. Raises: SqlError: there is no such catalog."""
    options = {"type": "paimon", **session.catalog_of(name).options}
    is_secret = {key: any(part in key.lower() for part in _SECRET) for key in options}
    return {key: "******" if is_secret[key] else str(value) for key, value in sorted(options.items())}


def _create_catalog(cursor: Cursor) -> CreateCatalog:
    if_not_exists = cursor.if_not_exists()
    name = cursor.name()
    comment = cursor.comment()
    return CreateCatalog(name, cursor.options() if cursor.take("WITH") else {}, if_not_exists, comment)


def _drop_catalog(cursor: Cursor) -> DropCatalog:
    if_exists = cursor.if_exists()
    return DropCatalog(cursor.name(), if_exists)


def _describe_catalog(cursor: Cursor) -> DescribeCatalog:
    extended = cursor.take("EXTENDED")
    return DescribeCatalog(cursor.name("the name of a catalog"), extended)


STATEMENTS: Mapping[tuple[str, ...], Parse] = {
    ("CREATE", "CATALOG"): _create_catalog,
    ("DROP", "CATALOG"): _drop_catalog,
    ("USE", "CATALOG"): lambda cursor: UseCatalog(cursor.name()),
    ("USE",): lambda cursor: UseDatabase(cursor.path()),
    **{("USE", word): lambda cursor: UseDatabase(cursor.path()) for word in ("DATABASE", "NAMESPACE", "SCHEMA")},
    ("SET", "CATALOG"): lambda cursor: UseCatalog(cursor.name()),
    ("SHOW", "CREATE", "CATALOG"): lambda cursor: ShowCreateCatalog(cursor.name("the name of a catalog")),
    ("DESCRIBE", "CATALOG"): _describe_catalog,
    ("DESC", "CATALOG"): _describe_catalog,
}
