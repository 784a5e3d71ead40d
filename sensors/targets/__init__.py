"""Where alerts go: one module for each kind of target, with its settings and how it sends. All of them are loaded."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("_"):
        importlib.import_module(f"{__name__}.{_module.name}")
