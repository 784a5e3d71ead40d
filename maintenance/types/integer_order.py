"""Sorting integers, as fast as the way they come in allows.

What consists of a few ascending runs is merged. The rest is sorted by polars in this thread, a process that was forked
after polars had started its threads included: numpy takes three times as long on some processors.
"""

import numpy as np

_U64 = np.uint64
_BITS = 64
# Of fewer values it does not matter.
_MANY = 1 << 13
# Runs up to which merging them is faster.
_FEW_RUNS = 16


def sorted_integers(values: np.ndarray) -> np.ndarray:
    """The values in ascending order, of their own type; not to be written to. Shape (n,)."""
    if len(values) < _MANY or _has_few_runs(values):
        return np.sort(values, kind="stable")
    import polars as pl  # not at the top: it starts threads, and the process may be one that forks others

    return np.asarray(pl.Series(values).sort(multithreaded=False).to_numpy())


def distinct_integers(values: np.ndarray) -> np.ndarray:
    """The different values in ascending order, of their own type. Numpy looks for them in a table, far more slowly."""
    return _distinct(sorted_integers(values))


def distinct_of_runs(values: np.ndarray) -> np.ndarray:
    """The same of values that come in ascending runs, however short these are: they are merged."""
    return _distinct(np.sort(values, kind="stable"))


def _distinct(ordered: np.ndarray) -> np.ndarray:
    return np.asarray(ordered[first_of_each(ordered)])


def first_of_each(ordered: np.ndarray) -> np.ndarray:
    """Whether each of some values in order differs from the one before it. bool, shape (n,)."""
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return is_first


def are_among(values: np.ndarray, ascending: np.ndarray) -> np.ndarray:
    """Whether each value is one of others. bool, shape (n,).

    Numpy would sort the others again for each call, which many small calls beside many others cannot afford.
    Args: `ascending`: the others, in ascending order.
    """
    if not len(ascending):
        return np.zeros(len(values), bool)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.asarray(ascending[at] == values)


def ascending_order(values: np.ndarray) -> np.ndarray:
    """Places of values in ascending order; equal ones stay in order. int64, shape (n,). `values`: uint64."""
    n = len(values)
    if n < _MANY or _has_few_runs(values):
        return np.argsort(values, kind="stable")
    bits = (n - 1).bit_length()
    dropped = max(0, int(values.max()).bit_length() + bits - _BITS)
    # Sorting values is several times faster than sorting places: the place rides in the low bits.
    packed = values >> _U64(dropped)
    packed <<= _U64(bits)
    packed |= np.arange(n, dtype=_U64)
    order = (sorted_integers(packed) & _U64((1 << bits) - 1)).view(np.int64)
    return _with_low_bits(order, values, dropped) if dropped else order


def _with_low_bits(order: np.ndarray, values: np.ndarray, dropped: int) -> np.ndarray:
    """The order of values that were sorted without their `dropped` lowest bits."""
    ordered = values[order]
    if not (ordered[1:] < ordered[:-1]).any():
        return order
    high = ordered >> _U64(dropped)
    same = high[1:] == high[:-1]
    among = np.zeros(len(order), bool)
    among[1:] = same
    among[:-1] |= same
    places = np.flatnonzero(among)
    if 2 * len(places) > len(order):
        return np.argsort(values, kind="stable")
    # In each group places ascend, so a sort that keeps equal values in order gives theirs.
    rows = order[places]
    order[places] = rows[np.argsort(values[rows], kind="stable")]
    return order


def _has_few_runs(values: np.ndarray) -> bool:
    return int(np.count_nonzero(values[1:] < values[:-1])) < _FEW_RUNS
