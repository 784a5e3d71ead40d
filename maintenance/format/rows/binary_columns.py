"""Rows in serialized form out of Arrow columns, many at once, without a Python object per row.

Each column gives three things: its slot words, how many words of the variable part each row takes, and these words. The
word counts give the rows' starts in one long array of words, and everything is scattered into it.
Layout: `binary_layout`. Source: metadata section 4.4.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.errors import DataError
from maintenance.format.rows.binary_layout import (
    FIXED_WIDTHS,
    INLINE_BYTES,
    is_compact,
    is_supported,
    null_bits_size,
    unsupported,
)
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataType
from maintenance.types.nanos import NANOS, parts_of, widened

# Bounds the index arrays below, which take 16 bytes per byte of text.
_BYTES_AT_ONCE = 4 << 20
_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """n rows without their number of fields. `words`: uint64; `starts`, `sizes`: int64, shape (n,), in words."""

    words: np.ndarray
    starts: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts or bytes. `content`: uint8; `starts`, `lengths`: int64, shape (n,), in bytes of it; null has length 0."""

    content: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of n rows.

    Attributes:
        slots: uint64, shape (n,); of values in the variable part without the offset.
        nulls: bool, shape (n,).
        sizes: words of the variable part, int64, shape (n,).
        variable: uint64, shape (n, k), when each row takes k words.
        texts: when they vary; those of `sizes` 0 stand in the slot.
    """

    slots: np.ndarray
    nulls: np.ndarray
    sizes: np.ndarray
    variable: np.ndarray | None = None
    texts: Texts | None = None


def encode_rows(
    columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]
) -> Iterator[tuple[int, EncodedRows]]:
    """The rows of columns in pieces that fit in memory, each with the number of its first row.

    Raises: UnsupportedError: a column of a type without a form; DataError: a column does not cast to its type.
    """
    rows = len(columns[0])
    size = sum(column.nbytes for column in columns)
    step = max(1024, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE * rows // max(size, 1)))
    for first in range(0, rows, step):
        pieces = [column.slice(first, step) for column in columns]
        yield first, _encoded([_column(piece, data_type) for piece, data_type in zip(pieces, types, strict=True)])


def _encoded(columns: Sequence[_Column]) -> EncodedRows:
    header = null_bits_size(len(columns)) // 8
    fixed = header + len(columns)
    sizes: np.ndarray = np.full(len(columns[0].sizes), fixed, np.int64)
    sizes += np.sum([column.sizes for column in columns], axis=0, dtype=np.int64)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    words = np.zeros(int(ends[-1]), "<u8")
    variable = np.full(len(sizes), fixed, np.int64)
    for index, column in enumerate(columns):
        bit = index + 8
        words[starts + bit // 64] |= column.nulls.astype(np.uint64) << np.uint64(bit % 64)
        _put(words, starts, header + index, variable, column)
        variable += column.sizes
    return EncodedRows(words, starts, sizes)


def _put(words: np.ndarray, starts: np.ndarray, slot: int, variable: np.ndarray, column: _Column) -> None:
    """Write a column. `slot`, `variable`: where its slot and its variable part are, in words from the row's start."""
    offsets = variable.astype(np.uint64) << np.uint64(35)  # in bytes, in the high half of the slot
    words[starts + slot] = np.where(column.sizes > 0, column.slots | offsets, column.slots)
    if column.variable is not None:
        for word in range(column.variable.shape[1]):
            words[starts + variable + word] = column.variable[:, word]
    if column.texts is not None:
        places = 8 * (starts + np.where(column.sizes > 0, variable, slot))
        _copy(column.texts, words.view(np.uint8), places)


def _copy(texts: Texts, out: np.ndarray, places: np.ndarray) -> None:
    """Copy every text to its place. `out`: uint8; `places`: int64, shape (n,), in bytes of it."""
    before = np.cumsum(texts.lengths) - texts.lengths
    each = np.arange(int(texts.lengths.sum()))
    source = np.repeat(texts.starts - before, texts.lengths) + each
    out[np.repeat(places - before, texts.lengths) + each] = texts.content[source]


def _column(column: pa.Array | pa.ChunkedArray, data_type: DataType) -> _Column:
    if not is_supported(data_type):
        raise unsupported(data_type, "column")
    array = natural_array(column, data_type)
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    if data_type.is_string or data_type.is_bytes:
        return _of_texts(array, nulls)
    if data_type.root == "DECIMAL":
        return _of_decimals(array, nulls, data_type)
    if data_type.is_timestamp:
        return _of_timestamps(array, nulls, data_type)
    if data_type.root == "BOOLEAN":
        array = array.cast(pa.uint8())
    width = FIXED_WIDTHS[data_type.root]
    values = np.frombuffer(array.buffers()[1] or b"", f"<u{width}", len(array), array.offset * width)
    return _Column(np.where(nulls, 0, values).astype(np.uint64), nulls, np.zeros(len(array), np.int64))


