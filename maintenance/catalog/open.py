"""Open a catalog whose tables can do all that the engine offers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from maintenance.metastore import catalog
from maintenance.metastore.open import open_metastore

if TYPE_CHECKING:
    from maintenance.catalog.table import CatalogTable


class Catalog(catalog.Catalog, Protocol):
    """A catalog whose tables are `CatalogTable`s."""

    def get_table(self, identifier: str) -> "CatalogTable | Any":
        """The table as it is now: a `CatalogTable`, unless the name says otherwise.

        Other kinds have fewer methods: system tables (``db.t$snapshots``), format tables, object tables. Type checkers
        take the result for a `CatalogTable` and do not complain about those. Raises: NotFoundError.
        """


def open_catalog(options: Mapping[str, str]) -> Catalog:
    """Open the catalog that Paimon's catalog options describe; `warehouse` alone gives a filesystem catalog.

    Storage is not accessed; `Catalog.warehouse_exists` checks whether the warehouse is there.

    Raises: OptionError: no warehouse, or not a path or URI; UnsupportedError: a metastore that is not supported yet.
    """
    return open_metastore(options, _tables_of_users)


def _tables_of_users() -> "type[CatalogTable]":
    from maintenance.catalog.table import CatalogTable

    return CatalogTable


__all__ = ["Catalog", "open_catalog"]
