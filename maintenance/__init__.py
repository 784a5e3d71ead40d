"""The engine: reads, writes and maintains Apache Paimon tables. Knows nothing of Dagster.

import maintenance as pm

table = pm.open_catalog({"warehouse": "/data/lake"}).get_table("shop.orders")
pm.compact(None, table)
pm.sql.Session({"warehouse": "/data/lake"}).sql("SELECT COUNT(*) FROM shop.orders")

These names are stable: `open_catalog`, `Catalog`, `Schema`, the operations by Paimon's names, and the modules
`catalog`, `errors`, `operations` and `sql`. Each is imported when it is first used.
"""

import os
from importlib import import_module
from typing import Any

# In milliseconds, and read when Arrow is loaded: otherwise its allocator gives freed memory back to the system at once,
# and to get it again, page by page, takes up to a third of the time of reading.
os.environ.setdefault("MIMALLOC_PURGE_DELAY", "1000")

_MODULES = ("catalog", "errors", "operations", "sql")
_OF_CATALOG = ("Catalog", "Schema", "open_catalog")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _OF_CATALOG:
        return getattr(import_module(f"{__name__}.catalog"), name)
    if not name.startswith("_"):
        known = import_module(f"{__name__}.operations")
        if name in known.__all__:
            return getattr(known, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_MODULES, *_OF_CATALOG, *import_module(f"{__name__}.operations").__all__])
