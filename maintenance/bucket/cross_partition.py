"""Mode KEY_DYNAMIC: keys whose partition may change. Which records go where, by the place that each key has.

A key is in one partition at a time. What a record of another partition means depends on the merge engine:
`deduplicate` moves the key, with a deletion made of the new record where it was; `partial-update` and `aggregation`
keep the key where it is and send the record there; `first-row` ignores the record. Source: data section 8.3, Java
`ExistingProcessor`.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Routing:
    """m records to write, in order.

    Attributes:
        rows: the record that each is made of, int64, shape (m,).
        partitions: where it goes, int64, shape (m,).
        retract: it deletes the key there, bool, shape (m,).
    """

    rows: np.ndarray
    partitions: np.ndarray
    retract: np.ndarray


def route(keys: np.ndarray, partitions: np.ndarray, homes: np.ndarray, engine: str) -> Routing:
    """Where records go.

    Args:
        keys: number of each record's key, int64, shape (n,), in the order the records came.
        partitions: number of each record's own partition, int64, shape (n,).
        homes: the partition that each key is in, by its number; -1 = none.
        engine: the merge engine.
    """
    order = np.argsort(keys, kind="stable")
    grouped = keys[order]
    first = np.ones(len(keys), bool)
    first[1:] = grouped[1:] != grouped[:-1]
    if engine == "deduplicate":
        return _moved(order, first, partitions, homes[keys])
    home = homes[keys]
    starts = order[first]
    by_key = np.full(len(homes), -1, np.int64)
    by_key[keys[starts]] = partitions[starts]
    home = np.where(home < 0, by_key[keys], home)
    rows = np.flatnonzero(home == partitions) if engine == "first-row" else np.arange(len(keys))
    return Routing(rows, home[rows], np.zeros(len(rows), bool))


def _moved(order: np.ndarray, first: np.ndarray, partitions: np.ndarray, homes: np.ndarray) -> Routing:
    """A deletion goes before each record whose key was elsewhere. `first`: of its key, in `order`."""
    before = np.empty(len(order), np.int64)
    before[order[1:]] = partitions[order[:-1]]
    before[order[first]] = homes[order[first]]
    leaves = np.flatnonzero((before >= 0) & (before != partitions))
    rows = np.concatenate([leaves, np.arange(len(order))])
    retract = np.arange(len(rows)) < len(leaves)
    # Stable: of the two made of one record, the deletion comes first.
    arranged = np.argsort(rows, kind="stable")
    goes_to = np.concatenate([before[leaves], partitions])
    return Routing(rows[arranged], goes_to[arranged], retract[arranged])
