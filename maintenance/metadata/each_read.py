"""Reading many small files of one folder: snapshots, tags, changelogs."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from maintenance.fs.location import is_local
from maintenance.threads import map_in_threads

K = TypeVar("K")
V = TypeVar("V")

_READERS = 8
# Of files on a disk: what threads would save is less than what it takes to start them.
_FEW = 32
# For one thread at a time: to hand out single files costs as much memory as they do.
_SHARE = 64


def each_read(read: Callable[[K], V], keys: Sequence[K], folder: str) -> list[V]:
    """What `read` gives for each key, in their order; several at the same time where that is quicker."""
    if len(keys) <= (_FEW if is_local(folder) else 1):
        return [read(key) for key in keys]
    size = min(_SHARE, -(-len(keys) // _READERS))
    shares = [keys[start : start + size] for start in range(0, len(keys), size)]
    found = map_in_threads(lambda share: [read(key) for key in share], shares, _READERS)
    return [value for of_share in found for value in of_share]
