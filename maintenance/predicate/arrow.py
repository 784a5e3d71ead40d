"""A predicate on rows in Arrow: the rows it selects, and what parquet's row groups may be asked.

Columns have the natural Arrow types of their Paimon types (`types/arrow.py`); strings and bytes may also be large,
views or dictionaries. Arrow compares floats as IEEE does, so NaN gets its place above all other numbers here.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import PredicateError
from maintenance.predicate.bounds import successor
from maintenance.predicate.like import prefix_of, regex_of
from maintenance.predicate.tree import (
    And,
    Compare,
    Constant,
    Contains,
    EndsWith,
    In,
    IsNull,
    Leaf,
    Like,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
    columns_of,
    push_down_not,
)
from maintenance.types import nanos
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, DataType
from maintenance.types.far_timestamps import FarTimestampType, of_far
from maintenance.types.nanos import NANOS
from maintenance.types.values import NANOS_PER_UNIT, Value

Column: TypeAlias = pa.Array | pa.ChunkedArray
_KERNELS: dict[Operator, Any] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def mask(predicate: Predicate, batch: pa.RecordBatch | pa.Table) -> pa.BooleanArray | pa.ChunkedArray:
    """Three-valued truth of each row, shape (n,): true selects it, false and null do not, as in `batch.filter(mask)`.

    Returns: an array for a record batch, a chunked array for a table.
    Raises: PredicateError: the batch lacks a column, or its type cannot hold a literal.
    """
    missing = columns_of(predicate) - set(batch.schema.names)
    if missing:
        fix = f"The columns are: {', '.join(batch.schema.names)}."
        raise PredicateError(f"column '{min(missing)}' does not exist", "rows to filter", fix)
    truth = _truth(predicate, batch)
    if isinstance(truth, pa.Scalar):
        truth = pa.repeat(truth, batch.num_rows)
    if isinstance(batch, pa.Table) and isinstance(truth, pa.Array):
        return pa.chunked_array([truth], pa.bool_())
    return truth


def selected(predicate: Predicate, rows: pa.Table) -> np.ndarray:
    """Which rows it selects, bool, shape (n,). Raises: as `mask`."""
    return np.asarray(pc.fill_null(mask(predicate, rows), False).to_numpy())


def _truth(predicate: Predicate, batch: pa.RecordBatch | pa.Table) -> Any:
    match predicate:
        case Constant(value):
            return pa.scalar(value, pa.bool_())
        case Not(child):
            return pc.invert(_truth(child, batch))
        case And(children) | Or(children):
            join = pc.and_kleene if isinstance(predicate, And) else pc.or_kleene
            truth: Any = pa.scalar(isinstance(predicate, And))
            for child in children:
                truth = join(truth, _truth(child, batch))
            return truth
    return _leaf_truth(predicate, batch.column(predicate.column))


def _leaf_truth(leaf: Leaf, column: Column) -> Column:
    if isinstance(leaf, IsNull):
        return pc.is_null(column)
    column = _plain(column)
    match leaf:
        case Compare(op, _, value):
            return _compare(op, column, value, leaf)
        case In():
            matches = _is_in(column, leaf)
            if leaf.value_set.has_nan:
                matches = pc.or_(matches, pc.is_nan(column))
            return pc.if_else(pc.is_valid(column), matches, pa.scalar(None, pa.bool_()))
        case StartsWith(_, text):
            return pc.starts_with(column, text)
        case EndsWith(_, text):
            return pc.ends_with(column, text)
        case Contains(_, text):
            return pc.match_substring(column, text)
        case Like(_, pattern, escape):
            return pc.match_substring_regex(column, regex_of(pattern, escape))


def _compare(op: Operator, column: Column, value: Value, leaf: Leaf) -> Column:
    if _is_nan(value):
        nan = pc.is_nan(column)
        match op:
            case "=" | ">=":
                return nan
            case "!=" | "<":
                return pc.invert(nan)
        return pc.if_else(pc.is_valid(column), pa.scalar(op == "<="), pa.scalar(None, pa.bool_()))
    truth = _KERNELS[op](column, _scalar(value, column.type, leaf))
    if isinstance(value, float) and op in (">", ">="):
        return pc.or_(truth, pc.is_nan(column))
    return truth


def _is_in(column: Column, leaf: In) -> Column:
    """Membership, NaN aside; false for null."""
    values = _value_set(leaf, column.type)
    if pa.types.is_floating(column.type):
        # `is_in` tells -0.0 from 0.0, adding makes them one; the values hold both.
        column = pc.add(column, pa.scalar(0.0, column.type))
    return pc.is_in(column, value_set=values, skip_nulls=True)


def _value_set(leaf: In, arrow: pa.DataType) -> pa.Array:
    """The values of the leaf as an array, without NaN, and both zeros where it has one."""
    return leaf.value_set.array(arrow, lambda values: _array(_with_both_zeros(values), arrow, leaf))


def _array(values: Sequence[Value], arrow: pa.DataType, leaf: Leaf) -> pa.Array:
    """Internal values as an array of an Arrow type. Raises: PredicateError: the type cannot hold one."""
    if arrow == NANOS or pa.types.is_timestamp(arrow) or pa.types.is_date32(arrow) or pa.types.is_time32(arrow):
        return pa.array([_scalar(value, arrow, leaf) for value in values], arrow)
    try:
        return pa.array(values, arrow)
    except (ValueError, OverflowError, TypeError):
        return pa.array([_scalar(value, arrow, leaf) for value in values], arrow)


def _is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _plain(column: Column) -> Column:
    """The column in a form for which Arrow has all kernels."""
    if isinstance(column.type, FarTimestampType):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        return pa.chunked_array([of_far(chunk.storage, column.type.tz) for chunk in chunks], NANOS)
    if pa.types.is_dictionary(column.type):
        column = pc.cast(column, column.type.value_type)
    if pa.types.is_string_view(column.type):
        return pc.cast(column, pa.large_string())
    return pc.cast(column, pa.large_binary()) if pa.types.is_binary_view(column.type) else column


def _scalar(value: Value, arrow: pa.DataType, leaf: Leaf | None = None) -> pa.Scalar:
    """An internal value as a scalar of an Arrow type. Raises: PredicateError: the type cannot hold it."""
    try:
        if arrow == NANOS:
            return nanos.scalar(None if value is None else int(value))
        if pa.types.is_timestamp(arrow) and isinstance(value, int):
            units, rest = divmod(value, NANOS_PER_UNIT[arrow.unit])
            if rest:
                raise ValueError(f"{value} ns is between two values of {arrow}")
            return pa.scalar(units, pa.int64()).cast(arrow)
        if pa.types.is_date32(arrow) or pa.types.is_time32(arrow):
            return pa.scalar(value, pa.int32()).cast(arrow)
        return pa.scalar(value, arrow)
    except (ValueError, OverflowError, TypeError) as error:  # pa.ArrowInvalid is a ValueError
        fix = "Parse the filter with the fields of these rows."
        raise PredicateError(f"{value!r} is not a value of {arrow}: {error}", f"filter {leaf}", fix) from None


def expression(predicate: Predicate, fields: Sequence[DataField]) -> pc.Expression | None:
    """What a parquet scan may be asked: an expression that is true for every row the predicate selects, or for more.

    The file's columns must have the natural Arrow types of `fields`. None: nothing can be asked.

    A row group's minimum and maximum leave out NaN, and Arrow takes a group with equal bounds for one of that single
    value. So nothing is asked of a float column that a NaN could satisfy. Timestamps finer than microseconds are left
    out too: Java writes them as INT96, without statistics and without a time zone.
    """
    return _expression(push_down_not(predicate), {field.name: field.type for field in fields})


def _expression(pushed: Predicate, types: dict[str, DataType]) -> pc.Expression | None:
    match pushed:
        case Constant(value):
            return None if value else pc.scalar(False)
        case And(children):
            translated = [part for child in children if (part := _expression(child, types)) is not None]
            return _joined(translated, "and")
        case Or(children):
            parts = [_expression(child, types) for child in children]
            return None if any(part is None for part in parts) else _joined(parts, "or")
        case IsNull(column):
            return pc.is_null(pc.field(column)) if column in types else None
        case Not(IsNull(column)):
            return pc.field(column).is_valid() if column in types else None
    leaf = pushed.child if isinstance(pushed, Not) else pushed
    assert isinstance(leaf, Compare | In | StartsWith | EndsWith | Contains | Like)
    if leaf.column not in types:
        return None
    narrowed = None if isinstance(pushed, Not) else _bounded(leaf, types[leaf.column])
    return pc.field(leaf.column).is_valid() if narrowed is None else narrowed


def _joined(parts: Sequence[Any], how: str) -> pc.Expression | None:
    joined = None
    for part in parts:
        joined = part if joined is None else joined & part if how == "and" else joined | part
    return joined


def _bounded(leaf: Leaf, data_type: DataType) -> pc.Expression | None:
    """The leaf as an expression that bounds can decide; None where only nulls can be excluded."""
    if data_type.is_timestamp and (data_type.precision or 0) > 6:
        return None
    column, arrow = pc.field(leaf.column), arrow_type(data_type, f"column {leaf.column}")
    match leaf:
        case Compare(op, _, value):
            could_be_nan = op in (">", ">=", "!=") if pa.types.is_floating(arrow) else False
            return None if could_be_nan or _is_nan(value) else _KERNELS[op](column, _scalar(value, arrow, leaf))
        case In(_, values):
            if not values:
                return pc.scalar(False)
            return None if leaf.value_set.has_nan else column.isin(_value_set(leaf, arrow))
        case StartsWith(_, text):
            return _starting(column, text)
        case Like(_, pattern, escape):
            return _starting(column, prefix_of(pattern, escape))
    return None


def _with_both_zeros(values: Sequence[Value]) -> list[Value]:
    has_zero = any(isinstance(value, float) and value == 0 for value in values)
    return [*values, 0.0, -0.0] if has_zero else list(values)


def _starting(column: pc.Expression, prefix: str) -> pc.Expression | None:
    if not prefix:
        return None
    after = successor(prefix)
    return (column >= prefix) & (column < after) if after is not None else column >= prefix
