"""The other tables of a catalog, which a table that refers to them opens wherever its rows are read."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from maintenance.errors import DataError, UnsupportedError
from maintenance.table.handle import TableHandle

# Views of views of blobs: more than anybody has, and an end to tables that refer to each other.
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Siblings:
    """Tables of the catalog of these options. `depth`: of how many tables the first one refers to the next."""

    options: Mapping[str, str] = field(repr=False)
    depth: int = 0

    def open(self, identifier: str) -> TableHandle:
        """A table as it is now. Raises: NotFoundError; DataError: references that go too deep; UnsupportedError."""
        from maintenance.metastore.open import open_metastore

        if self.depth >= _MAX_DEPTH:
            raise DataError(
                f"a blob is a reference behind {self.depth} others", f"table {identifier}", "Break the circle."
            )
        catalog = open_metastore(self.options)
        try:
            table = catalog.get_table(identifier)
        finally:
            catalog.close()
        if not isinstance(table, TableHandle):
            raise UnsupportedError("a blob that refers to no table of rows", identifier, "Read the references.")
        return replace(table, siblings=replace(self, depth=self.depth + 1))
