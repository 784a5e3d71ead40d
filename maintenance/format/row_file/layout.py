"""Where the blocks of a row file are: the index of blocks and the footer behind them.

The index is three lists, each with its bytes counted in front: the sizes of the blocks as stored, their sizes when
decompressed, and the number of each one's first row. A list is the differences of its numbers as zigzag varints.
Source: Paimon's specification of the row format, Java `RowBlockIndex`, `RowFileFooter`.
"""

import struct
from dataclasses import dataclass

import numpy as np

from maintenance.format.bytes.varint import read_varint, varint
from maintenance.format.bytes.varints import all_varints, varints

_FOOTER_BYTES = 32
_FOOTER = struct.Struct("<qiqib3xI")
_MAGIC = 0x524F5753
_VERSION = 1
_LISTS = 3


@dataclass(frozen=True, slots=True)
class Footer:
    """The end of a row file. `rows`, `blocks`: how many it has; `index_start`, `index_bytes`: where its index is."""

    rows: int
    blocks: int
    index_start: int
    index_bytes: int

    @classmethod
    def parse(cls, data: bytes, file_bytes: int) -> "Footer":
        """The footer in the last bytes of a file. Raises: ValueError: these are none, or the file is cut off."""
        if len(data) < _FOOTER_BYTES:
            raise ValueError("it is too short for a footer")
        rows, blocks, start, size, version, magic = _FOOTER.unpack(data[-_FOOTER_BYTES:])
        if magic != _MAGIC:
            raise ValueError("it does not end with ROWS")
        if version != _VERSION:
            raise ValueError(f"it is of version {version}, not {_VERSION}")
        if min(rows, blocks, start, size) < 0 or start + size + _FOOTER_BYTES != file_bytes:
            raise ValueError("its index is not where its footer says")
        return cls(rows, blocks, start, size)


@dataclass(frozen=True, slots=True)
class BlockIndex:
    """The blocks of a file, int64.

    Attributes:
        offsets: where each begins, and the end of the last; shape (blocks + 1,).
        plain_sizes: bytes of each when decompressed; shape (blocks,).
        row_starts: number of each one's first row, and how many rows there are; shape (blocks + 1,).
    """

    offsets: np.ndarray
    plain_sizes: np.ndarray
    row_starts: np.ndarray

    @classmethod
    def parse(cls, data: bytes, footer: Footer) -> "BlockIndex":
        """The index of a file. Raises: ValueError, IndexError: it does not fit the footer."""
        lists, at = [], 0
        for _ in range(_LISTS):
            size, at = read_varint(data, at)
            if at + size > len(data):
                raise ValueError("its index is cut off")
            lists.append(_numbers(np.frombuffer(data, np.uint8, size, at)))
            at += size
        sizes, plain_sizes, starts = lists
        if not len(sizes) == len(plain_sizes) == len(starts) == footer.blocks:
            raise ValueError(f"its index does not have the {footer.blocks} blocks of its footer")
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        row_starts = np.append(starts, footer.rows)
        if (sizes < 0).any() or (plain_sizes < 0).any() or offsets[-1] != footer.index_start:
            raise ValueError("its blocks do not end where its index begins")
        if row_starts[0] != 0 or (np.diff(row_starts) <= 0).any():
            raise ValueError("its index counts rows wrongly")
        return cls(offsets, plain_sizes, row_starts)


def _numbers(data: np.ndarray) -> np.ndarray:
    zigzag, ends = all_varints(data)
    if (ends[-1] if len(ends) else 0) != len(data):
        raise ValueError("a number of its index is cut off")
    return np.cumsum((zigzag >> 1) ^ -(zigzag & 1))


def end_of_file(sizes: list[int], plain_sizes: list[int], rows: list[int]) -> bytes:
    """Index and footer of a file with these blocks: their bytes as stored and when decompressed, and their rows."""
    starts = np.cumsum([0, *rows])
    index = b"".join(map(_list, (np.array(sizes, np.int64), np.array(plain_sizes, np.int64), starts[:-1])))
    return index + _FOOTER.pack(int(starts[-1]), len(sizes), sum(sizes), len(index), _VERSION, _MAGIC)


def _list(numbers: np.ndarray) -> bytes:
    changes = np.diff(numbers, prepend=0)
    encoded = varints((changes << 1) ^ (changes >> 63)).tobytes()
    return varint(len(encoded)) + encoded
