"""One level of variant values: objects and arrays taken apart into the values they hold, and put together again.

Every value starts with a byte: its two low bits say what it is, the others more about it.

- 0: a primitive of a type, whose bytes follow. 1: a text of that many bytes, at most 63.
- 2: an object: count of fields (1 or 4 bytes), number of each name, offsets of the values and their end, the values.
  Fields stand in the order of their names, the values anywhere.
- 3: an array: count, offsets and their end, the values.

Source: Parquet variant encoding, Java `GenericVariantUtil`.
"""

from dataclasses import dataclass

import numpy as np

from maintenance.errors import RESTORE, CorruptFileError
from maintenance.format.bytes.ragged import Ragged, ends, spread

PRIMITIVE, SHORT_TEXT, OBJECT, ARRAY = range(4)
(
    NULL,
    TRUE,
    FALSE,
    INT8,
    INT16,
    INT32,
    INT64,
    DOUBLE,
    DECIMAL4,
    DECIMAL8,
    DECIMAL16,
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    FLOAT,
    BINARY,
    TEXT,
) = range(17)
UUID = 20
MAX_SHORT_TEXT = 63
_MAX_SMALL_COUNT = 255
_PAD = 32
# Bytes of a primitive with its first one; 0: unknown, -1: a length of four bytes follows.
_SIZES = np.zeros(64, np.int64)
_SIZES[: TEXT + 1] = [1, 1, 1, 2, 3, 5, 9, 9, 6, 10, 18, 5, 9, 9, 5, -1, -1]
_SIZES[UUID] = 17


@dataclass(frozen=True, slots=True)
class Children:
    """What objects and arrays hold.

    Attributes:
        parents: number of the value that each stands in, ascending; int64, shape (m,).
        names: number of its name in the metadata of that value, -1 in arrays; int64, shape (m,).
        values: the m values.
    """

    parents: np.ndarray
    names: np.ndarray
    values: Ragged

    def counts(self, parents: int) -> np.ndarray:
        """How many each parent holds. int64, shape (parents,)."""
        return np.bincount(self.parents, minlength=parents)

    def take(self, order: np.ndarray) -> "Children":
        """Those of these numbers, whose parents ascend."""
        return Children(self.parents[order], self.names[order], self.values.take(order))


def kinds(values: Ragged) -> np.ndarray:
    """The two low bits of each value's first byte. uint8, shape (n,). Raises: CorruptFileError: one is empty."""
    return _first(values) & np.uint8(3)


def types(values: Ragged) -> np.ndarray:
    """The upper six bits of each value's first byte: of a primitive its type. uint8, shape (n,)."""
    return _first(values) >> np.uint8(2)


def _first(values: Ragged) -> np.ndarray:
    if len(values) and values.sizes.min() < 1:
        raise damaged("an empty value")
    first: np.ndarray = values.data[values.offsets[:-1]]
    return first


def damaged(problem: str) -> CorruptFileError:
    """The error for bytes that are not a variant."""
    return CorruptFileError(f"a VARIANT is damaged: {problem}", "values", RESTORE)


def check_whole(values: Ragged) -> None:
    """Raises: CorruptFileError: a value, whose bytes end where those of others begin, is cut off."""
    if len(values) and (
        values.sizes.min() < 1 or (_sizes(padded(values.data), values.offsets[:-1]) > values.sizes).any()
    ):
        raise damaged("a value is cut off")


def children(values: Ragged) -> Children:
    """What the objects and arrays among values hold. Raises: CorruptFileError."""
    kind, header = kinds(values), types(values).astype(np.int64)
    holders = np.flatnonzero(kind >= OBJECT)
    data, start, end = padded(values.data), values.offsets[:-1][holders], values.offsets[1:][holders]
    is_object, header = kind[holders] == OBJECT, header[holders]
    is_large = np.where(is_object, header >> 4, header >> 2) & 1 == 1
    count_size = np.where(is_large, 4, 1)
    counts = unsigned(data, start + 1, count_size)
    name_size = np.where(is_object, (header >> 2 & 3) + 1, 0)
    offset_size = (header & 3) + 1
    names_at = start + 1 + count_size
    offsets_at = names_at + counts * name_size
    values_at = offsets_at + (counts + 1) * offset_size
    if (values_at > end).any():
        raise damaged("an object or array is cut off")
    parent = np.repeat(np.arange(len(holders)), counts)
    place = spread(np.zeros(len(holders), np.int64), counts)
    offset = unsigned(data, offsets_at[parent] + place * offset_size[parent], offset_size[parent])
    name = unsigned(data, names_at[parent] + place * name_size[parent], name_size[parent])
    at = values_at[parent] + offset
    if (at >= end[parent]).any():
        raise damaged("an offset is beyond the value")
    sizes = _sizes(data, at)
    if (at + sizes > end[parent]).any():
        raise damaged("a value is cut off")
    inner = Ragged(data[spread(at, sizes)], ends(sizes))
    return Children(holders[parent], np.where(is_object[parent], name, -1), inner)


