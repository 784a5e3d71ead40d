"""Columns as the rows of a row file, without a loop over values.

Every column becomes an array of byte strings, one for each value; Arrow joins those of a row. A value that is null has
no bytes, only a bit before its row's values, or before the elements of its list.
Source: Paimon's specification of the row format, Java `RowBlockWriter`.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import UnsupportedError
from maintenance.format.bytes.decimals import digits_of_decimals
from maintenance.format.bytes.ragged import ends, spread
from maintenance.format.bytes.varints import varints
from maintenance.types.arrow import element_of, has_nanos, map_parts
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nanos import parts_of

_BYTES = pa.large_binary()
_NOTHING = pa.scalar(b"", _BYTES)
COMPACT_DIGITS = 18  # decimals of so many are a number of 64 bits
COMPACT_PRECISION = 3  # timestamps of so many digits are milliseconds alone


def encode_rows(columns: Sequence[pa.Array], fields: Sequence[DataField]) -> pa.LargeBinaryArray:
    """Rows of these columns, which have the natural Arrow types of the fields."""
    return _rows(columns, [field.type for field in fields])


def _rows(columns: Sequence[pa.Array], types: Sequence[DataType]) -> pa.LargeBinaryArray:
    nulls = np.zeros((len(columns[0]), len(columns)), bool)
    for number, column in enumerate(columns):
        if column.null_count:
            nulls[:, number] = column.is_null().to_numpy(zero_copy_only=False)
    bits = np.packbits(nulls, axis=1, bitorder="little")
    return _joined(_fixed(bits), *(_encoded(*column) for column in zip(columns, types, strict=True)))


def _encoded(array: pa.Array, data_type: DataType) -> pa.LargeBinaryArray:
    if not array.null_count:
        return _present(array, data_type)
    present = _present(array.drop_null(), data_type)
    sizes = np.zeros(len(array), np.int64)
    sizes[array.is_valid().to_numpy(zero_copy_only=False)] = np.diff(_offsets(present))
    return _strings(ends(sizes), present.buffers()[2])


def _present(array: pa.Array, data_type: DataType) -> pa.LargeBinaryArray:
    """Values of a column without nulls."""
    match data_type.root:
        case "BOOLEAN":
            return _fixed(array.cast(pa.uint8()).to_numpy())
        case "DATE" | "TIME":
            return _fixed(array.cast(pa.int32()).to_numpy())
        case "CHAR" | "VARCHAR" | "BINARY" | "VARBINARY" | "BLOB":
            return _counted(array.cast(_BYTES))
        case "DECIMAL":
            return _decimals(array, data_type)
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return _timestamps(array, data_type)
        case "VARIANT":
            return _joined(*(_counted(part.cast(_BYTES)) for part in array.flatten()))
        case "ROW":
            return _rows(array.flatten(), [field.type for field in data_type.fields])
        case "ARRAY":
            return _list(array.flatten(), element_of(data_type), _counts(array))
        case "VECTOR":
            counts = _counts(array)
            elements = _present(_not_null(array.flatten(), data_type), element_of(data_type))
            return _joined(_numbers(counts), _grouped(elements, counts))
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            counts, start = _counts(array), array.offsets[0].as_py() if len(array) else 0
            keys, items = (part.slice(start, int(counts.sum())) for part in (array.keys, array.items))
            return _joined(_list(keys, key, counts), _list(items, value, counts))
    return _fixed(array.to_numpy())


def _not_null(elements: pa.Array, data_type: DataType) -> pa.Array:
    if elements.null_count:
        raise UnsupportedError(f"null inside a {data_type}", "a row file", "Fill the elements before writing.")
    return elements


def _list(elements: pa.Array, data_type: DataType, counts: np.ndarray) -> pa.LargeBinaryArray:
    """Lists of these elements: how many there are, a bit for each that is null, and those that are not."""
    sizes = (counts + 7) // 8
    bits = np.zeros(8 * int(sizes.sum()), bool)
    if elements.null_count:
        null = elements.is_null().to_numpy(zero_copy_only=False)
        bits[spread(8 * ends(sizes)[:-1], counts)] = null
    nulls = _strings(ends(sizes), pa.py_buffer(np.packbits(bits, bitorder="little")))
    return _joined(_numbers(counts), nulls, _grouped(_encoded(elements, data_type), counts))


def _counts(array: pa.Array) -> np.ndarray:
    return np.asarray(np.diff(array.offsets.to_numpy()).astype(np.int64))


def _decimals(array: pa.Array, data_type: DataType) -> pa.LargeBinaryArray:
    if not len(array):
        return _fixed(np.zeros(0, np.int64))
    if (data_type.precision or 0) > COMPACT_DIGITS:
        data, sizes = digits_of_decimals(array)
        return _counted(_strings(ends(sizes), pa.py_buffer(data)))
    words = np.frombuffer(array.buffers()[1], "<i8").reshape(-1, 2)
    return _fixed(words[array.offset : array.offset + len(array), 0])


def _timestamps(array: pa.Array, data_type: DataType) -> pa.LargeBinaryArray:
    """Milliseconds and, of finer ones, the nanoseconds behind them."""
    if (data_type.precision or 0) <= COMPACT_PRECISION:
        return _fixed(array.cast(pa.int64()).to_numpy())
    if has_nanos(data_type):
        micros, rest = parts_of(array)
    else:
        micros = array.cast(pa.int64()).to_numpy()
        rest = np.zeros(len(micros), np.int64)
    millis, behind = np.divmod(micros, 1000)
    return _joined(_fixed(millis), _numbers(behind * 1000 + rest))


def _fixed(values: np.ndarray) -> pa.LargeBinaryArray:
    """Values of equal width. `values`: shape (n,), or (n, width) of bytes."""
    width = values.nbytes // len(values) if len(values) else 0
    offsets = np.arange(len(values) + 1, dtype=np.int64) * width
    return _strings(offsets, pa.py_buffer(np.ascontiguousarray(values)))


def _counted(values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """Each with its size in front."""
    return _joined(_numbers(np.diff(_offsets(values))), values)


def _numbers(values: np.ndarray) -> pa.LargeBinaryArray:
    if len(values) and int(values.max()) < 0x80:
        return _fixed(values.astype(np.uint8))
    encoded = varints(values)
    return _strings(encoded.offsets, pa.py_buffer(encoded.data))


def _grouped(elements: pa.LargeBinaryArray, counts: np.ndarray) -> pa.LargeBinaryArray:
    """So many elements each, joined."""
    return _strings(_offsets(elements)[ends(counts)], elements.buffers()[2])


def _joined(*parts: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    return pc.binary_join_element_wise(*parts, _NOTHING)


def _strings(offsets: np.ndarray, data: pa.Buffer) -> pa.LargeBinaryArray:
    return pa.Array.from_buffers(_BYTES, len(offsets) - 1, [None, pa.py_buffer(offsets), data])


def _offsets(array: pa.LargeBinaryArray) -> np.ndarray:
    return np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array) + 1]
