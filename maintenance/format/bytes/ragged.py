"""Many byte strings in one array, put together column by column: records with parts of varying length, vectorised."""

from dataclasses import dataclass

import numpy as np

_LONG = 256
# Groups that are united at once. What is made on the way fits into a processor's cache; and the number of a group and
# the upper bits of a 64-bit value fit one word.
MOST_GROUPS = 1 << 11


@dataclass(frozen=True, slots=True)
class Ragged:
    """n byte strings.

    Attributes:
        data: uint8, the strings one after the other.
        offsets: int64, shape (n + 1,): where each begins; the last one where the last string ends.
    """

    data: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of each string, int64, shape (n,)."""
        return np.diff(self.offsets)

    def __getitem__(self, number: int) -> bytes:
        return self.data[self.offsets[number] : self.offsets[number + 1]].tobytes()

    def take(self, order: np.ndarray) -> "Ragged":
        """The strings of these numbers in this order."""
        starts, sizes = self.offsets[:-1][order], self.sizes[order]
        if not _are_long(sizes):
            return Ragged(self.data[spread(starts, sizes)], ends(sizes))
        pieces = [self.data[start : start + size] for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
        return Ragged(np.concatenate(pieces), ends(sizes))

    def tobytes(self) -> bytes:
        """All strings, joined."""
        return self.data.tobytes()


@dataclass(frozen=True, slots=True)
class Unions:
    """Unions of groups of byte strings, each of which holds a set.

    Attributes:
        groups: which groups they are of: those that could be united at once.
        united: their bytes, in the same order.
    """

    groups: np.ndarray
    united: Ragged


def _are_long(sizes: np.ndarray) -> bool:
    """Whether to copy string by string takes less time than to make a number for each byte."""
    return len(sizes) > 0 and int(sizes.sum()) >= _LONG * len(sizes)


def ends(sizes: np.ndarray) -> np.ndarray:
    """Offsets of strings of these sizes that lie one after the other."""
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def spread(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Every position of the ranges that begin at `starts`, range by range. Returns: int64, shape (sizes.sum(),)."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


def fixed(values: np.ndarray) -> Ragged:
    """Each number as its bytes. `values`: shape (n,), in the requested byte order."""
    width = values.dtype.itemsize
    return Ragged(np.ascontiguousarray(values).view(np.uint8), np.arange(len(values) + 1, dtype=np.int64) * width)


def interleaved(*parts: Ragged) -> Ragged:
    """Each string the join of that of every part. `parts`: of equal length."""
    offsets = ends(np.sum([part.sizes for part in parts], axis=0))
    data = np.empty(int(offsets[-1]), np.uint8)
    at = offsets[:-1].copy()
    for part in parts:
        sizes, held = part.sizes, part.data[int(part.offsets[0]) : int(part.offsets[-1])]
        if _are_long(sizes):
            for start, size, begin in zip(at.tolist(), sizes.tolist(), part.offsets.tolist(), strict=False):
                data[start : start + size] = part.data[begin : begin + size]
        elif len(held) and (sizes == sizes[0]).all():
            _put_rows(data, at, held.reshape(len(part), -1))
        elif not (sizes & 1).any():
            _words(data, 2)[_pairs(at, sizes >> 1)] = held.view("<u2")
        else:
            data[spread(at, sizes)] = held
        at += sizes
    return Ragged(data, offsets)


def _pairs(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Every other position of the ranges that begin at `starts`: `counts` of them."""
    return np.repeat(starts - 2 * (np.cumsum(counts) - counts), counts) + 2 * np.arange(int(counts.sum()))


def _put_rows(data: np.ndarray, at: np.ndarray, rows: np.ndarray) -> None:
    """Write bytes of equal number to these places, as few and large words. `rows`: uint8, shape (n, bytes)."""
    start = 0
    while start < rows.shape[1]:
        width = next(width for width in (8, 4, 2, 1) if start + width <= rows.shape[1])
        part = np.ascontiguousarray(rows[:, start : start + width]).view(f"<u{width}")[:, 0]
        _words(data, width)[at + start] = part
        start += width


def _words(data: np.ndarray, width: int) -> np.ndarray:
    """The words of so many bytes from each place on."""
    return np.ndarray(max(0, len(data) - width + 1), f"<u{width}", buffer=data, strides=(1,))


def grouped(parts: Ragged, starts: np.ndarray) -> Ragged:
    """Consecutive strings joined to fewer. `starts`: number of the first string of each, ascending from 0."""
    return Ragged(parts.data, np.append(parts.offsets[starts], parts.offsets[-1]))
