"""Aggregate functions, one value after the other: what an addition, a late addition and a retraction make of a value.

Written from the rules of Paimon's reference (data section 4.5). Values are plain Python values; None is null. Rows of
nested functions are dicts.
"""

import math
import struct
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

from tests.models.order import ordered

EXACT = Context(prec=300, rounding=ROUND_HALF_UP)
INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


class RetractError(Exception):
    """The function cannot take a retraction."""


class RangeError(Exception):
    """The result does not fit, or cannot be computed."""


class Function:
    """Aggregates one key's values. `root`: keyword of the type; `digits`: precision and scale of a DECIMAL."""

    retracts = True

    def __init__(self, root: str, digits: tuple[int, int] = (0, 0), options: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.digits = digits
        self.options = options or {}

    def add(self, value: Any, given: Any) -> Any:
        raise NotImplementedError

    def add_late(self, value: Any, given: Any) -> Any:
        return self.add(given, value)

    def retract(self, value: Any, given: Any) -> Any:
        raise RetractError


class SkipsNull(Function):
    """Null changes nothing; the first value is taken as it is."""

    def add(self, value: Any, given: Any) -> Any:
        if value is None or given is None:
            return given if value is None else value
        return self.both(value, given)

    def both(self, value: Any, given: Any) -> Any:
        raise NotImplementedError


class Numeric(SkipsNull):
    def fit(self, result: Any) -> Any:
        if self.root in INTEGER_BITS:
            bound = 1 << INTEGER_BITS[self.root] - 1
            if not -bound <= result < bound:
                raise RangeError
            return result
        if self.root == "FLOAT":
            try:
                return struct.unpack("<f", struct.pack("<f", result))[0]
            except OverflowError:
                return math.copysign(math.inf, result)
        return result


class Sum(Numeric):
    def both(self, value: Any, given: Any) -> Any:
        return self.limited(EXACT.add(value, given) if self.root == "DECIMAL" else value + given)

    def retract(self, value: Any, given: Any) -> Any:
        if value is None:
            return None if given is None else self.fit(EXACT.minus(given) if self.root == "DECIMAL" else -given)
        return value if given is None else self.both(value, EXACT.minus(given) if self.root == "DECIMAL" else -given)

    def limited(self, result: Any) -> Any:
        if self.root != "DECIMAL":
            return self.fit(result)
        precision, scale = self.digits
        unscaled = int(result.scaleb(scale, EXACT))
        if precision <= 18:
            return result if -(2**63) <= unscaled < 2**63 else None
        return result if abs(unscaled) < 10**precision else None


class Product(Numeric):
    def both(self, value: Any, given: Any) -> Any:
        if self.root == "DECIMAL":
            return self.rounded(EXACT.multiply(value, given))
        return self.fit(value * given)

    def retract(self, value: Any, given: Any) -> Any:
        if value is None or given is None:
            return value
        if self.root in INTEGER_BITS:
            if given == 0:
                raise RangeError
            quotient = abs(value) // abs(given)
            return self.fit(quotient if (value < 0) == (given < 0) else -quotient)
        if self.root == "DECIMAL":
            if given == 0:
                raise RangeError
            rest = (Fraction(value) / Fraction(given)).denominator
            while rest % 10 in (0, 2, 4, 5, 6, 8):
                rest //= 2 if rest % 2 == 0 else 5
            if rest != 1:
                raise RangeError
            return self.rounded(EXACT.divide(value, given))
        if given == 0:
            sign = math.copysign(1, value) * math.copysign(1, given)
            return math.nan if value == 0 or math.isnan(value) else sign * math.inf
        return self.fit(value / given)

    def rounded(self, value: Decimal) -> Decimal | None:
        precision, scale = self.digits
        result = value.quantize(Decimal(1).scaleb(-scale), context=EXACT)
        return result if abs(int(result.scaleb(scale, EXACT))) < 10**precision else None


class Count(Sum):
    """The values are counts already: writers store 1 for a value."""


class Max(SkipsNull):
    retracts = False

    def both(self, value: Any, given: Any) -> Any:
        return given if ordered(value) < ordered(given) else value


class Min(SkipsNull):
    retracts = False

    def both(self, value: Any, given: Any) -> Any:
        return value if ordered(value) < ordered(given) else given


class LastValue(Function):
    def add(self, value: Any, given: Any) -> Any:
        return given

    def retract(self, value: Any, given: Any) -> Any:
        return None


class LastNonNullValue(Function):
    def add(self, value: Any, given: Any) -> Any:
        return value if given is None else given

    def retract(self, value: Any, given: Any) -> Any:
        return value if given is None else None


class FirstValue(Function):
    retracts = False
    found = False

    def add(self, value: Any, given: Any) -> Any:
        if self.found:
            return value
        self.found = True
        return given


class FirstNonNullValue(Function):
    retracts = False
    found = False

    def add(self, value: Any, given: Any) -> Any:
        if self.found or given is None:
            return value
        self.found = True
        return given


class BoolAnd(SkipsNull):
    retracts = False

    def both(self, value: Any, given: Any) -> Any:
        return value and given


class BoolOr(SkipsNull):
    retracts = False

    def both(self, value: Any, given: Any) -> Any:
        return value or given


class Listagg(Function):
    retracts = False

    def add(self, value: Any, given: Any) -> Any:
        if given is None or not given.strip():
            return value
        if value is None or not value.strip():
            return given
        delimiter = self.options.get("list-agg-delimiter", ",")
        if self.options.get("distinct") != "true":
            return value + delimiter + given
        seen = value.split(delimiter)
        for part in given.split(delimiter):
            if part.strip() and part not in seen:
                seen.append(part)
                value += delimiter + part
        return value


class Collect(Function):
    def add(self, value: Any, given: Any) -> Any:
        if value is None and given is None:
            return None
        both = [*(value or []), *(given or [])]
        if self.options.get("distinct") != "true":
            return both
        return [part for i, part in enumerate(both) if part not in both[:i]]

    def add_late(self, value: Any, given: Any) -> Any:
        return self.add(value, given)

    def retract(self, value: Any, given: Any) -> Any:
        if value is None:
            return None
        taken = list(given or [])
        kept = []
        for part in value:
            if part in taken:
                taken.remove(part)
            else:
                kept.append(part)
        return kept


class MergeMap(Function):
    def add(self, value: Any, given: Any) -> Any:
        if value is None or given is None:
            return given if value is None else value
        return {**value, **given}

    def retract(self, value: Any, given: Any) -> Any:
        if value is None:
            return None
        return {key: part for key, part in value.items() if key not in (given or {})}


class MergeMapWithKeytime(Function):
    retracts = False

    def add(self, value: Any, given: Any) -> Any:
        if value is None or given is None:
            return given if value is None else value
        result = dict(value)
        time = self.options.get("ts-field", "ts")
        for key, row in given.items():
            if row is None:
                result.pop(key, None)
            elif row[time] is not None:
                old = result.get(key)
                if old is None or old[time] is None or row[time] > old[time]:
                    result[key] = row
        return result


class NestedUpdate(Function):
    @property
    def key(self) -> list[str]:
        text = self.options.get("nested-key")
        return text.split(",") if text else []

    @property
    def limit(self) -> int:
        return int(self.options.get("count-limit", 2**31 - 1))

    def key_of(self, row: Any) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.key)

    def usable(self, rows: Any) -> list[Any]:
        strategy = self.options.get("nested-key-null-strategy", "merge")
        actual = [row for row in rows or [] if row is not None]
        return [row for row in actual if strategy != "ignore" or None not in self.key_of(row)]

    def add(self, value: Any, given: Any) -> Any:
        if given is None:
            return value
        if not self.key:
            if value is not None and len(value) >= self.limit:
                return value
            return [*self.usable(value), *self.usable(given)[: self.limit - len(value or [])]]
        result: dict[tuple[Any, ...], Any] = {}
        for rows, limited in ((self.usable(value), False), (self.usable(given), True)):
            for row in rows:
                self.put(result, row, limited=limited)
        return list(result.values())

    def put(self, result: dict[tuple[Any, ...], Any], row: Any, *, limited: bool) -> None:
        key, sequence = self.key_of(row), self.options.get("nested-sequence-field")
        if key not in result:
            if not limited or len(result) < self.limit:
                result[key] = row
        elif sequence is None or ordered(row[sequence]) >= ordered(result[key][sequence]):
            result[key] = row

    def retract(self, value: Any, given: Any) -> Any:
        if value is None or given is None:
            return value
        if not self.key:
            taken = self.usable(given)
            return [row for row in self.usable(value) if row not in taken]
        places = {self.key_of(row): row for row in self.usable(value)}
        for row in self.usable(given):
            places.pop(self.key_of(row), None)
        return list(places.values())


