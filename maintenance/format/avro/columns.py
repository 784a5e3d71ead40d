"""Columns as the bytes of Avro rows, without a loop over values.

Avro stores row after row, Arrow column after column. Every column becomes *pieces*: the bytes of all its values one
after the other, and how many bytes each value takes. Pieces of a row's columns are then interleaved by arithmetic on
positions. A collection's elements are pieces too, of which a value takes some in a row.
Source: Avro specification (binary encoding), Java `FieldWriterFactory`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from maintenance.format.bytes.decimals import digits_of_decimals
from maintenance.types.data_type import DataField, DataType

_MAX_VARINT = 10
_UNION_NULL, _UNION_VALUE = 0, 2  # positions 0 and 1 in a union, zigzag


@dataclass(frozen=True, slots=True)
class Pieces:
    """Encoded values. `data`: uint8, all of them in order; `lengths`: int64, shape (values,), bytes of each."""

    data: np.ndarray
    lengths: np.ndarray

    def taken(self, counts: np.ndarray) -> "Pieces":
        """Values that consist of `counts` of these pieces each, in order."""
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        firsts = np.concatenate([[0], np.cumsum(counts)])
        return Pieces(self.data, np.diff(ends[firsts]))


def interleave(parts: Sequence[Pieces]) -> Pieces:
    """Values that consist of one piece of each part, in that order. `parts`: of equally many pieces each."""
    if len(parts) == 1:
        return parts[0]
    total = np.sum([part.lengths for part in parts], axis=0)
    data = np.empty(int(total.sum()), np.uint8)
    target = np.concatenate([[0], np.cumsum(total)[:-1]]) if len(total) else np.zeros(0, np.int64)
    for part in parts:
        starts = np.cumsum(part.lengths) - part.lengths
        data[np.repeat(target - starts, part.lengths) + np.arange(len(part.data))] = part.data
        target = target + part.lengths
    return Pieces(data, total)


def encode_rows(columns: Sequence[pa.Array], fields: Sequence[DataField]) -> Pieces:
    """Rows of these columns, which have the natural Arrow types of the fields, as an Avro record each."""
    return interleave([_encode(column, field.type) for column, field in zip(columns, fields, strict=True)])


def varints(values: np.ndarray) -> Pieces:
    """Numbers, int64, as zigzag varints."""
    zigzag = ((values << 1) ^ (values >> 63)).view(np.uint64)
    lengths = np.ones(len(values), np.int64)
    for size in range(1, _MAX_VARINT):
        lengths += zigzag >= np.uint64(1 << 7 * size)
    starts = np.cumsum(lengths) - lengths
    data = np.empty(int(lengths.sum()), np.uint8)
    for place in range(int(lengths.max(initial=0))):
        there = np.flatnonzero(lengths > place)
        bits = (zigzag[there] >> np.uint64(7 * place)) & np.uint64(0x7F)
        continued = np.where(lengths[there] > place + 1, 0x80, 0).astype(np.uint8)
        data[starts[there] + place] = bits.astype(np.uint8) | continued
    return Pieces(data, lengths)


def _encode(array: pa.Array, data_type: DataType) -> Pieces:
    if not data_type.nullable:
        return _encode_values(array, data_type)
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    branch = Pieces(np.where(valid, _UNION_VALUE, _UNION_NULL).astype(np.uint8), np.ones(len(valid), np.int64))
    inner = _encode_values(array.drop_null() if array.null_count else array, data_type)
    lengths = np.zeros(len(valid), np.int64)
    lengths[valid] = inner.lengths
    return interleave([branch, Pieces(inner.data, lengths)])


def _encode_values(array: pa.Array, data_type: DataType) -> Pieces:
    """Values of a column without nulls."""
    match data_type.root:
        case "BOOLEAN":
            return _fixed(array.cast(pa.uint8()).to_numpy())
        case "FLOAT" | "DOUBLE":
            return _fixed(array.to_numpy())
        case "CHAR" | "VARCHAR" | "BINARY" | "VARBINARY":
            return _sized(_bytes_of(array))
        case "DECIMAL":
            return _sized(Pieces(*digits_of_decimals(array)))
        case "ROW":
            return encode_rows(array.flatten(), data_type.fields)
        case "ARRAY" | "VECTOR":
            assert data_type.element is not None
            return _collection(array, _encode(array.flatten(), data_type.element))
        case "MAP" | "MULTISET":
            return _collection(array, _entries(array, data_type))
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return varints(array.cast(pa.int64()).to_numpy())
        case "DATE" | "TIME":
            return varints(array.cast(pa.int32()).to_numpy().astype(np.int64))
    return varints(array.to_numpy().astype(np.int64))


def _fixed(values: np.ndarray) -> Pieces:
    return Pieces(np.ascontiguousarray(values).view(np.uint8), np.full(len(values), values.dtype.itemsize, np.int64))


def _sized(values: Pieces) -> Pieces:
    return interleave([varints(values.lengths), values])


def _bytes_of(array: pa.Array) -> Pieces:
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    content = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return Pieces(content[bounds[0] : bounds[-1]], np.diff(bounds))


def _entries(array: pa.Array, data_type: DataType) -> Pieces:
    """Keys and values of maps, those of all maps one after the other."""
    first, last = (array.offsets[i].as_py() for i in (0, -1)) if len(array) else (0, 0)
    keys, items = array.keys.slice(first, last - first), array.items.slice(first, last - first)
    if data_type.root == "MULTISET":
        assert data_type.element is not None
        return interleave([_encode_key(keys, data_type.element), _encode(items, DataType("INT"))])
    assert data_type.key is not None
    assert data_type.value is not None
    return interleave([_encode_key(keys, data_type.key), _encode(items, data_type.value)])


def _encode_key(keys: pa.Array, data_type: DataType) -> Pieces:
    # A key that is text is one of Avro's maps, which has no nullable keys; others follow their type.
    return _encode(keys, data_type.as_nullable(False) if data_type.is_string else data_type)


def _collection(array: pa.Array, elements: Pieces) -> Pieces:
    """Arrays or maps: one block with the number of elements in front, none if empty, and a zero behind."""
    counts = np.diff(array.offsets.to_numpy()).astype(np.int64)
    number = varints(counts)
    filled = np.where(counts > 0, number.lengths, 0)
    sizes = Pieces(number.data[np.repeat(counts > 0, number.lengths)], filled)
    end = Pieces(np.zeros(len(counts), np.uint8), np.ones(len(counts), np.int64))
    return interleave([sizes, elements.taken(counts), end])


def block_ends(lengths: np.ndarray, block_bytes: int) -> list[tuple[int, int]]:
    """Rows [start, end) of blocks of about this many bytes, at least one row each. `lengths`: bytes of each row."""
    ends = np.cumsum(lengths)
    cuts, start = [0], 0
    while start < len(lengths):
        before = ends[start - 1] if start else 0
        start = max(start + 1, int(np.searchsorted(ends, before + block_bytes, side="right")))
        cuts.append(start)
    return list(pairwise(cuts))
