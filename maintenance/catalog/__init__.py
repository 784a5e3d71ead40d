"""Where databases and tables are found, and what users hold of them. This surface is stable.

catalog = open_catalog({"warehouse": "/data/lake"})
table = catalog.get_table("demo.flights")
"""

from maintenance.catalog.open import Catalog, open_catalog
from maintenance.catalog.table import CatalogTable
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

__all__ = [
    "FIRST",
    "LAST",
    "AddColumn",
    "Catalog",
    "CatalogTable",
    "DropColumn",
    "DropPrimaryKey",
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
    "after",
    "before",
    "open_catalog",
]
