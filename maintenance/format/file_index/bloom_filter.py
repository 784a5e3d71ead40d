"""The file index `bloom-filter`: which values a column of a file certainly does not contain. Answers `=` and IN.

The body is the number of hash functions (int32, big endian) and the bits, lowest bit of a byte first. Each value sets
`count` bits, all from one 64 bit hash. Nulls are not in the filter. Source: data.md section 9.3, Java
`BloomFilterFileIndex`, `BloomFilter64`, `FastHash`.
"""

import math
import struct
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from maintenance.errors import CorruptFileError, OptionError, UnsupportedError
from maintenance.format.file_index.hashes import long_hashes, xxh64
from maintenance.format.file_index.kind import Condition, IndexedColumn, IndexKind
from maintenance.options.option import Option, integer, number
from maintenance.predicate.tree import Compare, In
from maintenance.types.data_type import DataType
from maintenance.types.nanos import NANOS, parts_of
from maintenance.types.values import NANOS_PER_UNIT, Value, arrow_of_values

BLOOM_FILTER = "bloom-filter"
DEFAULT_ITEMS = 1_000_000
DEFAULT_FPP = 0.1
MAX_BITS = 2**31 - 8
# So many hashes, and what is computed from them, stay in the processor's cache.
_TOGETHER = 1 << 15

_ITEMS = Option("items", integer, DEFAULT_ITEMS)
_FPP = Option("fpp", number, DEFAULT_FPP)
_NANOS_PER_MILLI, _NANOS_PER_MICRO = 10**6, 10**3


class BloomBuilder:
    """Builds the filter of one column; memory: one byte per bit of the filter, 4.8 MB with the defaults."""

    def __init__(self, data_type: DataType, items: int = DEFAULT_ITEMS, fpp: float = DEFAULT_FPP) -> None:
        """`items`: values the filter is made for; `fpp`: share of wrong "perhaps" then.

        Raises: OptionError: no filter has that size. UnsupportedError: the type has no hash.
        """
        if not supports(data_type):
            raise UnsupportedError(f"type {data_type} has no bloom filter", "file index", "Leave the column out.")
        bits, self._count = _size(items, fpp)
        self._data_type = data_type
        self._flags = np.zeros(bits, np.uint8)
        self._empty = True

    def add(self, array: pa.Array | pa.ChunkedArray) -> None:
        """Take the column's next rows, of its natural Arrow type, nulls included."""
        for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else (array,):
            self._empty = self._empty and len(chunk) == 0
            values = chunk.drop_null()
            for start in range(0, len(values), _TOGETHER):
                hashes = value_hashes(values.slice(start, _TOGETHER), self._data_type)
                for position in _positions(hashes, self._count, len(self._flags)):
                    self._flags[position] = 1

    def finish(self) -> bytes | None:
        """The body; None if no row was added."""
        if self._empty:
            return None
        return struct.pack(">i", self._count) + np.packbits(self._flags, bitorder="little").tobytes()


def supports(data_type: DataType) -> bool:
    """Whether a column of the type can have a bloom filter."""
    others = data_type.root in ("FLOAT", "DOUBLE", "DATE", "TIME")
    return data_type.is_string or data_type.is_bytes or data_type.is_integer or data_type.is_timestamp or others


def might_contain(body: bytes, value: Value, data_type: DataType) -> bool:
    """False only if the column certainly does not hold `value`, which is not None.

    `data_type`: the column's type when the filter was built. Raises: CorruptFileError: the body is not a filter.
    """
    count = int.from_bytes(body[:4], "big", signed=True)
    if len(body) < 5 or not 0 < count < 128:
        fix = "Rebuild the index with rewrite_file_index, or read with file-index.read.enabled = false."
        raise CorruptFileError(
            f"{len(body)} bytes with {count} hash functions are not a bloom filter", "file index", fix
        )
    # The filter tells -0.0 from 0.0, comparisons do not.
    values = (0.0, -0.0) if isinstance(value, float) and value == 0 else (value,)
    hashes = value_hashes(arrow_of_values(values, data_type), data_type)
    bits = np.frombuffer(body, np.uint8, offset=4)
    held = np.ones(len(hashes), np.bool_)
    for position in _positions(hashes, count, 8 * len(bits)):
        held &= (bits[position >> 3] >> (position & 7).astype(np.uint8)) & 1 == 1
    return bool(held.any())


