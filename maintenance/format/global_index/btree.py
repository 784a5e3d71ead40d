"""Index type `btree`: blocks of keys in order, each key with the row ids that have it.

A block has entries (length of the key, key, length of the value, value: numbers of 7 bits a byte) and an end: with
entries of equal size this size and the byte 0, else where each begins, how many there are, and the byte 1. A value is
the number of row ids and the row ids. A last block has the largest key of each block and where it is; the row ids of
nulls are a roaring bitmap. Row ids count from the first row that the index covers.
Source: Java `BTreeIndexWriter`, `BTreeIndexReader`, `SstFileWriter`, `BlockWriter`.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from maintenance.format.bytes.ragged import Ragged, ends, grouped, interleaved, spread
from maintenance.format.bytes.varints import all_varints, read_varints, varints
from maintenance.format.global_index.blocks import Handle, Source, damaged, read_block, with_trailer
from maintenance.format.global_index.keys import in_key_order, keys_of, values_of_keys
from maintenance.format.global_index.runs import run_starts
from maintenance.format.global_index.sorted_meta import SortedMeta
from maintenance.types.data_type import DataType

NAME = "btree"
_FOOTER = struct.Struct("<QIQQIQIII")  # bloom filter, index block, bitmap of nulls, version, magic number
_VERSION, _MAGIC = 1, 0x50425449
_ALIGNED, _UNALIGNED = b"\0", b"\1"
_BLOCK_BYTES = 64 << 10


def btree_file(values: pa.Array, row_ids: np.ndarray, data_type: DataType) -> tuple[bytes, SortedMeta]:
    """An index file, and what its manifest entry says of it.

    Args: `values`: natural type; `row_ids`: int64, shape (n,), of each value, from the first row covered.
    """
    keys, rows = _by_key(values, row_ids, data_type)
    content, handles, lasts = bytearray(), [], []
    for start, end in _cut(keys, rows):
        block = _block(interleaved(_sized(keys.take(np.arange(start, end))), _sized(rows.take(np.arange(start, end)))))
        handles.append(Handle(len(content), len(block)))
        lasts.append(end - 1)
        content += with_trailer(block)
    nulls = Handle(0, 0)
    if values.null_count:
        bitmap = BitMap64(row_ids[np.asarray(values.is_null())].astype(np.uint64)).serialize()
        nulls = Handle(len(content), len(bitmap))
        content += bitmap + struct.pack("<I", zlib.crc32(bitmap))
    index = _block(interleaved(_sized(keys.take(np.array(lasts, np.int64))), _sized(_handles(handles))))
    at = len(content)
    content += with_trailer(index)
    content += _FOOTER.pack(0, 0, 0, at, len(index), nulls.offset, nulls.size, _VERSION, _MAGIC)
    first, last = (keys[0], keys[len(keys) - 1]) if len(keys) else (None, None)
    return bytes(content), SortedMeta(first, last, values.null_count > 0)


def _by_key(values: pa.Array, row_ids: np.ndarray, data_type: DataType) -> tuple[Ragged, Ragged]:
    """The distinct keys in order, and for each its value in the file."""
    order = in_key_order(values, data_type)
    keys = keys_of(values.take(pa.array(order)), data_type)
    starts = run_starts(keys)
    row_bytes = varints(row_ids[order])
    counts = np.diff(np.append(starts, len(order)))
    rows = (
        interleaved(varints(counts), grouped(row_bytes, starts))
        if len(starts)
        else Ragged(row_bytes.data, ends(counts))
    )
    return keys.take(starts), rows


def _cut(keys: Ragged, rows: Ragged) -> Iterator[tuple[int, int]]:
    """Entries of about a block's size."""
    sizes = np.cumsum(keys.sizes + rows.sizes + 8)
    start = 0
    while start < len(keys):
        before = sizes[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(sizes, before + _BLOCK_BYTES, "right")))
        yield start, end
        start = end


def _sized(parts: Ragged) -> Ragged:
    return interleaved(varints(parts.sizes), parts)


def _handles(handles: list[Handle]) -> Ragged:
    offsets = varints(np.array([handle.offset for handle in handles], np.int64))
    return interleaved(offsets, varints(np.array([handle.size for handle in handles], np.int64)))


