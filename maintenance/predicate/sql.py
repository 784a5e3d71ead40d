"""Filters as SQL text: Spark's dialect, conditions of one column and literals, joined by AND, OR and NOT."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlglot import exp

from maintenance.errors import PredicateError
from maintenance.predicate.like import like
from maintenance.predicate.literal_lists import LiftedText, lifted
from maintenance.predicate.literals import Literal, compare, null_safe_equal, within
from maintenance.predicate.moments import text_of_clock, text_of_days, text_of_nanos
from maintenance.predicate.sql_syntax import TOO_DEEP, check_arguments, literal_of, syntax_tree
from maintenance.predicate.tree import (
    SWAPPED,
    UNKNOWN,
    And,
    Compare,
    Constant,
    Contains,
    EndsWith,
    In,
    IsNull,
    Like,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
    conjunction,
    disjunction,
)
from maintenance.spelling import meant
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import NANOS_PER_UNIT, Value

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TEXT_TESTS: dict[type[exp.Expr], Callable[[str, str], Predicate]] = {
    exp.StartsWith: StartsWith,
    exp.EndsWith: EndsWith,
    exp.Contains: Contains,
}
_SHOWN = 1000
_SUPPORTED = (
    "Supported are conditions of one column and literals: =, <>, <, <=, >, >=, <=>, [NOT] IN, BETWEEN, IS [NOT] NULL, "
    "LIKE, startswith(), endswith() and contains(), joined by AND, OR, NOT."
)


def parse(text: str, fields: Sequence[DataField]) -> Predicate:
    """The predicate of a condition such as ``day >= DATE '2024-02-29' AND city IN ('Oslo', 'Rome')``.

    Column names are matched exactly, else without regard to case. Literals become values of the column's type.
    Raises: PredicateError: the text is not a condition, names an unknown column, or says more than is supported.
    """
    without_lists = lifted(text)
    try:
        return _Reader(without_lists, fields).predicate(syntax_tree(without_lists.text))
    except ValueError as error:
        problem = f"the filter cannot be parsed: {without_lists.shown(str(error))}"
        raise PredicateError(problem, _place(text), _SUPPORTED) from None
    except RecursionError:
        raise PredicateError(f"the filter cannot be parsed: {TOO_DEEP}", _place(text), _SUPPORTED) from None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the syntax tree of a text."""

    lifted: LiftedText
    fields: Sequence[DataField]

    def predicate(self, node: exp.Expr) -> Predicate:
        match node:
            case exp.And():
                return conjunction([self.predicate(part) for part in node.flatten(unnest=False)])
            case exp.Or():
                return disjunction([self.predicate(part) for part in node.flatten(unnest=False)])
            case exp.Not():
                return Not(self.predicate(node.this))
            case exp.Paren():
                return self.predicate(node.this)
            case exp.Boolean():
                return Constant(bool(node.this))
            case exp.Null():
                return UNKNOWN
        try:
            return self.condition(node)
        except ValueError as error:
            reason = f": {error}" if str(error) else " is not supported"
            problem = f"`{_cut(self.lifted.shown(node.sql('spark')))}`{_cut(reason)}"
            raise PredicateError(problem, _place(self.lifted.original), _SUPPORTED) from None

    def condition(self, node: exp.Expr) -> Predicate:
        """A condition without AND, OR and NOT. Raises: ValueError, empty if the condition is not supported."""
        match node:
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                field, literal, swapped = self.sides(node)
                op = _OPERATORS[type(node)]
                return compare(SWAPPED[op] if swapped else op, field, literal)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                field, literal, _ = self.sides(node)
                same = null_safe_equal(field, literal)
                return same if isinstance(node, exp.NullSafeEQ) else Not(same)
            case exp.In() if check_arguments(node, "this", "expressions") and node.expressions:
                return within(self.column(node.this), self.literals(node.expressions))
            case exp.Between() if check_arguments(node, "this", "low", "high"):
                field = self.column(node.this)
                low, high = literal_of(node.args["low"]), literal_of(node.args["high"])
                return conjunction((compare(">=", field, low), compare("<=", field, high)))
            case exp.Is() if check_arguments(node, "this", "expression") and isinstance(node.expression, exp.Null):
                return IsNull(self.column(node.this).name)
            case exp.Like() | exp.Escape():
                return self.like(node)
            case exp.StartsWith() | exp.EndsWith() | exp.Contains() if check_arguments(node, "this", "expression"):
                field, text = self.text_column(node.this), literal_of(node.expression)
                return UNKNOWN if text is None else _TEXT_TESTS[type(node)](field.name, _text(text))
            case exp.Column():
                field = self.column(node)
                if field.type.root == "BOOLEAN":
                    return Compare("=", field.name, True)
                raise ValueError(f"a column of type {field.type} is not a condition")
        raise ValueError("")

    def literals(self, items: Sequence[exp.Expr]) -> Sequence[Literal]:
        """The literals of a list. Raises: ValueError."""
        first = items[0]
        listed = self.lifted.literals(first.name) if len(items) == 1 and isinstance(first, exp.Column) else None
        return [literal_of(item) for item in items] if listed is None else listed

    def like(self, node: exp.Expr) -> Predicate:
        escape = "\\"
        if isinstance(node, exp.Escape):
            check_arguments(node, "this", "expression")
            escape, node = _text(literal_of(node.expression)), node.this
        if not isinstance(node, exp.Like):
            raise ValueError("")
        check_arguments(node, "this", "expression", "negate")
        field, pattern = self.text_column(node.this), literal_of(node.expression)
        test = UNKNOWN if pattern is None else like(field.name, _text(pattern), escape)
        return Not(test) if node.args.get("negate") else test

    def sides(self, node: exp.Expr) -> tuple[DataField, Literal, bool]:
        """The column, the literal, and whether the literal stands on the left."""
        check_arguments(node, "this", "expression")
        left, right = node.this.unnest(), node.expression.unnest()
        if isinstance(left, exp.Column):
            if isinstance(right, exp.Column):
                self.column(left), self.column(right)
                raise ValueError("two columns cannot be compared")
            return self.column(left), literal_of(right), False
        if isinstance(right, exp.Column):
            return self.column(right), literal_of(left), True
        raise ValueError("")

    def text_column(self, node: exp.Expr) -> DataField:
        field = self.column(node)
        if not field.type.is_string:
            raise ValueError(f"column {field.name} of type {field.type} is not a text")
        return field

    def column(self, node: exp.Expr) -> DataField:
        node = node.unnest()
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            raise ValueError("")
        if node.table:
            raise ValueError(f"`{node.sql('spark')}` is not a column of the table itself; write its plain name")
        return self.field(node.name)

    def field(self, name: str) -> DataField:
        names_meant = meant((field.name for field in self.fields), name)
        matches = [field for field in self.fields if field.name in names_meant]
        if len(matches) == 1:
            arrow_type(matches[0].type, f"column {matches[0].name} of the filter")  # refuses types that cannot be held
            return matches[0]
        names = ", ".join(field.name for field in matches or self.fields)
        problem = "is ambiguous" if matches else "does not exist"
        raise PredicateError(f"column '{name}' {problem}", _place(self.lifted.original), f"The columns are: {names}.")


