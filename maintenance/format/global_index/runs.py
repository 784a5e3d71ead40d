"""Where equal keys begin among keys in order."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.bytes.ragged import Ragged


def run_starts(keys: Ragged) -> np.ndarray:
    """The number of the first of each run of equal keys. int64, shape (k,)."""
    if not len(keys):
        return np.zeros(0, np.int64)
    buffers = [None, pa.py_buffer(keys.offsets), pa.py_buffer(np.ascontiguousarray(keys.data))]
    binary = pa.Array.from_buffers(pa.large_binary(), len(keys), buffers)
    differs = np.asarray(pc.not_equal(binary[1:], binary[:-1]))
    return np.concatenate(([0], np.flatnonzero(differs) + 1)).astype(np.int64)
