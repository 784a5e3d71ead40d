"""What every catalog offers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from maintenance.metastore.database import Database

if TYPE_CHECKING:
    from maintenance.metastore.global_tables import GlobalView
    from maintenance.metastore.partitions import Partition, Spec
    from maintenance.metastore.schema import Schema
    from maintenance.metastore.schema_change import SchemaChange
    from maintenance.metastore.view import View, ViewChange
    from maintenance.table.format_table import FormatTable
    from maintenance.table.object_table import ObjectTable
    from maintenance.table.system.view import AnyView


class Catalog(Protocol):
    """Databases, tables and views. Names are ``database.name``; see `Identifier` for what may follow a table's.

    What a kind of catalog has no place for is refused with an UnsupportedError.
    """

    @property
    def options(self) -> Mapping[str, str]:
        """The options that the catalog was opened with."""

    @property
    def warehouse(self) -> str:
        """The folder of tables that have no path of their own."""

    @property
    def case_sensitive(self) -> bool:
        """Whether engines may rely on upper and lower case in names."""

    def close(self) -> None:
        """Release what the catalog holds, such as connections. Tables opened through it stay usable."""

    def warehouse_exists(self) -> bool:
        """Whether there is such a folder. On an object store: whether anything lies below it.

        Raises: StorageError: the store cannot be asked.
        """

    def list_databases(self) -> list[str]:
        """Names, sorted."""

    def create_database(
        self, name: str, ignore_if_exists: bool = False, properties: Mapping[str, str] | None = None
    ) -> None:
        """Raises: AlreadyExistsError, SchemaError; OptionError: of a property."""

    def get_database(self, name: str) -> Database:
        """Raises: NotFoundError."""

    def alter_database(
        self,
        name: str,
        set: Mapping[str, str] | None = None,  # noqa: A002 - the name that users write
        remove: Sequence[str] = (),
        ignore_if_not_exists: bool = False,
    ) -> None:
        """Set and remove properties. Removing a property that is not set does nothing. Raises: NotFoundError."""

    def drop_database(self, name: str, ignore_if_not_exists: bool = False, cascade: bool = False) -> None:
        """Raises: NotFoundError; SchemaError: it has tables or views and `cascade` is not set."""

    def list_tables(self, database: str, pattern: str | None = None) -> list[str]:
        """Names without the database, sorted. `pattern`: of SQL's LIKE. Raises: NotFoundError."""

    def create_table(self, identifier: str, schema: "Schema", ignore_if_exists: bool = False) -> None:
        """Raises: AlreadyExistsError, NotFoundError (the database), SchemaError, OptionError, UnsupportedError."""

    def replace_table(self, identifier: str, schema: "Schema") -> None:
        """Empty a table and give it another schema, with the same partition columns. Its snapshots stay.

        The rows go first: after a failure the table may be empty under its old schema, and the call can be repeated.
        Raises: NotFoundError, SchemaError, OptionError, UnsupportedError, CommitError.
        """

    def get_table(self, identifier: str) -> "AnyView | GlobalView | ObjectTable | FormatTable":
        """The table as it is now. Raises: NotFoundError."""

    def open_table(self, identifier: str) -> "AnyView | GlobalView | ObjectTable | FormatTable":
        """As `get_table`, but a name always means what it says. Raises: NotFoundError.

        ``db.t$branch_b`` is a branch in every catalog, and a format or object table has no ``$snapshots``. Paimon's
        catalogs, and so `get_table`, refuse names of branches in a JDBC catalog, and give a format table itself for the
        name of a system table.
        """

    def drop_table(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        """Delete a table with all its files. Raises: NotFoundError."""

    def deletes_files(self, identifier: str) -> bool:
        """Whether dropping a table deletes its files, rather than only forgetting it. Raises: NotFoundError."""

    def rename_table(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        """Rename a table, or move it to another database. Raises: NotFoundError, AlreadyExistsError."""

    def alter_table(
        self, identifier: str, changes: "Sequence[SchemaChange]", ignore_if_not_exists: bool = False
    ) -> None:
        """Apply changes as one new schema. Raises: NotFoundError, SchemaError, OptionError, UnsupportedError."""

    def change_table(
        self, identifier: str, changes: "Sequence[SchemaChange]", ignore_if_not_exists: bool = False
    ) -> None:
        """As `alter_table`, but names of branches are read as by `open_table`."""

    def list_partitions(self, identifier: str) -> "list[Partition]":
        """The partitions of a table, in no particular order. Raises: NotFoundError."""

    def create_partitions(self, identifier: str, specs: "Sequence[Spec]") -> None:
        """Register partitions, if the catalog keeps a list of them. Raises: NotFoundError: there is no such table."""

    def drop_partitions(self, identifier: str, specs: "Sequence[Spec]") -> None:
        """Delete all rows of partitions. Those that do not exist are ignored. Raises: NotFoundError: no such table."""

    def mark_done_partitions(self, identifier: str, specs: "Sequence[Spec]") -> None:
        """Mark partitions as done, if the catalog keeps that. Raises: NotFoundError: there is no such table."""

    def list_views(self, database: str, pattern: str | None = None) -> list[str]:
        """Names without the database, sorted. `pattern`: of SQL's LIKE. Raises: NotFoundError."""

    def create_view(self, identifier: str, view: "View", ignore_if_exists: bool = False) -> None:
        """Raises: AlreadyExistsError: a view or table; NotFoundError: the database."""

    def get_view(self, identifier: str) -> "View":
        """Raises: NotFoundError."""

    def alter_view(self, identifier: str, changes: "Sequence[ViewChange]", ignore_if_not_exists: bool = False) -> None:
        """Raises: NotFoundError: the view or a dialect; AlreadyExistsError: a dialect."""

    def rename_view(self, source: str, target: str, ignore_if_not_exists: bool = False) -> None:
        """Raises: NotFoundError, AlreadyExistsError."""

    def drop_view(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        """Raises: NotFoundError."""

    def repair_catalog(self) -> None:
        """Register every database and table found in the warehouse."""

    def repair_database(self, name: str) -> None:
        """The same for one database. Raises: NotFoundError: it has no folder."""

    def repair_table(self, identifier: str) -> None:
        """The same for one table. Raises: NotFoundError: it has no schema file."""
