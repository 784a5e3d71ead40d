"""Roaring bitmaps as Java serializes them: containers of 16-bit values, in two outer forms.

A 32-bit bitmap has the portable form, which other languages share. A 64-bit one has the form of Java's
`Roaring64Bitmap`: an adaptive radix tree over the upper 48 bits of the values, whose leaves number the containers.
Source: data section 4.6.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import NamedTuple

import numpy as np
from pyroaring import BitMap

from maintenance.errors import CorruptFileError

# Of the portable form, RoaringFormatSpec.
WITHOUT_RUNS, WITH_RUNS = 12346, 12347
NO_OFFSETS_BELOW = 4
ARRAY_LIMIT = 4096
BITMAP_BYTES = 8192
RUN, BITS, ARRAY = 0, 1, 2
# Of Java's 64-bit form: nodes of the tree, and what follows the head of each but a leaf.
NODE4, NODE16, _NODE48, _NODE256, LEAF = range(5)
KEY_BYTES = 6
BODY_BYTES = (4, 16, 256, 32)
NODE, NUMBER, SLOT = struct.Struct("<BHB"), struct.Struct("<q"), struct.Struct("<BBi")
NOT_TRIMMED = 0xFE


class Container(NamedTuple):
    """Values of 16 bits. `kind`: RUN, BITS or ARRAY; `data`: their bytes, without cardinality."""

    kind: int
    cardinality: int
    data: bytes


def _as_array(container: Container) -> Container:
    """Few values that are held as bits, as an array: so readers of the portable form expect them."""
    bits = np.unpackbits(np.frombuffer(container.data, np.uint8), bitorder="little")
    return Container(ARRAY, container.cardinality, np.flatnonzero(bits).astype("<u2").tobytes())


def serialize_portable(containers: Sequence[tuple[int, Container]]) -> bytes:
    """The portable form of a 32-bit bitmap. `containers`: with the upper 16 bits of their values, ascending."""
    count = len(containers)
    runs = [container.kind == RUN for _, container in containers]
    pairs = [number for key, container in containers for number in (key, container.cardinality - 1)]
    head = struct.pack(f"<{2 * count}H", *pairs)
    if any(runs):
        flags = np.packbits(np.array(runs, np.uint8), bitorder="little").tobytes()
        head = struct.pack("<I", WITH_RUNS | count - 1 << 16) + flags + head
    else:
        head = struct.pack("<II", WITHOUT_RUNS, count) + head
    if not any(runs) or count >= NO_OFFSETS_BELOW:
        starts = accumulate((len(container.data) for _, container in containers), initial=len(head) + 4 * count)
        head += struct.pack(f"<{count}I", *islice(starts, count))
    return head + b"".join([container.data for _, container in containers])


def parse_portable(data: bytes) -> list[tuple[int, Container]]:
    """The containers of a 32-bit bitmap with the upper 16 bits of their values."""
    cookie = int.from_bytes(data[:4], "little")
    flags = b""
    if cookie & 0xFFFF == WITH_RUNS:
        count, at = (cookie >> 16) + 1, 4
        flags = data[at : at + (count + 7) // 8]
        at += len(flags)
    else:
        count, at = int.from_bytes(data[4:8], "little"), 8
    pairs = np.frombuffer(data, "<u2", 2 * count, at).reshape(-1, 2).tolist()
    at += 4 * count
    if not flags or count >= NO_OFFSETS_BELOW:
        at += 4 * count
    containers = []
    for i, (key, less_one) in enumerate(pairs):
        run = bool(flags) and bool(flags[i // 8] >> i % 8 & 1)
        kind = RUN if run else ARRAY if less_one < ARRAY_LIMIT else BITS
        size = _size(kind, less_one + 1, data, at)
        containers.append((key, Container(kind, less_one + 1, data[at : at + size])))
        at += size
    return containers


def _size(kind: int, cardinality: int, data: bytes, at: int) -> int:
    if kind == RUN:
        return 2 + 4 * int.from_bytes(data[at : at + 2], "little")
    return BITMAP_BYTES if kind == BITS else 2 * cardinality


@dataclass(frozen=True, slots=True)
class Bitmap64:
    """A 64-bit bitmap.

    Attributes:
        containers: by the upper 48 bits of their values, in the order they are numbered in.
        slots: places for containers, of which the last ones may be free.
    """

    containers: Mapping[int, Container]
    slots: int = 0


def parse_bitmap64(data: bytes, where: str) -> Bitmap64:
    """A 64-bit bitmap. Raises: CorruptFileError: the bytes are none."""
    if data == b"\x00":
        return Bitmap64({})
    try:
        leaves, at = _parse_leaves(data, 9) if data[0] == 1 else ([], 0)
        slots, count = _parse_slots(data, at)
        containers = {key: slots[number] for key, number in sorted(leaves, key=lambda leaf: leaf[1])}
        return Bitmap64(containers, max(count, len(containers)))
    except (IndexError, KeyError, ValueError, struct.error, RecursionError) as error:
        raise CorruptFileError(
            "bytes that are not a 64-bit roaring bitmap of Java", where, "Write what Java's Roaring64Bitmap serializes."
        ) from error


def _parse_leaves(data: bytes, at: int) -> tuple[list[tuple[int, int]], int]:
    """The leaves of a tree: key, and number of the container; and where the containers begin."""
    leaves: list[tuple[int, int]] = []
    open_nodes = 1
    while open_nodes:
        kind, count, prefix = NODE.unpack_from(data, at)
        at += NODE.size + prefix
        open_nodes += count - 1
        if kind == LEAF:
            leaves.append(
                (int.from_bytes(data[at : at + KEY_BYTES], "big"), NUMBER.unpack_from(data, at + KEY_BYTES)[0])
            )
            at += KEY_BYTES + NUMBER.size
        else:
            at += BODY_BYTES[kind]
    return leaves, at


def _parse_slots(data: bytes, at: int) -> tuple[dict[int, Container], int]:
    """Containers by number, the place in the first level in its upper 32 bits; and the places of the last array."""
    (arrays,) = struct.unpack_from("<i", data, at)
    at += 4
    slots: dict[int, Container] = {}
    length = 0
    for first in range(arrays):
        _, length = struct.unpack_from("<Bi", data, at)
        at += 5
        for second in range(length):
            if not data[at]:
                at += 1
            else:
                _, kind, cardinality = SLOT.unpack_from(data, at)
                at += SLOT.size
                size = _size(kind, cardinality, data, at)
                if len(data) < at + size:
                    raise ValueError("the last container is cut off")
                slots[first << 32 | second] = Container(kind, cardinality, data[at : at + size])
                at += size
    return slots, length


def bitmaps_of(bitmap: Bitmap64) -> dict[int, BitMap]:
    """A 64-bit bitmap as 32-bit ones, by the upper 32 bits of their values."""
    parts: dict[int, list[tuple[int, Container]]] = {}
    for key in sorted(bitmap.containers):
        container = bitmap.containers[key]
        if container.kind == BITS and container.cardinality <= ARRAY_LIMIT:
            container = _as_array(container)
        parts.setdefault(key >> 16, []).append((key & 0xFFFF, container))
    return {high: BitMap.deserialize(serialize_portable(members)) for high, members in parts.items()}


def serialize_bitmap64(bitmap: Bitmap64) -> bytes:
    """The bytes of a 64-bit bitmap."""
    containers = bitmap.containers
    if not containers:
        return b"\x00"
    keys = sorted((key.to_bytes(KEY_BYTES, "big"), number) for number, key in enumerate(containers))
    tree = b"".join(_nodes(keys, 0))
    slots = b"".join(
        SLOT.pack(1, container.kind, container.cardinality) + container.data for container in containers.values()
    )
    count = len(containers)
    head = struct.pack("<Bq", 1, count) + tree + struct.pack("<iBi", 1, NOT_TRIMMED, bitmap.slots)
    return head + slots + bytes(bitmap.slots - count) + struct.pack("<qii", count, 0, count - 1)


def _nodes(keys: Sequence[tuple[bytes, int]], depth: int) -> Iterator[bytes]:
    """A tree in pre-order. `keys`: ascending, with their container's number; they agree in the first `depth` bytes."""
    if len(keys) == 1:
        key, number = keys[0]
        yield NODE.pack(LEAF, 0, 0) + key + NUMBER.pack(number)
        return
    end = depth
    while keys[0][0][end] == keys[-1][0][end]:
        end += 1
    prefix = keys[0][0][depth:end]
    starts = [i for i, (key, _) in enumerate(keys) if i == 0 or key[end] != keys[i - 1][0][end]]
    branches = [keys[i][0][end] for i in starts]
    spans = list(zip(starts, [*starts[1:], len(keys)], strict=True))
    kind, body = _branching(branches, [min(number for _, number in keys[start:stop]) for start, stop in spans])
    yield NODE.pack(kind, len(branches), len(prefix)) + prefix + body
    for start, stop in spans:
        yield from _nodes(keys[start:stop], end + 1)


def _branching(branches: Sequence[int], ages: Sequence[int]) -> tuple[int, bytes]:
    """Type of a node, and the bytes that say which byte leads to which child.

    Args: `ages`: the first container below each branch. A node of 48 got its first 16 children in the order of their
        bytes from the smaller node that it was, and each further child when it was added.
    """
    if len(branches) <= 4:
        return NODE4, bytes(branches).ljust(4, b"\x00")[::-1]
    if len(branches) <= 16:
        packed = bytes(branches).ljust(16, b"\x00")
        return NODE16, packed[:8][::-1] + packed[8:][::-1]
    if len(branches) <= 48:
        slots = bytearray(b"\xff" * 256)
        by_age = [branch for _, branch in sorted(zip(ages, branches, strict=True))]
        for child, branch in enumerate([*sorted(by_age[:16]), *by_age[16:]]):
            slots[branch] = child
        return _NODE48, b"".join(bytes(slots[i : i + 8])[::-1] for i in range(0, 256, 8))
    mask = np.zeros(256, np.uint8)
    mask[list(branches)] = 1
    return _NODE256, np.packbits(mask, bitorder="little").tobytes()
