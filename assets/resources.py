"""What ops and sensors share: the Paimon catalog and the Spark session."""

import atexit
import functools
from pathlib import Path
from typing import Any

import dagster as dg
from pydantic import Field

from assets.config import TableConfig
from maintenance.catalog import Catalog, Schema, open_catalog
from maintenance.catalog.filesystem import FilesystemCatalog
from maintenance.catalog.identifier import Identifier
from maintenance.errors import CorruptFileError, SchemaError
from maintenance.fs.file_io import FileIO
from maintenance.table.table import Table

_LOG4J = Path(__file__).resolve().parent / "log4j2.properties"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


class PaimonCatalog(dg.ConfigurableResource):
    """The catalog that holds the tables."""

    warehouse: str = Field(description="Root path or URI, for example s3://lake/warehouse.")
    options: dict[str, str] = Field(default={}, description="More of Paimon's catalog options.")
    history: str | None = Field(
        default=None, description="Name of the table, in each database, that keeps the history."
    )

    def history_of(self, identifier: str) -> str | None:
        """The history table for what is done to a table; None if none is kept, as for the history table itself."""
        database, _, name = identifier.partition(".")
        return None if self.history in (None, name) else f"{database}.{self.history}"

    def open(self) -> Catalog:
        """The catalog itself."""
        return open_catalog({"warehouse": self.warehouse, **self.options})

    def get_table(self, identifier: str) -> Table:
        """The table as it is now. Raises NotFoundError; SchemaError for one of Paimon's system tables."""
        table = self.open().get_table(identifier)
        if not isinstance(table, Table):
            raise SchemaError(f"'{identifier}' is a system table", self.warehouse, "Name the table itself.")
        return table

    def place_of(self, identifier: str) -> tuple[FileIO, str]:
        """Where a table lies, one that is too damaged to be opened, too. Raises: NotFoundError."""
        catalog = self.open()
        try:
            table = self.get_table(identifier)
        except CorruptFileError:
            if isinstance(catalog, FilesystemCatalog):
                return catalog.file_io, catalog.location(Identifier.parse(identifier))
            raise
        return table.file_io, table.location

    def get_or_create(self, table: TableConfig) -> Table:
        """The table, created from its description if it does not exist. Raises NotFoundError if it has none."""
        catalog = self.open()
        database = table.identifier.partition(".")[0]
        if table.columns:
            catalog.create_database(database, ignore_if_exists=True)
            schema = Schema(
                fields=list(table.columns.items()),
                primary_keys=list(table.primary_keys),
                partition_keys=list(table.partition_keys),
                options=dict(table.options),
                comment=table.description or None,
            )
            catalog.create_table(table.identifier, schema, ignore_if_exists=True)
        return self.get_table(table.identifier)


class Spark(dg.ConfigurableResource):
    """A Spark session, started when a step first needs it, shared by the process and stopped when that ends."""

    master: str = Field(default="local[*]", description="Spark's master URL; local[*] uses this machine's cores.")
    remote: str | None = Field(default=None, description="A Spark Connect server, sc://host:port, instead of a master.")
    options: dict[str, str] = Field(default={}, description="More of Spark's options; they win over the project's.")

    def session(self) -> Any:
        """The session of this process."""
        return _session(self.master, self.remote, tuple(sorted(self.options.items())))


@functools.cache
def _session(master: str, remote: str | None, options: tuple[tuple[str, str], ...]) -> Any:
    from maintenance.spark.session import get_session  # here, since sensors and the web server need no Spark

    config = dict(options)
    config[_JAVA_OPTIONS] = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} {config.get(_JAVA_OPTIONS, '')}".strip()
    session = get_session(master=master, remote=remote, config=config)
    atexit.register(session.stop)
    return session
