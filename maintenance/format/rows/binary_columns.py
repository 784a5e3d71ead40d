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

# Bounds the index arrays below, which take 5 bytes per byte of text; what so many rows take stays in the caches.
_BYTES_AT_ONCE = 4 << 20
_ROWS_AT_ONCE = 1 << 14
# Of a word of which only so many bytes belong to a text.
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)

_Words = int | np.ndarray
"""Words of each row: as many in all, or int64, shape (n,)."""


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
        sizes: of the variable part.
        variable: uint64, shape (n, k), when each row takes k words.
        texts: when they vary; those of `sizes` 0 stand in the slot already.
    """

    slots: np.ndarray
    nulls: np.ndarray
    sizes: _Words = 0
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
    size: _Words = fixed
    for column in columns:
        size = size + column.sizes
    sizes = np.broadcast_to(np.asarray(size, np.int64), len(columns[0].slots))
    starts = np.cumsum(sizes) - sizes
    rows = _Rows(np.zeros(int(sizes.sum()), "<u8"), starts, size)
    variable: _Words = fixed
    for index, column in enumerate(columns):
        if column.nulls.any():
            bit = index + 8
            rows.words[rows.at(bit // 64)] |= column.nulls.astype(np.uint64) << np.uint64(bit % 64)
        _put(rows, header + index, variable, column)
        variable = variable + column.sizes
    return EncodedRows(rows.words, starts, sizes)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows one after the other. `words`: uint64; `starts`: of each row in them, int64, shape (n,)."""

    words: np.ndarray
    starts: np.ndarray
    size: _Words

    def at(self, word: _Words) -> slice | np.ndarray:
        """Where a word of each row is. `word`: its number within the row."""
        if isinstance(self.size, int) and isinstance(word, int):
            return slice(word, None, self.size)
        return np.asarray(self.starts + word)


def _put(rows: _Rows, slot: int, variable: _Words, column: _Column) -> None:
    """Write a column. `slot`, `variable`: where its slot and its variable part are, in words from the row's start."""
    offsets = np.asarray(variable, np.uint64) << np.uint64(35)  # in bytes, in the high half of the slot
    rows.words[rows.at(slot)] = np.where(np.asarray(column.sizes) > 0, column.slots | offsets, column.slots)
    if column.variable is not None:
        for word in range(column.variable.shape[1]):
            rows.words[rows.at(variable + word)] = column.variable[:, word]
    if column.texts is not None:
        _copy(column.texts, np.asarray(column.sizes), rows.words, rows.starts + variable)


def _copy(texts: Texts, sizes: np.ndarray, out: np.ndarray, places: np.ndarray) -> None:
    """Copy every text to its place. Args: `sizes`: how many words of it; `out`: uint64; `places`: in words of it."""
    before = np.cumsum(sizes) - sizes
    each = np.arange(int(sizes.sum()))
    starts = np.repeat(texts.starts - 8 * before, sizes) + 8 * each
    lengths = np.repeat(texts.lengths + 8 * before, sizes) - 8 * each
    out[np.repeat(places - before, sizes) + each] = _first_words(texts.content, starts, lengths)


def _first_words(content: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The first eight bytes of texts, zeros behind those that are shorter: uint64, shape (n,)."""
    if len(content) < 8:
        content = np.concatenate([content, np.zeros(8 - len(content), np.uint8)])
    words = np.ndarray((len(content) - 7,), "<u8", content, strides=(1,))
    places = np.minimum(starts, len(words) - 1)  # at the end of the content a word begins before its text
    found = words[places] >> (8 * (starts - places)).astype(np.uint64)
    return np.asarray(found & _MASKS[np.minimum(lengths, 8)])


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
    return _Column(np.where(nulls, 0, values).astype(np.uint64), nulls)


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
    marked = (0x80 | lengths).astype(np.uint64) << np.uint64(56)
    if inline.any():
        marked |= _first_words(texts.content, texts.starts, np.where(inline, lengths, 0))
    slots = np.where(nulls, 0, np.where(inline, marked, lengths.astype(np.uint64))).astype(np.uint64)
    if inline.all():
        return _Column(slots, nulls)
    return _Column(slots, nulls, np.where(inline, 0, -(-lengths // 8)), texts=texts)


def _of_timestamps(array: pa.Array, nulls: np.ndarray, data_type: DataType) -> _Column:
    if array.type == NANOS:
        micros, rest = parts_of(array)
        millis, of_milli = np.divmod(micros, 1000)
        return _in_two_words(millis, of_milli * 1000 + rest, nulls)
    values = np.frombuffer(array.buffers()[1] or b"", "<i8", len(array), array.offset * 8)
    values = np.where(nulls, 0, values)
    if is_compact(data_type):
        return _Column(values.view(np.uint64), nulls)
    millis, rest = np.divmod(values, 1000)
    return _in_two_words(millis, rest * 1000, nulls)


def _in_two_words(millis: np.ndarray, nanos: np.ndarray, nulls: np.ndarray) -> _Column:
    """`nanos`: of the millisecond."""
    return _Column(nanos.astype(np.uint64), nulls, 1, millis.view(np.uint64)[:, None])


def _of_decimals(array: pa.Array, nulls: np.ndarray, data_type: DataType) -> _Column:
    raw = np.frombuffer(array.buffers()[1] or b"", np.uint8, 16 * len(array), array.offset * 16).reshape(-1, 16)
    raw = np.where(nulls[:, None], np.uint8(0), raw)
    if is_compact(data_type):
        return _Column(np.ascontiguousarray(raw[:, :8]).view("<u8")[:, 0], nulls)
    content, lengths = _shortest(raw[:, ::-1])
    slots = np.where(nulls, 0, lengths).astype(np.uint64)
    return _Column(slots, nulls, 2, content.view("<u8"))


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