def natural_array(column: pa.Array | pa.ChunkedArray, data_type: DataType) -> pa.Array:
    """The column as one array of the type's natural Arrow type. Raises: DataError: it does not cast to it."""
    arrow = arrow_type(data_type)
    if column.type != arrow:
        try:
            column = _widened(column) if arrow == NANOS else column.cast(arrow)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"{column.type} is not {data_type}: {error}", "column", "Cast the column first.") from error
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], arrow)])
    return column


def _widened(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    moments = column if pa.types.is_timestamp(column.type) else column.cast(pa.timestamp("ns"))
    if isinstance(moments, pa.ChunkedArray):
        return pa.chunked_array([widened(chunk) for chunk in moments.chunks], NANOS)
    return widened(moments)


def texts_of_array(array: pa.Array) -> Texts:
    """The bytes of an array of type string or binary, without a copy."""
    _, offset_buffer, content = array.buffers()
    if not len(array):
        return Texts(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))
    offsets = np.frombuffer(offset_buffer, "<i4", len(array) + 1, array.offset * 4).astype(np.int64)
    lengths = np.where(array.is_null().to_numpy(zero_copy_only=False), 0, np.diff(offsets))
    return Texts(np.frombuffer(content or b"", np.uint8), offsets[:-1], lengths)


def _of_texts(array: pa.Array, nulls: np.ndarray) -> _Column:
    texts = texts_of_array(array)
    lengths = texts.lengths
    inline = lengths <= INLINE_BYTES
    marks = (0x80 | lengths).astype(np.uint64) << np.uint64(56)
    slots = np.where(nulls, 0, np.where(inline, marks, lengths.astype(np.uint64))).astype(np.uint64)
    return _Column(slots, nulls, np.where(inline, 0, -(-lengths // 8)), texts=texts)


def _of_timestamps(array: pa.Array, nulls: np.ndarray, data_type: DataType) -> _Column:
    if array.type == NANOS:
        micros, rest = parts_of(array)
        millis, of_milli = np.divmod(micros, 1000)
        return _in_two_words(millis, of_milli * 1000 + rest, nulls)
    values = np.frombuffer(array.buffers()[1] or b"", "<i8", len(array), array.offset * 8)
    values = np.where(nulls, 0, values)
    if is_compact(data_type):
        return _Column(values.view(np.uint64), nulls, np.zeros(len(array), np.int64))
    millis, rest = np.divmod(values, 1000)
    return _in_two_words(millis, rest * 1000, nulls)


def _in_two_words(millis: np.ndarray, nanos: np.ndarray, nulls: np.ndarray) -> _Column:
    """`nanos`: of the millisecond."""
    return _Column(nanos.astype(np.uint64), nulls, np.ones(len(millis), np.int64), millis.view(np.uint64)[:, None])


def _of_decimals(array: pa.Array, nulls: np.ndarray, data_type: DataType) -> _Column:
    raw = np.frombuffer(array.buffers()[1] or b"", np.uint8, 16 * len(array), array.offset * 16).reshape(-1, 16)
    raw = np.where(nulls[:, None], np.uint8(0), raw)
    if is_compact(data_type):
        return _Column(np.ascontiguousarray(raw[:, :8]).view("<u8")[:, 0], nulls, np.zeros(len(array), np.int64))
    content, lengths = _shortest(raw[:, ::-1])
    slots = np.where(nulls, 0, lengths).astype(np.uint64)
    return _Column(slots, nulls, np.full(len(array), 2, np.int64), content.view("<u8"))


def _shortest(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Big endian two's complement numbers without the leading bytes that only repeat the sign, zeros behind them.

    Args: `numbers`: uint8, shape (n, 16). Returns: the same shape, and the lengths, shape (n,).
    """
    signs = np.where(numbers[:, :1] >= 0x80, np.uint8(0xFF), np.uint8(0))
    repeats = (numbers[:, :-1] == signs) & ((numbers[:, 1:] ^ signs) < 0x80)
    leading = np.cumprod(repeats, axis=1).sum(axis=1)
    places = np.arange(16) + leading[:, None]
    moved = np.take_along_axis(numbers, np.minimum(places, 15), axis=1)
    return np.where(places < 16, moved, np.uint8(0)), 16 - leading