def _sizes(data: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Bytes of the values that start at these places of padded data."""
    kind, header = data[at] & 3, (data[at] >> 2).astype(np.int64)
    sizes: np.ndarray = np.where(kind == SHORT_TEXT, header + 1, _SIZES[header])
    primitive = kind == PRIMITIVE
    if (primitive & (sizes == 0)).any():
        raise damaged(f"type {int(header[primitive & (sizes == 0)][0])} is unknown")
    long = np.flatnonzero(primitive & (sizes < 0))
    sizes[long] = 5 + unsigned(data, at[long] + 1, np.full(len(long), 4))
    holders = np.flatnonzero(kind >= OBJECT)
    at, header, is_object = at[holders], header[holders], kind[holders] == OBJECT
    count_size = np.where(np.where(is_object, header >> 4, header >> 2) & 1 == 1, 4, 1)
    counts = unsigned(data, at + 1, count_size)
    name_size = np.where(is_object, (header >> 2 & 3) + 1, 0)
    offset_size = (header & 3) + 1
    last = 1 + count_size + counts * (name_size + offset_size)
    sizes[holders] = last + offset_size + unsigned(data, at + last, offset_size)
    return sizes


def objects(counts: np.ndarray, names: np.ndarray, values: Ragged) -> Ragged:
    """Objects of fields. `counts`: fields of each; `names`, `values`: of all, in the order of their names' texts."""
    return _holders(counts, values, names)


def arrays(counts: np.ndarray, values: Ragged) -> Ragged:
    """Arrays of elements. `counts`: elements of each; `values`: all of them."""
    return _holders(counts, values, None)


def _holders(counts: np.ndarray, values: Ragged, names: np.ndarray | None) -> Ragged:
    first = ends(counts)
    sizes = np.diff(values.offsets[first])
    large = counts > _MAX_SMALL_COUNT
    offset_size = widths(sizes)
    name_size = np.zeros(len(counts), np.int64)
    if names is not None:
        most = np.zeros(len(counts), np.int64)
        np.maximum.at(most, np.repeat(np.arange(len(counts)), counts), names)
        name_size = widths(most)
        header = large << 4 | name_size - 1 << 2 | offset_size - 1
    else:
        header = large << 2 | offset_size - 1
    count_size = np.where(large, 4, 1)
    names_at = 1 + count_size
    offsets_at = names_at + counts * name_size
    values_at = offsets_at + (counts + 1) * offset_size
    out = ends(values_at + sizes)
    start = out[:-1]
    data = np.zeros(int(out[-1]), np.uint8)
    data[start] = header << 2 | (ARRAY if names is None else OBJECT)
    put_unsigned(data, start + 1, counts, count_size)
    parent = np.repeat(np.arange(len(counts)), counts)
    place = spread(np.zeros(len(counts), np.int64), counts)
    if names is not None:
        put_unsigned(data, (start + names_at)[parent] + place * name_size[parent], names, name_size[parent])
    before = values.offsets[:-1] - np.repeat(values.offsets[first[:-1]], counts)
    put_unsigned(data, (start + offsets_at)[parent] + place * offset_size[parent], before, offset_size[parent])
    put_unsigned(data, start + offsets_at + counts * offset_size, sizes, offset_size)
    data[spread(start + values_at, sizes)] = values.data[int(values.offsets[0]) : int(values.offsets[-1])]
    return Ragged(data, out)


def widths(numbers: np.ndarray) -> np.ndarray:
    """How many bytes, 1 to 4, each number takes. int64, shape (n,)."""
    return 1 + (numbers > 0xFF).astype(np.int64) + (numbers > 0xFFFF) + (numbers > 0xFFFFFF)


def padded(data: np.ndarray) -> np.ndarray:
    """Data with zeros behind it, so that numbers may be read at its end."""
    return np.concatenate((data, np.zeros(_PAD, np.uint8)))


def unsigned(data: np.ndarray, at: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Numbers of 0 to 4 bytes, low bytes first, out of padded data. int64, shape (n,).

    Raises: CorruptFileError: one is beyond the data.
    """
    if len(at) and int(at.max()) > len(data) - _PAD:
        raise damaged("it is cut off")
    numbers = np.zeros(len(at), np.int64)
    for byte in range(4):
        numbers |= np.where(byte < sizes, data[at + byte].astype(np.int64) << 8 * byte, 0)
    return numbers


def put_unsigned(data: np.ndarray, at: np.ndarray, numbers: np.ndarray, sizes: np.ndarray) -> None:
    """Write numbers of 1 to 4 bytes, low bytes first."""
    for byte in range(4):
        wide = byte < sizes
        data[at[wide] + byte] = numbers[wide] >> 8 * byte & 0xFF
