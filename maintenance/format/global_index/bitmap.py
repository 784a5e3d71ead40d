"""Index type `bitmap`: a roaring bitmap of row ids for each value, one of nulls and one of all others.

Dictionary blocks have keys in the order of their bytes and where their bitmaps are; an index block has the first key of
each dictionary block and where it is. Row ids count from the first row that the index covers.
Source: Java `BitmapGlobalIndexWriter`, `BitmapIndexReader`, `BitmapGlobalIndexFormat`.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from maintenance.format.bytes.ragged import Ragged, ends
from maintenance.format.bytes.varint import read_varint, varint
from maintenance.format.global_index.blocks import Handle, Source, damaged, read_block, with_trailer
from maintenance.format.global_index.keys import in_key_order, keys_of, values_of_keys
from maintenance.format.global_index.runs import run_starts
from maintenance.format.global_index.sorted_meta import SortedMeta
from maintenance.types.data_type import DataType

NAME = "bitmap"
_FOOTER = struct.Struct(">qiqiqiiii")  # bitmaps of nulls and others, index block, values, version, magic number
_VERSION, _MAGIC = 1, 0x42474958
_BLOCK_BYTES = 16 << 10
_Entry = tuple[bytes, Handle]


def bitmap_file(values: pa.Array, row_ids: np.ndarray, data_type: DataType) -> tuple[bytes, SortedMeta]:
    """An index file, and what its manifest entry says of it.

    Args: `values`: natural type; `row_ids`: int64, shape (n,), of each value, from the first row covered.
    """
    order = in_key_order(values, data_type)
    keys = keys_of(values.take(pa.array(order)), data_type)
    starts = run_starts(keys)
    content = bytearray()
    nulls = _append(content, BitMap64(_unsigned(row_ids[np.asarray(values.is_null())])).serialize())
    others = _append(content, BitMap64(_unsigned(row_ids[order])).serialize())
    of_keys = np.split(row_ids[order], starts[1:]) if len(starts) else []
    groups = dict(zip((keys[start] for start in starts), of_keys, strict=True))
    entries = [(key, _append(content, BitMap64(_unsigned(groups[key])).serialize())) for key in sorted(groups)]
    blocks = [(part[0][0], _append_block(content, _dictionary(part))) for part in _cut(entries)]
    index = _append_block(content, _dictionary(blocks))
    content += _FOOTER.pack(
        nulls.offset, nulls.size, others.offset, others.size, index.offset, index.size, len(entries), _VERSION, _MAGIC
    )
    first, last = (keys[0], keys[len(keys) - 1]) if len(keys) else (None, None)
    return bytes(content), SortedMeta(first, last, values.null_count > 0)


def _unsigned(row_ids: np.ndarray) -> np.ndarray:
    return row_ids.astype(np.uint64)


def _append(content: bytearray, part: bytes) -> Handle:
    handle = Handle(len(content), len(part))
    content += part
    return handle


def _append_block(content: bytearray, part: bytes) -> Handle:
    handle = Handle(len(content), len(part))
    content += with_trailer(part)
    return handle


def _dictionary(entries: Sequence[_Entry]) -> bytes:
    parts = [varint(len(entries))]
    for key, handle in entries:
        parts += [varint(len(key)), key, varint(handle.offset), varint(handle.size)]
    return b"".join(parts)


def _cut(entries: Sequence[_Entry]) -> Iterator[Sequence[_Entry]]:
    """Entries of about a block's size."""
    start = size = 0
    for number, (key, _) in enumerate(entries):
        own = len(key) + 12
        if size and size + own > _BLOCK_BYTES:
            yield entries[start:number]
            start, size = number, 0
        size += own
    if entries:
        yield entries[start:]


@dataclass(frozen=True, slots=True)
class BitmapIndex:
    """An open index file."""

    source: Source
    where: str
    data_type: DataType

    def rows(self, matches: Callable[[pa.Array], np.ndarray]) -> BitMap64:
        """Row ids of the values that match, from the first row covered.

        Args: `matches`: says of values, null among them, which match: bool, shape (n,).
        Raises: CorruptFileError, UnsupportedError.
        """
        try:
            return self._rows(matches)
        except (IndexError, ValueError, struct.error) as error:
            raise damaged(f"cannot be read: {error}", self.where) from error

    def _rows(self, matches: Callable[[pa.Array], np.ndarray]) -> BitMap64:
        footer = self.source.read_at(_FOOTER.size, max(0, self.source.size() - _FOOTER.size))
        nulls_at, nulls_size, _, _, index_at, index_size, _, version, magic = _FOOTER.unpack(footer)
        if magic != _MAGIC or version != _VERSION:
            raise damaged(f"is not a bitmap index of version {_VERSION}", self.where)
        rows = BitMap64()
        blocks = self._entries(Handle(index_at, index_size))
        entries = [entry for _, handle in blocks for entry in self._entries(handle)]
        values = values_of_keys(_ragged([key for key, _ in entries]), self.data_type, self.where)
        if matches(pa.nulls(1, values.type)).any():
            rows |= self._bitmap(Handle(nulls_at, nulls_size))
        for number in np.flatnonzero(matches(values)).tolist():
            rows |= self._bitmap(entries[number][1])
        return rows

    def _bitmap(self, handle: Handle) -> BitMap64:
        return BitMap64.deserialize(bytes(self.source.read_at(handle.size, handle.offset)))

    def _entries(self, handle: Handle) -> list[_Entry]:
        block = read_block(self.source, handle, self.where)
        count, at = read_varint(block, 0)
        entries = []
        for _ in range(count):
            size, at = read_varint(block, at)
            key, at = block[at : at + size], at + size
            offset, at = read_varint(block, at)
            length, at = read_varint(block, at)
            entries.append((key, Handle(offset, length)))
        return entries


def _ragged(keys: Sequence[bytes]) -> Ragged:
    return Ragged(np.frombuffer(b"".join(keys), np.uint8), ends(np.array([len(key) for key in keys], np.int64)))
