"""Find the values of a Thrift struct in its compact encoding; for footers of parquet files.

Source: Apache Thrift, compact protocol.
"""

from collections.abc import Iterator, Mapping

from maintenance.format.bytes.varint import read_varint, unzigzag

Path = tuple[int, ...]
Found = tuple[Path, int, int | bytes]
# Ids of the fields that are wanted, with those wanted of each; of a number or byte string none. A list is passed
# through: what stands below its field is wanted of each element.
Fields = Mapping[int, "Fields"]

_BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 3, 7, 8, 9, 10, 12
_TRUE, _FALSE = 1, 2
_NUMBERS = (4, 5, 6)  # i16, i32, i64: zigzag numbers
_NOTHING: Fields = {}


def values_of(data: bytes, wanted: Fields | None = None) -> list[Found]:
    """Numbers and byte strings of a struct: path of field ids and list positions, offset, value (bytes from offset).

    Args: `wanted`: None = all. What is not wanted is passed over, which takes a fraction of the time.
    Raises: ValueError, IndexError: the bytes are not a struct.
    """
    walk = _Walk(data)
    walk.struct((), wanted)
    return walk.found


def spans_of(data: bytes) -> dict[int, tuple[int, int]]:
    """Where the value of each field of a struct begins and ends, booleans aside. Raises: as `values_of`."""
    walk = _Walk(data)
    return {field_id: walk.span(kind) for field_id, kind in walk.fields()}


class _Walk:
    """Reads on from `position`. `found`: so far."""

    def __init__(self, data: bytes) -> None:
        self.found: list[Found] = []
        self._data = data
        self._position = 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Id and type of each field of a struct, booleans aside; whoever asks reads or skips the value."""
        field_id = 0
        while (header := self._byte()) != 0:
            delta, kind = header >> 4, header & 15
            field_id = field_id + delta if delta else self._zigzag()
            if kind not in (_TRUE, _FALSE):
                yield field_id, kind

    def span(self, kind: int) -> tuple[int, int]:
        start = self._position
        self._skip(kind)
        return start, self._position

    def struct(self, path: Path, wanted: Fields | None) -> None:
        for field_id, kind in self.fields():
            if wanted is None:
                self._value(kind, (*path, field_id), None)
            elif field_id in wanted:
                self._value(kind, (*path, field_id), wanted[field_id])
            else:
                self._skip(kind)

    def _value(self, kind: int, path: Path, wanted: Fields | None) -> None:
        offset = self._position
        if kind in _NUMBERS:
            self.found.append((path, offset, self._zigzag()))
        elif kind == _BINARY:
            length = self._varint()
            self._position += length
            start = self._position - length
            self.found.append((path, start, self._data[start : self._position]))
        elif kind in (_LIST, _SET):
            element, count = self._list()
            for number in range(count):
                self._value(element, (*path, number), wanted)
        elif kind == _STRUCT:
            self.struct(path, wanted)
        else:
            self._skip(kind)

    def _skip(self, kind: int) -> None:
        if kind in _NUMBERS:
            while self._data[self._position] & 0x80:
                self._position += 1
            self._position += 1
        elif kind == _BINARY:
            length = self._varint()
            self._position += length
        elif kind in (_LIST, _SET):
            element, count = self._list()
            for _ in range(count):
                self._skip(element)
        elif kind == _STRUCT:
            self.struct((), _NOTHING)
        elif kind in (_TRUE, _FALSE, _BYTE):
            self._position += 1
        elif kind == _DOUBLE:
            self._position += 8
        else:
            raise ValueError(f"type {kind} at byte {self._position}")

    def _list(self) -> tuple[int, int]:
        """The type of a list's elements, and how many there are."""
        header = self._byte()
        return header & 15, header >> 4 if header >> 4 < 15 else self._varint()

    def _byte(self) -> int:
        self._position += 1
        return self._data[self._position - 1]

    def _varint(self) -> int:
        value, self._position = read_varint(self._data, self._position)
        return value

    def _zigzag(self) -> int:
        return unzigzag(self._varint())
