"""Numbers split into their bits, with a bitmap of rows for each bit: shared by bsi and range-bitmap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from pyroaring import BitMap

from maintenance.format.bytes.roaring import BITMAP_BYTES, serialize_portable
from maintenance.format.bytes.roaring_rows import CONTAINER_ROWS, EMPTY_BITMAP, containers_of


def slices(rows: np.ndarray, numbers: np.ndarray, count: int) -> Iterator[bytes]:
    """The bitmaps of `count` bits, lowest first. `rows`: int64, ascending; `numbers`: uint64, of each row."""
    size = int(rows[-1]) + 1 if len(rows) else 0
    if size > len(rows):
        # Rows without a number have none of the bits.
        every = np.zeros(size, np.uint64)
        every[rows] = numbers
        numbers = every
    octets = np.ascontiguousarray(numbers, "<u8").view(np.uint8).reshape(size, 8)
    packed = np.zeros(-(-size // CONTAINER_ROWS) * BITMAP_BYTES, np.uint8)
    for bit in range(count):
        if bit % 8 == 0:
            column = np.ascontiguousarray(octets[:, bit // 8])
        packed[: -(-size // 8)] = np.packbits(column & np.uint8(1 << bit % 8), bitorder="little")
        containers = containers_of(packed)
        yield serialize_portable(containers) if containers else EMPTY_BITMAP


@dataclass(frozen=True, slots=True)
class BitSlices:
    """Rows by their number. `present`: rows that have one; `slices`: rows with that bit set, lowest first."""

    present: BitMap
    slices: Sequence[BitMap]

    def equal(self, number: int) -> BitMap:
        """Rows with that number."""
        return self._split(number)[1] if 0 <= number < 1 << len(self.slices) else BitMap()

    def at_most(self, number: int) -> BitMap:
        """Rows with that number or a smaller one."""
        if number < 0:
            return BitMap()
        if number >= (1 << len(self.slices)) - 1:
            return self.present
        less, equal = self._split(number)
        return less | equal

    def between(self, low: int, high: int) -> BitMap:
        """Rows with a number from `low` to `high`, both included."""
        if low > high:
            return BitMap()
        return self.equal(low) if low == high else self.at_most(high) - self.at_most(low - 1)

    def _split(self, number: int) -> tuple[BitMap, BitMap]:
        """Rows with a smaller number, and those with the same."""
        less, equal = BitMap(), self.present
        for bit in range(len(self.slices) - 1, -1, -1):
            if number >> bit & 1:
                less |= equal - self.slices[bit]
                equal = equal & self.slices[bit]
            else:
                equal = equal - self.slices[bit]
        return less, equal
