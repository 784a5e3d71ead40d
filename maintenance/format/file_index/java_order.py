"""The order in which Java's HashMap gives its keys, which decides where bitmaps lie in the index `bitmap`.

Keys lie in a table of 16 · 2ⁿ places, at most three quarters full, by the lower bits of their hash with its upper half
mixed in; keys of one place in the order they came. Only where more than eight keys meet in one place Java makes a tree
of them, whose order is not followed here: readers do not depend on it.
Source: Java `BitmapFileIndex.Writer`, OpenJDK `HashMap`.
"""

import numpy as np

_LEAST = 16


def hash_map_order(hashes: np.ndarray, came: np.ndarray) -> np.ndarray:
    """The numbers of the keys in Java's order. `hashes`: int32, of each key; `came`: when each was put there."""
    places = _LEAST
    while len(hashes) * 4 > places * 3:
        places *= 2
    unsigned = hashes.view(np.uint32)
    place = (unsigned ^ (unsigned >> np.uint32(16))) & np.uint32(places - 1)
    return np.lexsort((came, place))
