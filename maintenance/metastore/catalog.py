"""What every catalog offers."""

from collections.abc import Sequence
from typing import Protocol

from maintenance.metastore.global_tables import GlobalView
from maintenance.metastore.schema import Schema
from maintenance.metastore.schema_change import SchemaChange
from maintenance.table.system.view import AnyView


class Catalog(Protocol):
    """Databases and tables. Names of tables are ``database.table``; see `Identifier` for what may follow."""

    def warehouse_exists(self) -> bool:
        """Whether there is such a folder. On an object store: whether anything lies below it.

        Raises: StorageError: the store cannot be asked.
        """

    def list_databases(self) -> list[str]:
        """Names, sorted."""

    def create_database(self, name: str, ignore_if_exists: bool = False) -> None:
        """Raises: AlreadyExistsError."""

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """Raises: NotFoundError; SchemaError: it has tables and `cascade` is not set."""

    def list_tables(self, database: str) -> list[str]:
        """Names without the database, sorted. Raises: NotFoundError."""

    def create_table(self, identifier: str, schema: Schema, ignore_if_exists: bool = False) -> None:
        """Raises: AlreadyExistsError, NotFoundError (the database), SchemaError, OptionError, UnsupportedError."""

    def get_table(self, identifier: str) -> AnyView | GlobalView:
        """The table as it is now. Raises: NotFoundError."""

    def drop_table(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        """Delete a table with all its files. Raises: NotFoundError."""

    def alter_table(self, identifier: str, changes: Sequence[SchemaChange]) -> None:
        """Apply changes as one new schema. Raises: NotFoundError, SchemaError, OptionError, UnsupportedError."""
