"""Open a catalog by its options. What a kind of catalog needs is imported when one is opened."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from maintenance.errors import OptionError, UnsupportedError
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import warehouse_location
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.filesystem import FilesystemCatalog
from maintenance.metastore.table_type import TableType, plain_tables
from maintenance.options import catalog as catalog_options

if TYPE_CHECKING:
    from maintenance.table.table import Table


def open_metastore(options: Mapping[str, str], table_type: TableType = plain_tables) -> Catalog:
    """The catalog that Paimon's catalog options describe; its tables are handed out as `table_type` says.

    Raises: OptionError: no warehouse, or not a path or URI.
    """
    given = {key: str(value) for key, value in options.items()}
    catalog_options.check_names(given)
    catalog_options.TYPE.of(given)
    tables = partial(_with_siblings, given, table_type)
    return _CATALOGS[catalog_options.METASTORE.of(given)](given, tables)


def _with_siblings(options: Mapping[str, str], table_type: TableType) -> "Callable[..., Table]":
    """Makes tables that can open the others of their catalog."""
    from maintenance.metastore.siblings import Siblings

    return partial(table_type(), siblings=Siblings(options, open_metastore))


def _filesystem(options: Mapping[str, str], table_type: TableType) -> Catalog:
    if catalog_options.LOCK_ENABLED.of(options):
        raise UnsupportedError(
            "'lock.enabled' = 'true' is not supported in a filesystem catalog",
            "catalog options",
            "Unset it: snapshots are published by the store's own 'create if absent', see docs/compatibility.md.",
        )
    return FilesystemCatalog(_warehouse(options), FileIO.of(options), dict(options), table_type)


def _warehouse(options: Mapping[str, str]) -> str:
    warehouse = catalog_options.WAREHOUSE.of(options)
    if not warehouse:
        raise OptionError("'warehouse' is not set", "catalog options", "Set it to the path or URI of the warehouse.")
    return warehouse_location(warehouse)


def _jdbc(options: Mapping[str, str], table_type: TableType) -> Catalog:
    from maintenance.metastore.jdbc.catalog import JdbcCatalog

    return JdbcCatalog.open(_warehouse(options), options, table_type)


def _rest(options: Mapping[str, str], table_type: TableType) -> Catalog:
    from maintenance.metastore.rest.catalog import RestCatalog

    return RestCatalog.open(options, table_type)


def _hive(options: Mapping[str, str], table_type: TableType) -> Catalog:
    from maintenance.metastore.hive.catalog import HiveCatalog

    return HiveCatalog.open(options, table_type)


_CATALOGS: Mapping[str, Callable[[Mapping[str, str], TableType], Catalog]] = {
    "filesystem": _filesystem,
    "jdbc": _jdbc,
    "hive": _hive,
    "rest": _rest,
}
