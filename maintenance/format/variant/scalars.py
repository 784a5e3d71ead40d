"""Values of a variant that hold no others: from Arrow arrays, and to Arrow arrays."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.bytes.ragged import Ragged, ends, fixed, spread
from maintenance.format.variant import binary
from maintenance.format.variant.binary import PRIMITIVE, SHORT_TEXT
from maintenance.format.variant.dictionary import bytes_of, prefixed

_INTEGERS = {binary.INT8: 1, binary.INT16: 2, binary.INT32: 4, binary.INT64: 8}
_DECIMALS = {binary.DECIMAL4: 4, binary.DECIMAL8: 8, binary.DECIMAL16: 16}
_FIXED: Mapping[int, tuple[pa.DataType, int]] = {
    binary.DOUBLE: (pa.float64(), 8),
    binary.FLOAT: (pa.float32(), 4),
    binary.DATE: (pa.date32(), 4),
    binary.TIMESTAMP: (pa.timestamp("us", "UTC"), 8),
    binary.TIMESTAMP_NTZ: (pa.timestamp("us"), 8),
}
MAX_DECIMAL_DIGITS = 38


def _header(primitive: int) -> int:
    return primitive << 2 | PRIMITIVE


def of_type(values: Ragged, *primitives: int) -> np.ndarray:
    """Which values are of one of these primitive types. bool, shape (n,)."""
    matches: np.ndarray = np.isin(binary.types(values), primitives) & (binary.kinds(values) == PRIMITIVE)
    return matches


def is_text(values: Ragged) -> np.ndarray:
    """Which values are texts. bool, shape (n,)."""
    matches: np.ndarray = of_type(values, binary.TEXT) | (binary.kinds(values) == SHORT_TEXT)
    return matches


def texts(values: Ragged) -> Ragged:
    """The content of texts, bytes and UUIDs. `values`: such ones alone."""
    long = of_type(values, binary.TEXT, binary.BINARY)
    before = np.where(long, 5, 1)
    sizes = values.sizes - before
    return Ragged(values.data[spread(values.offsets[:-1] + before, sizes)], ends(sizes))


def integers(values: Ragged) -> np.ndarray:
    """The numbers of integers of each width. int64, shape (n,). `values`: such ones alone."""
    numbers = np.zeros(len(values), np.int64)
    types = binary.types(values)
    for primitive, width in _INTEGERS.items():
        here = np.flatnonzero(types == primitive)
        numbers[here] = _content(values, here, 1, width).view(f"<i{width}")[:, 0]
    return numbers


def _content(values: Ragged, rows: np.ndarray, skip: int, width: int) -> np.ndarray:
    """Bytes of values behind their first ones. uint8, shape (rows, width)."""
    at = values.offsets[:-1][rows] + skip
    return np.ascontiguousarray(values.data[at[:, None] + np.arange(width)])


def fixed_values(values: Ragged, primitive: int) -> pa.Array:
    """Values of DOUBLE, FLOAT, DATE or one of the timestamps. `values`: of that type alone."""
    kind, width = _FIXED[primitive]
    content = _content(values, np.arange(len(values)), 1, width)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(content)])


def decimals(values: Ragged) -> tuple[pa.Array, np.ndarray]:
    """Digits of decimals as whole numbers of decimal128(38, 0), and their scales. `values`: decimals alone."""
    types = binary.types(values)
    halves = np.zeros((len(values), 2), np.int64)
    for primitive, width in _DECIMALS.items():
        here = np.flatnonzero(types == primitive)
        content = _content(values, here, 2, width)
        if width == 16:
            halves[here] = content.view("<i8")
        else:
            low = content.view(f"<i{width}")[:, 0].astype(np.int64)
            halves[here] = np.stack((low, low >> 63), axis=1)
    scales = values.data[values.offsets[:-1] + 1].astype(np.int64) if len(values) else np.empty(0, np.int64)
    whole = pa.decimal128(MAX_DECIMAL_DIGITS, 0)
    return pa.Array.from_buffers(whole, len(values), [None, pa.py_buffer(halves)]), scales


def decimal_texts(values: Ragged) -> pa.Array:
    """Decimals as plain texts without zeros at the end of the fraction. `values`: decimals alone."""
    whole, scales = decimals(values)
    digits = whole.cast(pa.string())
    shown = pa.nulls(len(digits), pa.string())
    for scale in np.unique(scales).tolist():
        here = pa.array(scales == scale)
        shown = pc.if_else(here, _with_point(digits, scale), shown)
    return shown


def _with_point(digits: pa.Array, scale: int) -> pa.Array:
    if not scale:
        return digits
    negative = pc.starts_with(digits, "-")
    filled = pc.utf8_lpad(pc.utf8_ltrim(digits, "-"), scale + 1, "0")
    # A longer text is not cut by the padding above.
    fraction = pc.utf8_rtrim(pc.utf8_slice_codeunits(filled, -scale), "0")
    whole = pc.utf8_slice_codeunits(filled, 0, -scale)
    number = pc.if_else(pc.equal(fraction, ""), whole, pc.binary_join_element_wise(whole, fraction, "."))
    return pc.if_else(
        pc.and_(negative, pc.not_equal(number, "0")), pc.binary_join_element_wise("-", number, ""), number
    )


def of_constants(types: np.ndarray) -> Ragged:
    """Nulls and booleans. `types`: NULL, TRUE or FALSE, shape (n,)."""
    return fixed((types << 2).astype(np.uint8))


def of_integers(numbers: np.ndarray) -> Ragged:
    """Integers, each in the least bytes that hold it. `numbers`: int64, shape (n,)."""
    width = np.full(len(numbers), 8)
    types = np.full(len(numbers), binary.INT64)
    for primitive, size in ((binary.INT32, 4), (binary.INT16, 2), (binary.INT8, 1)):
        fits = (numbers >= -(1 << 8 * size - 1)) & (numbers < 1 << 8 * size - 1)
        width[fits], types[fits] = size, primitive
    out = ends(width + 1)
    data = np.zeros(int(out[-1]), np.uint8)
    data[out[:-1]] = types << 2
    content = np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, 8)
    data[spread(out[:-1] + 1, width)] = content[np.arange(8) < width[:, None]]
    return Ragged(data, out)


def of_decimals(unscaled: pa.Array, scales: np.ndarray) -> Ragged:
    """Decimals, each in the least bytes that hold it. `unscaled`: decimal128 of scale 0; `scales`: 0 to 38."""
    digits = pc.utf8_length(pc.utf8_ltrim(unscaled.cast(pa.string()), "-")).to_numpy(zero_copy_only=False)
    most = np.maximum(digits, scales)
    width = np.where(most <= 9, 4, np.where(most <= 18, 8, 16))
    types = np.where(most <= 9, binary.DECIMAL4, np.where(most <= 18, binary.DECIMAL8, binary.DECIMAL16))
    out = ends(width + 2)
    data = np.zeros(int(out[-1]), np.uint8)
    data[out[:-1]] = types << 2
    data[out[:-1] + 1] = scales
    raw = np.frombuffer(unscaled.buffers()[1] or b"", np.uint8, 16 * len(unscaled), 16 * unscaled.offset)
    data[spread(out[:-1] + 2, width)] = raw.reshape(-1, 16)[np.arange(16) < width[:, None]]
    return Ragged(data, out)


def of_fixed(array: pa.Array, primitive: int) -> Ragged:
    """Values of DOUBLE, FLOAT, DATE or one of the timestamps; of nulls anything."""
    kind, width = _FIXED[primitive]
    array = array.cast(kind)
    content = np.frombuffer(array.buffers()[1] or b"", np.uint8, width * len(array), width * array.offset)
    return prefixed(
        np.full(len(array), _header(primitive)), Ragged(content, width * np.arange(len(array) + 1, dtype=np.int64))
    )


def of_texts(array: pa.Array | Ragged) -> Ragged:
    """Texts."""
    content = array if isinstance(array, Ragged) else bytes_of(array)
    sizes = content.sizes
    short = sizes <= binary.MAX_SHORT_TEXT
    first = np.where(short, np.minimum(sizes, binary.MAX_SHORT_TEXT) << 2 | SHORT_TEXT, _header(binary.TEXT))
    return prefixed(first, _lengths(sizes, ~short), content)


def of_bytes(array: pa.Array) -> Ragged:
    """Byte strings."""
    content = bytes_of(array)
    sizes = content.sizes
    return prefixed(np.full(len(sizes), _header(binary.BINARY)), _lengths(sizes, np.ones(len(sizes), bool)), content)


def _lengths(sizes: np.ndarray, there: np.ndarray) -> Ragged:
    """Lengths of four bytes where said, nothing elsewhere."""
    content = sizes.astype("<u4").view(np.uint8).reshape(-1, 4)[there].reshape(-1)
    return Ragged(content, ends(np.where(there, 4, 0)))


def of_arrow(array: pa.Array) -> Ragged:
    """Values of an Arrow array of a type that a variant has; of nulls anything.

    Raises: pa.ArrowNotImplementedError: a variant has no such type.
    """
    kind = array.type
    if pa.types.is_boolean(kind):
        truth = array.fill_null(False).to_numpy(zero_copy_only=False)
        return of_constants(np.where(truth, binary.TRUE, binary.FALSE))
    if pa.types.is_integer(kind):
        return of_integers(array.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False))
    if pa.types.is_decimal(kind):
        wide = array.cast(pa.decimal128(MAX_DECIMAL_DIGITS, kind.scale)).fill_null(0)
        whole = pa.Array.from_buffers(pa.decimal128(MAX_DECIMAL_DIGITS, 0), len(wide), wide.buffers(), 0, wide.offset)
        return of_decimals(whole, np.full(len(wide), kind.scale))
    if pa.types.is_string(kind):
        return of_texts(array)
    if pa.types.is_binary(kind):
        return of_bytes(array)
    if pa.types.is_timestamp(kind):
        primitive = binary.TIMESTAMP if kind.tz else binary.TIMESTAMP_NTZ
        return of_fixed(array.cast(pa.timestamp("us", kind.tz)), primitive)
    for primitive, (own, _) in _FIXED.items():
        if kind == own:
            return of_fixed(array, primitive)
    raise pa.ArrowNotImplementedError(f"{kind} in a VARIANT")


def joined(parts: list[tuple[np.ndarray, Ragged]], count: int) -> Ragged:
    """Values from several sources. `parts`: rows, all different, and their values; rows of none are empty."""
    sizes = np.zeros(count, np.int64)
    for rows, values in parts:
        sizes[rows] = values.sizes
    out = ends(sizes)
    data = np.empty(int(out[-1]), np.uint8)
    for rows, values in parts:
        content = values.data[int(values.offsets[0]) : int(values.offsets[-1])]
        data[spread(out[:-1][rows], values.sizes)] = content
    return Ragged(data, out)
