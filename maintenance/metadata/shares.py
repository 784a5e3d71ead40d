"""Work over many files, cut into shares: this process does it in one batch, or others do the shares of it.

What reads, lists or deletes many files is a function of some of them. It is given to a `Sharing` with all of them, and
never knows whether it got all or a share.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of something is worth sharing out.

    Attributes:
        name: what is counted, for messages.
        enough: from how many on the work is shared out; `of_share`: about how many a share has.
    """

    name: str
    enough: int
    of_share: int


STATES = Amount("snapshots and tags", 200, 50)
"""Snapshots and tags whose manifests are read: some ten milliseconds each."""
FILES = Amount("files", 50_000, 25_000)
"""Files that are looked for or deleted: ten microseconds each on a disk. A task takes as long as 10,000 to begin."""
MANIFEST_BYTES = Amount("bytes of manifests", 64 << 20, 8 << 20)
"""Manifests that are decoded: some seconds for that many."""


class Sharing(Protocol):
    """Carries out a function on items, all at once or share by share.

    Args: `weights`: how much of `amount` each item is; None: one each.
    Returns: a result for each share, in the order of the items; none for no items. Raises: what the function raises.
    """

    def __call__(
        self,
        function: Callable[[Sequence[T]], R],
        items: Sequence[T],
        amount: Amount,
        weights: Sequence[int] | None = None,
    ) -> list[R]: ...


def in_one_batch(
    function: Callable[[Sequence[T]], R], items: Sequence[T], amount: Amount, weights: Sequence[int] | None = None
) -> list[R]:
    """The `Sharing` of a process that does all itself."""
    del amount, weights
    return [function(items)] if items else []


def cut(items: Sequence[T], amount: Amount, weights: Sequence[int] | None = None) -> list[Sequence[T]]:
    """The items in shares: neighbours, until a share has `amount.of_share`."""
    shares: list[Sequence[T]] = []
    start = size = 0
    for number, weight in enumerate(weights or [1] * len(items)):
        if number > start and size + weight > amount.of_share:
            shares.append(items[start:number])
            start, size = number, 0
        size += weight
    return [*shares, items[start:]] if items else []
