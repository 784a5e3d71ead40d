"""Values of ARRAY<BLOB> and MAP<…, BLOB> in files of blobs: all elements of one value are one blob of the file.

It begins with a magic number, a version and how many elements there are. The keys of a map follow, then the blobs, then
the lengths of the keys and of the blobs as differences, and the bytes that each of these lists takes (4). A length of
-1 is null. Keys are written as those of global indexes are.
Source: Java `ArrayBlobElementSerializer`, `MapBlobElementSerializer`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from maintenance.errors import RESTORE, CorruptFileError, DataError, UnsupportedError
from maintenance.format.bytes.ragged import Ragged, ends
from maintenance.format.bytes.varint import read_varint, unzigzag, varint, zigzag
from maintenance.format.global_index.keys import keys_of, values_of_keys
from maintenance.types.arrow import arrow_type, map_parts
from maintenance.types.data_type import MAX_LENGTH, DataType

_ARRAY, _MAP = (0x41424342).to_bytes(4, "little"), (0x4D424342).to_bytes(4, "little")
_VERSION = 1
_HEAD = 9  # magic number, version, count
_NULL = -1
_KEYS = ("TINYINT", "SMALLINT", "INT", "BIGINT", "BOOLEAN", "DECIMAL", "DATE", "TIME")
_BYTES_AS_TEXT = DataType("VARCHAR", length=MAX_LENGTH)

ReadAt = Callable[[int, int], bytes | memoryview]
"""Bytes of a value: from where on, and how many."""


def check_keys_of_blobs(data_type: DataType, where: str) -> None:
    """Raises: UnsupportedError: a map of blobs whose keys Paimon does not write."""
    if data_type.root != "MAP":
        return
    key, _ = map_parts(data_type)
    if key.root not in _KEYS and not key.is_string and not key.is_bytes:
        raise UnsupportedError(f"blobs with keys of type {key}", where, f"Use {', '.join(_KEYS)}, STRING or BYTES.")


@dataclass(frozen=True, slots=True)
class Elements:
    """The elements of one value.

    Attributes:
        keys: of a map, as bytes.
        places: where each blob begins in the value, and its bytes; None is null.
    """

    keys: tuple[bytes, ...]
    places: tuple[tuple[int, int] | None, ...]


def parse_elements(read_at: ReadAt, size: int, data_type: DataType, where: str) -> Elements:
    """The elements of a value of `size` bytes. Raises: CorruptFileError, UnsupportedError: a key is null."""
    lists = 2 if data_type.root == "MAP" else 1
    tail = size - 4 * lists
    if tail < _HEAD:
        raise _damaged(where)
    head = bytes(read_at(0, _HEAD))
    if head[:4] != (_MAP if lists == 2 else _ARRAY) or head[4] != _VERSION:
        raise _damaged(where)
    count = int.from_bytes(head[5:], "little", signed=True)
    listed = np.frombuffer(bytes(read_at(tail, 4 * lists)), "<i4").astype(np.int64)
    content = tail - int(listed.sum())
    if (listed < 0).any() or content < _HEAD:
        raise _damaged(where)
    ends_of_lists = [content, *(content + np.cumsum(listed)).tolist()]
    lengths = [_lengths(bytes(read_at(low, high - low)), where) for low, high in pairwise(ends_of_lists)]
    whole = sum(length for each in lengths for length in each if length != _NULL)
    if any(len(each) != count or min(each, default=0) < _NULL for each in lengths) or whole != content - _HEAD:
        raise _damaged(where)
    at, keys = _HEAD, list[bytes]()
    if lists == 2:
        if _NULL in lengths[0]:
            raise UnsupportedError("a map has a null key, which Arrow cannot hold", where, "Leave the column out.")
        bounds = ends(np.array(lengths[0], np.int64))
        data = bytes(read_at(at, int(bounds[-1])))
        keys = [data[low:high] for low, high in pairwise(bounds.tolist())]
        at += len(data)
    return Elements(tuple(keys), tuple(_places(lengths[-1], at)))


def _places(lengths: Sequence[int], at: int) -> Iterator[tuple[int, int] | None]:
    for length in lengths:
        yield None if length == _NULL else (at, length)
        at += max(0, length)


def _damaged(where: str) -> CorruptFileError:
    return CorruptFileError("a file of blobs has a damaged list of blobs", where, RESTORE)


def _lengths(data: bytes, where: str) -> list[int]:
    lengths, at, last = list[int](), 0, 0
    try:
        while at < len(data):
            change, at = read_varint(data, at)
            last += unzigzag(change)
            lengths.append(last)
    except IndexError as error:
        raise _damaged(where) from error
    return lengths


def array_of_elements(
    values: Sequence[Elements | None], blobs: Sequence[bytes | memoryview | None], data_type: DataType, where: str
) -> pa.Array:
    """The values as Arrow has them. Args: `blobs`: what there is for each place of each value, in order.

    Raises: CorruptFileError: keys of another type.
    """
    target = arrow_type(data_type)
    counts = np.array([0 if value is None else len(value.places) for value in values], np.int64)
    offsets = pa.array(ends(counts).astype(np.int32))
    mask = pa.array([value is None for value in values], pa.bool_())
    # A memoryview is no value to Arrow.
    items = pa.array([None if blob is None else bytes(blob) for blob in blobs], pa.large_binary())
    if data_type.root != "MAP":
        return pa.ListArray.from_arrays(offsets, items, type=target, mask=mask)
    stored = [key for value in values if value is not None for key in value.keys]
    sizes = np.array([len(key) for key in stored], np.int64)
    ragged = Ragged(np.frombuffer(b"".join(stored), np.uint8), ends(sizes))
    key, _ = map_parts(data_type)
    try:
        keys = values_of_keys(ragged, _BYTES_AS_TEXT if key.is_bytes else key, where)
    except CorruptFileError as error:
        raise _damaged(where) from error
    keys = keys.view(pa.binary()) if key.is_bytes else keys
    return pa.MapArray.from_arrays(offsets, keys, items, type=target, mask=mask)


def payloads(values: pa.Array, data_type: DataType, where: str) -> pa.Array:
    """What a file of blobs stores for the values. Returns: large binary. Raises: DataError: a key is there twice.

    Args: `values`: with nothing hidden behind nulls or offsets, as `types.nested.Rebuild` leaves them.
    """
    bounds = values.offsets.to_pylist()
    if data_type.root == "MAP":
        key, _ = map_parts(data_type)
        keys: Ragged | None = keys_of(values.keys, _BYTES_AS_TEXT if key.is_bytes else key)
        blobs = values.items
    else:
        keys, blobs = None, values.values
    there = values.is_valid().to_pylist()
    return pa.array(
        [
            _payload(keys, blobs, low, high, where) if valid else None
            for valid, (low, high) in zip(there, pairwise(bounds), strict=True)
        ],
        pa.large_binary(),
    )


def _payload(keys: Ragged | None, blobs: pa.Array, low: int, high: int, where: str) -> bytes:
    parts: list[bytes | memoryview] = [
        _ARRAY if keys is None else _MAP,
        bytes([_VERSION]),
        (high - low).to_bytes(4, "little"),
    ]
    lists = []
    if keys is not None:
        own = [keys[number] for number in range(low, high)]
        if len(set(own)) < len(own):
            raise DataError("a map has a key twice", where, "Give each key once.")
        parts += own
        lists.append(_list([len(key) for key in own]))
    items = blobs[low:high]
    contents = [item.as_buffer() if item.is_valid else None for item in items]
    parts += [memoryview(content) for content in contents if content is not None]
    lists.append(_list([_NULL if content is None else content.size for content in contents]))
    parts += lists + [len(each).to_bytes(4, "little") for each in lists]
    return b"".join(parts)


def _list(lengths: Sequence[int]) -> bytes:
    return b"".join(varint(zigzag(now - before)) for before, now in pairwise([0, *lengths]))
