"""What `scripts/figures` counts: sources with known answers."""

import ast
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def figures() -> Any:
    loader = SourceFileLoader("figures", str(ROOT / "scripts/figures"))
    spec = spec_from_loader("figures", loader)
    assert spec is not None
    module = module_from_spec(spec)
    import sys

    sys.modules["figures"] = module  # dataclasses look for their module
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("edges", "cycle"),
    [
        ({"a": {"b"}, "b": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}, ["a", "b", "c"]),
        ({"a": {"b"}, "b": {"a"}, "c": {"d", "a"}, "d": {"e"}, "e": {"f"}, "f": {"c"}}, ["c", "d", "e", "f"]),
        ({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": {"a"}}, ["a", "b", "c", "d"]),
        ({"a": {"c", "b"}, "c": set(), "b": {"a", "c"}}, ["a", "b"]),
    ],
)
def test_the_largest_cycle_is_found(figures: Any, edges: dict[str, set[str]], cycle: list[str]) -> None:
    assert figures.largest_cycle(edges) == cycle


def test_imports_in_functions_count_as_deferred_and_those_for_types_not_at_all(figures: Any) -> None:
    source = """
from typing import TYPE_CHECKING
import a.b
if TYPE_CHECKING:
    from c import d
else:
    import e
def work():
    from f import g
"""
    module = figures.Module("m", Path("m.py"), 9, ast.parse(source))
    assert list(module.imported()) == [
        ("typing.TYPE_CHECKING", False),
        ("a.b", False),
        ("e", False),
        ("f.g", True),
    ]


def test_parameters_are_counted_without_self_and_callables_by_their_hints(figures: Any) -> None:
    source = "def f(self, a, /, b: Callable[[int], str], *, c: int, d: Mapping[str, Callable[..., int]] | None): ..."
    (function,) = ast.parse(source).body
    parameters = figures.parameters_of(function)
    assert [each.arg for each in parameters] == ["a", "b", "c", "d"]
    assert [each.arg for each in parameters if figures.is_callable(each)] == ["b", "d"]


def test_prose_does_not_name_an_operation(figures: Any) -> None:
    tree = ast.parse('"""expire_tags is told of."""\nfrom m.expire_tags import x\nJOB = "clone"\n')
    words = {word for node in ast.walk(tree) for word in figures._words(node)}
    assert {"expire_tags", "clone"} <= words
    told = {word for node in ast.walk(ast.parse('"""expire_tags is told of."""')) for word in figures._words(node)}
    assert "expire_tags" not in told


@pytest.mark.parametrize(
    ("source", "reads"),
    [("BUCKET.of(options)", True), ("table_options.BUCKET.of(x)", True), ("Plan.of(x)", False), ("of(BUCKET)", False)],
)
def test_reads_of_single_options_are_counted(figures: Any, source: str, reads: bool) -> None:
    assert figures.reads_option(ast.parse(source, mode="eval").body) == reads
