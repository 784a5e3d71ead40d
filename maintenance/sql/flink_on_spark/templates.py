"""Expressions made from a text with places for others."""

from functools import cache

from sqlglot import exp, parse_one


def made(template: str, **parts: exp.Expr | str | int) -> exp.Expr:
    """The expression of a template in which ``:name`` stands for a part. The parts are copied."""
    whole = {
        name: exp.paren(part.copy()) if isinstance(part, exp.Expr) else exp.convert(part)
        for name, part in parts.items()
    }
    tree: exp.Expr = exp.replace_placeholders(_parsed(template).copy(), **whole)
    return tree


@cache
def _parsed(template: str) -> exp.Expr:
    return parse_one(template)
