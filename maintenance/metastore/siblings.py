"""The other tables of a catalog, which a table that refers to them opens wherever its rows are read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from maintenance.errors import DataError, UnsupportedError
from maintenance.metastore.catalog import Catalog
from maintenance.table.handle import TableHandle

# Views of views of blobs: more than anybody has, and an end to tables that refer to each other.
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Siblings:
    """The tables of a catalog.

    Attributes:
        options: of the catalog, which `open_catalog` opens; travels to Spark's tasks, so it is a function of a module.
        depth: of how many tables the first one refers to the next.
    """

    options: Mapping[str, str] = field(repr=False)
    open_catalog: Callable[[Mapping[str, str]], Catalog] = field(repr=False)
    depth: int = 0

    def open(self, identifier: str) -> TableHandle:
        """A table as it is now. Raises: NotFoundError; DataError: references that go too deep; UnsupportedError."""
        if self.depth >= _MAX_DEPTH:
            fix = "Write the blob itself where the references end: they lead back to each other."
            raise DataError(f"a blob is a reference behind {self.depth} others", f"table {identifier}", fix)
        catalog = self.open_catalog(self.options)
        try:
            table = catalog.get_table(identifier)
        finally:
            catalog.close()
        if not isinstance(table, TableHandle):
            fix = "Set 'blob-as-descriptor' = 'true' for the read, to get the references themselves."
            raise UnsupportedError("a blob that refers to no table of rows", identifier, fix)
        return replace(table, siblings=replace(self, depth=self.depth + 1))
