"""The container of all indexes of one data file, side file or bytes in the manifest: a head, then the bodies.

Everything is big endian: magic, version, length of the head, then per column its name and per index its kind, start
(from the first byte; -1: nothing was ever given to the index) and length; then bytes for later versions, which are
skipped. Names are Java's modified UTF-8. Source: data.md section 9.2, Java `FileIndexFormat`.
"""

import struct
from collections.abc import Mapping

from maintenance.errors import CorruptFileError

MAGIC = 1493475289347502
VERSION = 1
EMPTY_START = -1
Place = tuple[int, int]  # first byte and length of a body

_LEAST_HEAD = 24

_FIX = "Rebuild the index with rewrite_file_index, or read with file-index.read.enabled = false."


def serialize_container(indexes: Mapping[str, Mapping[str, bytes | None]]) -> bytes:
    """The container of `indexes`: column, kind of index, body. A body of None: nothing was given to the index."""
    names = {name: _utf(name) for column, kinds in indexes.items() for name in (column, *kinds)}
    entries = sum(len(names[kind]) + 8 for kinds in indexes.values() for kind in kinds)
    length_of_head = _LEAST_HEAD + entries + sum(len(names[column]) + 4 for column in indexes)
    head = [struct.pack(">qiii", MAGIC, VERSION, length_of_head, len(indexes))]
    bodies: list[bytes] = []
    start = length_of_head
    for column, kinds in indexes.items():
        head += [names[column], struct.pack(">i", len(kinds))]
        for kind, body in kinds.items():
            if body is None:
                head += [names[kind], struct.pack(">ii", EMPTY_START, 0)]
                continue
            head += [names[kind], struct.pack(">ii", start, len(body))]
            bodies.append(body)
            start += len(body)
    return b"".join((*head, struct.pack(">i", 0), *bodies))


def parse_container(data: bytes, where: str) -> dict[str, dict[str, bytes | None]]:
    """Column, kind of index, body (None: nothing was given to the index), in stored order.

    Raises: CorruptFileError: no container, of another version, or cut off.
    """
    return {
        column: {kind: body_at(data, place, where) for kind, place in kinds.items()}
        for column, kinds in parse_head(data, where).items()
    }


def head_length(data: bytes, where: str) -> int:
    """Bytes of the head. `data`: the first 16 or more of the container. Raises: CorruptFileError."""
    try:
        return _head_length(data)
    except (struct.error, ValueError) as error:
        raise _damaged(error, where) from None


def parse_head(data: bytes, where: str) -> dict[str, dict[str, Place | None]]:
    """Column, kind of index, place of its body (None: nothing was given to the index), in stored order.

    Args: `data`: the container, or its head alone. Raises: CorruptFileError: as of `parse_container`.
    """
    try:
        return _parse(data)
    except (struct.error, ValueError) as error:
        raise _damaged(error, where) from None


def body_at(data: bytes, place: Place | None, where: str) -> bytes | None:
    """A body of a whole container. Raises: CorruptFileError: it ends behind the container."""
    if place is None:
        return None
    start, length = place
    if start + length > len(data):
        raise _damaged(ValueError(f"an index of {length} bytes at byte {start} of {len(data)}"), where)
    return data[start : start + length]


def _damaged(error: Exception, where: str) -> CorruptFileError:
    return CorruptFileError(f"this is not an intact file index: {error}", where, _FIX)


def _head_length(data: bytes) -> int:
    magic, version, length = struct.unpack_from(">qii", data)
    if magic != MAGIC or version != VERSION:
        raise ValueError(f"magic {magic} and version {version} instead of {MAGIC} and {VERSION}")
    if length < _LEAST_HEAD:
        raise ValueError(f"a head of {length} bytes")
    return int(length)


def _parse(data: bytes) -> dict[str, dict[str, Place | None]]:
    length = _head_length(data)
    (columns,) = struct.unpack_from(">i", data, 16)
    position = 20
    places: dict[str, dict[str, Place | None]] = {}
    for _ in range(_count(columns)):
        column, position = _text(data, position)
        kinds = places.setdefault(column, {})
        (count,) = struct.unpack_from(">i", data, position)
        position += 4
        for _ in range(_count(count)):
            kind, position = _text(data, position)
            place = struct.unpack_from(">ii", data, position)
            position += 8
            kinds[kind] = None if place[0] == EMPTY_START else _checked(place, length)
    (redundant,) = struct.unpack_from(">i", data, position)
    if position + 4 + _count(redundant) != length:
        raise ValueError(f"its head says {length} bytes, it has {position + 4 + redundant}")
    return places


def _count(number: int) -> int:
    if number < 0:
        raise ValueError(f"a count of {number}")
    return number


def _checked(place: tuple[int, int], head: int) -> Place:
    start, length = place
    if start < head or length < 0:
        raise ValueError(f"an index of {length} bytes at byte {start} after a head of {head}")
    return place


def _text(data: bytes, position: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">H", data, position)
    start, end = position + 2, position + 2 + length
    if end > len(data):
        raise ValueError(f"a name of {length} bytes at byte {start} is cut off")
    units = data[start:end].replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
    return units.encode("utf-16-be", "surrogatepass").decode("utf-16-be"), end


def _utf(name: str) -> bytes:
    """Java's `writeUTF`: the length (uint16), then each UTF-16 unit on its own, NUL in two bytes."""
    units = name.encode("utf-16-be")
    text = "".join(chr(unit) for (unit,) in struct.iter_unpack(">H", units))
    encoded = text.encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    return struct.pack(">H", len(encoded)) + encoded
