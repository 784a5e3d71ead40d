"""The order in which Java's HashMap gives its keys, which decides the order of bitmaps in the index `bitmap`.

The map is a table of 16 · 2ⁿ places; a key's place is given by the lower bits of their hash with its upper half mixed
in. The table doubles when one more key comes than three quarters of it, looked at before each row; and, while it has
less than 64 places, when a place gets its eighth key. `computeIfAbsent` puts a new key in front of those of its place.
Larger tables make a tree of a place's eight keys, whose order is not followed here: readers do not depend on it.
Source: Java `BitmapFileIndex.Writer`, OpenJDK `HashMap`.
"""

import numpy as np

_LEAST = 16
_LEAST_WITH_TREES = 64
_KEYS_OF_TREE = 8


def hash_map_order(hashes: np.ndarray, came: np.ndarray, last: int) -> np.ndarray:
    """The numbers of the keys in Java's order.

    Args: `hashes`: int32, of each key; `came`: number of the row that brought it; `last`: of the last row with a key.
    """
    if not len(hashes):
        return np.zeros(0, np.int64)
    unsigned = hashes.view(np.uint32)
    spread = unsigned ^ (unsigned >> np.uint32(16))
    first = np.argsort(came)[: _LEAST_WITH_TREES * 3 // 4 + 1]
    places = _small_table(spread[first].tolist())
    looked_at = len(hashes) if last > came.max() else len(hashes) - 1
    while looked_at * 4 > places * 3:
        places *= 2
    return np.lexsort((-came, spread & np.uint32(places - 1)))


def _small_table(spread: list[int]) -> int:
    """Places of the table after the first keys."""
    places = _LEAST
    for count, key in enumerate(spread):
        if count * 4 > places * 3:
            places *= 2
        near = sum((other ^ key) & (places - 1) == 0 for other in spread[:count])
        if near >= _KEYS_OF_TREE - 1 and places < _LEAST_WITH_TREES:
            places *= 2
    return places
