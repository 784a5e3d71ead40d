"""The databases of a Hive metastore, and calls to it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from maintenance.errors import AlreadyExistsError, InfrastructureError, NotFoundError, SchemaError
from maintenance.metastore.database import LOCATION, Database
from maintenance.metastore.hive.client import HiveMetastore, Struct, thrift
from maintenance.metastore.hive.objects import LOCATION_PROPERTY
from maintenance.metastore.identifier import SYS, Identifier
from maintenance.metastore.located import LocatedCatalog
from maintenance.options import catalog as catalog_options

_COMMENT, _OWNER = "comment", "owner"
_USER = 1


@dataclass(frozen=True)
class HiveDatabases(LocatedCatalog):
    """The part of a Hive catalog that has its databases. `metastore`: where they are."""

    metastore: HiveMetastore = field(kw_only=True)

    @property
    def _in_properties(self) -> bool:
        return catalog_options.LOCATION_IN_PROPERTIES.of(self.options)

    def list_databases(self) -> list[str]:
        with self._calls("the list of databases"):
            return sorted(self.metastore.read("get_all_databases"))
        raise AssertionError

    def create_database(
        self, name: str, ignore_if_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        self._check_not_sys(name)
        if self._found_database(name) is not None:
            if ignore_if_exists:
                return
            raise self._database_exists(name)
        self._check_database_name(name)
        self._create_database(name, {key: str(value) for key, value in (properties or {}).items()})

    def _create_database(self, name: str, properties: Mapping[str, str]) -> None:
        database = _database_object(name, properties)
        location = database.locationUri or self.database_folder(name)
        database.locationUri = location
        if self._in_properties:
            database.parameters[LOCATION_PROPERTY] = location
            database.locationUri = None
            self.file_io.make_folder(location)
        with self._calls(f"database {name}"):
            self.metastore.change("create_database", database)

    def _found_database(self, name: str) -> Struct | None:
        with self._calls(f"database {name}"):
            try:
                return self.metastore.read("get_database", name)
            except thrift().NoSuchObjectException:
                return None
        raise AssertionError

    def _database(self, name: str) -> Struct:
        database = self._found_database(name)
        if database is None:
            raise self._no_database(name)
        return database

    def get_database(self, name: str) -> Database:
        if name == SYS:
            return Database(name)
        database = self._database(name)
        own = {_COMMENT: database.description, _OWNER: database.ownerName, LOCATION: database.locationUri}
        properties = {**(database.parameters or {}), **{key: value for key, value in own.items() if value is not None}}
        return Database(name, properties, database.description)

    def alter_database(
        self,
        name: str,
        set: Mapping[str, str] | None = None,  # noqa: A002 - the name that users write
        remove: Sequence[str] = (),
        ignore_if_not_exists: bool = False,
    ) -> None:
        self._check_not_sys(name)
        before = self._found_database(name)
        if before is None:
            if ignore_if_not_exists:
                return
            raise self._no_database(name)
        merged = {**(before.parameters or {}), **{key: str(value) for key, value in (set or {}).items()}}
        database = _database_object(name, {key: value for key, value in merged.items() if key not in remove})
        with self._calls(f"database {name}"):
            self.metastore.change("alter_database", name, database)

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        self._check_not_sys(name)
        database = self._found_database(name)
        if database is None:
            if ignore_if_not_exists:
                return
            raise self._no_database(name)
        if not cascade and self._names_in(name):
            raise SchemaError(
                f"database '{name}' has tables or views", self.warehouse, "Drop them first, or pass cascade=True."
            )
        if self._in_properties:
            location = self._location_of_database(database)
            if location is not None and self.file_io.folder_exists(location):
                self.file_io.delete_folder(location)
        with self._calls(f"database {name}"):
            self.metastore.change("drop_database", name, True, cascade)

    def _names_in(self, database: str) -> list[str]:
        with self._calls(f"database {database}"):
            return sorted(self.metastore.read("get_all_tables", database))
        raise AssertionError

    def _location_of_database(self, database: Struct) -> str | None:
        parameters: Mapping[str, str] = database.parameters or {}
        location: str | None = parameters.get(LOCATION_PROPERTY) if self._in_properties else None
        return location or database.locationUri

    # What tables and views share

    def _found(self, name: Identifier) -> Struct | None:
        """What the metastore has under a name: a table of any kind, or a view."""
        with self._calls(f"table {name}"):
            try:
                return self.metastore.read("get_table", name.database, name.table)
            except thrift().NoSuchObjectException:
                return None
        raise AssertionError

    def _rename_object(self, old: Identifier, new: Identifier, table: Struct) -> None:
        table.dbName, table.tableName = new.database, new.table
        with self._calls(f"table {old}"):
            self.metastore.change("alter_table", old.database, old.table, table)

    @contextmanager
    def _calls(self, what: str) -> Iterator[None]:
        """Exceptions of the metastore as errors of this project."""
        hive = thrift()
        where = f"{what} at {self.metastore.place}"
        try:
            yield
        except hive.AlreadyExistsException as error:
            raise AlreadyExistsError(f"it exists: {error.message}", where, "Choose another name.") from error
        except (hive.NoSuchObjectException, hive.UnknownDBException) as error:
            raise NotFoundError(f"the metastore does not know it: {error.message}", where, "Check the name.") from error
        except (hive.InvalidObjectException, hive.InvalidOperationException) as error:
            fix = "Correct the name or the properties that the metastore speaks of."
            raise SchemaError(f"the metastore refuses it: {error.message}", where, fix) from error
        except (hive.MetaException, hive.UnknownTableException, hive.InvalidPartitionException) as error:
            raise InfrastructureError(
                f"the metastore failed: {error.message}", where, "Look into the metastore's log."
            ) from error


def _database_object(name: str, properties: Mapping[str, str]) -> Struct:
    own = (_COMMENT, _OWNER, LOCATION)
    return thrift().Database(
        name=name,
        description=properties.get(_COMMENT),
        locationUri=properties.get(LOCATION),
        ownerName=properties.get(_OWNER),
        ownerType=_USER if _OWNER in properties else None,
        parameters={key: value for key, value in properties.items() if key not in own},
    )
