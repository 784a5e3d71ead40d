"""Every option that is said to be honoured is read by code outside the package of options."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import maintenance
from maintenance.options import materialized
from maintenance.options.families import FAMILIES
from maintenance.options.known import HONOURING, all_options
from maintenance.options.option import Option
from maintenance.options.state import Honoured

ENGINE = Path(maintenance.__file__).parent
OPTIONS = ENGINE / "options"
# What lists options for others: to be in it is not to be read.
_LISTS = {"OF_PLAIN_FILES", "LIMITS", "_TAKEN", "HONOURING", "DEFINITION"}


def names_in(tree: ast.AST) -> Iterator[str]:
    """Names and attributes that code reads; what stands in a list for others does not count."""
    ahead = [tree]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id in _LISTS for target in targets):
                continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        if isinstance(node, ast.Attribute):
            yield node.attr
        ahead.extend(ast.iter_child_nodes(node))


@cache
def outside() -> tuple[frozenset[str], frozenset[str]]:
    """What code outside the package of options has: names that it reads, and texts, docstrings aside."""
    names, texts = set[str](), set[str]()
    for path in ENGINE.rglob("*.py"):
        if OPTIONS in path.parents:
            continue
        tree = ast.parse(path.read_text())
        names |= set(names_in(tree))
        nodes = list(ast.walk(tree))
        docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts |= {
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        }
    return frozenset(names), frozenset(texts)


def read_outside() -> frozenset[str]:
    return outside()[0]


def texts_outside() -> frozenset[str]:
    return outside()[1]


@cache
def definitions() -> dict[str, frozenset[str]]:
    """What each function, class and constant of the package of options reads."""
    found: dict[str, frozenset[str]] = {}
    for path in OPTIONS.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[node.name] = frozenset(names_in(node))
            elif isinstance(node, ast.Assign):
                found |= {ast.unparse(target): frozenset(names_in(node)) for target in node.targets}
    return found


def reached() -> frozenset[str]:
    """What is read outside the package, or by something of it that is."""
    known, ahead = set(read_outside()), list(read_outside())
    while ahead:
        for name in definitions().get(ahead.pop(), frozenset()) - known:
            known.add(name)
            ahead.append(name)
    return frozenset(known)


def constants(module: ModuleType) -> Iterator[tuple[str, Option[object]]]:
    yield from ((name, value) for name, value in vars(module).items() if isinstance(value, Option))


def test_every_honoured_option_is_read_by_code() -> None:
    read = reached()
    unread = {option.key for module in HONOURING for name, option in constants(module) if name not in read}
    assert unread == set()


def test_every_honoured_option_is_a_constant_of_one_of_these_modules() -> None:
    known = {id(option) for module in HONOURING for _, option in constants(module)}
    known |= {id(option) for option in materialized.DEFINITION}
    assert {o.key for o in all_options() if isinstance(o.state, Honoured) and id(o) not in known} == set()


def test_a_definition_reads_what_it_says() -> None:
    keys = definitions()["Definition"] | definitions()["_freshness"]
    values = {getattr(materialized, name) for name in keys if isinstance(getattr(materialized, name, None), str)}
    assert {option.key for option in materialized.DEFINITION} <= values


def test_an_option_that_nobody_reads_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HONOURING[0], "NOBODY", Option("no-body", str, ""), raising=False)
    assert "NOBODY" not in reached()
    assert {"WRITE_BUFFER_SIZE", "NUM_LEVELS", "BLOB_TARGET_FILE_SIZE"} <= reached(), "by code, and through functions"


# Their parts are read by `options/file_index.py`, `options/callbacks.py` and `options/materialized.py`.
_READ_IN_OPTIONS = {"columns", "<option>", "param", "date-formatter"}
# Options of their own have the same keys.
_OPTIONS_TOO = {option.key for option in all_options()} | {key for option in all_options() for key in option.keys}
_PATTERNS = [f.pattern for f in FAMILIES if isinstance(f.state, Honoured) and f.pattern not in _OPTIONS_TOO]


@pytest.mark.parametrize("pattern", _PATTERNS)
def test_every_honoured_family_is_read_by_code(pattern: str) -> None:
    last = pattern.rpartition(">.")[2] or pattern
    if pattern.startswith(("parquet.", "orc.", "avro.")):
        last = pattern.partition(".")[2]
    if pattern.endswith(">"):
        last = "<option>"
    assert last in _READ_IN_OPTIONS or any(last in text for text in texts_outside())
