"""A catalog with format tables for tests: a filesystem catalog that keeps their definitions in files."""

from pathlib import Path
from typing import Any

from maintenance.catalog import CatalogTable, Schema
from maintenance.errors import NotFoundError
from maintenance.format.metadata.schema import parse_schema, serialize_schema
from maintenance.fs.file_io import FileIO
from maintenance.metastore.filesystem import FilesystemCatalog
from maintenance.metastore.first_schema import first_schema
from maintenance.metastore.identifier import Identifier
from maintenance.table.format_table import FormatTable

_SUFFIX = ".plain"


class PlainCatalog(FilesystemCatalog):
    """Format tables lie where others do. As a metastore does, it forgets a table first, then deletes the files."""

    @classmethod
    def of(cls, warehouse: Path) -> "PlainCatalog":
        return cls(str(warehouse), FileIO(), {"warehouse": str(warehouse)}, lambda: CatalogTable)

    def _definition(self, name: Identifier) -> str:
        return f"{self.database_folder(name.database)}/{name.table}{_SUFFIX}"

    def _table_names(self, database: str) -> list[str]:
        names = self.file_io.list_names(self.database_folder(database))
        plain = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
        return sorted({*super()._table_names(database), *plain})

    def create_table(self, identifier: str, schema: Schema, ignore_if_exists: bool = False) -> None:
        if dict(schema.options).get("type") != "format-table":
            super().create_table(identifier, schema, ignore_if_exists)
            return
        name = Identifier.parse(identifier)
        path = self._definition(name)
        assert self.file_io.publish(path, serialize_schema(first_schema(name, schema, self.options)))

    def get_table(self, identifier: str) -> Any:
        name = Identifier.parse(identifier)
        path = self._definition(name)
        try:
            schema = parse_schema(self.file_io.read_bytes(path), path)
        except FileNotFoundError:
            return super().get_table(identifier)
        return FormatTable(str(name), self.location(name), self.file_io, schema).as_paimon_gives(
            name.branch, name.system_table
        )

    def drop_table(self, identifier: str, ignore_if_not_exists: bool = False) -> None:
        name = Identifier.parse(identifier)
        if not self.file_io.exists(self._definition(name)):
            super().drop_table(identifier, ignore_if_not_exists)
            return
        self.file_io.delete_quietly([self._definition(name)])
        for file in self.file_io.list_tree(self.location(name)):
            self.file_io.delete_quietly([f"{self.location(name)}/{file.path}"])
        if self.file_io.folder_exists(self.location(name)):
            self.file_io.delete_folder(self.location(name))


def plain_table(catalog: PlainCatalog, identifier: str, kind: str = "parquet") -> FormatTable:
    """A new format table with columns k and v, partitioned by v."""
    catalog.create_database(identifier.partition(".")[0], ignore_if_exists=True)
    options = {"type": "format-table", "file.format": kind}
    catalog.create_table(identifier, Schema([("k", "BIGINT"), ("v", "STRING")], (), ["v"], options))
    table = catalog.get_table(identifier)
    assert isinstance(table, FormatTable)
    return table


def gone(catalog: PlainCatalog, identifier: str) -> bool:
    """Whether a catalog has no such table."""
    try:
        catalog.get_table(identifier)
    except NotFoundError:
        return True
    return False
