"""The filesystem catalog: a folder `<name>.db` for each database, a folder in it for each table.

Source: seed 000 (filesystem catalog), Java `FileSystemCatalog`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from maintenance.errors import AlreadyExistsError, CommitError, CorruptFileError, NotFoundError, SchemaError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.paths import branch_root
from maintenance.metadata.schemas import Schemas
from maintenance.metastore.global_tables import SYS, GlobalView, global_names, global_table
from maintenance.metastore.identifier import DATABASE_SUFFIX, Identifier
from maintenance.metastore.schema import Schema
from maintenance.metastore.schema_change import SchemaChange
from maintenance.metastore.schema_evolution import changed_schema
from maintenance.names import check_new_name, segment
from maintenance.options.catalog import TABLE_DEFAULT_PREFIX
from maintenance.table.planning import check_branches
from maintenance.table.system.view import AnyView, system_table
from maintenance.table.table import Table

_ATTEMPTS = 100


@dataclass(frozen=True, slots=True)
class FilesystemCatalog:
    """Tables below one warehouse path. `options`: all catalog options; `table_type`: of the tables it gives."""

    warehouse: str
    file_io: FileIO
    options: Mapping[str, str]
    table_type: type[Table] = Table

    def warehouse_exists(self) -> bool:
        return self.file_io.folder_exists(self.warehouse)

    def list_databases(self) -> list[str]:
        names = self.file_io.list_folders(self.warehouse)
        return [name.removesuffix(DATABASE_SUFFIX) for name in names if name.endswith(DATABASE_SUFFIX)]

    def create_database(self, name: str, ignore_if_exists: bool = False) -> None:
        folder = self._database(name)
        if name != SYS and self.file_io.folder_exists(folder):
            if ignore_if_exists:
                return
            raise AlreadyExistsError(f"database '{name}' exists", self.warehouse, "Use it, or choose another name.")
        check_new_name(name, "a database", self.warehouse, around=len(DATABASE_SUFFIX), error=SchemaError)
        if name == SYS or "." in name:
            raise SchemaError(
                f"'{name}' cannot be a database", self.warehouse, f"Choose a name without '.', not {SYS}."
            )
        self.file_io.make_folder(folder)

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        if name not in self.list_databases():
            if ignore_if_not_exists:
                return
            raise self._no_database(name)
        if self.list_tables(name) and not cascade:
            raise SchemaError(f"database '{name}' has tables", self.warehouse, "Drop them first, or pass cascade=True.")
        self.file_io.delete_folder(self._database(name))

    def list_tables(self, database: str) -> list[str]:
        if database == SYS:
            return global_names(self.options)
        folder = self._database(database)
        if not self.file_io.folder_exists(folder):
            raise self._no_database(database)
        names = self.file_io.list_folders(folder)
        return [name for name in names if self._schemas(f"{folder}/{name}").list_ids()]

    def create_table(self, identifier: str, schema: Schema, ignore_if_exists: bool = False) -> None:
        name = self._plain(identifier)
        if not self.file_io.folder_exists(self._database(name.database)):
            raise self._no_database(name.database)
        check_new_name(name.table, "a table", f"table {name}", error=SchemaError)
        location = self.location(name)
        defaults = {
            key.removeprefix(TABLE_DEFAULT_PREFIX): value
            for key, value in self.options.items()
            if key.startswith(TABLE_DEFAULT_PREFIX)
        }
        first = replace(schema, options={**defaults, **schema.options}).table_schema(str(name), _now())
        if not self._schemas(location).list_ids() and self._schemas(location).publish(first):
            return
        if not ignore_if_exists:
            raise AlreadyExistsError(f"table '{name}' exists", self.warehouse, "Use it, or choose another name.")

    def get_table(self, identifier: str) -> AnyView | GlobalView:
        name = Identifier.parse(identifier)
        if name.database == SYS:
            return global_table(self, name.table)
        location = self.location(name)
        schema = self._schemas(location, name.branch).latest()
        if schema is None:
            if not self.file_io.folder_exists(self._database(name.database)):
                raise self._no_database(name.database)
            if self.file_io.folder_exists(f"{branch_root(location, name.branch)}/snapshot"):
                raise CorruptFileError(
                    f"table '{name}' has snapshots and no schema",
                    f"{branch_root(location, name.branch)}/schema",
                    "Restore the schema files.",
                )
            known = ", ".join(self.list_tables(name.database)) or "none"
            raise NotFoundError(f"table '{name}' does not exist", self.warehouse, f"Tables there: {known}.")
        table = self.table_type(str(name), location, self.file_io, schema.without_place(), name.branch)
        return table if name.system_table is None else system_table(table, name.system_table)

    def drop_table(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        name = self._plain(identifier)
        if not self._schemas(self.location(name)).list_ids():
            if ignore_if_not_exists:
                return
            raise NotFoundError(f"table '{name}' does not exist", self.warehouse, "Check the name.")
        self.file_io.delete_folder(self.location(name))

    def alter_table(self, identifier: str, changes: Sequence[SchemaChange]) -> None:
        name = Identifier.parse(identifier)
        schemas = self._schemas(self.location(name), name.branch)
        for _ in range(_ATTEMPTS):
            table = self.get_table(str(name))
            if not isinstance(table, Table) or name.system_table is not None:
                raise SchemaError(f"'{identifier}' is a system table", self.warehouse, "Alter the table itself.")
            has_snapshot = table.snapshots.latest_id() is not None
            following = changed_schema(table.schema, changes, str(name), has_snapshot=has_snapshot, time_millis=_now())
            check_branches(table, following.options)
            if schemas.publish(following):
                return
        raise CommitError("other writers kept changing the schema", f"table {name}", "Run again.")

    def location(self, name: Identifier) -> str:
        """Path of a table's root."""
        return f"{self._database(name.database)}/{name.table}"

    def _database(self, name: str) -> str:
        folder = segment(name, "a database", self.warehouse, suffix=DATABASE_SUFFIX, error=SchemaError)
        return f"{self.warehouse}/{folder}"

    def _schemas(self, location: str, branch: str = "main") -> Schemas:
        return Schemas(self.file_io, f"{branch_root(location, branch)}/schema")

    def _plain(self, identifier: str) -> Identifier:
        name = Identifier.parse(identifier)
        if name.branch != "main" or name.system_table is not None:
            raise SchemaError(f"'{identifier}' is not a table of its own", self.warehouse, "Name the table itself.")
        return name

    def _no_database(self, name: str) -> NotFoundError:
        known = ", ".join(self.list_databases()) or "none"
        return NotFoundError(f"database '{name}' does not exist", self.warehouse, f"Databases there: {known}.")


def _now() -> int:
    return time.time_ns() // 1_000_000
