"""Many varints at once: numbers of 7 bits a byte, lowest first, out of and into bytes."""

import numpy as np

from maintenance.format.bytes.ragged import Ragged, ends

_MOST_BYTES = 9


def varints(numbers: np.ndarray) -> Ragged:
    """Numbers, not negative, each as its bytes. `numbers`: int64, shape (n,)."""
    sizes = np.ones(len(numbers), np.int64)
    for shift in range(7, 7 * _MOST_BYTES, 7):
        sizes += (numbers >> shift) > 0
    offsets = ends(sizes)
    data = np.empty(int(offsets[-1]), np.uint8)
    for place in range(int(sizes.max(initial=0))):
        has = sizes > place
        more = (sizes[has] > place + 1).astype(np.uint8) << 7
        data[offsets[:-1][has] + place] = ((numbers[has] >> (7 * place)) & 0x7F).astype(np.uint8) | more
    return Ragged(data, offsets)


def read_varints(data: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that begin at these places, and the places behind them. int64, shape (n,).

    Raises: IndexError: one is cut off; ValueError: one has too many bytes.
    """
    read = data[starts].astype(np.int64)
    # Most numbers are small: one byte each.
    numbers, places, going = read & 0x7F, starts + 1, np.flatnonzero(read > 0x7F)
    for turn in range(1, _MOST_BYTES):
        if not len(going):
            return numbers, places
        read = data[places[going]].astype(np.int64)
        numbers[going] |= (read & 0x7F) << (7 * turn)
        places[going] += 1
        going = going[read > 0x7F]
    if len(going):
        raise ValueError("a number of more than 63 bits")
    return numbers, places


def all_varints(data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of an array that holds nothing else, and where each ends. int64, shape (n,)."""
    last = np.flatnonzero(data < 0x80)
    starts = np.concatenate(([0], last[:-1] + 1)) if len(last) else last
    numbers, _ = read_varints(data, starts)
    return numbers, last + 1
