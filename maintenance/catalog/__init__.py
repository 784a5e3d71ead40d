"""Catalogs: where databases and tables are found.

catalog = open_catalog({"warehouse": "/data/lake"})
table = catalog.get_table("demo.flights")
"""

from maintenance.catalog.catalog import Catalog
from maintenance.catalog.open import open_catalog
from maintenance.catalog.schema import Schema
from maintenance.catalog.schema_change import (
    RemoveOption,
    SchemaChange,
    SetOption,
)

__all__ = ["Catalog", "RemoveOption", "Schema", "SchemaChange", "SetOption", "open_catalog"]
