"""Columns as unsigned integers that sort as Paimon compares values.

Each column becomes one or two *codes*: non-negative integers of a known number of bits whose order is the order of the
values, nulls first. Codes of several columns are packed, first column highest, into as few 64-bit *words* as possible,
so that sorting by a key of several columns is most often sorting one machine integer. Codes hold only inside one call:
they count from the smallest value that is there.

Order of values: integers, dates, timestamps and decimals by number; strings and bytes bytewise; false before true;
floats as Java orders them (-0.0 before 0.0, every NaN equal and largest). Source: Java `RecordComparator`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError
from maintenance.types.integer_order import ascending_order

_U64 = np.uint64
_BITS = 64
_SHORT = 7


@dataclass(frozen=True, slots=True)
class Codes:
    """Codes of one column. `values`: uint64, shape (n,), each below 2**bits."""

    values: np.ndarray
    bits: int


def sort_words(columns: Sequence[pa.Array]) -> list[np.ndarray]:
    """Words of rows, most significant first: uint64 arrays of shape (n,), at least one. `columns`: n > 0 rows each."""
    words: list[np.ndarray] = []
    free = 0
    for column in columns:
        for codes in column_codes(column):
            if words and codes.bits <= free:
                words[-1] = (words[-1] << _U64(codes.bits)) | codes.values
                free -= codes.bits
            else:
                words.append(codes.values)
                free = _BITS - codes.bits
    return words or [np.array([], _U64)]


def sort_order(words: Sequence[np.ndarray]) -> np.ndarray:
    """Row numbers in ascending order of their words; equal rows stay in order. Returns int64, shape (n,)."""
    first, *others = words
    if not others:
        return ascending_order(first)
    if len(first) and first.min() == first.max():
        return sort_order(others)
    # By the first word alone, as fast as it goes, then the rows among which it does not decide.
    order = ascending_order(first)
    ordered = first[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return order
    tied = np.zeros(len(order), bool)
    tied[1:] = same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    rows, values = order[places], ordered[places]
    groups = np.zeros(len(rows), _U64)
    groups[1:] = np.cumsum(values[1:] != values[:-1])
    by_others = sort_order([word[rows] for word in others])
    order[places] = rows[by_others][ascending_order(groups[by_others])]
    return order


def key_ranks(columns: Sequence[pa.Array]) -> np.ndarray:
    """The place of each row in their order, the same for equal rows. int64, shape (n,). `columns`: n > 0 rows each."""
    return dense_ranks(sort_words(columns))


def dense_ranks(words: Sequence[np.ndarray]) -> np.ndarray:
    """The same of rows whose words are known: numbers from 0 without gaps. int64, shape (n,)."""
    order = sort_order(words)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(changes(words, order)) - 1
    return ranks


def changes(words: Sequence[np.ndarray], order: np.ndarray) -> np.ndarray:
    """True where a row of `order` differs from the one before it; the first always does. Shape (n,)."""
    changed = np.ones(len(order), bool)
    changed[1:] = False
    for word in words:
        ordered = word[order]
        changed[1:] |= ordered[1:] != ordered[:-1]
    return changed


def column_codes(column: pa.Array) -> list[Codes]:
    """The codes of a column, most significant first. Raises: UnsupportedError: the type has no order here."""
    if column.null_count == len(column):
        return [Codes(np.zeros(len(column), _U64), 0)]
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return _with_nulls(_codes_without_nulls(column, nulls), nulls)


def _with_nulls(codes: list[Codes], nulls: np.ndarray | None) -> list[Codes]:
    if nulls is None:
        return codes
    first, *rest = codes
    cleared = [Codes(np.where(nulls, _U64(0), code.values), code.bits) for code in rest]
    if first.bits == _BITS:
        return [Codes((~nulls).astype(_U64), 1), Codes(np.where(nulls, _U64(0), first.values), _BITS), *cleared]
    largest = (1 << first.bits) - 1
    shifted = np.where(nulls, _U64(0), first.values + _U64(1))
    return [Codes(shifted, (largest + 1).bit_length()), *cleared]


def _codes_without_nulls(column: pa.Array, nulls: np.ndarray | None) -> list[Codes]:
    arrow = column.type
    if pa.types.is_dictionary(arrow):
        return [_ranks(column)]
    if pa.types.is_boolean(arrow):
        return [Codes(column.fill_null(False).to_numpy(zero_copy_only=False).astype(_U64), 1)]
    if pa.types.is_integer(arrow) or pa.types.is_temporal(arrow):
        return [_integer_codes(_integers(column), nulls)]
    if pa.types.is_floating(arrow):
        return [_float_codes(column.fill_null(0.0).to_numpy(), nulls)]
    if pa.types.is_decimal(arrow):
        return _decimal_codes(column, nulls)
    if pa.types.is_string(arrow) or pa.types.is_binary(arrow):
        return [_byte_codes(column)]
    fix = "Use columns of other types as primary key and sequence fields."
    raise UnsupportedError(f"values of Arrow type {arrow} cannot be ordered", "sort key", fix)


def _integers(column: pa.Array) -> np.ndarray:
    arrow = column.type
    if pa.types.is_temporal(arrow):
        column = column.view(pa.int32() if arrow.bit_width == 32 else pa.int64())
    if column.null_count:
        column = column.fill_null(0)
    return np.asarray(column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False))


def _integer_codes(values: np.ndarray, nulls: np.ndarray | None) -> Codes:
    """`values` minus their minimum. Values of nulls are arbitrary."""
    present = values if nulls is None else values[~nulls]
    low, high = int(present.min()), int(present.max())
    return Codes(values.view(_U64) - _U64(low & (2**64 - 1)), (high - low).bit_length())


def _float_codes(values: np.ndarray, nulls: np.ndarray | None) -> Codes:
    wide = values.astype(np.float64) if values.dtype != np.float64 else values
    bits = wide.view(np.int64)
    bits = np.where(np.isnan(wide), np.int64(0x7FF8000000000000), bits)
    ordered = np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)
    return _integer_codes(ordered, nulls)


def _decimal_codes(column: pa.Array, nulls: np.ndarray | None) -> list[Codes]:
    halves = np.frombuffer(column.buffers()[1], np.int64)
    halves = halves[2 * column.offset : 2 * (column.offset + len(column))]
    low, high = halves[0::2], halves[1::2]
    if column.type.precision <= 18:
        return [_integer_codes(np.ascontiguousarray(low), nulls)]
    upper = _integer_codes(np.ascontiguousarray(high), nulls)
    return [upper, Codes(np.ascontiguousarray(low).view(_U64), _BITS)]


def _byte_codes(column: pa.Array) -> Codes:
    """Up to seven bytes stand in the code itself, with the length below them; longer ones are ranked."""
    longest = pc.max(pc.binary_length(column)).as_py() or 0
    if longest > _SHORT:
        return _ranks(column)
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    data = column.buffers()[2]
    content = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    codes = np.zeros(len(column), _U64)
    for position in range(longest):
        at = np.minimum(offsets[:-1] + position, len(content) - 1)
        byte = np.where(position < lengths, content[at], 0)
        codes = (codes << _U64(8)) | byte.astype(_U64)
    width = longest.bit_length()
    return Codes((codes << _U64(width)) | lengths.astype(_U64), 8 * longest + width)


def _ranks(column: pa.Array) -> Codes:
    """The rank of each value among the distinct ones."""
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    distinct = encoded.dictionary
    order = pc.sort_indices(distinct).to_numpy()
    ranks = np.empty(len(distinct), _U64)
    ranks[order] = np.arange(len(distinct), dtype=_U64)
    indices = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    return Codes(ranks[indices], max(0, len(distinct) - 1).bit_length())
