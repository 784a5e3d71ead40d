"""Whether rows are equal, as Paimon's binary rows compare: null is null, NaN is NaN, 0.0 is not -0.0."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.types.lists import elements, lengths, valid


def same_values(left: pa.Array, right: pa.Array) -> np.ndarray:
    """True where two columns of one type hold the same. `left`, `right`: n values each. Returns: bool, shape (n,)."""
    left_valid, right_valid = valid(left), valid(right)
    both = left_valid & right_valid
    return np.where(both, _same_content(left, right, both), left_valid == right_valid)


def _same_content(left: pa.Array, right: pa.Array, both: np.ndarray) -> np.ndarray:
    """The same where both values are there; elsewhere anything."""
    kind = left.type
    if pa.types.is_struct(kind):
        same = np.ones(len(left), bool)
        for number in range(kind.num_fields):
            same &= same_values(pc.struct_field(left, number), pc.struct_field(right, number))
        return same
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return _same_lists(left, right, both)
    if pa.types.is_fixed_size_list(kind):
        return _same_lists(left.cast(pa.list_(kind.value_type)), right.cast(pa.list_(kind.value_type)), both)
    if pa.types.is_floating(kind):
        bits = pa.int64() if kind.bit_width == 64 else pa.int32() if kind.bit_width == 32 else pa.int16()
        left, right = _canonical(left).view(bits), _canonical(right).view(bits)
    is_equal: np.ndarray = pc.fill_null(pc.equal(left, right), False).to_numpy(zero_copy_only=False)
    return is_equal


def _canonical(values: pa.Array) -> pa.Array:
    """Floats with one NaN of all there are, as Java's bits of a float have it."""
    nan = pa.scalar(float("nan"), pa.float64()).cast(values.type)
    return pc.if_else(pc.is_nan(values), nan, values)


def _same_lists(left: pa.Array, right: pa.Array, both: np.ndarray) -> np.ndarray:
    """Lists and maps: as long as one another, and element by element the same, in order."""
    left_length, right_length = lengths(left), lengths(right)
    same = both & (left_length == right_length)
    rows = np.flatnonzero(same & (left_length > 0))
    if len(rows):
        chosen = pa.array(rows)
        held = same_values(elements(left.take(chosen)), elements(right.take(chosen)))
        starts = np.concatenate(([0], np.cumsum(left_length[rows])[:-1]))
        same[rows] = np.logical_and.reduceat(held, starts)
    return np.asarray(same)
