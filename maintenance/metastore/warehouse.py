"""Where a catalog's warehouse is: the folder in which plans and the bin lie."""

from maintenance.errors import UnsupportedError
from maintenance.fs.location import is_absolute
from maintenance.metastore.catalog import Catalog
from maintenance.options import catalog as catalog_options


def warehouse_folder(catalog: Catalog) -> str | None:
    """The folder; None where a REST server knows the warehouse by a name alone."""
    is_named = catalog_options.METASTORE.of(catalog.options) == "rest" and not is_absolute(catalog.warehouse)
    return None if is_named else catalog.warehouse


def known_folder(catalog: Catalog) -> str:
    """The same, for work that needs it. Raises: UnsupportedError: there is none."""
    folder = warehouse_folder(catalog)
    if folder is None:
        raise UnsupportedError(
            f"the warehouse '{catalog.warehouse}' of the REST catalog is a name, not a folder: "
            "the bin and plans have no place",
            catalog.options.get(catalog_options.URI.key, "catalog"),
            "Work without the bin, and without keeping a plan.",
        )
    return folder
