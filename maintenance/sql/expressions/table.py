"""The one table of operators, functions, aggregates and window functions that queries without Spark know."""

from collections.abc import Mapping, Sequence
from functools import cache

from sqlglot import exp

from maintenance.sql.expressions import (
    aggregates,
    arithmetic,
    arrays,
    bits,
    comparisons,
    encodings,
    json_functions,
    math_functions,
    over_windows,
    session_functions,
    texts,
    times,
    zoned_times,
)
from maintenance.sql.expressions.entries import Dialect, Entry

GENERATORS = ("explode", "posexplode", "inline", "stack")
"""Functions that give several rows."""
# Names of entries that are operators.
_WORDS = frozenset((
    "and", "or", "not", "distinct", "div", "negative", "is_null", "is_not_null", "is_unknown", "is_true", "is_false",
    "is_not_true", "is_not_false",
))  # fmt: skip
_AREAS = (
    arithmetic, comparisons, math_functions, texts, times, arrays, json_functions, aggregates, over_windows,
    session_functions, bits, encodings, zoned_times,
)  # fmt: skip
ENTRIES: Sequence[Entry] = [entry for area in _AREAS for entry in area.ENTRIES]


@cache
def entries_of(dialect: Dialect) -> Mapping[str, Sequence[Entry]]:
    """The entries of a dialect by name, those that are tried first in front."""
    found: dict[str, list[Entry]] = {}
    for entry in ENTRIES:
        if dialect in entry.dialects:
            for name in entry.names:
                found.setdefault(name, []).append(entry)
    return found


def function_names(dialect: Dialect) -> list[str]:
    """The functions that queries of a dialect can call without Spark."""
    own = ("struct", "named_struct") if dialect == "spark" else ("row", "json_value")
    syntax = ("cast", "try_cast", *own)
    names = [*entries_of(dialect), *(GENERATORS if dialect == "spark" else ()), *syntax]
    return sorted(
        name for name in names if name.isidentifier() and name not in _WORDS and not name.startswith("paimon")
    )


def is_many(call: exp.Func) -> bool:
    """Whether a call is one of an aggregate or of a function that gives rows, in any dialect."""
    if not isinstance(call, exp.Anonymous):
        return isinstance(call, exp.AggFunc | exp.UDTF | exp.Explode)
    return call.name.lower() in _many()


@cache
def _many() -> frozenset[str]:
    gathers = {name for entry in ENTRIES if entry.role == "aggregate" for name in entry.names}
    return frozenset({*gathers, *GENERATORS, *(f"{name}_outer" for name in GENERATORS)})
