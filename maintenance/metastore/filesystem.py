"""The filesystem catalog: a folder `<name>.db` for each database, a folder in it for each table.

Source: seed 000 (filesystem catalog), Java `FileSystemCatalog`.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maintenance.errors import AlreadyExistsError, CorruptFileError, NotFoundError, OptionError, SchemaError
from maintenance.format.metadata.schema import TableSchema
from maintenance.metadata.branch_root import MAIN_BRANCH, branch_root
from maintenance.metastore.database import LOCATION, OWNER, Database
from maintenance.metastore.folder_move import FROM, FolderMove, is_hidden, moved_from
from maintenance.metastore.identifier import SYS, Identifier
from maintenance.metastore.located import LocatedCatalog
from maintenance.names import check_new_name
from maintenance.options.catalog import CASE_SENSITIVE
from maintenance.options.table import TYPE

if TYPE_CHECKING:
    from maintenance.metastore.schema import Schema
    from maintenance.metastore.schema_change import SchemaChange
    from maintenance.metastore.view import View, ViewChange

_LOG = logging.getLogger(__name__)
_VIEWS = "a view"
_OTHER_CATALOG = "Use a catalog with a store of its own, such as 'metastore' = 'jdbc'."


@dataclass(frozen=True)
class FilesystemCatalog(LocatedCatalog):
    """Tables below one warehouse path; what is there in files is all that this catalog knows."""

    @property
    def kind(self) -> str:
        return "filesystem"

    @property
    def case_sensitive(self) -> bool:
        return CASE_SENSITIVE.of(self.options)

    # Databases

    def list_databases(self) -> list[str]:
        return self._databases_in_files()

    def create_database(
        self, name: str, ignore_if_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        folder = self.database_folder(name)
        if name != SYS and self.file_io.folder_exists(folder):
            if ignore_if_exists:
                return
            raise self._database_exists(name)
        self._check_not_sys(name)
        self._check_database_name(name)
        if LOCATION in (properties or {}):
            raise OptionError(
                f"a database of a filesystem catalog cannot have a '{LOCATION}'", f"database {name}", _OTHER_CATALOG
            )
        lost = [key for key in properties or {} if key != OWNER]
        if lost:
            _LOG.warning("a filesystem catalog keeps no properties of database %s: %s", name, ", ".join(lost))
        self.file_io.make_folder(folder)

    def get_database(self, name: str) -> Database:
        if name != SYS and not self.file_io.folder_exists(self.database_folder(name)):
            raise self._no_database(name)
        return Database(name)

    def alter_database(
        self,
        name: str,
        set: Mapping[str, str] | None = None,  # noqa: A002 - the name that users write
        remove: Sequence[str] = (),
        ignore_if_not_exists: bool = False,
    ) -> None:
        del set, remove, ignore_if_not_exists
        raise self._unsupported("changing a database", _OTHER_CATALOG, f"database {name}")

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        if name not in self.list_databases():
            if ignore_if_not_exists:
                return
            raise self._no_database(name)
        tables = self.list_tables(name)
        if tables and not cascade:
            raise SchemaError(f"database '{name}' has tables", self.warehouse, "Drop them first, or pass cascade=True.")
        for table in tables:
            self.file_io.delete_unordered(self._external_files(f"{self.database_folder(name)}/{table}"))
        self.file_io.delete_folder(self.database_folder(name))

    # Tables

    def _table_names(self, database: str) -> list[str]:
        return self._tables_in_files(database)

    def _has(self, name: Identifier) -> bool:
        return bool(self._schema_ids(self.location(name)))

    def create_table(self, identifier: str, schema: "Schema", ignore_if_exists: bool = False) -> None:
        name = self._plain(identifier)
        self.get_database(name.database)
        first = self._first_schema(name, schema)
        kind = TYPE.of(first.options)
        if kind not in ("table", "materialized-table"):
            raise self._refuse_kind(kind, name)
        self._check_place_free(name)
        if not self._has(name) and self._publish_first(name, self.location(name), first):
            return
        if not ignore_if_exists:
            raise self._table_exists(name)

    def _stored_schema(self, name: Identifier) -> TableSchema:
        location = self.location(name)
        schema = self._shown_schema(location, name.branch)
        if schema is not None:
            return schema
        if not self.file_io.folder_exists(self.database_folder(name.database)):
            raise self._no_database(name.database)
        is_moving = is_hidden(self.file_io, location, self._schemas(location).list_files())
        if not is_moving and self.file_io.folder_exists(f"{branch_root(location, name.branch)}/snapshot"):
            raise CorruptFileError(
                f"table '{name}' has snapshots and no schema",
                f"{branch_root(location, name.branch)}/schema",
                "Restore the schema files.",
            )
        raise self._no_table(name)

    def _shown_schema(self, location: str, branch: str) -> TableSchema | None:
        """The newest schema of a branch, None if the table is not at this path yet, or not any more."""
        if branch != MAIN_BRANCH and not self.file_io.renames_at_once(location) and not self._schema_ids(location):
            return None
        schemas = self._schemas(location, branch)
        names = schemas.list_files()
        ids = [] if is_hidden(self.file_io, location, names) else schemas.ids_of(names)
        return schemas.get(ids[-1]) if ids else None

    def _check_place_free(self, name: Identifier) -> None:
        """Finish a renaming that has left something at the place of a new table.

        Raises: AlreadyExistsError: a table is being renamed to that name.
        """
        location = self.location(name)
        if self.file_io.renames_at_once(location):
            return
        names = self._schemas(location).list_files()
        source = moved_from(self.file_io, location) if FROM in names else None
        if source is not None and self._schema_ids(source):
            fix = f"Rename {source} to this name again, which finishes it."
            raise AlreadyExistsError(f"a renaming of {source} to this name was interrupted", location, fix)
        if source is not None or is_hidden(self.file_io, location, names):
            self.file_io.delete_folder(location)  # that table has another name by now

    def alter_table(
        self, identifier: str, changes: "Sequence[SchemaChange]", ignore_if_not_exists: bool = False
    ) -> None:
        name = Identifier.parse(identifier)
        if name.system_table is not None:
            raise SchemaError(f"'{identifier}' is a system table", self.warehouse, "Alter the table itself.")
        if ignore_if_not_exists and not self._schemas(self.location(name), name.branch).list_ids():
            return
        self._publish_next_schema(name, changes)

    def rename_table(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        old, new = self._plain(source), self._plain(target)
        move = FolderMove(self.file_io, self.location(old), self.location(new))
        at_once = self.file_io.renames_at_once(move.source)
        begun = not at_once and move.has_begun()
        if not begun and not self._has(old):
            if ignore_if_not_exists:
                return
            raise self._no_table(old)
        check_new_name(new.table, "a table", f"table {new}", error=SchemaError)
        self.get_database(new.database)
        if not begun and self._has(new):
            raise self._table_exists(new)
        if at_once:
            self.file_io.rename_folder(move.source, move.target)
            return
        if not begun:
            self._check_place_free(new)
        move.copy()
        move.show()
        move.clear()

    def drop_table(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        name = self._plain(identifier)
        if self._has(name):
            # First what only the folder's metadata names: so a drop that was interrupted can be run again.
            self.file_io.delete_unordered(self._external_files(self.location(name)))
            self.file_io.delete_folder(self.location(name))
        elif not ignore_if_not_exists:
            raise NotFoundError(f"table '{name}' does not exist", self.warehouse, "Check the name.")

    # Repair: there is nothing beside the files that could differ from them

    def repair_catalog(self) -> None:
        raise self._no_repair()

    def repair_database(self, name: str) -> None:
        raise self._no_repair(f"database {name}")

    def repair_table(self, identifier: str) -> None:
        raise self._no_repair(f"table {identifier}")

    def _no_repair(self, where: str = "") -> Exception:
        return self._unsupported("a repair", "There is nothing to repair: the files are all that it knows.", where)

    # Views: there is no place for them

    def list_views(self, database: str, pattern: str | None = None) -> list[str]:
        del pattern
        self.get_database(database)
        return []

    def get_view(self, identifier: str) -> "View":
        raise NotFoundError(f"view '{identifier}' does not exist", self.warehouse, _OTHER_CATALOG)

    def create_view(self, identifier: str, view: "View", ignore_if_exists: bool = False) -> None:
        del view, ignore_if_exists
        raise self._unsupported(_VIEWS, _OTHER_CATALOG, f"view {identifier}")

    def alter_view(self, identifier: str, changes: "Sequence[ViewChange]", ignore_if_not_exists: bool = False) -> None:
        del changes, ignore_if_not_exists
        raise self._unsupported(_VIEWS, _OTHER_CATALOG, f"view {identifier}")

    def rename_view(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        del target, ignore_if_not_exists
        raise self._unsupported(_VIEWS, _OTHER_CATALOG, f"view {source}")

    def drop_view(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        del ignore_if_not_exists
        raise self._unsupported(_VIEWS, _OTHER_CATALOG, f"view {identifier}")
