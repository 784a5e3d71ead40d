"""The JDBC catalog. Rows say which databases, tables and views exist; a table's definition is in its schema files.

What has to change in both places changes in the schema files first, so that a crash between the two leaves files
without rows, which `repair_table` registers. Source: Java `JdbcCatalog`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Self

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.commit.lock import NO_LOCK, HeldLock, TableLock
from maintenance.errors import (
    AlreadyExistsError,
    MissingFileError,
    NotFoundError,
    OptionError,
    SchemaError,
    UnsupportedError,
)
from maintenance.format.metadata.schema import TableSchema
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metastore.database import LOCATION, Database
from maintenance.metastore.folder_move import FolderMove
from maintenance.metastore.identifier import SYS, Identifier
from maintenance.metastore.jdbc.connections import connections_of
from maintenance.metastore.jdbc.lock import JdbcLock, LockSettings, locks_tables
from maintenance.metastore.jdbc.rows import Rows
from maintenance.metastore.jdbc.server import Server
from maintenance.metastore.jdbc.view_schema import parse_view, serialize_view
from maintenance.metastore.located import LocatedCatalog
from maintenance.metastore.schema import Schema
from maintenance.metastore.schema_change import SchemaChange
from maintenance.metastore.table_type import TableType
from maintenance.metastore.view import View, ViewChange, changed_view
from maintenance.names import check_new_name
from maintenance.options import catalog as catalog_options
from maintenance.options.table import TYPE

if TYPE_CHECKING:
    from maintenance.metastore.global_tables import GlobalView
    from maintenance.table.format_table import FormatTable
    from maintenance.table.object_table import ObjectTable
    from maintenance.table.system.view import AnyView

_EXISTS = "exists"
_KINDS = ("table", "materialized-table", "object-table")
_LONGEST_VALUE = 1000


@dataclass(frozen=True)
class JdbcCatalog(LocatedCatalog):
    """A catalog in a relational database. `rows`: of it; `locks`: None = tables are not locked."""

    rows: Rows = field(kw_only=True)
    locks: LockSettings | None = field(kw_only=True, default=None)

    @classmethod
    def open(cls, warehouse: str, options: Mapping[str, str], table_type: TableType) -> Self:
        """Connect, and create the tables of the catalog where they are missing.

        Raises: OptionError: of `uri`; UnsupportedError: this database has no lock; InfrastructureError: it refuses.
        """
        server = Server.of(options)
        locked = locks_tables(options, warehouse)
        locks = LockSettings.of(options, server) if locked else None
        sync = catalog_options.SYNC_ALL_PROPERTIES.of(options)
        rows = Rows(server, catalog_options.CATALOG_KEY.of(options), sync)
        rows.create_tables(catalog_options.LOCK_KEY_MAX_LENGTH.of(options) if locked else None)
        return cls(warehouse, FileIO.of(options), dict(options), table_type, rows=rows, locks=locks)

    @property
    def kind(self) -> str:
        return "jdbc"

    @property
    def case_sensitive(self) -> bool:
        return False

    def close(self) -> None:
        connections_of(self.rows.server).close()

    # Databases

    def list_databases(self) -> list[str]:
        return self.rows.databases()

    def create_database(
        self, name: str, ignore_if_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        self._check_not_sys(name)
        if self.rows.has_database(name):
            if ignore_if_exists:
                return
            raise self._database_exists(name)
        self._check_database_name(name)
        self._insert_database(name, properties or {})

    def _insert_database(self, name: str, properties: Mapping[str, str]) -> None:
        given = {key: str(value) for key, value in properties.items()}
        self.rows.insert_database(name, {_EXISTS: "true", LOCATION: self.database_folder(name), **given})

    def get_database(self, name: str) -> Database:
        if name == SYS:
            return Database(name)
        if not self.rows.has_database(name):
            raise self._no_database(name)
        properties = {LOCATION: self.database_folder(name), **self.rows.database_properties(name)}
        properties.pop(_EXISTS, None)
        return Database(name, properties)

    def alter_database(
        self,
        name: str,
        set: Mapping[str, str] | None = None,  # noqa: A002 - the name that users write
        remove: Sequence[str] = (),
        ignore_if_not_exists: bool = False,
    ) -> None:
        self._check_not_sys(name)
        if not self.rows.has_database(name):
            if ignore_if_not_exists:
                return
            raise self._no_database(name)
        before = self.rows.database_properties(name)
        given = {key: str(value) for key, value in (set or {}).items()}
        self.rows.insert_database(name, {key: value for key, value in given.items() if key not in before})
        self.rows.update_database(name, {key: value for key, value in given.items() if key in before})
        self.rows.delete_from_database(name, [key for key in remove if key in before])

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """As of the protocol. The files stay, as in Paimon: `repair_database` brings the tables back."""
        self._check_not_sys(name)
        if not self.rows.has_database(name):
            if ignore_if_not_exists:
                return
            raise self._no_database(name)
        if not cascade and (self.rows.tables(name) or self.rows.views(name)):
            raise SchemaError(
                f"database '{name}' has tables or views", self.warehouse, "Drop them first, or pass cascade=True."
            )
        self.rows.delete_database(name)

    # Tables

    def _table_names(self, database: str) -> list[str]:
        return self.rows.tables(database)

    def get_table(self, identifier: str) -> "AnyView | GlobalView | ObjectTable | FormatTable":
        self._check_main(Identifier.parse(identifier))
        return super().get_table(identifier)

    def open_table(self, identifier: str) -> "AnyView | GlobalView | ObjectTable | FormatTable":
        return self._named_part(super().get_table(identifier), identifier)

    def _stored_schema(self, name: Identifier) -> TableSchema:
        if not self.rows.has_table(name):
            self.get_database(name.database)
            raise self._no_table(name)
        schema = self._schemas(self.location(name), name.branch).latest()
        if schema is None and name.branch != MAIN_BRANCH:
            raise NotFoundError(f"branch '{name.branch}' does not exist", f"table {name}", "Check the name.")
        if schema is None:
            raise MissingFileError(
                f"the catalog has table '{name}', and its schema files are missing",
                self.location(name),
                "Restore the folder, or drop the table.",
            )
        return schema

    def create_table(self, identifier: str, schema: Schema, ignore_if_exists: bool = False) -> None:
        name = self._plain(identifier)
        self.get_database(name.database)
        first = self._first_schema(name, schema)
        kind = TYPE.of(first.options)
        if kind not in _KINDS:
            raise self._refuse_kind(kind, name)
        properties = properties_of(first)
        self._check_lengths(properties, name)
        with self._lock(name).held() as lock:
            if self._is_taken(name):
                if ignore_if_exists:
                    return
                raise self._table_exists(name)
            self._create(name, first, properties, lock)

    def _create(self, name: Identifier, first: TableSchema, properties: Mapping[str, str], lock: HeldLock) -> None:
        schemas = self._schemas(self.location(name))
        lock.check()
        if schemas.list_ids() or not self._publish_first(name, self.location(name), first):
            raise AlreadyExistsError(
                f"the folder of table '{name}' has a schema already",
                self.location(name),
                "Register it with repair_table, or choose another name.",
            )
        try:
            self.rows.insert_table(name, properties)
        except AlreadyExistsError:
            self.file_io.discard([f"{schemas.folder}/schema-{first.id}"])
            raise

    def _check_lengths(self, properties: Mapping[str, str], name: Identifier) -> None:
        """Refuse what the database would, before anything is written. SQLite takes every length."""
        for key, value in properties.items():
            if self.rows.properties and self.rows.server.protocol != "sqlite" and len(value) > _LONGEST_VALUE:
                raise OptionError(
                    f"option '{key}' has {len(value)} characters",
                    f"table {name}",
                    f"The catalog's database takes {_LONGEST_VALUE}; or set 'sync-all-properties' = 'false'.",
                )

    def alter_table(self, identifier: str, changes: Sequence[SchemaChange], ignore_if_not_exists: bool = False) -> None:
        self._check_main(Identifier.parse(identifier))
        self.change_table(identifier, changes, ignore_if_not_exists)

    def change_table(
        self, identifier: str, changes: Sequence[SchemaChange], ignore_if_not_exists: bool = False
    ) -> None:
        name = Identifier.parse(identifier)
        if name.system_table is not None:
            raise SchemaError(f"'{identifier}' is a system table", self.warehouse, "Alter the table itself.")
        if ignore_if_not_exists and not self.rows.has_table(name):
            return
        following = self._publish_next_schema(name, changes)
        if name.branch == MAIN_BRANCH:
            self.rows.replace_properties(name, properties_of(following))

    def _schema_replaced(self, name: Identifier, following: TableSchema, before: TableSchema) -> None:
        self.rows.replace_properties(name, properties_of(following))

    def rename_table(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        old, new = self._plain(source), self._plain(target)
        move = FolderMove(self.file_io, self.location(old), self.location(new))
        with self._locked(old, new):
            if not self.rows.has_table(old):
                if self.rows.has_table(new) and self._has_begun(move):
                    move.copy()  # what is missing, or an error if somebody has committed to the old path since
                    self._end(move)
                    return
                if ignore_if_not_exists:
                    return
                raise self._no_table(old)
            check_new_name(new.table, "a table", f"table {new}", error=SchemaError)
            self.get_database(new.database)
            if self._is_taken(new):
                raise self._table_exists(new)
            has_files = bool(self._schemas(move.source).list_ids())
            if has_files:
                # The database may have no folder yet: rows alone make it.
                self.file_io.make_folder(self.database_folder(new.database))
            if has_files and not self.file_io.renames_at_once(move.source):
                # The row is what readers go by: it changes once all files are there.
                move.copy()
                self.rows.rename_table(old, new)
                self._end(move)
                return
            self.rows.rename_table(old, new)
            try:
                if has_files:
                    self.file_io.rename_folder(move.source, move.target)
            except BaseException:
                self.rows.rename_table(new, old)
                raise

    def _has_begun(self, move: FolderMove) -> bool:
        return not self.file_io.renames_at_once(move.source) and move.has_begun()

    @staticmethod
    def _end(move: FolderMove) -> None:
        """The row has the new name: so has the folder, and the old one goes."""
        move.show()
        move.clear()

    def drop_table(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        name = self._plain(identifier)
        if not self.rows.has_table(name):
            if ignore_if_not_exists:
                return
            raise NotFoundError(f"table '{name}' does not exist", self.warehouse, "Check the name.")
        outside = self._external_files(self.location(name))
        self.rows.delete_table(name)
        self.file_io.delete_unordered(outside)
        if self.file_io.folder_exists(self.location(name)):
            self.file_io.delete_folder(self.location(name))

    def _is_taken(self, name: Identifier) -> bool:
        return self.rows.has_table(name) or self.rows.has_view(name)

    # Repair

    def repair_catalog(self) -> None:
        for name in self._databases_in_files():
            self.repair_database(name)

    def repair_database(self, name: str) -> None:
        self._check_not_sys(name)
        if not self.file_io.folder_exists(self.database_folder(name)):
            raise NotFoundError(f"database '{name}' has no folder", self.database_folder(name), "Check the name.")
        if not self.rows.has_database(name):
            self._insert_database(name, {})
        for table in self._tables_in_files(name):
            self.repair_table(f"{name}.{table}")

    def repair_table(self, identifier: str) -> None:
        name = self._plain(identifier)
        ids = self._schema_ids(self.location(name))
        schema = self._schemas(self.location(name)).get(ids[-1]) if ids else None
        if schema is None:
            raise NotFoundError(f"table '{name}' has no schema files", self.location(name), "Check the name.")
        if not self.rows.has_database(name.database):
            self._insert_database(name.database, {})
        properties = {"path": self.location(name), **properties_of(schema)}
        if self.rows.has_table(name):
            self.rows.replace_properties(name, properties)
        else:
            self.rows.insert_table(name, properties)

    # Views

    def list_views(self, database: str, pattern: str | None = None) -> list[str]:
        self.get_database(database)
        names = self.rows.views(database)
        if pattern is None:
            return names
        return list(compress(names, pc.match_like(pa.array(names, pa.string()), pattern).to_pylist()))

    def get_view(self, identifier: str) -> View:
        name = self._plain(identifier)
        text = self.rows.view(name)
        if text is None:
            raise self._no_view(name)
        return parse_view(text, f"view {name}")

    def create_view(self, identifier: str, view: View, ignore_if_exists: bool = False) -> None:
        name = self._plain(identifier)
        definition = serialize_view(view)
        with self._locked(name):
            self.get_database(name.database)
            if self._is_taken(name):
                if ignore_if_exists:
                    return
                raise self._view_exists(name)
            self.rows.insert_view(name, definition)

    def alter_view(self, identifier: str, changes: Sequence[ViewChange], ignore_if_not_exists: bool = False) -> None:
        name = self._plain(identifier)
        with self._locked(name):
            if ignore_if_not_exists and not self.rows.has_view(name):
                return
            following = changed_view(self.get_view(identifier), changes, str(name))
            self.rows.update_view(name, serialize_view(following))

    def rename_view(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        old, new = self._plain(source), self._plain(target)
        with self._locked(old, new):
            if not self.rows.has_view(old):
                if ignore_if_not_exists:
                    return
                raise self._no_view(old)
            self.get_database(new.database)
            if self._is_taken(new):
                raise self._view_exists(new)
            self.rows.rename_view(old, new)

    def drop_view(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        name = self._plain(identifier)
        with self._locked(name):
            if self.rows.has_view(name):
                self.rows.delete_view(name)
            elif not ignore_if_not_exists:
                raise self._no_view(name)

    # Locks and errors

    def _lock(self, name: Identifier) -> TableLock:
        if self.locks is None:
            return NO_LOCK
        return JdbcLock.on(self.rows.server, self.rows.key, name, self.locks)

    @contextmanager
    def _locked(self, *names: Identifier) -> Iterator[None]:
        """Hold the locks of names, always in the order of the names, so that two renames cannot block each other."""
        first, *rest = sorted(set(names), key=lambda name: (name.database, name.table))
        with self._lock(first).held():
            if rest:
                with self._locked(*rest):
                    yield
            else:
                yield

    def _check_main(self, name: Identifier) -> None:
        if name.branch != MAIN_BRANCH:
            raise UnsupportedError(
                "a jdbc catalog, as Paimon's own, has no names of branches",
                f"table {name}",
                "Statements of SQL take it; in Python use open_table and change_table.",
            )

    def _no_view(self, name: Identifier) -> NotFoundError:
        return NotFoundError(f"view '{name}' does not exist", self.warehouse, "Check the name.")

    def _view_exists(self, name: Identifier) -> AlreadyExistsError:
        return AlreadyExistsError(f"view or table '{name}' exists", self.warehouse, "Choose another name.")


def properties_of(schema: TableSchema) -> dict[str, str]:
    """What a catalog copies of a table for other programs: its options and keys."""
    keys = {"primary-key": schema.primary_keys, "partition": schema.partition_keys, "bucket-key": schema.bucket_keys}
    return {**schema.options, **{key: ",".join(names) for key, names in keys.items() if names}}
