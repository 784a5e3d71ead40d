"""Where the values of a Thrift struct lie in its compact form; for footers of parquet files.

Source: Apache Thrift, compact protocol.
"""

from collections.abc import Iterator

from maintenance.format.bytes.varint import read_varint, unzigzag

Path = tuple[int, ...]

_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 3, 7, 8, 9, 10, 12
_TRUE, _FALSE = 1, 2
_NUMBERS = (4, 5, 6)  # i16, i32, i64: zigzag numbers


def values_of(data: bytes) -> Iterator[tuple[Path, int, int | bytes]]:
    """Numbers and byte strings of a struct: path of field ids and list positions, offset, value (bytes from offset).

    Raises: ValueError, IndexError: the bytes are not a struct.
    """
    yield from _Walk(data).struct(())


class _Walk:
    """Reads on from `position`."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def struct(self, path: Path) -> Iterator[tuple[Path, int, int | bytes]]:
        field_id = 0
        while (header := self._byte()) != 0:
            delta, kind = header >> 4, header & 15
            field_id = field_id + delta if delta else self._zigzag()
            if kind not in (_TRUE, _FALSE):
                yield from self._value(kind, (*path, field_id))

    def _value(self, kind: int, path: Path) -> Iterator[tuple[Path, int, int | bytes]]:
        offset = self._position
        if kind in _NUMBERS:
            yield path, offset, self._zigzag()
        elif kind == _BINARY:
            length = self._varint()
            self._position += length
            yield path, self._position - length, self._data[self._position - length : self._position]
        elif kind in (_LIST, _SET):
            header = self._byte()
            count = header >> 4 if header >> 4 < 15 else self._varint()
            for number in range(count):
                yield from self._value(header & 15, (*path, number))
        elif kind == _STRUCT:
            yield from self.struct(path)
        elif kind in (_TRUE, _FALSE, _BYTE):
            self._position += 1
        elif kind == _DOUBLE:
            self._position += 8
        else:
            raise ValueError(f"type {kind} at byte {offset}")

    def _byte(self) -> int:
        self._position += 1
        return self._data[self._position - 1]

    def _varint(self) -> int:
        value, self._position = read_varint(self._data, self._position)
        return value

    def _zigzag(self) -> int:
        return unzigzag(self._varint())