class NestedPartialUpdate(NestedUpdate):
    retracts = False

    def add(self, value: Any, given: Any) -> Any:
        if given is None:
            return value
        result: dict[tuple[Any, ...], Any] = {}
        for row in [*self.usable(value), *self.usable(given)]:
            place = result.setdefault(self.key_of(row), dict.fromkeys(row))
            place.update({name: part for name, part in row.items() if part is not None})
        return list(result.values())

    def retract(self, value: Any, given: Any) -> Any:
        raise RetractError


class BitmapUnion(SkipsNull):
    """Of sets."""

    retracts = False

    def both(self, value: Any, given: Any) -> Any:
        return value | given


FUNCTIONS: Mapping[str, type[Function]] = {
    "sum": Sum,
    "count": Count,
    "product": Product,
    "max": Max,
    "min": Min,
    "last_value": LastValue,
    "last_non_null_value": LastNonNullValue,
    "first_value": FirstValue,
    "first_non_null_value": FirstNonNullValue,
    "first_not_null_value": FirstNonNullValue,
    "bool_and": BoolAnd,
    "bool_or": BoolOr,
    "listagg": Listagg,
    "collect": Collect,
    "merge_map": MergeMap,
    "merge_map_with_keytime": MergeMapWithKeytime,
    "nested_update": NestedUpdate,
    "nested_partial_update": NestedPartialUpdate,
}
