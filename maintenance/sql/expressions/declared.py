"""Texts whose lengths Flink keeps: a CHAR is filled up and cut where another value becomes one, as in IN and arrays."""

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from maintenance.sql.expressions import kinds
from maintenance.sql.expressions.entries import Call, Typed
from maintenance.sql.expressions.kinds import NULL, STRING
from maintenance.sql.expressions.templates import filled
from maintenance.types.data_type import DataType

# Which arguments give a result its type, length and all.
_SAME: Mapping[str, slice] = {
    **dict.fromkeys(("upper", "lower", "initcap", "nullif", "min", "max"), slice(0, 1)),
    **dict.fromkeys(("coalesce", "ifnull", "greatest", "least", "array"), slice(None)),
    "if": slice(1, None),
}
_OPERATORS = frozenset(
    ("+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "and", "or", "not", "negative", "positive", "||")
)
_WRITTEN = (exp.Literal, exp.Boolean, exp.Null, exp.Neg, exp.Paren)


def filled_up(node: exp.Expr, length: int, *, is_padded: bool = True) -> exp.Expr:
    """A text cut to a length, and filled up to it with blanks."""
    template = "CASE WHEN a IS NOT NULL THEN rpad(left(a, n), n, ' ') END" if is_padded else "left(a, n)"
    return filled(template, {"a": node, "n": exp.Literal.number(length)})


def filled_with_zeros(node: exp.Expr, length: int) -> exp.Expr:
    """Bytes cut to a length, and filled up to it with zeros, as those of a VARBINARY are as well."""
    template = "CASE WHEN a IS NOT NULL THEN unhex(rpad(left(hex(a), 2 * n), 2 * n, '0')) END"
    return filled(template, {"a": node, "n": exp.Literal.number(length)})


def as_first(values: Sequence[Typed]) -> Sequence[Typed]:
    """What IN compares: where a row decides, texts of any length become the CHAR that the first one is."""
    first, *others = values
    if first.char_length is None or all(each.written.find(exp.Column, exp.Query) is None for each in others):
        return values
    return [first, *(Typed(filled_up(each.node, first.char_length), each.kind, each.written)
                     if each.kind == STRING and each.char_length is None else each for each in others)]  # fmt: skip


def of_one_length(values: Sequence[Typed]) -> list[Typed]:
    """What Spark compares: beside columns of CHAR, literals and other such columns are filled up to the longest.

    Source: Spark's `ApplyCharTypePadding`, which knows neither BETWEEN nor a NULL in IN.
    """
    lengths = [_length_in_spark(each) for each in values]
    if len(set(lengths)) < 2 or None in lengths or all(each.text is not None for each in values):
        return list(values)
    longest = max(length or 0 for length in lengths)
    return [Typed(filled_up(each.node, longest), each.kind, each.written) for each in values]


def _length_in_spark(value: Typed) -> int | None:
    """Of a literal, or a column that is a CHAR; None of all others."""
    is_column = isinstance(value.written.unnest(), exp.Column)
    return len(value.text) if value.text is not None else value.char_length if is_column else None


def of_call(call: Call) -> DataType | None:
    """The type of a call with its length and NOT NULL; None if that is not known."""
    if call.name in _OPERATORS:
        return _of_operator(call)
    if call.name not in _SAME:
        return None
    parts = call.arguments[_SAME[call.name]]
    common = common_char(parts)
    if call.name != "array" or call.kind.element != STRING:
        return common
    return kinds.array(common or DataType("VARCHAR", length=max(map(length_of, parts))))


def _of_operator(call: Call) -> DataType | None:
    """It may be NULL if one of its sides may."""
    is_known = all(each.declared is not None or each.is_never_null for each in call.arguments)
    is_text = call.kind == STRING and all(each.char_length is not None for each in call.arguments)
    if is_text and is_known and call.name == "||":
        is_nullable = not all(each.is_never_null for each in call.arguments)
        return DataType("CHAR", nullable=is_nullable, length=sum(each.char_length or 0 for each in call.arguments))
    return call.kind.as_nullable(not all(each.is_never_null for each in call.arguments)) if (
        is_known and not is_text) else None  # fmt: skip


def common_char(parts: Sequence[Typed]) -> DataType | None:
    """The CHAR that all of some values are."""
    lengths = {part.char_length for part in parts}
    length = lengths.pop() if len(lengths) == 1 else None
    if length is None:
        return None
    return DataType("CHAR", nullable=not any(part.is_never_null for part in parts), length=length)


def common_length(parts: Sequence[Typed]) -> DataType | None:
    """The type with its length that texts or bytes in one column of VALUES have, if it is the same for all."""
    found = {(part.declared.root, part.declared.length) for part in parts if part.declared is not None}
    if len(found) != 1 or any(part.declared is None for part in parts) or not parts[0].kind.is_bytes:
        return common_char(parts)
    return None if parts[0].declared is None else parts[0].declared.as_nullable()


def length_of(value: Typed) -> int:
    """How many characters a text has at most."""
    declared = value.declared if value.declared is not None and value.declared.is_string else STRING
    return declared.length or 0


def is_cut(values: Typed, value: Typed) -> bool:
    """Whether a text is cut to the length of the elements of an array that it is compared with, or filled up to it."""
    element = None if values.declared is None else values.declared.element
    if element is None or not element.is_string or value.kind != STRING:
        return False
    if element.root == "CHAR":
        return value.char_length != element.length
    return length_of(value) > (element.length or 0)


def type_text(value: Typed) -> str | None:
    """A value's type as Flink's TYPEOF has it; None if it is not known whether it may be NULL."""
    kind = value.declared
    if kind is None:
        if any(not isinstance(node, _WRITTEN) for node in value.written.walk()):
            return None
        kind = value.kind.as_nullable(value.kind == NULL)
    return re.sub(r"TIMESTAMP(\(\d\)) WITH LOCAL TIME ZONE", r"TIMESTAMP_LTZ\1", str(kind))
