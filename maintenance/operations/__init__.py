"""Every operation, by Paimon's name: `from maintenance.operations import compact, expire_snapshots, create_tag`.

This surface is stable; the packages behind it are free to change. An operation is found by the module that holds it and
imported when it is first used. `__init__.pyi` says to type checkers what there is.
"""

from importlib import import_module
from typing import Any

from maintenance.operation_names import operation_modules

# What belongs to Python and to statements of SQL: rows are in the caller's hands, or the answer is an object.
_FUNCTIONS = {
    "advise_file_index": "indexes",
    "analyze_table": "indexes",
    "audit_changelog": "checks",
    "clone": "databases",
    "explain_scan": "checks",
    "ingest": "ingestion",
    "ingest_landed": "ingestion",
    "ingest_stream": "ingestion",
    "merge_into": "rows",
    "migrate_database": "databases",
    "migrate_table": "databases",
    "probe_file_index": "indexes",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted({*_FUNCTIONS, *operation_modules()})
    found = operation_modules().get(name)
    if found is None and name not in _FUNCTIONS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    module = f"{__name__}.{_FUNCTIONS[name]}.{name}" if found is None else found.module
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), "__all__", *_FUNCTIONS, *operation_modules()})
