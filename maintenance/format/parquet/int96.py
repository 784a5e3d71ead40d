"""INT96, parquet's old form of timestamps: 8 bytes nanoseconds of the day, then 4 bytes Julian day, little endian.

Arrow writes it for all timestamps of a file or for none; it reads it into 64 bits without saying when a value does not
fit, and unaware that Java stores times before 1970 with a negative time of day. So Arrow is not used for it: it
sees such columns as byte strings of length 12. Plain or in a dictionary, the bytes in the file are the same; only the
footer says which of the two types a column has, and it is changed here: in memory on reading, and before it is written.
Source: parquet-format, `parquet.thrift`; Java `NanoTime`.
"""

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from maintenance.errors import UnsupportedError
from maintenance.format.parquet.thrift import Fields, values_of
from maintenance.types import nanos
from maintenance.types.nanos import NANOS
from maintenance.types.values import NANOS_PER_UNIT

STORED = pa.binary(12)

_JULIAN_EPOCH = 2_440_588  # 1970-01-01 as Julian day
_NANOS_PER_DAY = 86_400 * 10**9
_MICROS_PER_DAY = 86_400 * 10**6
_RECORD = np.dtype([("nanos", "<i8"), ("day", "<i4")])
_FIXED_LENGTH, _INT96 = 7, 3  # values of parquet's enum `Type`
# `FileMetaData` has schema (2) and row groups (4); `SchemaElement` type (1) and its length (2); `RowGroup` has columns
# (1), `ColumnChunk` meta data (3), and that type (1).
_TYPES: Fields = {2: {1: {}, 2: {}}, 4: {1: {3: {1: {}}}}}
_LENGTH_FIELD = bytes([1 << 4 | 5, STORED.byte_width << 1])  # `type_length`, an i32 one field behind `type`


def packed(array: pa.Array) -> pa.Array:
    """Timestamps, `NANOS`, as the bytes of INT96."""
    micros, rest = nanos.parts_of(array)
    stored = np.empty(len(array), _RECORD)
    stored["day"] = micros // _MICROS_PER_DAY + _JULIAN_EPOCH
    stored["nanos"] = micros % _MICROS_PER_DAY * 1000 + rest
    valid = pa.py_buffer(np.packbits(array.is_valid().to_numpy(zero_copy_only=False), bitorder="little"))
    return pa.Array.from_buffers(STORED, len(array), [valid, pa.py_buffer(stored)])


def unpacked(array: pa.Array, target: pa.DataType) -> pa.Array:
    """The bytes of INT96 as timestamps of a type, or as `NANOS`; digits finer than its unit are cut off to the past.

    Raises: UnsupportedError: a value is out of the type's range.
    """
    if not len(array):
        return pa.array([], target)
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    stored = np.frombuffer(array.buffers()[1] or b"", _RECORD, len(array), array.offset * STORED.byte_width)
    step = 10**3 if target == NANOS else NANOS_PER_UNIT[target.unit]
    per_day = _NANOS_PER_DAY // step
    extra, of_day = np.divmod(stored["nanos"] // step, per_day)
    days = stored["day"].astype(np.int64) - _JULIAN_EPOCH + extra
    # The first day of the range is there from some time on only, the last one up to some time.
    first, last = divmod(-(2**63), per_day), divmod(2**63 - 1, per_day)
    out = (days < first[0]) | (days == first[0]) & (of_day < first[1])
    out |= (days > last[0]) | (days == last[0]) & (of_day > last[1])
    if (out & ~nulls).any():
        raise UnsupportedError(
            "timestamps that 64 bits of microseconds cannot hold", "INT96", "Leave the column out of the read."
        )
    # On the first day the product is out of the range and wraps around, and the sum wraps back.
    units = np.where(nulls, 0, days) * per_day + of_day
    if target == NANOS:
        return nanos.of_parts(units, np.where(nulls, 0, stored["nanos"] % 1000), nulls)
    return pa.array(units, pa.int64(), mask=nulls).cast(target)


def without_int96(source: pa.NativeFile) -> pq.FileMetaData:
    """The metadata of a parquet file, in which INT96 columns are byte strings of length 12."""
    size = source.size()
    end = source.read_at(8, size - 8)
    length = int.from_bytes(end[:4], "little")
    footer = _as_fixed(source.read_at(length, size - 8 - length))
    return pq.read_metadata(pa.BufferReader(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"))


def _as_fixed(footer: bytes) -> bytes:
    """A footer with fixed length instead of INT96. Field ids: see `_TYPES`."""
    changed = bytearray(footer)
    by_path = {path: (offset, value) for path, offset, value in values_of(footer, _TYPES)}
    # From the end, so that what is inserted moves nothing that is still to be changed.
    for path, (offset, value) in sorted(by_path.items(), key=lambda item: -item[1][0]):
        match path:
            case (4, _, 1, _, 3, 1) if value == _INT96:
                changed[offset] = _FIXED_LENGTH << 1  # zigzag
            case (2, element, 1) if value == _INT96:
                changed[offset] = _FIXED_LENGTH << 1
                length = by_path.get((2, element, 2))
                if length is not None:
                    changed[offset + 1 : offset + 2 + _varint_size(footer, length[0])] = _LENGTH_FIELD
                else:
                    _insert_length(changed, offset + 1)
    return bytes(changed)


def _insert_length(footer: bytearray, position: int) -> None:
    """Put the type's length before the field that begins at `position`, which counts its id from the one before."""
    if footer[position] >> 4:
        footer[position] -= 1 << 4
    footer[position:position] = _LENGTH_FIELD


def _varint_size(data: bytes, offset: int) -> int:
    size = 1
    while data[offset + size - 1] & 0x80:
        size += 1
    return size


def with_int96(end: bytes, leaves: Collection[int]) -> bytes:
    """The end of a parquet file (footer, its size, magic) with INT96 as the type of these leaf columns, by position."""
    start = len(end) - 8 - int.from_bytes(end[-8:-4], "little")
    changed = bytearray(end)
    leaf = -1
    for path, offset, value in values_of(end[start:-8], _TYPES):
        match path:
            case (2, _, 1):
                leaf += 1
                is_int96 = leaf in leaves
            case (4, _, 1, column, 3, 1):
                is_int96 = column in leaves
            case _:
                continue
        if is_int96:
            assert value == _FIXED_LENGTH
            changed[start + offset] = _INT96 << 1
    return bytes(changed)
