"""The Paimon catalog, for everything that runs in Dagster."""

from contextlib import AbstractContextManager

import dagster as dg
from pydantic import Field

from maintenance.catalog import Catalog, CatalogTable
from maintenance.errors import CorruptFileError, MissingFileError, NotFoundError, SchemaError
from maintenance.fs.file_io import FileIO
from maintenance.metastore.filesystem import FilesystemCatalog
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.warehouse import known_folder, warehouse_folder
from maintenance.operations.history import history_of
from maintenance.options.environment import from_environment
from maintenance.project.chain import create_described
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.resources.opened import OPENED


class PaimonCatalog(dg.ConfigurableResource):
    """The catalog that holds the tables."""

    warehouse: str = Field(description="Root path or URI, for example s3://lake/warehouse.")
    options: dict[str, str] = Field(
        default={}, description="More of Paimon's catalog options; ${NAME} is read from the environment."
    )
    history: str | None = Field(
        default=None, description="Database of the table that keeps the history; empty: none is kept."
    )

    def history_of(self, identifier: str) -> str | None:
        """The history table for what is done to a table; None if none is kept, as for the history's own database."""
        return history_of(self.history, identifier)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """A run or a tick begins. Called by Dagster. The catalog is opened when it is first needed."""
        OPENED.begin()

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """A run or a tick has ended. Called by Dagster."""
        OPENED.end()

    def at_work(self) -> AbstractContextManager[None]:
        """While it is used outside of runs and ticks: at its end connections are given back."""
        return OPENED.at_work()

    def open(self) -> Catalog:
        """The catalog itself; a process opens it once."""
        return OPENED.get({"warehouse": self.warehouse, **self._options()})

    def get_table(self, identifier: str) -> CatalogTable:
        """The table as it is now. Raises NotFoundError; SchemaError for one of Paimon's system tables."""
        table = self.open().get_table(identifier)
        if not isinstance(table, CatalogTable):
            raise SchemaError(f"'{identifier}' is a system table", self.warehouse, "Name the table itself.")
        return table

    def get_or_none(self, identifier: str) -> tuple[FileIO, CatalogTable | None]:
        """The table, None if it does not exist; and what reads the warehouse in any case."""
        try:
            table = self.get_table(identifier)
        except MissingFileError:
            raise
        except NotFoundError:
            return self.file_io(), None
        return table.file_io, table

    def root(self) -> str:
        """The folder of the warehouse, where the bin and stored plans lie.

        Raises: UnsupportedError: the catalog's server knows the warehouse by a name, and does not say where it is.
        """
        return known_folder(self.open())

    def has_root(self) -> bool:
        """Whether the warehouse is known to be a folder, so that there can be a bin and plans."""
        return warehouse_folder(self.open()) is not None

    def file_io(self) -> FileIO:
        """What reads and writes the warehouse."""
        return FileIO.of(self.open().options)

    def place_of(self, identifier: str) -> tuple[FileIO, str]:
        """The location of a table, even if it is too damaged to be opened. Raises: NotFoundError."""
        catalog = self.open()
        try:
            table = self.get_table(identifier)
        except (CorruptFileError, MissingFileError):
            if isinstance(catalog, FilesystemCatalog):
                return catalog.file_io, catalog.location(Identifier.parse(identifier))
            raise
        return table.file_io, table.location

    def _options(self) -> dict[str, str]:
        return {name: from_environment(text, f"catalog: {name}") for name, text in self.options.items()}

    def get_or_create(self, table: TableConfig) -> CatalogTable:
        """The table, created from its description if it does not exist. Raises NotFoundError if it has none."""
        catalog = self.open()
        if table.columns:
            create_described(catalog, table)
        return self.get_table(table.identifier)
