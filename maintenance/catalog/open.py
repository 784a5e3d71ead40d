"""Open a catalog by its options."""

from collections.abc import Callable, Mapping

from maintenance.catalog.catalog import Catalog
from maintenance.catalog.filesystem import FilesystemCatalog
from maintenance.errors import OptionError, UnsupportedError
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import warehouse_location
from maintenance.options import catalog as catalog_options


def open_catalog(options: Mapping[str, str]) -> Catalog:
    """The catalog that Paimon's catalog options describe; `warehouse` alone is a filesystem catalog.

    Nothing is looked for in storage: `Catalog.warehouse_exists` does that.

    Raises: OptionError: no warehouse, or not a path or URI; UnsupportedError: a metastore that is not supported yet.
    """
    given = {key: str(value) for key, value in options.items()}
    metastore = catalog_options.METASTORE.of(given)
    if metastore not in _CATALOGS:
        raise UnsupportedError(
            f"'metastore' = '{metastore}' is not supported yet",
            "catalog options",
            f"Use one of {', '.join(_CATALOGS)}.",
        )
    if catalog_options.LOCK_ENABLED.of(given):
        raise UnsupportedError(
            "'lock.enabled' = 'true' is not supported yet",
            "catalog options",
            "Unset it: snapshots are published by the store's own 'create if absent', see docs/compatibility.md.",
        )
    if not catalog_options.CASE_SENSITIVE.of(given):
        raise UnsupportedError(
            "'case-sensitive' = 'false' is not supported yet",
            "catalog options",
            "Unset it, and name tables as they are.",
        )
    return _CATALOGS[metastore](given)


def _filesystem(options: Mapping[str, str]) -> Catalog:
    warehouse = catalog_options.WAREHOUSE.of(options)
    if not warehouse:
        raise OptionError("'warehouse' is not set", "catalog options", "Set it to the path or URI of the warehouse.")
    return FilesystemCatalog(warehouse_location(warehouse), FileIO.of(options), dict(options))


_CATALOGS: Mapping[str, Callable[[Mapping[str, str]], Catalog]] = {"filesystem": _filesystem}
