"""The state of a session: where names are looked for, and what is set."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from getpass import getuser
from typing import TYPE_CHECKING, Literal, Self

from maintenance.catalog import Catalog, CatalogTable, open_catalog
from maintenance.errors import NotFoundError, OptionError, PaimonError, SchemaError, SqlError
from maintenance.metadata.zone import local_zone
from maintenance.metastore.database import OWNER
from maintenance.metastore.identifier import SYS
from maintenance.metastore.view import View
from maintenance.options.table import BRANCH
from maintenance.spark.engine import ENGINE, Engine, EngineKind
from maintenance.sql import zones
from maintenance.sql.dialects import Flink, PaimonSpark, check_parser
from maintenance.sql.names import TableName
from maintenance.sql.place import unknown
from maintenance.sql.query.relations import Readable
from maintenance.sql.session_spark import Running, SessionEngine, SessionSpark
from maintenance.sql.settings import chooses_rows, is_of_tables, table_settings
from maintenance.table.folder_table import FolderTable
from maintenance.table.format_table import FormatTable
from maintenance.table.object_table import ObjectTable
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.result import Result


DEFAULT_CATALOG, DEFAULT_DATABASE = "paimon", "default"
Stored = Table | FormatTable | ObjectTable
_DIALECTS: Mapping[str, type[Flink | PaimonSpark]] = {"flink": Flink, "spark": PaimonSpark}


# To show or compare one opens no Spark.
@dataclass(repr=False, eq=False)
class SessionState:
    """Where names are looked for, and what is set: what statements see of their session.

    Args:
        catalog: Paimon's catalog options, or an open catalog. It is called `paimon`, and the session starts in its
            database `default`, which is made if it is not there.
        spark: a session that runs queries, and the operations that use it; None = `engine` says.
        dialect: ``flink`` or ``spark``, of the statements; it does not depend on what runs them.
        makes_default: whether the database `default` is made; a session that only looks makes nothing.
        engine: what runs queries and operations, see `Engine`: ``embedded`` (this process), ``spark``, ``sail``,
            ``auto``, or the address of a Spark. It is started when it is first needed. None = as `spark` says.

    `run`: what is committed to tables names it in its snapshots; None: nothing.
    """

    catalog: Mapping[str, str] | Catalog
    spark: SessionSpark = SessionSpark()  # noqa: RUF009 - a descriptor
    dialect: Literal["flink", "spark"] = "spark"
    makes_default: bool = True
    engine: SessionEngine = SessionEngine()  # noqa: RUF009 - a descriptor
    catalogs: dict[str, Catalog] = field(init=False, default_factory=dict, repr=False)
    comments: dict[str, str] = field(init=False, default_factory=dict, repr=False)
    settings: dict[str, str] = field(init=False, default_factory=dict, repr=False)
    views: dict[TableName, View] = field(init=False, default_factory=dict, repr=False)
    current_catalog: str = field(init=False, default=DEFAULT_CATALOG)
    current_database: str = field(init=False, default=DEFAULT_DATABASE)
    run: str | None = field(init=False, default=None)
    running: Running = field(init=False, repr=False)
    _began: Running = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.dialect not in _DIALECTS:
            raise OptionError(f"dialect '{self.dialect}' is not known", "session", "Use 'flink' or 'spark'.")
        check_parser()
        self._began = self.running
        opened = open_catalog(self.catalog) if isinstance(self.catalog, Mapping) else self.catalog
        self.add_catalog(DEFAULT_CATALOG, opened)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dialect={self.dialect!r}, engine={str(self.engine)!r})"

    def execute(self, script: str) -> "Iterator[Result]":
        """As of `Session`, which alone knows the statements: procedures that run some of them are known by these."""
        raise NotImplementedError

    def in_dialect(self, dialect: Literal["flink", "spark"]) -> Self:
        """A session over the same catalogs, in which only the zone is set. What it gets to know this one does not."""
        other = type(self)(self.current(), None, dialect, makes_default=False)
        other.running = self.running
        other.catalogs, other.run = dict(self.catalogs), self.run
        if self.zone != other.zone:
            other.settings[zones.SETTINGS[dialect]] = self.zone
        return other

    def alone(self) -> Self:
        """The same session without Spark."""
        other = copy(self)
        other.spark = None
        return other

    def switch(self, engine: str | None) -> None:
        """Run by another engine from now on; None: by that which the session began with. Raises: OptionError."""
        if engine is None:
            self.running = self._began
        else:
            self.running = Running(Engine.parse(engine, f"SET '{ENGINE}'").settled())

    @property
    def writing(self) -> Self:
        """What evaluates rows that are written: this session, but without Sail, whose values are its own."""
        return self.alone() if self.engine.kind is EngineKind.SAIL else self

    @property
    def sql_dialect(self) -> type[Flink | PaimonSpark]:
        return _DIALECTS[self.dialect]

    # Settings

    def owned(self, options: Mapping[str, str]) -> dict[str, str]:
        """Options of a new database or table. In Spark it belongs to the user of the operating system."""
        if self.dialect != "spark" or OWNER in options:
            return dict(options)
        try:
            return {OWNER: getuser(), **options}
        except (KeyError, OSError):  # a container whose user has no name
            return dict(options)

    @property
    def zone(self) -> str:
        """The time zone of instants as texts and of local times: what is set, else Spark's, else that of the process.

        A name of the time zone database, or a distance from UTC such as ``+05:30``. Raises: SqlError: it is none.
        """
        key = zones.SETTINGS[self.dialect]
        if key in self.settings:
            return zones.named_zone(self.settings[key], key)
        spark = self.spark
        if spark is None:
            return zones.named_zone(local_zone(), "TZ")
        key = zones.SETTINGS["spark"]
        return zones.named_zone(str(spark.conf.get(key)), key)

    def read_options(self, path: tuple[str, ...]) -> dict[str, str]:
        """The dynamic options that are set for a table."""
        return table_settings(self.settings_of_tables, self.table_name(path))

    def change_options(self, path: tuple[str, ...]) -> dict[str, str]:
        """Those for a statement that changes a table, which always starts from its newest rows."""
        return {key: value for key, value in self.read_options(path).items() if not chooses_rows(key)}

    def set_branch(self, path: tuple[str, ...]) -> str | None:
        """The branch that a setting puts in a table's place. None: none is set, or the name has a branch."""
        return None if "$" in path[-1] else self.read_options(path).get(BRANCH.key)

    def identifier_of_branch(self, path: tuple[str, ...]) -> str:
        """A table's name within its catalog, with the branch that a setting puts in its place."""
        name, branch = self.table_name(path).identifier, self.set_branch(path)
        return name if branch is None else f"{name}$branch_{branch}"

    @property
    def settings_of_tables(self) -> dict[str, str]:
        """The settings that are options of tables."""
        return {key: value for key, value in self.settings.items() if is_of_tables(key, self.dialect)}

    # Names

    def use(self, catalog: str, database: str | None) -> None:
        """Go to a database; None = the catalog's default. Raises: SqlError: it does not exist."""
        opened = self.catalog_of(catalog)
        databases = opened.list_databases()
        if database is not None and database not in (*databases, SYS):
            problem, fix = unknown("database", database, databases)
            raise SqlError(problem, f"catalog {catalog}", fix)
        self.current_catalog, self.current_database = catalog, database or DEFAULT_DATABASE

    def sql_view(self, path: tuple[str, ...]) -> View | None:
        """A view of the session or of a catalog, None if neither has one of this name."""
        name = self.table_name(path)
        if name in self.views:
            return self.views[name]
        try:
            return self.catalog_of(name.catalog).get_view(name.identifier)
        except (NotFoundError, SchemaError):  # a name with a dollar is not a name of a view
            return None

    def is_temporary_view(self, path: tuple[str, ...]) -> bool:
        return self.table_name(path) in self.views

    def view_names(self, catalog: str, database: str) -> list[str]:
        """The views of a database and of the session, sorted."""
        own = {name.table for name in self.views if (name.catalog, name.database) == (catalog, database)}
        return sorted(own | set(self.catalog_of(catalog).list_views(database)))

    def add_catalog(self, name: str, catalog: Catalog, comment: str | None = None) -> None:
        """Make a catalog known, with its database `default` if `makes_default` is set."""
        if self.makes_default and DEFAULT_DATABASE not in catalog.list_databases():
            catalog.create_database(DEFAULT_DATABASE, ignore_if_exists=True)
        self.catalogs[name] = catalog
        if comment is not None:
            self.comments[name] = comment

    def catalog_of(self, name: str) -> Catalog:
        """Raises: SqlError: there is no such catalog."""
        if name not in self.catalogs:
            problem, fix = unknown("catalog", name, self.catalogs)
            raise SqlError(problem, "session", fix)
        return self.catalogs[name]

    def current(self) -> Catalog:
        return self.catalogs[self.current_catalog]

    def database_name(self, path: tuple[str, ...]) -> tuple[str, str]:
        """Catalog and database of a path. Raises: SqlError."""
        if len(path) > 2:
            raise SqlError(f"'{'.'.join(path)}' is not the name of a database", "session", "Write catalog.database.")
        catalog, database = path if len(path) == 2 else (self.current_catalog, path[0])
        self.catalog_of(catalog)
        return catalog, database

    def table_name(self, path: tuple[str, ...]) -> TableName:
        """The full name of a path. Raises: SqlError."""
        if len(path) > 3:
            raise SqlError(f"'{'.'.join(path)}' is not the name of a table", "session", "Write catalog.database.table.")
        here = (self.current_catalog, self.current_database)
        catalog, database, table = (*here[: 3 - len(path)], *path)
        self.catalog_of(catalog)
        return TableName(catalog, database, table)

    def view(self, path: tuple[str, ...]) -> Readable:
        """What is read under a name: a table or a system table. Raises: NotFoundError, SqlError."""
        name = self.table_name(path)
        return self.catalog_of(name.catalog).open_table(name.identifier)

    def existing(self, path: tuple[str, ...]) -> Readable | None:
        """What is read under a name that is not a view's; None if there is nothing, or it cannot be read."""
        if self.is_temporary_view(path):
            return None
        try:
            return self.view(path)
        except PaimonError:
            return None

    def is_table(self, path: tuple[str, ...]) -> bool:
        """Whether a name is a table rather than a view of the session."""
        return self.table_name(path) not in self.views and self.table_exists(path)

    def table_exists(self, path: tuple[str, ...]) -> bool:
        name = self.table_name(path)
        catalog = self.catalog_of(name.catalog)
        return name.database in catalog.list_databases() and name.table in catalog.list_tables(name.database)

    def table(self, path: tuple[str, ...]) -> Table:
        """A table with snapshots, that can be changed. Raises: NotFoundError; SqlError: it is of another kind."""
        table = self.stored(path)
        if isinstance(table, FolderTable):
            raise table.refused("no snapshots, and so nothing to update, compact, tag, branch or roll back")
        return table if self.run is None else table.of_run(self.run)

    def changed(self, path: tuple[str, ...]) -> Table:
        """A table that a statement changes, with the options that are set for it. Raises: as of `table`."""
        return self.table(path).copy(self.change_options(path))

    def writable(self, path: tuple[str, ...]) -> CatalogTable | FormatTable:
        """A table that takes rows. Raises: NotFoundError; SqlError: it is a system table; UnsupportedError."""
        table = self.stored(path)
        if isinstance(table, ObjectTable):
            raise table.refused("no rows of its own that a statement could change")
        if isinstance(table, FormatTable):
            return table
        own = table if self.run is None else table.of_run(self.run)
        assert isinstance(own, CatalogTable)
        return own

    def stored(self, path: tuple[str, ...]) -> Stored:
        """A table of any kind with a definition of its own. Raises: NotFoundError; SqlError: it is a system table."""
        table = self.view(path)
        if not isinstance(table, Stored):
            raise SqlError(f"'{'.'.join(path)}' is a system table", "session", "Name the table itself.")
        return table
