"""One field out of many serialized rows, without a Python object per row: `binary_columns` the other way round.

Of the types that statistics are mostly compared by. Layout: `binary_layout`. Source: metadata section 4.4.
"""

import struct

import numpy as np
import pyarrow as pa

from maintenance.format.rows.binary_columns import texts_of_array
from maintenance.format.rows.binary_layout import FIXED_WIDTHS, INLINE_BYTES, is_compact, null_bits_size
from maintenance.types.data_type import DataType

# In front of a row: its number of fields, big endian.
_ARITY_SIZE = 4
_NUMBERS = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "TIME"})


def is_read(data_type: DataType) -> bool:
    """Whether `field_values` reads values of the type."""
    return data_type.root in _NUMBERS or data_type.root == "VARCHAR" or data_type.is_timestamp


def field_values(rows: pa.BinaryArray, arity: int, field: int, data_type: DataType) -> pa.Array:
    """The values of a field: numbers as int64, timestamps as whole milliseconds, rounded down, texts as their bytes.

    Null where the field is, where the row has another number of fields, and where it is cut off.

    Args: `rows`: with their number of fields in front; `arity`: of the rows; `data_type`: one that `is_read`.
    """
    texts = texts_of_array(rows)
    content, fixed = texts.content, null_bits_size(arity) + 8 * arity
    whole = np.flatnonzero(texts.lengths >= _ARITY_SIZE + fixed)
    prefix = _gathered(content, texts.starts[whole], _ARITY_SIZE)
    whole = whole[(prefix == np.frombuffer(struct.pack(">i", arity), np.uint8)).all(axis=1)]
    starts = texts.starts[whole] + _ARITY_SIZE
    there = (content[starts + (field + 8) // 8] >> np.uint8(field % 8)) & 1 == 0
    whole, starts = whole[there], starts[there]
    slots = starts + null_bits_size(arity) + 8 * field
    ends = texts.starts[whole] + texts.lengths[whole]
    if data_type.root == "VARCHAR":
        return _texts(len(rows), whole, content, starts, slots, ends)
    if data_type.is_timestamp:
        places = slots if is_compact(data_type) else starts + _offsets(content, slots)
        inside = places + 8 <= ends
        whole, places, width = whole[inside], places[inside], 8
    else:
        places, width = slots, FIXED_WIDTHS[data_type.root]
    values, known = np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
    values[whole], known[whole] = _gathered(content, places, width).view(f"<i{width}")[:, 0], True
    return pa.array(values, mask=~known)


def _texts(
    count: int, whole: np.ndarray, content: np.ndarray, starts: np.ndarray, slots: np.ndarray, ends: np.ndarray
) -> pa.Array:
    marks = content[slots + 7]
    inline = marks & 0x80 != 0
    sizes = _gathered(content, slots, 4).view("<u4")[:, 0].astype(np.int64)
    sizes = np.where(inline, marks & 0x7F, sizes)
    places = np.where(inline, slots, starts + _offsets(content, slots))
    inside = np.where(inline, sizes <= INLINE_BYTES, places + sizes <= ends)
    whole, places, sizes = whole[inside], places[inside], sizes[inside]
    lengths, known = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    lengths[whole], known[whole] = sizes, True
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    source = np.repeat(places - bounds[whole], sizes) + np.arange(int(bounds[-1]))
    valid = pa.array(known).buffers()[1]
    buffers = [valid, pa.py_buffer(bounds.astype(np.int32)), pa.py_buffer(content[source])]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _offsets(content: np.ndarray, slots: np.ndarray) -> np.ndarray:
    """Where values of the variable part are, in bytes from the start of their row."""
    return _gathered(content, slots + 4, 4).view("<u4")[:, 0].astype(np.int64)


def _gathered(content: np.ndarray, places: np.ndarray, width: int) -> np.ndarray:
    """Some bytes from each place on, uint8, shape (n, width)."""
    if not len(places):
        return np.zeros((0, width), np.uint8)
    return content[places[:, None] + np.arange(width)]
