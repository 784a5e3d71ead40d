"""Ranges of an order: where to cut them, and the rows of each."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from maintenance.compaction.order.orders import SortedBy


def range_keys(words: Sequence[np.ndarray]) -> np.ndarray:
    """Words of rows as bytes with the same order, shape (n,)."""
    raw = np.ascontiguousarray(np.stack(words, axis=1).astype(">u8"))
    return raw.view(f"S{8 * len(words)}").reshape(-1)


def cuts(keys: np.ndarray, ranges: int) -> list[bytes]:
    """Where to cut so that ranges are about equal: at most `ranges` - 1 different keys, ascending."""
    ordered = np.sort(keys)
    places = [len(ordered) * cut // ranges for cut in range(1, ranges)]
    return sorted({bytes(ordered[place]) for place in places if 0 < place < len(ordered)})


def range_numbers(words: Sequence[np.ndarray], bounds: Sequence[bytes]) -> np.ndarray:
    """The range of each row, int64, shape (n,): how many bounds are not above it.

    Args: `words`: of n rows, as of `Order.ranges`; `bounds`: keys, ascending.
    """
    firsts = np.array([int.from_bytes(bound[:8].ljust(8, b"\0"), "big") for bound in bounds], np.uint64)
    numbers = np.searchsorted(firsts, words[0], side="right")
    if len(words) > 1 and len(firsts):
        # Most rows differ from all bounds in the first word.
        undecided = np.flatnonzero((numbers > 0) & (firsts[numbers - 1] == words[0]))
        if len(undecided):
            keys = range_keys([word[undecided] for word in words])
            numbers[undecided] = np.searchsorted(np.array(bounds, np.bytes_), keys, side="right")
    return numbers


def divided(rows: pa.Table, by: SortedBy, bounds: Sequence[bytes]) -> Iterator[tuple[int, pa.Table]]:
    """Rows with the number of their range; those of a range in the order they came in. `rows`: n > 0."""
    numbers = range_numbers(by.ranges(rows), bounds) if bounds else np.zeros(rows.num_rows, np.int64)
    counts = np.bincount(numbers)
    nonempty = np.flatnonzero(counts)
    ordered = rows
    if len(nonempty) > 1:
        # The fewer bits there are the faster it is sorted.
        ordered = rows.take(pa.array(np.argsort(numbers.astype(np.min_scalar_type(len(bounds))), kind="stable")))
    start = 0
    for number in nonempty.tolist():
        yield number, ordered.slice(start, int(counts[number]))
        start += int(counts[number])
