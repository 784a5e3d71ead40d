"""What catalogs share whose tables lie at `{warehouse}/DATABASE.db/TABLE`, each with its own schema files.

A catalog of this kind decides which databases and tables exist; definitions are read from the schema files always.
Source: Java `AbstractCatalog`.

What tables need is imported when one is opened or changed: names are listed without it, in a fraction of the time.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maintenance.commit.lock import NO_LOCK, TableLock
from maintenance.errors import (
    AlreadyExistsError,
    CommitError,
    NotFoundError,
    SchemaError,
    UnsupportedError,
)
from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import branch_root
from maintenance.metadata.schemas import Schemas
from maintenance.metastore.database import Database
from maintenance.metastore.folder_move import is_hidden
from maintenance.metastore.identifier import DATABASE_SUFFIX, SYS, Identifier, no_own_table
from maintenance.metastore.table_type import TableType, plain_tables
from maintenance.names import check_new_name, segment
from maintenance.options import table as table_options
from maintenance.options.model import TableModel

if TYPE_CHECKING:
    from maintenance.metastore.global_tables import GlobalView
    from maintenance.metastore.partitions import Partition, Spec
    from maintenance.metastore.schema import Schema
    from maintenance.metastore.schema_change import SchemaChange
    from maintenance.table.format_table import FormatTable
    from maintenance.table.object_table import ObjectTable
    from maintenance.table.system.view import AnyView
    from maintenance.table.table import Table

_ATTEMPTS = 100


@dataclass(frozen=True)
class LocatedCatalog(ABC):
    """Tables below one warehouse path.

    Attributes:
        options: all catalog options.
        table_type: gives the type of the tables that the catalog opens.
    """

    warehouse: str
    file_io: FileIO
    options: Mapping[str, str]
    table_type: TableType = plain_tables

    # What each catalog decides

    @abstractmethod
    def list_databases(self) -> list[str]: ...

    @abstractmethod
    def get_database(self, name: str) -> Database: ...

    @abstractmethod
    def _stored_schema(self, name: Identifier) -> TableSchema:
        """The newest schema of a table that the catalog has. Raises: NotFoundError."""

    @abstractmethod
    def _table_names(self, database: str) -> list[str]:
        """Names of the tables of a database that exists, sorted."""

    @abstractmethod
    def repair_table(self, identifier: str) -> None: ...

    def _lock(self, name: Identifier) -> TableLock:
        """What changes of a table are made under."""
        del name
        return NO_LOCK

    # Databases and tables

    def close(self) -> None:  # noqa: B027 - a catalog without connections has nothing to give back
        """Give back what the catalog holds: connections, for example."""

    def warehouse_exists(self) -> bool:
        return self.file_io.folder_exists(self.warehouse)

    def list_tables(self, database: str, pattern: str | None = None) -> list[str]:
        if pattern is not None:
            raise self._unsupported("filtering tables by a name pattern", "List all tables and filter the names.")
        if database == SYS:
            from maintenance.metastore.global_tables import global_names

            return global_names(self.options)
        self.get_database(database)
        return self._table_names(database)

    def get_table(self, identifier: str) -> "AnyView | GlobalView | ObjectTable | FormatTable":
        from maintenance.metastore.global_tables import global_table
        from maintenance.table.named_branch import on_named_branch
        from maintenance.table.system.view import system_table
        from maintenance.table.table import Table

        name = Identifier.parse(identifier)
        if name.database == SYS:
            return global_table(self, name.table)
        table, stored = self._opened(name)
        if not isinstance(table, Table):
            return table.as_paimon_gives(name.branch, name.system_table)
        table = on_named_branch(table, TableModel.of(stored))
        return table if name.system_table is None else system_table(table, name.system_table)

    def open_table(self, identifier: str) -> "AnyView | GlobalView | ObjectTable | FormatTable":
        return self._named_part(self.get_table(identifier), identifier)

    @staticmethod
    def _named_part(
        table: "AnyView | GlobalView | ObjectTable | FormatTable", identifier: str
    ) -> "AnyView | GlobalView | ObjectTable | FormatTable":
        """The table, unless it is of files and a part of it is named. Raises: NotFoundError."""
        from maintenance.table.folder_table import FolderTable

        name = Identifier.parse(identifier)
        return table.part(name.branch, name.system_table) if isinstance(table, FolderTable) else table

    def change_table(
        self, identifier: str, changes: "Sequence[SchemaChange]", ignore_if_not_exists: bool = False
    ) -> None:
        self.alter_table(identifier, changes, ignore_if_not_exists)

    @abstractmethod
    def alter_table(
        self, identifier: str, changes: "Sequence[SchemaChange]", ignore_if_not_exists: bool = False
    ) -> None: ...

    def _opened(self, name: Identifier) -> "tuple[ObjectTable | FormatTable | Table, Mapping[str, str]]":
        """A table, without the branch that its options may name, and the options as they are stored."""
        from maintenance.table import object_table

        schema = self._stored_schema(name)
        if table_options.check_type(schema.options, str(name)) == object_table.TYPE:
            location = schema.options.get(table_options.PATH_KEY, self.location(name))
            return object_table.ObjectTable(str(name), location, self.file_io, schema), schema.options
        table = self.table_type()(
            str(name),
            self.location(name),
            self.file_io,
            schema.without_place(),
            name.branch,
            lock=self._lock(name),
        )
        return table, schema.options

    def replace_table(self, identifier: str, schema: "Schema") -> None:
        """See `Catalog.replace_table`. Source: Java `AbstractCatalog.replaceTable`."""
        from maintenance.metastore.partitions import truncate

        name = self._plain(identifier)
        first = self._first_schema(name, schema)
        table = self._data_table(identifier)
        if first.partition_keys != table.schema.partition_keys:
            raise self._unsupported("a replacement with other partition columns", "Drop the table.", f"table {name}")
        truncate(table)
        self._schema_replaced(name, self._publish_replacing(name, first), table.schema)

    def _publish_replacing(self, name: Identifier, first: TableSchema) -> TableSchema:
        """Publish a schema that owes nothing to the earlier ones, behind them."""
        schemas = self._schemas(self.location(name))
        with self._lock(name).held() as lock:
            for _ in range(_ATTEMPTS):
                following = replace(first, id=self._stored_schema(name).id + 1)
                lock.check()
                if schemas.publish(following):
                    return following
        fix = "Run the statement again when no other job alters the table."
        raise CommitError("other writers kept changing the schema", f"table {name}", fix)

    def _schema_replaced(self, name: Identifier, following: TableSchema, before: TableSchema) -> None:  # noqa: B027
        """What the catalog keeps of a schema besides its file follows it."""

    def deletes_files(self, identifier: str) -> bool:
        """Always: such a catalog keeps no tables of others."""
        self._plain(identifier)
        return True

    def location(self, name: Identifier) -> str:
        """Path of a table's root."""
        return f"{self.database_folder(name.database)}/{name.table}"

    def check_place(self, name: Identifier) -> None:  # noqa: B027 - only a metastore has tables of others
        """Raises: AlreadyExistsError: a table that is none of Paimon has the name."""

    def database_folder(self, name: str) -> str:
        """Path of a database. Raises: SchemaError: the name would lead to another folder."""
        folder = segment(name, "a database", self.warehouse, suffix=DATABASE_SUFFIX, error=SchemaError)
        return f"{self.warehouse}/{folder}"

    # Partitions

    def list_partitions(self, identifier: str) -> "list[Partition]":
        from maintenance.metastore import partitions

        return partitions.list_partitions(self._data_table(identifier))

    def create_partitions(self, identifier: str, specs: "Sequence[Spec]") -> None:
        """Nothing is stored: partitions come into being with their rows, as in Paimon. Raises: NotFoundError."""
        del specs
        self._data_table(identifier)

    def mark_done_partitions(self, identifier: str, specs: "Sequence[Spec]") -> None:
        """Nothing is stored: this catalog has no place for it, as in Paimon. Raises: NotFoundError."""
        del specs
        self._data_table(identifier)

    def drop_partitions(self, identifier: str, specs: "Sequence[Spec]") -> None:
        from maintenance.metastore import partitions

        partitions.drop_partitions(self._data_table(identifier), specs)

    # Files

    def _external_files(self, location: str) -> list[str]:
        """The files of a table that is dropped which are not in its folder."""
        from maintenance.metadata.external_files import external_files

        return external_files(self.file_io, location)

    # Schema files

    def _schemas(self, location: str, branch: str = "main") -> Schemas:
        return Schemas(self.file_io, f"{branch_root(location, branch)}/schema")

    def _schema_ids(self, location: str) -> list[int]:
        """The numbers of a table's schemas; none if it is not at this path yet, or not any more."""
        schemas = self._schemas(location)
        names = schemas.list_files()
        if not names or is_hidden(self.file_io, location, names):
            return []
        return schemas.ids_of(names)

    def _databases_in_files(self) -> list[str]:
        names = self.file_io.list_folders(self.warehouse)
        return [name.removesuffix(DATABASE_SUFFIX) for name in names if name.endswith(DATABASE_SUFFIX)]

    def _tables_in_files(self, database: str) -> list[str]:
        """Names of the folders of a database that have a schema, sorted."""
        folder = self.database_folder(database)
        return [name for name in self.file_io.list_folders(folder) if self._schema_ids(f"{folder}/{name}")]

    def _first_schema(self, name: Identifier, schema: "Schema") -> TableSchema:
        """Schema 0 of a table to create, with the catalog's defaults. Raises: SchemaError, OptionError,
        UnsupportedError.
        """
        from maintenance.metastore.first_schema import first_schema
        from maintenance.table import object_table

        first = first_schema(name, schema, self.options)
        if first.options.get(table_options.TYPE.key) == object_table.TYPE:
            return replace(first, options={table_options.PATH_KEY: self.location(name), **first.options})
        if table_options.PATH_KEY in first.options:
            path = first.options[table_options.PATH_KEY]
            raise self._unsupported(f"option 'path' = '{path}'", "Leave it out.", f"table {name}")
        return first

    def _publish_first(self, name: Identifier, location: str, first: TableSchema) -> bool:
        """Publish the first schema of a table. Returns False if there is one.

        Raises: NotFoundError: an option names a branch that is not there.
        """
        from maintenance.table.other_branches import other_branch

        branch = other_branch(first.model, str(name))
        if branch and self._schemas(location, branch).latest() is None:
            fix = "Leave the option out, create the branch, then set the option."
            raise NotFoundError(f"branch '{branch}' does not exist", f"table {name}", fix)
        return self._schemas(location).publish(first)

    def _refuse_kind(self, kind: str, name: Identifier) -> UnsupportedError:
        return self._unsupported(f"option 'type' = '{kind}'", "Use a catalog that has such tables.", f"table {name}")

    def _publish_next_schema(self, name: Identifier, changes: "Sequence[SchemaChange]") -> TableSchema:
        """Apply changes to the newest schema until nobody else was first. Returns the new schema."""
        schemas = self._schemas(self.location(name), name.branch)
        with self._lock(name).held() as lock:
            for _ in range(_ATTEMPTS):
                following = self._next_schema(name, changes)
                lock.check()
                if schemas.publish(following):
                    return following
        fix = "Run the statement again when no other job alters the table."
        raise CommitError("other writers kept changing the schema", f"table {name}", fix)

    def _next_schema(self, name: Identifier, changes: "Sequence[SchemaChange]") -> TableSchema:
        from maintenance.metastore.schema_evolution import changed_schema
        from maintenance.table.named_branch import on_named_branch
        from maintenance.table.object_table import ObjectTable
        from maintenance.table.other_branches import check_branches
        from maintenance.table.table import Table

        if name.system_table is not None:
            raise SchemaError(f"'{name}' is a system table", self.warehouse, "Alter the table itself.")
        table, _ = self._opened(name)
        if isinstance(table, ObjectTable):
            return changed_schema(table.schema, changes, str(name), has_snapshot=False, time_millis=_now())
        assert isinstance(table, Table)
        has_snapshot = table.snapshots.latest_id() is not None
        following = changed_schema(table.schema, changes, str(name), has_snapshot=has_snapshot, time_millis=_now())
        check_branches(table, following.model)
        on_named_branch(replace(table, schema=following), following.model)
        return following

    # Checks and errors

    def _data_table(self, identifier: str) -> "Table":
        from maintenance.table.folder_table import FolderTable
        from maintenance.table.table import Table

        table = self.get_table(identifier)
        if isinstance(table, FolderTable):
            raise table.refused("no partitions that the catalog keeps")
        if not isinstance(table, Table):
            raise SchemaError(f"'{identifier}' has no partitions", self.warehouse, "Name a table with data.")
        return table

    def _plain(self, identifier: str) -> Identifier:
        """The name of a table itself. Raises: SchemaError: of a branch, a system table or in `sys`."""
        name = Identifier.of_table(identifier, self.warehouse)
        if name.database == SYS:
            raise no_own_table(identifier, self.warehouse)
        return name

    def _check_database_name(self, name: str) -> None:
        """Raises: SchemaError: no new database can have the name."""
        check_new_name(name, "a database", self.warehouse, around=len(DATABASE_SUFFIX), error=SchemaError)
        if "." in name:
            raise SchemaError(f"'{name}' cannot be a database", self.warehouse, "Choose a name without '.'.")

    def _check_not_sys(self, name: str) -> None:
        if name == SYS:
            raise SchemaError(f"'{SYS}' cannot be a database", self.warehouse, "It is the database of system tables.")

    def _no_database(self, name: str) -> NotFoundError:
        known = ", ".join(self.list_databases()) or "none"
        return NotFoundError(f"database '{name}' does not exist", self.warehouse, f"Databases there: {known}.")

    def _no_table(self, name: Identifier) -> NotFoundError:
        known = ", ".join(self.list_tables(name.database)) or "none"
        return NotFoundError(f"table '{name}' does not exist", self.warehouse, f"Tables there: {known}.")

    def _table_exists(self, name: Identifier) -> AlreadyExistsError:
        return AlreadyExistsError(f"table '{name}' exists", self.warehouse, "Use it, or choose another name.")

    def _database_exists(self, name: str) -> AlreadyExistsError:
        return AlreadyExistsError(f"database '{name}' exists", self.warehouse, "Use it, or choose another name.")

    def _unsupported(self, what: str, fix: str, where: str = "") -> UnsupportedError:
        return UnsupportedError(f"{what} is not possible in a {self.kind} catalog", where or self.warehouse, fix)

    @property
    @abstractmethod
    def kind(self) -> str:
        """The value of `metastore`."""


def _now() -> int:
    return time.time_ns() // 1_000_000
