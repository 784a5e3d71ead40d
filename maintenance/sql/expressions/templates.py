"""Expressions of DuckDB made from texts, each of which is read once.

In a text ``a``, ``b`` … ``h`` stand for the parts of a call in order, and ``rest`` for all behind the last of these.
Names of lambdas begin with ``_``. No function is translated: what is written reaches DuckDB.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from sqlglot import exp, parse_one
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.parsers.duckdb import DuckDBParser

PLACES = "abcdefgh"
REST = "rest"
_SYNTAX = ("CAST", "TRY_CAST", "EXTRACT")
_APART = (exp.Binary, exp.Unary, exp.Between, exp.In, exp.Is, exp.Interval)


CHECKED = "paimon_checked"
"""This key is in the `meta` of arithmetic with a constant that may overflow.

DuckDB takes `a + 1 <= 1` for `a <= 0`, and sees no overflow then; out of functions it moves no constants.
"""


class Duck(DuckDB):
    """DuckDB's dialect, which knows no function: what is written is what DuckDB gets."""

    class Parser(DuckDBParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: parser for name, parser in DuckDBParser.FUNCTION_PARSERS.items() if name in _SYNTAX
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}

    class Generator(DuckDBGenerator):
        def add_sql(self, expression: exp.Add) -> str:
            return self._checked(expression, "add") or super().add_sql(expression)

        def sub_sql(self, expression: exp.Sub) -> str:
            return self._checked(expression, "subtract") or super().sub_sql(expression)

        def mul_sql(self, expression: exp.Mul) -> str:
            return self._checked(expression, "multiply") or super().mul_sql(expression)

        def _checked(self, node: exp.Binary, name: str) -> str:
            return self.func(name, node.this, node.expression) if CHECKED in node.meta else ""

        def ignorenulls_sql(self, expression: exp.IgnoreNulls) -> str:
            return f"{self.sql(expression, 'this')} IGNORE NULLS"


@cache
def _parsed(template: str) -> exp.Expr:
    tree = parse_one(template, dialect=Duck)
    for name in tree.find_all(exp.Identifier):
        if name.name.startswith("_") and not name.quoted:
            name.set("this", f"paimon{name.name}")
    return tree


def made(template: str, parts: Sequence[exp.Expr], first: int | None = None) -> exp.Expr:
    """The expression. `parts`: of the call, copied where they stand more than once; `first`: of those in `rest`."""
    return filled(template, dict(zip(PLACES, parts, strict=False)), parts[len(PLACES) if first is None else first :])


def filled(template: str, parts: Mapping[str, exp.Expr], rest: Sequence[exp.Expr] = ()) -> exp.Expr:
    """The expression with its parts by name."""
    tree = _parsed(template).copy()
    if isinstance(tree, exp.Column) and not tree.table and tree.name in parts:
        return parts[tree.name]
    used: set[str] = set()
    for column in list(tree.find_all(exp.Column)):
        name = column.name
        if column.table or (name not in parts and name != REST):
            continue
        if name == REST:
            around = column.parent
            assert around is not None
            listed = around.expressions
            at = next(number for number, each in enumerate(listed) if each is column)
            around.set("expressions", [*listed[:at], *(part.copy() for part in rest), *listed[at + 1 :]])
            continue
        part = parts[name].copy() if name in used else parts[name]
        used.add(name)
        column.replace(apart(part) if not isinstance(column.parent, exp.Anonymous | exp.Cast) else part)
    return tree


def apart(node: exp.Expr) -> exp.Expr:
    """An expression as a part of another one."""
    return exp.Paren(this=node) if isinstance(node, _APART) else node


def renamed(tree: exp.Expr, change: Callable[[exp.Expr], exp.Expr | None]) -> exp.Expr:
    """The tree with some nodes replaced, from the inside out."""
    for node in reversed(list(tree.walk())):
        instead = change(node)
        if instead is not None:
            if node is tree:
                tree = instead
            else:
                node.replace(instead)
    return tree
