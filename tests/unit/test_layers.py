"""Who may import whom, inside functions too: import-linter judges what pyproject.toml allows, without an exemption.

And how tests are called, for that is in the same trees."""

import ast
import os
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RULES = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS: list[dict[str, Any]] = RULES["contracts"]
LAYERS = [contract for contract in CONTRACTS if contract["type"] == "layers"]
FORBIDDEN = [contract for contract in CONTRACTS if contract["type"] == "forbidden"]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def sources(package: str) -> Iterator[Path]:
    """The modules of a package, behind links as well."""
    for folder, _, names in os.walk(ROOT / package, followlinks=True):
        yield from (Path(folder, name) for name in names if name.endswith(".py"))


MODULES = {module_name(path): path for name in RULES["root_packages"] for path in sources(name)}


def imports_of(path: Path) -> list[tuple[int, str]]:
    """Line and dotted name of every import, wherever it stands; names that are modules count as such.

    Those under `if TYPE_CHECKING` are left out: they import nothing when the program runs.
    """
    tree = ast.parse(path.read_text())
    nodes = list(ast.walk(tree))
    for_types = {
        line
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    collected: list[tuple[int, str]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            collected += ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            assert node.module is not None
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            collected += ((node.lineno, name if name in MODULES else node.module) for name in full)
    return [(line, name) for line, name in collected if line not in for_types]


@cache
def imports() -> dict[str, list[tuple[int, str]]]:
    """What each module imports: read when a test wants it, not by every process that collects the tests."""
    return {module: imports_of(path) for module, path in MODULES.items()}


def within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def place_of(module: str, layers: list[list[str]]) -> tuple[int, str] | None:
    """The number of a module's layer from above, and its part of the layer; None if it is in no layer."""
    for number, parts in enumerate(layers):
        for part in parts:
            if within(module, part):
                return number, part
    return None


def layers_of(contract: dict[str, Any]) -> Iterator[list[list[str]]]:
    """The layers, each as the full names of its parts, once for each container."""
    for container in contract.get("containers", [""]):
        prefix = f"{container}." if container else ""
        yield [[prefix + part.strip(" ()") for part in layer.split("|")] for layer in contract["layers"]]


def climbs(layers: list[list[str]], imports: dict[str, list[tuple[int, str]]]) -> list[str]:
    """Imports of a higher layer, or of another part of the same one."""
    collected = []
    for module, lines in imports.items():
        own = place_of(module, layers)
        for line, name in lines:
            other = place_of(name, layers)
            if own is not None and other is not None and (other[0] < own[0] or (other[0] == own[0] and other != own)):
                collected.append(f"{module}:{line} imports {name}")
    return collected


@pytest.mark.parametrize("contract", LAYERS, ids=lambda contract: contract["name"])
def test_every_import_goes_down(contract: dict[str, Any]) -> None:
    assert [line for layers in layers_of(contract) for line in climbs(layers, imports())] == []


@pytest.mark.parametrize("contract", FORBIDDEN, ids=lambda contract: contract["name"])
def test_what_is_forbidden_is_imported_nowhere(contract: dict[str, Any]) -> None:
    wrong = [
        f"{module}:{line} imports {name}"
        for source in contract["source_modules"]
        for module, lines in imports().items()
        if within(module, source)
        for line, name in lines
        if any(within(name, forbidden) for forbidden in contract["forbidden_modules"])
    ]
    assert wrong == []


def test_a_climb_in_a_function_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "low.py"
    path.write_text("def read():\n    from maintenance.table.table import Table\n    return Table\n")
    (layers,) = layers_of(next(contract for contract in LAYERS if contract.get("containers") == ["maintenance"]))
    actual = climbs(layers, {"maintenance.format.low": imports_of(path)})
    assert actual == ["maintenance.format.low:2 imports maintenance.table.table"]


def test_no_modules_import_each_other() -> None:
    """Nor in a circle of several."""
    graph = {module: {name for _, name in lines if name in MODULES} for module, lines in imports().items()}
    TopologicalSorter(graph).prepare()


def test_no_contract_has_an_exemption() -> None:
    exempt = {"ignore_imports", "unmatched_ignore_imports_alerting", "allow_indirect_imports"}
    assert [contract["name"] for contract in CONTRACTS if exempt & contract.keys()] == []
    assert not RULES.get("exclude_type_checking_imports", False)


def test_every_package_of_the_engine_has_a_layer() -> None:
    (layers,) = layers_of(next(contract for contract in LAYERS if contract.get("containers") == ["maintenance"]))
    inside = {module.split(".")[1] for module in MODULES if module.startswith("maintenance.")}
    assert {f"maintenance.{name}" for name in inside} == {part for parts in layers for part in parts}


def test_modules_are_imported_by_the_names_that_an_installed_package_has() -> None:
    short = {path.stem for path in (ROOT / "paimon_maintenance").iterdir()} - {"__init__", "__pycache__"}
    assert "assets" in short
    wrong = [
        f"{module}:{line} imports {name}"
        for module, lines in imports().items()
        for line, name in lines
        if name.split(".")[0] in short
    ]
    assert wrong == []


def test_what_a_wheel_holds_beside_the_engine_is_linked_and_not_copied() -> None:
    own = {path.name for path in (ROOT / "paimon_maintenance").iterdir() if not path.is_symlink()}
    assert own - {"__pycache__"} == {"__init__.py"}


def test_private_names_of_dagster_are_used_in_one_module_and_by_the_launcher() -> None:
    users = {name for name, imported in imports().items() if any(each.startswith("dagster._") for _, each in imported)}
    assert users == {"paimon_maintenance.assets.dagster_release", "paimon_maintenance.run_launcher.internals"}


def test_names_of_tests_say_in_four_words_at_least_what_is_expected() -> None:
    short = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        names = re.findall(r"^(?: {4})?def (test(?:_[^_(]*){1,3})\(", path.read_text(), re.MULTILINE)
        short += [f"{path.relative_to(ROOT)}: {name}" for name in names]
    assert not short, "\n".join(
        ["These names do not say what is expected to hold. Give each four words or more:", *short]
    )
