"""Where databases and tables are found, and what users hold of them. This surface is stable.

catalog = open_catalog({"warehouse": "/data/lake"})
table = catalog.get_table("demo.flights")
"""

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
