"""Objects as files that are read at any position, or written from the beginning to the end.

A small object is fetched whole. Of a large one the end comes first, where parquet and ORC files keep what is in them;
then come blocks. Reading some columns side by side needs some blocks at a time, each until its last byte was read.
"""

import io
from collections import OrderedDict
from typing import Any, Protocol

from maintenance.fs.object_errors import reported_store_errors
from maintenance.fs.write_only import WriteOnly

WHOLE_BYTES = 4 << 20
_BLOCK = 1 << 20
_MAX_BLOCKS = 64
# A larger part is fetched in pieces of this size at the same time.
_PIECE = 8 << 20


class Ranges(Protocol):
    """What parts of objects are read from."""

    def get_ranges(self, path: str, ranges: list[tuple[int, int]]) -> list[bytes]: ...

    def read_part(self, path: str, offset: int, length: int) -> tuple[bytes, int]: ...


class ObjectInput:
    """An object that is read at any position. Not for several threads."""

    def __init__(self, storage: Ranges, path: str, size: int, end: bytes) -> None:
        self._storage, self._path, self._size = storage, path, size
        self._end_start, self._end = size - len(end), end
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        self._position = 0
        self.closed = False

    @classmethod
    def opened(cls, storage: Ranges, path: str, size: int) -> "ObjectInput":
        """`size`: bytes that the object should have. Raises: FileNotFoundError."""
        end, found = storage.read_part(path, max(0, size - _BLOCK), _BLOCK)
        if found != size:
            end, found = storage.read_part(path, max(0, found - _BLOCK), _BLOCK)
        return cls(storage, path, found, end)

    def size(self) -> int:
        return self._size

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def read(self, size: int | None = None) -> bytes:
        start = self._position
        end = self._size if size is None or size < 0 else min(self._size, start + size)
        if end <= start:
            return b""
        with reported_store_errors("read", self._path):
            data = self._part(start, end)
        self._position = start + len(data)
        return data

    def _part(self, start: int, end: int) -> bytes:
        if start >= self._end_start:
            return self._end[start - self._end_start : end - self._end_start]
        if end - start > _BLOCK:
            edges = [*range(start, end, _PIECE), end]
            return b"".join(self._storage.get_ranges(self._path, list(zip(edges, edges[1:], strict=False))))
        first, last = start // _BLOCK, (end - 1) // _BLOCK
        data = b"".join(self._block(number) for number in range(first, last + 1))
        if end % _BLOCK == 0 or end == self._size:
            self._blocks.pop(last, None)
        return data[start - first * _BLOCK : end - first * _BLOCK]

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            start, end = number * _BLOCK, min((number + 1) * _BLOCK, self._size)
            self._blocks[number] = self._storage.get_ranges(self._path, [(start, end)])[0]
            if len(self._blocks) > _MAX_BLOCKS:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(number)
        return self._blocks[number]

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._blocks.clear()
        self._end, self._end_start, self.closed = b"", self._size, True


class ObjectOutput(WriteOnly):
    """An object that is written once, in large parts; it is there when this is closed."""

    def __init__(self, writer: Any, path: str) -> None:
        self._writer, self._path = writer, path
        self._written = 0

    def write(self, data: Any) -> int:
        content = memoryview(data).cast("B")  # Arrow's buffers are signed
        with reported_store_errors("write", self._path):
            self._writer.write(content)
        self._written += len(content)
        return len(content)

    def tell(self) -> int:
        return self._written

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with reported_store_errors("write", self._path):
                self._writer.close()
