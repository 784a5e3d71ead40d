"""Columns of every supported type, their values (few of them, so that they meet) and random predicates on them."""

import decimal
import math
from typing import Any

from hypothesis import strategies as st

from maintenance.predicate.tree import (
    And,
    Compare,
    Constant,
    Contains,
    EndsWith,
    In,
    IsNull,
    Like,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from maintenance.types.data_type import DataField, parse_type

TYPES = {
    "flag": "BOOLEAN",
    "tiny": "TINYINT",
    "small": "SMALLINT",
    "number": "INT",
    "big": "BIGINT",
    "single": "FLOAT",
    "double": "DOUBLE",
    "price": "DECIMAL(5, 2)",
    "total": "DECIMAL(38, 10)",
    "code": "CHAR(4)",
    "name": "STRING",
    "raw": "BYTES",
    "fixed": "BINARY(3)",
    "day": "DATE",
    "clock": "TIME(3)",
    "seconds": "TIMESTAMP(0)",
    "millis": "TIMESTAMP(3)",
    "micros": "TIMESTAMP(6)",
    "nanos": "TIMESTAMP(9)",
    "instant": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
}
FIELDS = tuple(DataField(number, name, parse_type(text)) for number, (name, text) in enumerate(TYPES.items()))
BY_NAME = {field.name: field for field in FIELDS}

LETTERS = ("a", "b", "?", "%", "_", "\\", "'", "\n", "é", "\ud7ff", "\ue000", "\U0001f600", "\U0010ffff")
texts = st.text(st.sampled_from(LETTERS), max_size=4)
_FLOATS = (0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf)
_GRAIN = {"seconds": 10**6, "millis": 10**6, "micros": 10**3, "nanos": 1, "instant": 10**3}
_BITS = {"tiny": 8, "small": 16, "number": 32, "big": 64}


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-3, 3) | st.sampled_from((-(1 << bits - 1), (1 << bits - 1) - 1))


def decimals(digits: int, scale: int) -> st.SearchStrategy[decimal.Decimal]:
    unscaled = st.integers(-3, 3) | st.integers(1 - 10**digits, 10**digits - 1)
    return unscaled.map(lambda number: decimal.Decimal(number).scaleb(-scale, decimal.Context(prec=50)))


def values(field: DataField) -> st.SearchStrategy:
    """Internal values of a column, never None."""
    match field.type.root:
        case "BOOLEAN":
            return st.booleans()
        case "FLOAT":
            return st.sampled_from(_FLOATS) | st.floats(width=32)
        case "DOUBLE":
            return st.sampled_from(_FLOATS) | st.floats()
        case "DECIMAL":
            return decimals(field.type.precision or 0, field.type.scale or 0)
        case "CHAR" | "VARCHAR":
            return texts
        case "BINARY" | "VARBINARY":
            return st.binary(max_size=3)
        case "DATE":
            return integers(16)
        case "TIME":
            return st.integers(0, 3) | st.integers(0, 86_399_999)
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return integers(40).map(lambda number: number * _GRAIN[field.name])
    return integers(_BITS[field.name])


def patterns() -> st.SearchStrategy[tuple[str, str]]:
    """A pattern of LIKE and its escape character."""
    pieces = st.sampled_from(("a", "b", "%", "_", "!%", "!_", "!!", "\n", "é", "\U0001f600", "\\"))
    return st.tuples(st.lists(pieces, max_size=4).map("".join), st.just("!"))


def leaves() -> st.SearchStrategy[Predicate]:
    return st.sampled_from(FIELDS).flatmap(leaves_of)


def leaves_of(field: DataField) -> st.SearchStrategy[Predicate]:
    ops = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
    kinds: list[st.SearchStrategy[Predicate]] = [
        st.builds(Compare, ops, st.just(field.name), values(field)),
        st.builds(In, st.just(field.name), st.lists(values(field), max_size=4).map(tuple)),
        st.just(IsNull(field.name)),
    ]
    if field.type.is_string:
        kinds += [st.builds(test, st.just(field.name), texts) for test in (StartsWith, EndsWith, Contains)]
        kinds.append(patterns().map(lambda pattern: Like(field.name, *pattern)))
    return st.one_of(kinds)


def predicates() -> st.SearchStrategy[Predicate]:
    constants = st.sampled_from((True, False, None)).map(Constant)

    def grown(inner: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
        several = st.lists(inner, max_size=3).map(tuple)
        return several.map(And) | several.map(Or) | inner.map(Not)

    return st.recursive(leaves() | leaves() | leaves() | constants, grown, max_leaves=6)


def rows(columns: frozenset[str], max_size: int = 12) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows of internal values in the given columns, every one nullable."""
    row = st.fixed_dictionaries({name: st.none() | values(BY_NAME[name]) for name in sorted(columns)})
    return st.lists(row, max_size=max_size)
