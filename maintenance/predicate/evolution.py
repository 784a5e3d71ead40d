"""Translate a filter over a table's columns to a file's own columns: other names, other types, missing columns.

Columns are the same where their field id is. What cannot be expressed becomes true, so the result
is true wherever the filter is: it may rule out parts of a file, not rows.
Source: Java `SchemaEvolutionUtil.devolveFilters`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from maintenance.predicate.tree import (
    TRUE,
    UNKNOWN,
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Leaf,
    Not,
    Or,
    Predicate,
    conjunction,
    disjunction,
    never,
    push_down_not,
)
from maintenance.types.casts.matrix import keeps_values
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value

_INTEGER_BITS = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}


def devolved(predicate: Predicate, fields: Sequence[DataField], own: Mapping[int, DataField]) -> Predicate:
    """The filter over a file's columns, weaker where needed.

    Args: `fields`: the columns that the filter may ask for, others count as unknown; `own`: the file's columns by id.
    """
    return _devolved(push_down_not(predicate), {field.name: field for field in fields}, own)


def _devolved(pushed: Predicate, fields: Mapping[str, DataField], own: Mapping[int, DataField]) -> Predicate:
    match pushed:
        case Constant():
            return pushed
        case And(children):
            return conjunction(_devolved(child, fields, own) for child in children)
        case Or(children):
            return disjunction(_devolved(child, fields, own) for child in children)
        case Not(child):
            assert not isinstance(child, Constant | And | Or | Not)
            return _leaf(child, fields, own, negated=True)
    return _leaf(pushed, fields, own, negated=False)


def _leaf(leaf: Leaf, fields: Mapping[str, DataField], own: Mapping[int, DataField], *, negated: bool) -> Predicate:
    field = fields.get(leaf.column)
    if field is None:
        return TRUE
    source = own.get(field.id)
    if source is None:
        # All rows are null here.
        return Constant(not negated) if isinstance(leaf, IsNull) else UNKNOWN
    over_source = _over(leaf, source, field)
    return TRUE if over_source is None else Not(over_source) if negated else over_source


def _over(leaf: Leaf, source: DataField, field: DataField) -> Leaf | None:
    """The leaf over the file's column, None where its values differ from the table's."""
    if source.type.as_nullable() == field.type.as_nullable():
        return replace(leaf, column=source.name)
    if not _compares_alike(source.type, field.type):
        return None
    match leaf:
        case Compare(_, _, value):
            return replace(leaf, column=source.name) if _fits(value, source.type) else None
        case In(_, values):
            held = tuple(value for value in values if _fits(value, source.type))
            return In(source.name, held) if held else _never(source.name)
    return replace(leaf, column=source.name)


def _never(column: str) -> Leaf:
    leaf = never(column)
    assert isinstance(leaf, In)
    return leaf


def _compares_alike(source: DataType, target: DataType) -> bool:
    """Whether a value is written in the same way in both types, so that a literal of one serves the other."""
    if not keeps_values(source, target):
        return False
    if source.is_integer or target.is_integer:
        return source.is_integer and target.is_integer
    return source.is_string or source.is_bytes


def _fits(value: Value, data_type: DataType) -> bool:
    if not data_type.is_integer or not isinstance(value, int):
        return True
    most = 1 << (_INTEGER_BITS[data_type.root] - 1)
    return -most <= value < most
