"""Order `hilbert`: along a Hilbert curve through the space of the columns, which leaves no gaps as the Z-order does.

Each column gives 63 bits, null is the largest number. The place on the curve is found by Skilling's method: coordinates
are turned into the transposed index, whose bits are then taken in turn. Source: data section 2.10, Java
`HilbertIndexer`; J. Skilling, Programming the Hilbert curve (2004).
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.compaction.order.codes import column_codes
from maintenance.compaction.order.zorder import interleaved

BITS = 63
_ROWS_AT_ONCE = 1 << 16
_ONE = np.uint64(1)


def hilbert_words(columns: Sequence[pa.Array], _text_bytes: int) -> list[np.ndarray]:
    """Words, most significant first, uint64, shape (n,). `columns`: at least two, n > 0 rows."""
    axes = np.stack([_axis(column) for column in columns])
    parts = [
        packed(transposed(axes[:, start : start + _ROWS_AT_ONCE], BITS), BITS)
        for start in range(0, axes.shape[1], _ROWS_AT_ONCE)
    ]
    return list(np.concatenate(parts, axis=1))


def _axis(column: pa.Array) -> np.ndarray:
    codes = column_codes(column) >> _ONE
    return np.where(column.is_null().to_numpy(zero_copy_only=False), np.uint64((1 << BITS) - 1), codes)


def transposed(axes: np.ndarray, bits: int) -> np.ndarray:
    """The transposed index of points. `axes`: uint64, shape (dimensions, n), each below 2**bits."""
    x = axes.copy()
    top = 1 << (bits - 1)
    level = top
    while level > 1:
        mask = np.uint64(level - 1)
        for i in range(len(x)):
            high = (x[i] & np.uint64(level)) != 0
            # Where the bit is set the first axis is mirrored, else its lower bits are exchanged with this axis'.
            exchanged = np.where(high, np.uint64(0), (x[0] ^ x[i]) & mask)
            x[0] ^= np.where(high, mask, exchanged)
            x[i] ^= exchanged
        level >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    turned = np.zeros(x.shape[1], np.uint64)
    level = top
    while level > 1:
        turned ^= np.where((x[-1] & np.uint64(level)) != 0, np.uint64(level - 1), np.uint64(0))
        level >>= 1
    return x ^ turned


def packed(index: np.ndarray, bits: int) -> np.ndarray:
    """The bits of a transposed index in turn, as words: uint64, shape (words, n), filled up with zeros below."""
    dimensions, rows = index.shape
    big = np.ascontiguousarray(index.T.astype(">u8")).view(np.uint8).reshape(rows, dimensions, 8)
    unpacked = np.unpackbits(big, axis=2)[:, :, 64 - bits :].reshape(rows, dimensions * bits)
    taken = np.packbits(unpacked[:, interleaved([bits] * dimensions)], axis=1)
    out = np.zeros((rows, -(-taken.shape[1] // 8) * 8), np.uint8)
    out[:, : taken.shape[1]] = taken
    return out.view(">u8").T.astype(np.uint64)
