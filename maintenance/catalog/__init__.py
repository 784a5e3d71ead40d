"""Where databases and tables are found, and what users hold of them. This surface is stable.

catalog = open_catalog({"warehouse": "/data/lake"})
table = catalog.get_table("demo.flights")

Each name is imported when it is first used: a catalog lists its tables without what reads and writes them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maintenance.catalog.open import Catalog, open_catalog
    from maintenance.catalog.table import CatalogTable
    from maintenance.metastore.database import Database
    from maintenance.metastore.partitions import Partition
    from maintenance.metastore.schema import Schema
    from maintenance.metastore.schema_change import (
        FIRST,
        LAST,
        AddColumn,
        DropColumn,
        DropPrimaryKey,
        Position,
        RemoveOption,
        RenameColumn,
        SchemaChange,
        SetOption,
        UpdateColumnComment,
        UpdateColumnDefaultValue,
        UpdateColumnNullability,
        UpdateColumnPosition,
        UpdateColumnType,
        UpdateComment,
        after,
        before,
    )
    from maintenance.metastore.view import AddDialect, DropDialect, UpdateDialect, View, ViewChange
    from maintenance.table.format_table import FormatTable
    from maintenance.table.object_table import ObjectTable

__all__ = [
    "FIRST",
    "LAST",
    "AddColumn",
    "AddDialect",
    "Catalog",
    "CatalogTable",
    "Database",
    "DropColumn",
    "DropDialect",
    "DropPrimaryKey",
    "FormatTable",
    "ObjectTable",
    "Partition",
    "Position",
    "RemoveOption",
    "RenameColumn",
    "Schema",
    "SchemaChange",
    "SetOption",
    "UpdateColumnComment",
    "UpdateColumnDefaultValue",
    "UpdateColumnNullability",
    "UpdateColumnPosition",
    "UpdateColumnType",
    "UpdateComment",
    "UpdateDialect",
    "View",
    "ViewChange",
    "after",
    "before",
    "open_catalog",
]

_HOMES = {
    "maintenance.catalog.open": (
        "Catalog",
        "open_catalog",
    ),
    "maintenance.catalog.table": ("CatalogTable",),
    "maintenance.table.format_table": ("FormatTable",),
    "maintenance.table.object_table": ("ObjectTable",),
    "maintenance.metastore.database": ("Database",),
    "maintenance.metastore.partitions": ("Partition",),
    "maintenance.metastore.schema": ("Schema",),
    "maintenance.metastore.schema_change": (
        "FIRST",
        "LAST",
        "AddColumn",
        "DropColumn",
        "DropPrimaryKey",
        "Position",
        "RemoveOption",
        "RenameColumn",
        "SchemaChange",
        "SetOption",
        "UpdateColumnComment",
        "UpdateColumnDefaultValue",
        "UpdateColumnNullability",
        "UpdateColumnPosition",
        "UpdateColumnType",
        "UpdateComment",
        "after",
        "before",
    ),
    "maintenance.metastore.view": (
        "AddDialect",
        "DropDialect",
        "UpdateDialect",
        "View",
        "ViewChange",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
