"""A 64-bit hash of each text of an array, to look texts up where a wrong match does no harm.

Each byte's random number is multiplied by one of its position, and the products of a text are added up, all modulo
2^64. The numbers come from a fixed seed, so every process finds the same hashes.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_SEED = 7_046_029_254_386_353_087
_CHUNK = 1 << 16
_random = np.random.default_rng(_SEED)
_OF_BYTE = _random.integers(1, 1 << 63, 256, dtype=np.uint64)
_OF_POSITION = _random.integers(1, 1 << 63, 4096, dtype=np.uint64) | np.uint64(1)


def text_hashes(texts: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.uint64]:
    """The hash of each text; there are no nulls."""
    hashes = [_hashes(chunk) for part in _parts(texts) for chunk in _chunks(part)]
    return np.concatenate(hashes) if hashes else np.zeros(0, np.uint64)


def _parts(texts: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return list(texts.chunks) if isinstance(texts, pa.ChunkedArray) else [texts]


def _chunks(texts: pa.Array) -> list[pa.Array]:
    return [texts.slice(start, _CHUNK) for start in range(0, len(texts), _CHUNK)]


def _hashes(texts: pa.Array) -> npt.NDArray[np.uint64]:
    texts = texts.cast(pa.large_binary())
    _, offset_bytes, data = texts.buffers()
    offsets = np.frombuffer(offset_bytes, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    content = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
    lengths = np.diff(offsets)
    starts = offsets[:-1] - offsets[0]
    positions = np.arange(len(content)) - np.repeat(starts, lengths)
    products = _OF_BYTE[content] * _OF_POSITION[positions % len(_OF_POSITION)]
    sums = np.zeros(len(products) + 1, np.uint64)
    np.cumsum(products, out=sums[1:])
    hashes: npt.NDArray[np.uint64] = sums[starts + lengths] - sums[starts] + lengths.astype(np.uint64)
    return hashes
