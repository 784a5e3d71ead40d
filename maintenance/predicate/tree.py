"""The tree of a filter, and what can be said about it without data.

Leaves name a column of the table and hold internal values of its type (`types/values.py`), never null. Logic is
three-valued: a leaf is null where its column is, except `IsNull`. Values compare as in Spark SQL: NaN equals NaN and is
larger than any other number, -0.0 equals 0.0, strings and bytes compare byte by byte (UTF-8), false is less than true.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from maintenance.predicate.value_set import ValueSet
from maintenance.types.values import Value

Operator = Literal["=", "!=", "<", "<=", ">", ">="]

NEGATED: dict[Operator, Operator] = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
SWAPPED: dict[Operator, Operator] = {"=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass(frozen=True, slots=True)
class Compare:
    """`column op value`; `value` is not None."""

    op: Operator
    column: str
    value: Value


@dataclass(frozen=True, slots=True)
class In:
    """`column` equals one of `values`, none of which is None. Without values: false, or null where the column is."""

    column: str
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.values, ValueSet):
            object.__setattr__(self, "values", ValueSet(self.values))

    @property
    def value_set(self) -> ValueSet:
        """The values, to look something up in them."""
        assert isinstance(self.values, ValueSet)
        return self.values


@dataclass(frozen=True, slots=True)
class IsNull:
    """Never null itself."""

    column: str


@dataclass(frozen=True, slots=True)
class StartsWith:
    column: str
    text: str


@dataclass(frozen=True, slots=True)
class EndsWith:
    column: str
    text: str


@dataclass(frozen=True, slots=True)
class Contains:
    column: str
    text: str


@dataclass(frozen=True, slots=True)
class Like:
    """SQL's LIKE. `escape` is one character; in `pattern` it stands only before itself, `_` or `%`."""

    column: str
    pattern: str
    escape: str = "\\"


@dataclass(frozen=True, slots=True)
class Constant:
    """True, false or (None) null for every row."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class And:
    """Without children: true."""

    children: "tuple[Predicate, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """Without children: false."""

    children: "tuple[Predicate, ...]"


@dataclass(frozen=True, slots=True)
class Not:
    child: "Predicate"


Leaf = Compare | In | IsNull | StartsWith | EndsWith | Contains | Like
Predicate = Leaf | Constant | And | Or | Not

TRUE = Constant(True)
FALSE = Constant(False)
UNKNOWN = Constant(None)


def never(column: str) -> Predicate:
    """False where the column has a value, null where it is null: what `int_column = 1.5` means."""
    return In(column, ())


def always(column: str) -> Predicate:
    """True where the column has a value, null where it is null: what `tinyint_column < 1000` means."""
    return Not(never(column))


def conjunction(children: Iterable[Predicate]) -> Predicate:
    """All of `children`, flattened; constants that decide nothing are dropped."""
    flat: list[Predicate] = []
    for child in children:
        flat.extend(child.children if isinstance(child, And) else (child,))
    if FALSE in flat:
        return FALSE
    flat = [child for child in flat if child != TRUE]
    return flat[0] if len(flat) == 1 else And(tuple(flat)) if flat else TRUE


def disjunction(children: Iterable[Predicate]) -> Predicate:
    """Any of `children`, flattened; constants that decide nothing are dropped."""
    flat: list[Predicate] = []
    for child in children:
        flat.extend(child.children if isinstance(child, Or) else (child,))
    if TRUE in flat:
        return TRUE
    flat = [child for child in flat if child != FALSE]
    return flat[0] if len(flat) == 1 else Or(tuple(flat)) if flat else FALSE


def columns_of(predicate: Predicate) -> frozenset[str]:
    """Names of the columns whose values decide the predicate."""
    match predicate:
        case Constant():
            return frozenset()
        case And(children) | Or(children):
            return frozenset().union(*map(columns_of, children))
        case Not(child):
            return columns_of(child)
    return frozenset((predicate.column,))


def push_down_not(predicate: Predicate) -> Predicate:
    """An equal predicate in which NOT stands only directly before a leaf that is no `Compare`.

    Equal under three-valued logic: the order of values is total (NaN included), so NOT `<` is `>=` and null stays null.
    """
    match predicate:
        case And(children):
            return conjunction(map(push_down_not, children))
        case Or(children):
            return disjunction(map(push_down_not, children))
        case Not(child):
            return _negated(child)
    return predicate


def _negated(predicate: Predicate) -> Predicate:
    match predicate:
        case Not(child):
            return push_down_not(child)
        case And(children):
            return disjunction(map(_negated, children))
        case Or(children):
            return conjunction(map(_negated, children))
        case Constant(value):
            return UNKNOWN if value is None else Constant(not value)
        case Compare(op, column, value):
            return Compare(NEGATED[op], column, value)
    return Not(predicate)


def conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """Predicates all of which must be true for this one to be; none for a predicate that is always true."""
    pushed = push_down_not(predicate)
    if isinstance(pushed, And):
        return pushed.children
    return () if pushed == TRUE else (pushed,)


def restrict(predicate: Predicate, columns: Iterable[str]) -> Predicate:
    """A weaker predicate about `columns` only: true for every row for which `predicate` is."""
    return _restricted(push_down_not(predicate), frozenset(columns))


def _restricted(pushed: Predicate, columns: frozenset[str]) -> Predicate:
    match pushed:
        case And(children):
            return conjunction(_restricted(child, columns) for child in children)
        case Or(children):
            return disjunction(_restricted(child, columns) for child in children)
    return pushed if columns_of(pushed) <= columns else TRUE
