"""Every operation, by Paimon's name: `from maintenance.operations import compact, expire_snapshots, create_tag`.

This surface is stable, and so are the short paths of modules, as `maintenance.operations.create_tag`; the packages
behind them are free to change. An operation is found by the module that holds it and imported when it is first used.
`__init__.pyi` says to type checkers what there is.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from maintenance.operation_names import operation_modules

# What belongs to Python and to statements of SQL: rows are in the caller's hands, or the answer is an object.
_FUNCTIONS = {
    "advise_file_index": "indexes",
    "analyze_table": "indexes",
    "audit_changelog": "checks",
    "explain_scan": "checks",
    "ingest": "ingestion",
    "ingest_stream": "ingestion",
    "merge_into": "rows",
    "probe_file_index": "indexes",
}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_names())
    if name not in _names():
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(_module(name), name)


def __dir__() -> list[str]:
    return sorted({*globals(), "__all__", *_names()})


def _names() -> set[str]:
    return {*_FUNCTIONS, *operation_modules()}


def _module(name: str) -> ModuleType:
    found = operation_modules().get(name)
    return import_module(f"{__name__}.{_FUNCTIONS[name]}.{name}" if found is None else found.module)


class _ShortPath(ModuleType):
    """The module of an operation under its short path."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what the import system asks for must not import the module
            raise AttributeError(name)
        return getattr(_module(self.__name__.rpartition(".")[2]), name)


for _name in _names():
    sys.modules.setdefault(f"{__name__}.{_name}", _ShortPath(f"{__name__}.{_name}"))
