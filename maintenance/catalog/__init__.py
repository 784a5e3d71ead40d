"""Catalogs: where databases and tables are found.

catalog = open_catalog({"warehouse": "/data/lake"})
table = catalog.get_table("demo.flights")
"""

from maintenance.catalog.catalog import Catalog
from maintenance.catalog.open import open_catalog
from maintenance.catalog.schema import Schema
from maintenance.catalog.schema_change import (
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