def _block(entries: Ragged) -> bytes:
    sizes = entries.sizes
    if len(sizes) and (sizes == sizes[0]).all():
        return entries.tobytes() + struct.pack("<I", int(sizes[0])) + _ALIGNED
    places = entries.offsets[:-1].astype("<u4").tobytes()
    return entries.tobytes() + places + struct.pack("<I", len(sizes)) + _UNALIGNED


@dataclass(frozen=True, slots=True)
class BTreeIndex:
    """An open index file."""

    source: Source
    where: str
    data_type: DataType

    def rows(self, matches: Callable[[pa.Array], np.ndarray], may_match: Callable[[pa.Array], np.ndarray]) -> BitMap64:
        """Row ids of the values that match, from the first row covered.

        Args: `matches`: says of values, null among them, which match; `may_match`: gets the largest values of all
            blocks, and says which blocks may have a match. Both return bool, shape (n,).
        Raises: CorruptFileError, UnsupportedError.
        """
        try:
            return self._rows(matches, may_match)
        except (IndexError, ValueError, struct.error) as error:
            raise damaged(f"cannot be read: {error}", self.where) from error

    def _rows(self, matches: Callable[[pa.Array], np.ndarray], may_match: Callable[[pa.Array], np.ndarray]) -> BitMap64:
        footer = self.source.read_at(_FOOTER.size, max(0, self.source.size() - _FOOTER.size))
        _, _, _, at, size, nulls_at, nulls_size, version, magic = _FOOTER.unpack(footer)
        if magic != _MAGIC or version != _VERSION:
            raise damaged(f"is not a btree of version {_VERSION}", self.where)
        row_ids = BitMap64()
        if nulls_size and matches(pa.nulls(1, self._none().type)).any():
            row_ids |= BitMap64.deserialize(self._nulls(nulls_at, nulls_size))
        lasts, places = self._entries(Handle(at, size))
        if not len(lasts):
            return row_ids
        offsets, after = read_varints(places.data, places.offsets[:-1])
        sizes, _ = read_varints(places.data, after)
        for number in np.flatnonzero(may_match(values_of_keys(lasts, self.data_type, self.where))).tolist():
            keys, rows = self._entries(Handle(int(offsets[number]), int(sizes[number])))
            chosen = np.flatnonzero(matches(values_of_keys(keys, self.data_type, self.where)))
            if len(chosen):
                row_ids |= BitMap64(_row_ids(rows.take(chosen)))
        return row_ids

    def _none(self) -> pa.Array:
        return values_of_keys(Ragged(np.zeros(0, np.uint8), np.zeros(1, np.int64)), self.data_type, self.where)

    def _nulls(self, at: int, size: int) -> bytes:
        whole = bytes(self.source.read_at(size + 4, at))
        if len(whole) != size + 4 or zlib.crc32(whole[:size]) != struct.unpack("<I", whole[size:])[0]:
            raise damaged("has a damaged bitmap of nulls", self.where)
        return whole[:size]

    def _entries(self, handle: Handle) -> tuple[Ragged, Ragged]:
        """The keys and values of a block."""
        block = np.frombuffer(read_block(self.source, handle, self.where), np.uint8)
        number = int(np.frombuffer(block[-5:-1].tobytes(), "<u4")[0])
        if block[-1] == _ALIGNED[0]:
            starts = np.arange(0, len(block) - 5, number, dtype=np.int64)
        else:
            starts = np.frombuffer(block[-5 - 4 * number : -5].tobytes(), "<u4").astype(np.int64)
        sizes, at = read_varints(block, starts)
        value_sizes, value_at = read_varints(block, at + sizes)
        return _strings(block, at, sizes), _strings(block, value_at, value_sizes)


def _strings(block: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> Ragged:
    return Ragged(block[spread(starts, sizes)], ends(sizes))


def _row_ids(rows: Ragged) -> np.ndarray:
    """The row ids of values, without the number in front of each."""
    numbers, behind = all_varints(rows.data)
    first = np.searchsorted(behind, rows.offsets[:-1], side="right")
    return np.asarray(np.delete(numbers, first)).astype(np.uint64)
