"""Whether values are the same, bit by bit, and whether a change leaves them as they were, as Paimon judges that.

A map has no order, but its entries have one in most files: whether that counts is for the caller to say. The second is
the rule of `changelog-producer.row-deduplicate`, by Paimon's generated `RecordEqualiser`: 0.0 is -0.0 and
NaN is no NaN; a null in an array or as the value of a map is never the same as another one; numbers, dates and times as
values of a map are objects there, of which only those from -128 to 127 are one for all.
"""

from enum import Enum
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.types.lists import elements, lengths, valid

# Of these whole numbers Java has one object each.
_FEWEST, _MOST = -128, 127


class _Rule(Enum):
    """What is the same: all bits, in their order; all values, maps in any order; what Paimon takes for it."""

    BITS = "bits"
    VALUES = "values"
    PAIMON = "paimon"


def same_values(left: pa.Array, right: pa.Array, *, maps_in_order: bool = True) -> np.ndarray:
    """True where two columns of one type hold the same: null is null, NaN is NaN, 0.0 is not -0.0.

    Args: `left`, `right`: n values each; `maps_in_order`: a map with the same entries in another order is another one.
    Returns: bool, shape (n,).
    """
    return _same(left, right, _Rule.BITS if maps_in_order else _Rule.VALUES)


def unchanged_values(left: pa.Array, right: pa.Array) -> np.ndarray:
    """True where Paimon finds that a change leaves the value as it was.

    Args: `left`, `right`: n values each, of one type. Returns: bool, shape (n,).
    Source: Java `EqualiserCodeGenerator` and `ScalarOperatorGens`.
    """
    return _same(left, right, _Rule.PAIMON)


def _same(left: pa.Array, right: pa.Array, rule: _Rule) -> np.ndarray:
    left_valid, right_valid = valid(left), valid(right)
    both = left_valid & right_valid
    return np.where(both, _same_content(left, right, both, rule), left_valid == right_valid)


def _same_content(left: pa.Array, right: pa.Array, both: np.ndarray, rule: _Rule) -> np.ndarray:
    """The same where both values are there; elsewhere anything."""
    kind = left.type
    if pa.types.is_struct(kind):
        same = np.ones(len(left), bool)
        for number in range(kind.num_fields):
            same &= _same(pc.struct_field(left, number), pc.struct_field(right, number), rule)
        return same
    if pa.types.is_fixed_size_list(kind):
        kind = pa.list_(kind.value_type)
        left, right = left.cast(kind), right.cast(kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return _same_lists(left, right, both, rule)
    if pa.types.is_floating(kind) and rule is not _Rule.PAIMON:
        bits = pa.int64() if kind.bit_width == 64 else pa.int32() if kind.bit_width == 32 else pa.int16()
        left, right = _canonical(left).view(bits), _canonical(right).view(bits)
    is_equal: np.ndarray = pc.fill_null(pc.equal(left, right), False).to_numpy(zero_copy_only=False)
    return is_equal


def _canonical(values: pa.Array) -> pa.Array:
    """Floats with one NaN of all there are, as Java's bits of a float have it."""
    nan = pa.scalar(float("nan"), pa.float64()).cast(values.type)
    return pc.if_else(pc.is_nan(values), nan, values)


def _same_lists(left: pa.Array, right: pa.Array, both: np.ndarray, rule: _Rule) -> np.ndarray:
    """Lists and maps: as long as one another, and element by element the same."""
    counts = lengths(left)
    same = np.asarray(both & (counts == lengths(right)))
    rows = np.flatnonzero(same & (counts > 0))
    if len(rows):
        counts, chosen = counts[rows], pa.array(rows)
        left, right = left.take(chosen), right.take(chosen)
        unpacked = elements if rule is _Rule.BITS else partial(_entries_of, counts=counts)
        inner = unpacked(left), unpacked(right)
        held = _unchanged_elements(*inner, left.type) if rule is _Rule.PAIMON else _same(*inner, rule)
        same[rows] = np.logical_and.reduceat(held, np.concatenate(([0], np.cumsum(counts)[:-1])))
    return same


def _unchanged_elements(left: pa.Array, right: pa.Array, of: pa.DataType) -> np.ndarray:
    """Whether Paimon takes elements of lists or entries of maps, whose type is `of`, for the same."""
    if not pa.types.is_map(of):
        return _same_and_there(left, right)
    keys, values = ([pc.struct_field(each, number) for each in (left, right)] for number in (0, 1))
    same: np.ndarray = same_values(*keys) & _same_and_there(*values) & _is_one_object(values[0])
    return same


def _same_and_there(left: pa.Array, right: pa.Array) -> np.ndarray:
    both = valid(left) & valid(right)
    same: np.ndarray = both & _same_content(left, right, both, _Rule.PAIMON)
    return same


def _is_one_object(values: pa.Array) -> np.ndarray:
    """Whether Java has one object for all values like each: it compares such values of maps as objects."""
    kind = values.type
    if pa.types.is_floating(kind):
        return np.zeros(len(values), bool)
    if pa.types.is_time(kind):
        values, kind = values.cast(pa.time32("ms")), pa.time32("ms")
    if not (pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_time(kind)):
        return np.ones(len(values), bool)
    whole = values if pa.types.is_integer(kind) else values.cast(pa.int32())
    few = pc.and_(pc.greater_equal(whole, _FEWEST), pc.less_equal(whole, _MOST))
    is_few: np.ndarray = pc.fill_null(few, False).to_numpy(zero_copy_only=False)
    return is_few


def _entries_of(values: pa.Array, counts: np.ndarray) -> pa.Array:
    """The elements of lists; the entries of maps in the order of their keys, where these have one."""
    entries = elements(values)
    if not pa.types.is_map(values.type) or pa.types.is_nested(values.type.key_type):
        return entries
    rows = pa.array(np.repeat(np.arange(len(counts)), counts))
    keyed = pa.table({"row": rows, "key": pc.struct_field(entries, 0)})
    return entries.take(pc.sort_indices(keyed, [("row", "ascending"), ("key", "ascending")]))
