"""Keys of global indexes: values of a column as bytes, and back.

Numbers are little endian, BOOLEAN is one byte, texts are UTF-8. A DECIMAL of more than 18 digits is its unscaled value
in the fewest bytes, most significant first; a timestamp of more than 3 digits has a varint of nanoseconds behind its
milliseconds. Source: Java `KeySerializer`.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.bytes.ragged import Ragged, fixed, interleaved
from maintenance.format.bytes.varints import read_varints, varints
from maintenance.format.global_index.wide_decimals import wide_keys, wide_values
from maintenance.types import nanos
from maintenance.types.arrow import arrow_type, has_nanos
from maintenance.types.data_type import DataType

_WIDTHS: Mapping[str, str] = {
    "TINYINT": "<i1",
    "SMALLINT": "<i2",
    "INT": "<i4",
    "BIGINT": "<i8",
    "FLOAT": "<f4",
    "DOUBLE": "<f8",
    "DATE": "<i4",
    "TIME": "<i4",
}
_COMPACT_DIGITS, _MILLI_DIGITS, _NANOS_PER_MILLI = 18, 3, 1_000_000


def has_keys(data_type: DataType) -> bool:
    """Whether values of the type can be indexed, here as in Paimon."""
    return data_type.root in (*_WIDTHS, "BOOLEAN", "DECIMAL") or data_type.is_string or data_type.is_timestamp


def check_keys(data_type: DataType, where: str) -> None:
    """Raises: UnsupportedError: a type without keys."""
    if not has_keys(data_type):
        raise UnsupportedError(
            f"a global index of a column of type {data_type}", where, "Index a column of numbers, texts or times."
        )


def keys_of(values: pa.Array, data_type: DataType) -> Ragged:
    """The keys of values, none of which is null, in their order. `values`: natural type."""
    if data_type.is_string:
        return _texts(values)
    if data_type.root == "BOOLEAN":
        return fixed(np.asarray(values.cast(pa.uint8())).astype(np.uint8))
    if _is_wide(data_type):
        return wide_keys(values)
    if data_type.root == "DECIMAL":
        scaled = values.view(pa.binary(16)).buffers()[1]
        words = np.frombuffer(scaled, "<i8").reshape(-1, 2)[values.offset : values.offset + len(values), 0]
        return fixed(np.ascontiguousarray(words))
    if data_type.is_timestamp:
        millis, rest = _parts(values, data_type)
        if (data_type.precision or 0) <= _MILLI_DIGITS:
            return fixed(millis.astype("<i8"))
        return interleaved(fixed(millis.astype("<i8")), varints(rest))
    form = np.dtype(_WIDTHS[data_type.root])
    if data_type.root in ("FLOAT", "DOUBLE"):
        floats = np.asarray(values).astype(form)
        return fixed(np.where(np.isnan(floats), form.type(np.nan), floats))
    numbers = values if pa.types.is_integer(values.type) else values.view(pa.int32())
    return fixed(np.asarray(numbers).astype(form))


def values_of_keys(keys: Ragged, data_type: DataType, where: str) -> pa.Array:
    """The values of keys, in their order and natural type. Raises: CorruptFileError: they are of another type."""
    if data_type.is_string:
        buffers = [None, pa.py_buffer(keys.offsets.astype(np.int32)), pa.py_buffer(keys.data)]
        return pa.Array.from_buffers(pa.string(), len(keys), buffers)
    if data_type.is_timestamp and (data_type.precision or 0) > _MILLI_DIGITS:
        return _of_parts(keys, data_type, where)
    if _is_wide(data_type):
        decimals = wide_values(keys, arrow_type(data_type))
        if decimals is None:
            raise _other_type(data_type, where)
        return decimals
    width = {"BOOLEAN": 1, "DECIMAL": 8}.get(data_type.root, 8 if data_type.is_timestamp else 0)
    width = width or np.dtype(_WIDTHS[data_type.root]).itemsize
    if len(keys) and (keys.sizes != width).any():
        raise _other_type(data_type, where)
    content = np.ascontiguousarray(keys.data)
    if data_type.root == "BOOLEAN":
        return pa.array(content == 1)
    if data_type.root == "DECIMAL":
        return _decimals(content.view("<i8"), data_type)
    if data_type.is_timestamp:
        return pa.array(content.view("<i8")).cast(arrow_type(data_type))
    numbers = pa.array(content.view(_WIDTHS[data_type.root]))
    return numbers if numbers.type == arrow_type(data_type) else numbers.view(arrow_type(data_type))


def _is_wide(data_type: DataType) -> bool:
    return data_type.root == "DECIMAL" and (data_type.precision or 0) > _COMPACT_DIGITS


def _other_type(data_type: DataType, where: str) -> CorruptFileError:
    return CorruptFileError(f"the index has keys that are no {data_type}", where, "Drop the index and build it again.")


def _texts(values: pa.Array) -> Ragged:
    compact = pa.concat_arrays([values.cast(pa.binary())])
    _, offsets, data = compact.buffers()
    bounds = np.frombuffer(offsets, np.int32)[compact.offset : compact.offset + len(compact) + 1].astype(np.int64)
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return Ragged(content[bounds[0] : bounds[-1]], bounds - bounds[0])


def _parts(values: pa.Array, data_type: DataType) -> tuple[np.ndarray, np.ndarray]:
    """Milliseconds since 1970, and the nanoseconds behind them. int64, shape (n,)."""
    if has_nanos(data_type):
        micros, rest = nanos.parts_of(values)
    else:
        unit = {"s": 1_000_000, "ms": 1000, "us": 1}[values.type.unit]
        micros, rest = np.asarray(values.view(pa.int64())) * unit, np.zeros(len(values), np.int64)
    millis = micros // 1000
    return millis, (micros - millis * 1000) * 1000 + rest


def _of_parts(keys: Ragged, data_type: DataType, where: str) -> pa.Array:
    if len(keys) and (keys.sizes < 9).any():
        raise _other_type(data_type, where)
    starts = keys.offsets[:-1]
    millis = np.ascontiguousarray(keys.data[(starts[:, None] + np.arange(8))]).view("<i8").reshape(-1)
    rest, after = read_varints(keys.data, starts + 8)
    if (after != keys.offsets[1:]).any() or (rest >= _NANOS_PER_MILLI).any():
        raise _other_type(data_type, where)
    micros = millis * 1000 + rest // 1000
    kind = arrow_type(data_type)
    if has_nanos(data_type):
        return nanos.with_rest(pa.array(micros).cast(pa.timestamp("us")), rest % 1000)
    return pa.array(micros).cast(kind)


def _decimals(unscaled: np.ndarray, data_type: DataType) -> pa.Array:
    words = np.stack([unscaled, unscaled >> 63], axis=1)
    return pa.Array.from_buffers(
        arrow_type(data_type), len(unscaled), [None, pa.py_buffer(np.ascontiguousarray(words))]
    )


def _ordered_bits(values: pa.Array) -> pa.Array:
    """Floats as integers of the same order, in which -0.0 comes before 0.0 and NaN behind all others."""
    wide = np.asarray(values.cast(pa.float64()).fill_null(0.0)).copy()
    wide[np.isnan(wide)] = np.nan
    bits = wide.view(np.int64)
    return pa.array(bits ^ ((bits >> 63) & np.int64(2**63 - 1)), mask=np.asarray(values.is_null()))


def in_key_order(values: pa.Array, data_type: DataType) -> np.ndarray:
    """Where the values are, null excluded, in the order of keys, which is Java's: texts compare byte by byte."""
    column = values
    if data_type.is_string:
        column = values.cast(pa.binary())
    elif data_type.root in ("FLOAT", "DOUBLE"):
        column = _ordered_bits(values)
    order = np.asarray(pc.array_sort_indices(column, null_placement="at_end"))
    return order[: len(values) - values.null_count]
