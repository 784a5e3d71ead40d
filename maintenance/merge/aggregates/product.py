"""`product`: nulls are skipped; a retraction divides, and does nothing where there is no product yet.

Integers that leave the range of their type are an error, and their division drops the remainder, so the order of
additions and retractions counts. A decimal is rounded to its scale after each step, and becomes null if it has too many
digits; a division by zero, or one that has no exact result, is an error. An error stays one if a -D removes the row
later. Source: Java `FieldProductAgg`.
"""

import decimal
from decimal import Decimal

import numpy as np
import pyarrow as pa

from maintenance.errors import DataError
from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.inputs import Inputs, Op, scatter
from maintenance.merge.numbers import integer_bounds, is_number, overflow, plain
from maintenance.types.data_type import DataType

_EXACT = decimal.Context(prec=200, rounding=decimal.ROUND_HALF_UP)
# Products are estimated in floating point; below this no step of an int64 product can overflow.
_SURE = 2.0**62
_LEAST = np.int64(-(2**63))


def product_values(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    parts, last = inputs.cut_at_sets
    products = _products(parts, column)
    return products if parts is inputs else products.take(pa.array(last))


def _products(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    count = len(inputs.starts)
    # What is retracted before there is a product is without effect.
    retract = inputs.is_op(Op.RETRACT)
    first = inputs.first(inputs.valid & ~retract)
    takes_part = inputs.valid & (np.arange(len(inputs.order)) >= np.repeat(first, inputs.counts))
    takes_part &= np.repeat(first >= 0, inputs.counts)
    if not takes_part.any():
        return pa.nulls(count, inputs.column.type)
    present, segments = inputs.only(takes_part)
    if pa.types.is_decimal(inputs.column.type):
        products = _decimals(present, column)
    elif pa.types.is_floating(inputs.column.type):
        products = _floats(present)
    else:
        products = _integers(present, column)
    return scatter(products, segments, count)


def _floats(inputs: Inputs) -> pa.Array:
    numbers = plain(inputs.column)[inputs.order]
    retract = inputs.is_op(Op.RETRACT)
    totals = numbers[inputs.starts]
    with np.errstate(all="ignore"):
        for rank, (members, positions) in enumerate(inputs.ranks()):
            if rank:
                held, factors = totals[members], numbers[positions]
                totals[members] = np.where(retract[positions], held / factors, held * factors)
    return pa.array(totals, inputs.column.type)


def _integers(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    """Without retractions, and where no step can overflow, one kernel; else step by step, all segments together."""
    numbers = plain(inputs.column)[inputs.order]
    low, high = integer_bounds(inputs.column.type)
    if not inputs.has(Op.RETRACT):
        with np.errstate(over="ignore"):
            largest = np.multiply.reduceat(np.maximum(np.abs(numbers.astype(np.float64)), 1), inputs.starts)
        if (largest < min(_SURE, high * 0.999)).all():
            return pa.array(np.multiply.reduceat(numbers, inputs.starts), pa.int64()).cast(inputs.column.type)
    retract = inputs.is_op(Op.RETRACT)
    totals = numbers[inputs.starts]
    for rank, (members, positions) in enumerate(inputs.ranks()):
        if rank:
            held, factors, divides = totals[members], numbers[positions], retract[positions]
            if (divides & (factors == 0)).any():
                fix = "Set 'fields.<column>.ignore-retract' to true, or write no zeros."
                raise DataError("product divides by zero", column.where, fix)
            divisor = np.where(divides, factors, 1)
            if (divides & (held == _LEAST) & (factors == -1)).any():
                raise overflow("product", column.field.type, column.where)
            quotient = _truncated(held, divisor)
            estimate = np.where(divides, quotient, held.astype(np.float64) * factors)
            if (np.abs(estimate) >= _SURE).any():
                _check_exactly(held, factors, divides, column)
            result = np.where(divides, quotient, held * factors)
            if ((result < low) | (result > high)).any():
                raise overflow("product", column.field.type, column.where)
            totals[members] = result
    return pa.array(totals, pa.int64()).cast(inputs.column.type)


def _truncated(held: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    """Quotients without their remainders: towards zero, where NumPy rounds down."""
    with np.errstate(over="ignore"):
        quotient, rest = np.divmod(held, divisor)
    return np.asarray(quotient + ((rest != 0) & ((held < 0) != (divisor < 0))))


def _check_exactly(held: np.ndarray, factors: np.ndarray, divides: np.ndarray, column: AggregatedColumn) -> None:
    """Products that may not fit 64 bits, in Python's integers."""
    for left, right in zip(held[~divides].tolist(), factors[~divides].tolist(), strict=True):
        if not -(2**63) <= left * right < 2**63:
            raise overflow("product", column.field.type, column.where)


def _decimals(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    """In Python's decimals: Arrow has no multiplication that rounds and limits as Paimon's does."""
    retract = inputs.is_op(Op.RETRACT).tolist()
    values = inputs.values.to_pylist()
    products: list[Decimal | None] = []
    for start, end in zip(inputs.starts.tolist(), inputs.ends.tolist(), strict=True):
        total: Decimal | None = None
        for position in range(start, end):
            total = _step(total, values[position], column.field.type, divides=retract[position], where=column.where)
        products.append(total)
    return pa.array(products, inputs.column.type)


def _step(total: Decimal | None, value: Decimal, data_type: DataType, *, divides: bool, where: str) -> Decimal | None:
    if total is None:
        return None if divides else value
    if not divides:
        return _fitted(_EXACT.multiply(total, value), data_type)
    context = _EXACT.copy()
    context.clear_flags()
    try:
        quotient = context.divide(total, value)
    except decimal.DecimalException as error:
        raise DataError(
            "product divides by zero", where, "Set 'fields.<column>.ignore-retract' to true, or write no zeros."
        ) from error
    if context.flags[decimal.Inexact]:
        fix = "Set 'fields.<column>.ignore-retract' to true for this column."
        raise DataError(f"product: {total} / {value} has no exact decimal", where, fix)
    return _fitted(quotient, data_type)


def _fitted(value: Decimal, data_type: DataType) -> Decimal | None:
    """Rounded half up to the type's scale; None if that has too many digits."""
    precision, scale = data_type.precision or 0, data_type.scale or 0
    rounded = value.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    return None if rounded.adjusted() + 1 + scale > precision and rounded else rounded


PRODUCT = Aggregate("product", is_number, "numbers", product_values, retracts=True)
