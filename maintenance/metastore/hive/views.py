"""The views of a Hive metastore. Source: Java `HiveCatalog`."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from maintenance.errors import AlreadyExistsError, NotFoundError
from maintenance.metastore.hive.client import Struct
from maintenance.metastore.hive.databases import HiveDatabases
from maintenance.metastore.hive.objects import VIEW, view_object, view_of
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.view import View, ViewChange

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class HiveViews(HiveDatabases):
    """The part of a Hive catalog that has its views."""

    def list_views(self, database: str, pattern: str | None = None) -> list[str]:
        if pattern is not None:
            raise self._unsupported("filtering views by a name pattern", "List all views and filter the names.")
        self._database(database)
        with self._calls(f"database {database}"):
            return sorted(self.metastore.read("get_tables_by_type", database, "*", VIEW))
        raise AssertionError

    def _found_view(self, name: Identifier) -> Struct | None:
        stored = self._found(name)
        return stored if stored is not None and stored.tableType == VIEW else None

    def get_view(self, identifier: str) -> View:
        name = self._plain(identifier)
        stored = self._found_view(name)
        if stored is None:
            raise self._no_view(name)
        return view_of(stored)

    def create_view(self, identifier: str, view: View, ignore_if_exists: bool = False) -> None:
        name = self._plain(identifier)
        self._database(name.database)
        stored = self._found(name)
        if stored is not None:
            if ignore_if_exists and stored.tableType == VIEW:
                return
            raise self._view_exists(name)
        if view.dialects:
            _LOG.warning("a Hive metastore keeps no dialects of view %s: %s", name, ", ".join(view.dialects))
        with self._calls(f"view {name}"):
            self.metastore.change("create_table", view_object(name.database, name.table, view))

    def alter_view(self, identifier: str, changes: Sequence[ViewChange], ignore_if_not_exists: bool = False) -> None:
        del changes, ignore_if_not_exists
        raise self._unsupported("changing a view", "Drop it, and create it again.", f"view {identifier}")

    def rename_view(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        old, new = self._plain(source), self._plain(target)
        stored = self._found_view(old)
        if stored is None:
            if ignore_if_not_exists:
                return
            raise self._no_view(old)
        if self._found(new) is not None:
            raise self._view_exists(new)
        self._rename_object(old, new, stored)

    def drop_view(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        name = self._plain(identifier)
        if self._found_view(name) is None:
            if ignore_if_not_exists:
                return
            raise self._no_view(name)
        with self._calls(f"view {name}"):
            self.metastore.change("drop_table", name.database, name.table, False)

    def _no_view(self, name: Identifier) -> NotFoundError:
        return NotFoundError(f"view '{name}' does not exist", self.metastore.place, "Check the name.")

    def _view_exists(self, name: Identifier) -> AlreadyExistsError:
        return AlreadyExistsError(f"view or table '{name}' exists", self.metastore.place, "Choose another name.")