def value_hashes(array: pa.Array, data_type: DataType) -> np.ndarray:
    """Java's 64 bit hash of each value. `array`: n values, no nulls, of the natural Arrow type. Returns: int64 (n,)."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if data_type.is_string or data_type.is_bytes:
        return xxh64(array)
    if data_type.root in ("FLOAT", "DOUBLE"):
        return long_hashes(_bits_of_floats(array.to_numpy(zero_copy_only=False)))
    if array.type == NANOS:
        return long_hashes(parts_of(array)[0])
    numbers = array.cast(pa.int32()) if data_type.root in ("DATE", "TIME") else array
    integers = pc.cast(numbers, pa.int64()).to_numpy()
    if data_type.is_timestamp:
        stored, hashed = NANOS_PER_UNIT[array.type.unit], _hashed_unit(data_type)
        integers = integers * (stored // hashed) if stored >= hashed else integers // (hashed // stored)
    return long_hashes(integers)


def _hashed_unit(data_type: DataType) -> int:
    return _NANOS_PER_MILLI if (data_type.precision or 0) <= 3 else _NANOS_PER_MICRO


def _bits_of_floats(values: np.ndarray) -> np.ndarray:
    """The bits as signed integers, all NaN the same. `values`: float32 or float64, (n,). Returns: int64, (n,)."""
    one_nan = np.where(np.isnan(values), values.dtype.type(np.nan), values)
    return one_nan.view(np.int32 if values.dtype == np.float32 else np.int64).astype(np.int64)


def _positions(hashes: np.ndarray, count: int, bits: int) -> Iterator[np.ndarray]:
    """The bits of each value: `count` arrays, intp, shape (n,), from 0 to `bits` - 1."""
    combined = hashes.astype(np.int32)
    high = (hashes >> 32).astype(np.int32)
    for _ in range(count):
        combined += high  # wraps around, as in Java
        position = (combined ^ (combined >> 31)).view(np.uint32)  # ~x of a negative x
        # NumPy divides by a constant much faster than it takes a remainder.
        yield (position - position // np.uint32(bits) * np.uint32(bits)).astype(np.intp)


def _size(items: int, fpp: float) -> tuple[int, int]:
    """Number of bits and of hash functions. Raises: OptionError."""
    if items < 1 or not 0 < fpp < 1:
        raise OptionError(f"items = {items}, fpp = {fpp}", "bloom filter", "It takes items > 0 and 0 < fpp < 1.")
    exact = -items * math.log(fpp) / math.log(2) ** 2
    if exact > MAX_BITS - 8:
        problem = f"items = {items} with fpp = {fpp} needs {exact:.0f} bits"
        raise OptionError(problem, "bloom filter", "Set fewer items for the index, or a larger fpp.")
    bits = int(exact) + 8 - int(exact) % 8
    return bits, max(1, math.floor(bits / items * math.log(2) + 0.5))


def _builder(data_type: DataType, options: Mapping[str, str]) -> BloomBuilder:
    return BloomBuilder(data_type, _ITEMS.of(options), _FPP.of(options))


def _select(condition: Condition, body: bytes, column: IndexedColumn) -> BitMap | None:
    holds = partial(might_contain, body, data_type=column.data_type)
    match condition:
        case Compare("=", _, value):
            return None if holds(value) else BitMap()
        case In(_, values):
            return None if any(map(holds, values)) else BitMap()
    return None


def _fits(body: bytes, _: DataType, options: Mapping[str, str]) -> bool:
    bits, count = _size(_ITEMS.of(options), _FPP.of(options))
    return len(body) == 4 + bits // 8 and body[:4] == struct.pack(">i", count)


BLOOM_FILTER_KIND = IndexKind(BLOOM_FILTER, frozenset({"items", "fpp"}), supports, _builder, _select, _fits)
