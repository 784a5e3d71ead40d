"""Encodes the row groups of a file in several threads, each as a file of its own in memory, and puts them together.

The bytes are those that one writer would have written. A page does not say where it is, only the footer does: the
positions in it are moved on, and the row groups of all footers become the list of one. Source: parquet-format,
`parquet.thrift`.
"""

import io
import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Protocol

import pyarrow as pa

from maintenance.format.bytes.varint import varint, zigzag
from maintenance.format.parquet.thrift import Fields, spans_of, values_of

_MAGIC = b"PAR1"
# Fields of `FileMetaData`.
_NUM_ROWS, _ROW_GROUPS = 3, 4
# Of a `RowGroup` its columns (1) and where it is (5); of a `ColumnChunk` where it is (2), and in its meta data (3)
# where data (9), index (10) and dictionary (11) pages begin.
_PLACES: Fields = {_ROW_GROUPS: {1: {2: {}, 3: {9: {}, 10: {}, 11: {}}}, 5: {}}}
_STRUCTS = 12  # of a list, the type of its elements


class Encoder(Protocol):
    """Writes tables as row groups, see `pq.ParquetWriter`."""

    def write_table(self, table: pa.Table, row_group_size: int) -> None: ...

    def close(self) -> None: ...


@cache
def _encoding_threads(threads: int, _: int) -> ThreadPoolExecutor:
    """So many for all files that a process writes at a time; a fork, which has another id, needs its own."""
    return ThreadPoolExecutor(threads, "encoding")


class RowGroupsWriter:
    """A parquet writer with threads. A table given to it is a row group; the next one may come before it is encoded.

    Args: `sink`: gets the file; `open_`: opens a writer on a sink; `threads`: how many, n > 1.
    """

    def __init__(self, sink: pa.NativeFile, open_: Callable[[pa.NativeFile], Encoder], threads: int) -> None:
        self._sink = sink
        self._start = int(sink.tell())
        self._open = open_
        self._threads = threads
        self._pool = _encoding_threads(threads, os.getpid())
        self._waiting: deque[tuple[Future[_HeldFile], int]] = deque()
        self._footers: list[bytes] = []
        self._taken = 0
        sink.write(_MAGIC)

    def write_table(self, table: pa.Table, row_group_size: int) -> None:
        """Take a row group. Raises: whatever encoding an earlier one has raised."""
        if len(self._waiting) >= self._threads:
            self._put()
        self._waiting.append((self._pool.submit(self._encoded, table, row_group_size), table.nbytes))

    def settle(self, limit: int) -> None:
        """Wait until it is known whether the file has `limit` bytes, as far as that may be."""
        written = int(self._sink.tell()) - self._start
        # Rows take more bytes in memory than in the file.
        rate = min(1.0, 1.5 * written / self._taken) if self._taken else 1.0
        if written + rate * sum(size for _, size in self._waiting) >= limit:
            self._put_all()

    def close(self) -> None:
        """Write the footer. The sink stays open."""
        try:
            self._put_all()
        finally:
            for encoding, _ in self._waiting:
                encoding.cancel()
        footer = _joined(self._footers)
        self._sink.write(footer + len(footer).to_bytes(4, "little") + _MAGIC)

    def _encoded(self, table: pa.Table, row_group_size: int) -> "_HeldFile":
        file = _HeldFile()
        writer = self._open(pa.PythonFile(file, "w"))
        writer.write_table(table, row_group_size=row_group_size)
        writer.close()
        return file

    def _put_all(self) -> None:
        while self._waiting:
            self._put()

    def _put(self) -> None:
        """Write the first row group that waits."""
        encoding, size = self._waiting.popleft()
        file = encoding.result()
        position = int(self._sink.tell()) - self._start
        self._footers.append(_moved(file.cut_footer(), position - len(_MAGIC)))
        for part in file.cut_pages():
            self._sink.write(part)
        self._taken += size


class _HeldFile(io.RawIOBase):
    """A file in memory, in the parts that it was written in: to grow a buffer takes a fifth of the time of encoding."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._parts.append(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def cut_footer(self) -> bytes:
        """Take the footer away. Returns it without its size and the magic number."""
        end = self._cut(8)
        return self._cut(int.from_bytes(end[:4], "little"))

    def cut_pages(self) -> Sequence[bytes]:
        """The parts without the magic number they begin with. The footer is away."""
        first, *others = self._parts
        return [first[len(_MAGIC) :], *others]

    def _cut(self, size: int) -> bytes:
        """The last bytes, which are taken away."""
        end = b""
        while len(end) < size:
            end = self._parts.pop() + end
        keep = len(end) - size
        self._parts.append(end[:keep])
        return end[keep:]


def _moved(footer: bytes, distance: int) -> bytes:
    """The footer of a file of one row group, after its pages are `distance` further on."""
    parts, position = [], 0
    for _, offset, value in values_of(footer, _PLACES):
        assert isinstance(value, int)
        # 0 stands for a position that is not said.
        parts += [footer[position:offset], varint(zigzag(value + distance if value else 0))]
        position = offset + len(varint(zigzag(value)))
    return b"".join([*parts, footer[position:]])


def _joined(footers: Sequence[bytes]) -> bytes:
    """The footer of all row groups of files with one each. All else is as in the first."""
    first = footers[0]
    spans = [spans_of(footer) for footer in footers]
    rows = sum(int(value) for footer in footers for _, _, value in values_of(footer, {_NUM_ROWS: {}}))
    count = len(footers)
    head = bytes([count << 4 | _STRUCTS]) if count < 15 else bytes([15 << 4 | _STRUCTS]) + varint(count)
    groups = [footer[slice(*of[_ROW_GROUPS])][1:] for footer, of in zip(footers, spans, strict=True)]
    (rows_start, rows_end), (groups_start, groups_end) = spans[0][_NUM_ROWS], spans[0][_ROW_GROUPS]
    before, between, after = first[:rows_start], first[rows_end:groups_start], first[groups_end:]
    return b"".join([before, varint(zigzag(rows)), between, head, *groups, after])
