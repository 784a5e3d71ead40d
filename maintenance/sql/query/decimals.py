"""Decimal arithmetic has the types of the dialect's engine, where DuckDB has its own.

An expression is cast to its type where everything in it is surely a decimal or an integer. Source: Spark's
`DecimalPrecision`, Flink's `LogicalTypeMerging`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from maintenance.types.data_type import DataType

# Precision and scale of a type or expression.
Digits = tuple[int, int]

_MOST = 38
_LEAST_SCALE = 6
# The narrowest decimal that DuckDB holds in 128 bits.
_WIDE = 19
OPERANDS = "paimon_digits"
"""Under this key arithmetic with decimals has the digits of its operands, in `meta`."""
_INTEGERS = {"TINYINT": 3, "SMALLINT": 5, "INT": 10}
_OF_CASTS = {exp.DType.TINYINT: 3, exp.DType.SMALLINT: 5, exp.DType.INT: 10}


def cast_decimals(tree: exp.Expr, types: Mapping[str, DataType], *, is_flink: bool) -> None:
    """Give sums, differences, products and totals of decimals their types. `types`: of columns, by name."""
    rules = _Rules(types, is_flink)
    wanted: list[tuple[exp.Expr, Digits]] = []
    for node in tree.find_all(exp.Add, exp.Sub, exp.Mul, exp.Sum):
        digits = rules.of(node)
        if digits is not None and rules.has_decimal(node):
            wanted.append((node, digits))
    for arithmetic, _ in wanted:
        if not isinstance(arithmetic, exp.Sum):
            arithmetic.meta[OPERANDS] = (rules.of(arithmetic.this), rules.of(arithmetic.expression))
    # Inside other arithmetic an exact result may have any type.
    exact = {id(node) for node, digits in wanted if digits[1] == rules.full_scale(node)}
    outer = {id(node) for node, _ in wanted}
    wanted = [(node, digits) for node, digits in wanted if id(node) not in exact or id(_around(node)) not in outer]
    # From the inside out, as what is replaced is copied with all that it contains.
    for arithmetic, (precision, scale) in reversed(wanted):
        # A window belongs to its function.
        in_window = isinstance(arithmetic.parent, exp.Window) and arithmetic.arg_key == "this"
        place = arithmetic.parent if in_window and arithmetic.parent is not None else arithmetic
        place.replace(exp.cast(place.copy(), f"DECIMAL({precision}, {scale})"))


def widened(tree: exp.Expr) -> exp.Expr:
    """The query with the operands of decimals so wide that DuckDB reckons with 128 bits, where it has taken 64."""
    tree = tree.copy()
    for node in reversed([node for node in tree.find_all(exp.Add, exp.Sub, exp.Mul) if OPERANDS in node.meta]):
        for side, (precision, scale) in zip(("this", "expression"), node.meta[OPERANDS], strict=True):
            wide = min(_MOST, max(_WIDE, precision))
            node.set(side, exp.cast(node.args[side].copy(), f"DECIMAL({wide}, {scale})"))
    return tree


def _around(node: exp.Expr) -> exp.Expr | None:
    """The expression that a value goes into."""
    parent = node.parent
    while isinstance(parent, exp.Paren | exp.Neg):
        parent = parent.parent
    return parent


@dataclass(frozen=True, slots=True)
class _Rules:
    types: Mapping[str, DataType]
    is_flink: bool

    def of(self, node: exp.Expr) -> Digits | None:
        """The digits of an expression; None if it may be something else than a decimal or an integer."""
        node = node.unnest()
        match node:
            case exp.Column():
                return self._of_type(self.types.get(node.name))
            case exp.Literal():
                return None if node.is_string else self._of_literal(str(node.this))
            case exp.Cast():
                return self._of_cast(node.to)
            case exp.Neg() | exp.Min() | exp.Max():
                return self.of(node.this)
            case exp.Sum():
                inner = self.of(node.this)
                return None if inner is None else (_MOST if self.is_flink else min(_MOST, inner[0] + 10), inner[1])
            case exp.Add() | exp.Sub() | exp.Mul():
                left, right = self.of(node.this), self.of(node.expression)
                return None if left is None or right is None else self._combined(node, left, right)
        return None

    def has_decimal(self, node: exp.Expr) -> bool:
        """Whether there is a decimal in an expression, so that its result is one."""
        node = node.unnest()
        match node:
            case exp.Column():
                kind = self.types.get(node.name)
                return kind is not None and kind.root == "DECIMAL"
            case exp.Literal():
                return not node.is_string and "." in str(node.this)
            case exp.Cast():
                return bool(node.to.this == exp.DType.DECIMAL)
            case exp.Neg() | exp.Min() | exp.Max() | exp.Sum():
                return self.has_decimal(node.this)
            case exp.Add() | exp.Sub() | exp.Mul():
                return self.has_decimal(node.this) or self.has_decimal(node.expression)
        return False

    def full_scale(self, node: exp.Expr) -> int | None:
        """How many digits after the point an exact result has."""
        if isinstance(node, exp.Sum):
            return None
        left, right = self.of(node.this), self.of(node.expression)
        if left is None or right is None:
            return None
        return left[1] + right[1] if isinstance(node, exp.Mul) else max(left[1], right[1])

    @property
    def _of_bigint(self) -> Digits:
        return (19 if self.is_flink else 20), 0

    def _of_type(self, kind: DataType | None) -> Digits | None:
        if kind is None:
            return None
        if kind.root == "DECIMAL":
            return kind.precision or 10, kind.scale or 0
        if kind.root == "BIGINT":
            return self._of_bigint
        return (_INTEGERS[kind.root], 0) if kind.root in _INTEGERS else None

    def _of_literal(self, text: str) -> Digits | None:
        whole, point, fraction = text.partition(".")
        if not (whole + fraction).isdecimal():
            return None
        if not point and self.is_flink:
            return (10, 0) if int(whole) < 1 << 31 else self._of_bigint
        digits = len(whole.lstrip("0")) + len(fraction)
        return max(1, digits, len(fraction)), len(fraction)

    def _of_cast(self, to: exp.DataType) -> Digits | None:
        if to.this == exp.DType.BIGINT:
            return self._of_bigint
        if to.this in _OF_CASTS:
            return _OF_CASTS[to.this], 0
        if to.this != exp.DType.DECIMAL:
            return None
        precision, scale = ([int(part.name) for part in to.expressions] + [0, 0])[:2]
        return precision or 10, scale

    def _combined(self, node: exp.Expr, left: Digits, right: Digits) -> Digits:
        if isinstance(node, exp.Mul):
            return _fitting(left[0] + right[0] + (not self.is_flink), left[1] + right[1])
        scale = max(left[1], right[1])
        return _fitting(max(left[0] - left[1], right[0] - right[1]) + scale + 1, scale)


def _fitting(precision: int, scale: int) -> Digits:
    """Digits after the point are given up before those in front of it, down to six."""
    if precision <= _MOST:
        return precision, scale
    return _MOST, max(_MOST - (precision - scale), min(scale, _LEAST_SCALE))
