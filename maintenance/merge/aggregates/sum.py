"""`sum`: nulls are skipped; a retraction subtracts.

Integers that leave the range of their type are an error, even if a -D removes the row later. Decimals of up to 18
digits may get more digits than their type has, longer ones become null, and so do those beyond 64 bits. Floats are
added in the order of the records, since the result depends on it. Source: Java `FieldSumAgg`, `DecimalUtils`.
"""

import numpy as np
import pyarrow as pa

from maintenance.merge.aggregates.aggregate import Aggregate, AggregatedColumn
from maintenance.merge.inputs import Inputs, Op, scatter
from maintenance.merge.numbers import decimals, integer_bounds, is_number, overflow, plain, unscaled_halves

_LIMB = np.uint64(0xFFFFFFFF)
# Magnitudes are added in floating point, which is off by a little.
_SURE = 0.999
_LONG = 64


def sum_values(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    parts, last = inputs.cut_at_sets
    sums = _sums(parts, column)
    return sums if parts is inputs else sums.take(pa.array(last))


def _sums(inputs: Inputs, column: AggregatedColumn) -> pa.Array:
    if pa.types.is_floating(inputs.column.type):
        return _sum_floats(inputs)
    nothing = ~np.logical_or.reduceat(inputs.valid, inputs.starts)
    if pa.types.is_decimal(inputs.column.type):
        return _sum_decimals(inputs, nothing, column)
    return _sum_integers(inputs, nothing, column)


def _signs(inputs: Inputs) -> np.ndarray | None:
    return np.where(inputs.is_op(Op.RETRACT), -1, 1) if inputs.has(Op.RETRACT) else None


def _sum_integers(inputs: Inputs, nothing: np.ndarray, column: AggregatedColumn) -> pa.Array:
    arrow = inputs.column.type
    low, high = integer_bounds(arrow)
    numbers = plain(inputs.column)[inputs.order]
    signs = _signs(inputs)
    largest = np.add.reduceat(np.abs(numbers.astype(np.float64)), inputs.starts)
    if signs is not None:
        numbers = numbers * signs
    totals = np.add.reduceat(numbers, inputs.starts)
    for segment in np.flatnonzero(largest > high * _SURE).tolist():
        part = slice(inputs.starts[segment], inputs.ends[segment])
        signed = plain(inputs.column)[inputs.order[part]].tolist()
        total = 0
        for position, number in enumerate(signed):
            total += number if signs is None else number * int(signs[part][position])
            if not low <= total <= high:
                raise overflow("sum", column.field.type, column.where)
        totals[segment] = total
    return pa.array(totals, pa.int64(), mask=nothing).cast(arrow)


def _sum_decimals(inputs: Inputs, nothing: np.ndarray, column: AggregatedColumn) -> pa.Array:
    """Four limbs of 32 bits are added each for itself, and their carries at the end."""
    arrow = inputs.column.type
    high, low = (half[inputs.order] for half in unscaled_halves(inputs.column))
    limbs = [(low & _LIMB).astype(np.int64), (low >> np.uint64(32)).astype(np.int64), high & 0xFFFFFFFF, high >> 32]
    signs = _signs(inputs)
    sums = [np.add.reduceat(limb if signs is None else limb * signs, inputs.starts) for limb in limbs]
    for position in range(len(sums) - 1):
        sums[position + 1] += sums[position] >> 32
        sums[position] &= 0xFFFFFFFF
    total_low = sums[0].astype(np.uint64) | (sums[1].astype(np.uint64) << np.uint64(32))
    total_high = (sums[3] << 32) | sums[2]
    largest = np.add.reduceat(np.abs(high * 2.0**64 + low.astype(np.float64)), inputs.starts)
    nulls = nothing.copy()
    for segment in np.flatnonzero(largest > 10.0**arrow.precision * _SURE).tolist():
        part = slice(inputs.starts[segment], inputs.ends[segment])
        exact = _sum_exactly(inputs, part, None if signs is None else signs[part], 10**arrow.precision - 1)
        nulls[segment] = exact is None
        bits = exact or 0
        total_high[segment], total_low[segment] = bits >> 64, bits & (2**64 - 1)
    return decimals(total_high, total_low, nulls, arrow)


def _sum_exactly(inputs: Inputs, part: slice, signs: np.ndarray | None, largest: int) -> int | None:
    """One segment near the limit, a record at a time: what goes beyond becomes null, and the sum starts over."""
    high, low = (half[inputs.order[part]].tolist() for half in unscaled_halves(inputs.column))
    total: int | None = None
    for position, valid in enumerate(inputs.valid[part].tolist()):
        if not valid:
            continue
        number = high[position] * 2**64 + low[position]
        if signs is not None:
            number *= int(signs[position])
        if total is None:
            total = number
            continue
        total += number
        within = largest if inputs.column.type.precision > 18 else 2**63 - 1
        if abs(total) > within:
            total = None
    return total


def _sum_floats(inputs: Inputs) -> pa.Array:
    count = len(inputs.starts)
    if not inputs.valid.any():
        return pa.nulls(count, inputs.column.type)
    present, segments = inputs.only(inputs.valid)
    numbers = plain(present.column)[present.order]
    if present.has(Op.RETRACT):
        numbers = np.where(present.is_op(Op.RETRACT), -numbers, numbers)
    return scatter(pa.array(_added(numbers, present), inputs.column.type), segments, count)


def _added(numbers: np.ndarray, inputs: Inputs) -> np.ndarray:
    """One addition after the other: short segments side by side, long ones each for itself."""
    with np.errstate(all="ignore"):  # beyond the largest float lies infinity, as in Java
        return _added_up(numbers, inputs)


def _added_up(numbers: np.ndarray, inputs: Inputs) -> np.ndarray:
    totals = numbers[inputs.starts]
    long = np.flatnonzero(inputs.counts > _LONG)
    for segment in long.tolist():
        totals[segment] = np.add.accumulate(numbers[inputs.starts[segment] : inputs.ends[segment]])[-1]
    short = inputs.counts <= _LONG
    if not short.any():
        return np.asarray(totals)
    rest, segments = (inputs, np.arange(len(totals))) if not len(long) else inputs.only(short[inputs.segment])
    values = numbers if not len(long) else numbers[short[inputs.segment]]
    for rank, (members, positions) in enumerate(rest.ranks()):
        if rank:
            totals[segments[members]] += values[positions]
    return np.asarray(totals)


SUM = Aggregate("sum", is_number, "numbers", sum_values, retracts=True)
