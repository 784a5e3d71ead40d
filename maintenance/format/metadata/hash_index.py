"""HASH index files: the key hashes that a dynamic bucket holds. Source: metadata section 4.3, Java `HashIndexFile`."""

import numpy as np

from maintenance.errors import ROLL_BACK, CorruptFileError


def parse_hash_index(data: bytes, where: str) -> np.ndarray:
    """The hashes in file order, int32, shape (n,). Raises: CorruptFileError: the file ends inside of one."""
    if len(data) % 4:
        raise CorruptFileError(f"{len(data)} bytes are not a whole number of hashes", where, ROLL_BACK)
    return np.frombuffer(data, ">i4").astype(np.int32)


def serialize_hash_index(hashes: np.ndarray) -> bytes:
    """The bytes of a file. `hashes`: int32, distinct."""
    return hashes.astype(">i4").tobytes()
