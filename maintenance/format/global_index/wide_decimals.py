"""Keys of DECIMALs of more than 18 digits: the unscaled value in the fewest bytes, most significant first.

At least one byte, the first bit of the first is the sign. Source: Java `KeySerializer`, `BigInteger.toByteArray`.
"""

import numpy as np
import pyarrow as pa

from maintenance.format.bytes.ragged import Ragged

_WIDTH = 16


def wide_keys(values: pa.Array) -> Ragged:
    """The keys of decimals of 128 bits, none of which is null."""
    scaled = values.view(pa.binary(_WIDTH)).buffers()[1]
    little = np.frombuffer(scaled, np.uint8).reshape(-1, _WIDTH)[values.offset : values.offset + len(values)]
    big = little[:, ::-1]
    # What repeats the sign is left out, but one byte stays that shows it.
    sign = np.where(big[:, 0] >> 7, 0xFF, 0).astype(np.uint8)
    repeats = big == sign[:, None]
    first = np.where(repeats.all(axis=1), _WIDTH - 1, np.argmin(repeats, axis=1))
    shows = (np.take_along_axis(big, first[:, None], axis=1)[:, 0] >> 7) == sign >> 7
    first -= ~shows
    chosen = np.arange(_WIDTH) >= first[:, None]
    offsets = np.concatenate([[0], np.cumsum(_WIDTH - first)])
    return Ragged(np.ascontiguousarray(big[chosen]), offsets.astype(np.int64))


def wide_values(keys: Ragged, arrow_type: pa.DataType) -> pa.Array | None:
    """The decimals of keys, None if some are none."""
    sizes = keys.sizes
    if len(keys) and (sizes.min() < 1 or sizes.max() > _WIDTH):
        return None
    big = np.zeros((len(keys), _WIDTH), np.uint8)
    if len(keys):
        data = np.ascontiguousarray(keys.data)
        big[:] = np.where(data[keys.offsets[:-1]] >> 7, 0xFF, 0).astype(np.uint8)[:, None]
        big[np.arange(_WIDTH) >= _WIDTH - sizes[:, None]] = data
    little = np.ascontiguousarray(big[:, ::-1])
    return pa.Array.from_buffers(arrow_type, len(keys), [None, pa.py_buffer(little)])
