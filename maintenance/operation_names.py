"""Which operations there are, found by the modules that hold them: `paimonctl` lists them without importing any.

A module of a package in `operations/`, or of `sql/operations/`, that has
`OPERATION = Operation("name", "What it does.", ...)` is an operation, and each
`Spelling("name", "What it does.", ...)` in it another name of it. Both begin with literals.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

_PACKAGE, _OF_SQL = "maintenance.operations", "maintenance.sql.operations"
_TEXT = r'\(\s*"([^"]*)",\s*"([^"]*)"'
_OPERATION = re.compile(rf"^OPERATION(?:: [^=]+)? = Operation{_TEXT}", re.MULTILINE)
_SPELLING = re.compile(r'\bSpelling\(\s*"([^"]*)"(?:,\s*"([^"]*)")?')

# What statements of SQL do has no other names.
_NONE = "spellings=()"


@dataclass(frozen=True, slots=True)
class OperationModule:
    """Where an operation is. `commands`: the names of its commands, and what each does."""

    module: str
    commands: Mapping[str, str]


def operation_modules() -> Mapping[str, OperationModule]:
    """The operations by name, sorted."""
    found = find_spec(_PACKAGE)
    places = () if found is None or found.submodule_search_locations is None else found.submodule_search_locations
    return _modules_below(tuple(places))


def commands() -> Mapping[str, str]:
    """All commands of operations, and what each does."""
    return {name: text for each in operation_modules().values() for name, text in each.commands.items() if text}


@cache
def _modules_below(places: Sequence[str]) -> Mapping[str, OperationModule]:
    root = files("maintenance")
    # In the archive that a cluster's workers get, they are no folders of a disk.
    operations = [Path(place) if Path(place).is_dir() else root.joinpath("operations") for place in places]
    found = [each for place in operations for package in place.iterdir() for each in _modules_in(package, _PACKAGE)]
    # Without importing SQL, which takes long.
    found += _modules_in(root.joinpath("sql", "operations"), _OF_SQL.rpartition(".")[0])
    return dict(sorted(found))


def _modules_in(folder: Traversable, above: str) -> Iterator[tuple[str, OperationModule]]:
    modules = [path for path in folder.iterdir() if path.name.endswith(".py")] if folder.is_dir() else []
    for path in sorted(modules, key=lambda path: path.name):
        source = path.read_text(encoding="utf-8")
        head = _OPERATION.search(source)
        if head is not None:
            spelt = dict(_SPELLING.findall(source)) or ({} if _NONE in source else {head[1]: head[2]})
            yield head[1], OperationModule(f"{above}.{folder.name}.{path.name.removesuffix('.py')}", spelt)
