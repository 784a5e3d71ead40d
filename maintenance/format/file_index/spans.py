"""A condition on a column in terms of its keys: some ranges, all but those ranges, or the rows without a value.

A range may be wider than the condition where keys are coarser than values: timestamps of more than six digits, texts
that a pattern begins with. Rows are filtered again after they are read.
"""

import decimal
from dataclasses import dataclass

import numpy as np

from maintenance.format.file_index.keys import Key, float_keys, timestamp_grain
from maintenance.predicate.bounds import successor
from maintenance.predicate.like import prefix_of
from maintenance.predicate.tree import (
    Compare,
    Contains,
    EndsWith,
    In,
    IsNull,
    Leaf,
    Like,
    Not,
    Operator,
    StartsWith,
)
from maintenance.types.data_type import DataType
from maintenance.types.values import Value

_WIDE = decimal.Context(prec=100)


@dataclass(frozen=True, slots=True)
class Span:
    """Keys from `low` to `high`, both included unless said otherwise; None is without bound."""

    low: Key | None = None
    high: Key | None = None
    without_low: bool = False
    without_high: bool = False

    def holds(self, key: Key) -> bool:
        """Whether a key is in it."""
        above = self.low is None or (key > self.low if self.without_low else key >= self.low)  # type: ignore[operator]
        below = self.high is None or (key < self.high if self.without_high else key <= self.high)  # type: ignore[operator]
        return above and below

    @property
    def point(self) -> Key | None:
        """Its only key, None if it has more."""
        alone = self.low is not None and self.low == self.high and not self.without_low and not self.without_high
        return self.low if alone else None


@dataclass(frozen=True, slots=True)
class Asked:
    """Rows whose key is in a span; with `negated` rows whose key is in none; with `nulls` the rows without a key."""

    spans: tuple[Span, ...] = ()
    negated: bool = False
    nulls: bool = False


ANY = Asked((Span(),))


def asked_of(condition: Leaf | Not, data_type: DataType) -> Asked:
    """The keys of the rows that can satisfy a condition. `condition`: a leaf, or NOT of one that is no `Compare`."""
    if isinstance(condition, Not):
        leaf = condition.child
        if isinstance(leaf, IsNull):
            return ANY
        if isinstance(leaf, In):
            return _none_of(leaf.values, data_type)
        if isinstance(leaf, StartsWith) and leaf.text:
            return Asked(_prefixed(leaf.text), negated=True)
        return ANY
    match condition:
        case IsNull():
            return Asked(nulls=True)
        case Compare("!=", _, value):
            return _none_of((value,), data_type)
        case Compare(op, _, value):
            return Asked((_compared(op, value, data_type),))
        case In(_, values):
            return Asked(tuple(_compared("=", value, data_type) for value in values))
        case StartsWith(_, text):
            return Asked(_prefixed(text))
        case Like(_, pattern, escape):
            return Asked(_prefixed(prefix_of(pattern, escape)))
        case EndsWith() | Contains():
            return ANY
    raise AssertionError(condition)


def _none_of(values: tuple[Value, ...], data_type: DataType) -> Asked:
    exact = all(_keys_of(value, data_type)[2] for value in values)
    return Asked(tuple(_compared("=", value, data_type) for value in values), negated=True) if exact else ANY


def _prefixed(text: str) -> tuple[Span, ...]:
    if not text:
        return (Span(),)
    after = successor(text)
    return (Span(text.encode(), None if after is None else after.encode(), without_high=True),)


def _compared(op: Operator, value: Value, data_type: DataType) -> Span:
    low, high, exact = _keys_of(value, data_type)
    match op:
        case "=":
            return Span(low, high)
        case "<":
            return Span(None, low, without_high=True) if exact else Span(None, high)
        case "<=":
            return Span(None, high)
        case ">":
            return Span(high, None, without_low=True) if exact else Span(low, None)
    return Span(low, None)


def _keys_of(value: Value, data_type: DataType) -> tuple[Key, Key, bool]:
    """The first and last key of values that compare equal, and whether no other value has such a key."""
    if isinstance(value, str):
        return value.encode(), value.encode(), True
    if data_type.root in ("FLOAT", "DOUBLE"):
        return _float_keys(float(value), data_type.root)  # type: ignore[arg-type]
    if isinstance(value, decimal.Decimal) or data_type.root == "DECIMAL":
        return _floor(decimal.Decimal(value).scaleb(data_type.scale or 0, _WIDE))  # type: ignore[arg-type]
    number = int(value)  # type: ignore[arg-type]
    if data_type.is_timestamp:
        grain = timestamp_grain(data_type)
        key, rest = divmod(number, grain)
        return key, key, not rest and (data_type.precision or 0) <= 6
    return number, number, True


def _float_keys(value: float, root: str) -> tuple[Key, Key, bool]:
    kind = np.float32 if root == "FLOAT" else np.float64
    zeros = value == 0
    with np.errstate(over="ignore"):
        held = np.array([-0.0, 0.0] if zeros else [value, value], kind)
    low, high = float_keys(held, root).tolist()
    return low, high, bool(np.isnan(value) or float(held[1]) == value)


def _floor(number: decimal.Decimal) -> tuple[Key, Key, bool]:
    whole = number.to_integral_value(decimal.ROUND_FLOOR, _WIDE)
    return int(whole), int(whole), whole == number
