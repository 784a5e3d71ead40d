"""Lists and maps of Arrow taken apart: which are there, how long they are, what they hold."""

import numpy as np
import pyarrow as pa


def valid(values: pa.Array) -> np.ndarray:
    """Where there is a value. bool, shape (n,)."""
    is_valid: np.ndarray = values.is_valid().to_numpy(zero_copy_only=False)
    return is_valid


def lengths(values: pa.Array) -> np.ndarray:
    """How many elements each list or map has, 0 for null. Shape (n,)."""
    offsets = values.offsets.to_numpy()
    length: np.ndarray = np.where(valid(values), offsets[1:] - offsets[:-1], 0)
    return length


def elements(values: pa.Array) -> pa.Array:
    """The elements of all lists (of a map its entries as structs), one after the other; no list is null."""
    if not pa.types.is_map(values.type):
        return values.flatten()
    first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
    entries = [values.keys.slice(first, last - first), values.items.slice(first, last - first)]
    return pa.StructArray.from_arrays(entries, names=["key", "value"])