def _place(text: str) -> str:
    return f"filter {_cut(text)!r}"


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _text(literal: Literal) -> str:
    if not isinstance(literal, str):
        raise ValueError(f"{literal!r} is not a text")
    return literal


def to_sql(predicate: Predicate, fields: Sequence[DataField]) -> str:
    """A text that `parse` reads as an equal predicate, for moving it between processes.

    Raises: PredicateError: a column is not among `fields`.
    """
    match predicate:
        case And(children) | Or(children) if children:
            joint = " AND " if isinstance(predicate, And) else " OR "
            return "(" + joint.join(to_sql(child, fields) for child in children) + ")"
        case And() | Or():
            return "TRUE" if isinstance(predicate, And) else "FALSE"
        case Not(child):
            return f"(NOT {to_sql(child, fields)})"
        case Constant(value):
            return "NULL" if value is None else str(value).upper()
    types = {field.name: field.type for field in fields}
    if predicate.column not in types:
        fix = f"The columns are: {', '.join(types)}."
        raise PredicateError(f"column '{predicate.column}' does not exist", "filter", fix)
    return _leaf_sql(predicate, types[predicate.column])


def _leaf_sql(leaf: Predicate, data_type: DataType) -> str:
    assert not isinstance(leaf, And | Or | Not | Constant)
    name = "`" + leaf.column.replace("`", "``") + "`"
    match leaf:
        case Compare(op, _, value):
            return f"{name} {op} {_literal_sql(value, data_type)}"
        case In(_, values):
            listed = ", ".join(_literal_sql(value, data_type) for value in values)
            return f"{name} IN ({listed})" if values else f"({name} IS NULL AND NULL)"
        case IsNull():
            return f"{name} IS NULL"
        case StartsWith(_, text):
            return f"startswith({name}, {_quoted(text)})"
        case EndsWith(_, text):
            return f"endswith({name}, {_quoted(text)})"
        case Contains(_, text):
            return f"contains({name}, {_quoted(text)})"
        case Like(_, pattern, escape):
            return f"{name} LIKE {_quoted(pattern)} ESCAPE {_quoted(escape)}"


def _literal_sql(value: Value, data_type: DataType) -> str:
    match value:
        case bool():
            return str(value).upper()
        case int() if data_type.root == "DATE":
            return f"DATE '{text_of_days(value)}'"
        case int() if data_type.root == "TIME":
            return f"TIME '{text_of_clock(value * NANOS_PER_UNIT['ms'])}'"
        case int() if data_type.is_timestamp:
            local = data_type.root == "TIMESTAMP"
            return f"TIMESTAMP_NTZ '{text_of_nanos(value)}'" if local else f"TIMESTAMP '{text_of_nanos(value)}Z'"
        case float():
            return f"CAST('{value}' AS DOUBLE)"
        case Decimal():
            return f"{value:f}"
        case str():
            return _quoted(value)
        case bytes():
            return f"X'{value.hex()}'"
    return str(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
