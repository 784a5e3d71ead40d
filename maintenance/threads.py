"""The same for many things at a time, in threads of this process."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def map_in_threads(function: Callable[[T], R], items: Iterable[T], most: int) -> list[R]:
    """What a function returns for each item, in order, from at most so many threads.

    Without threads where one is enough: to start one takes longer than to look at a small file.
    Raises: what the function does for the first item, in order, for which it fails; others may be done all the same.
    """
    todo = list(items)
    width = min(most, len(todo))
    if width <= 1:
        return [function(item) for item in todo]
    with ThreadPoolExecutor(width) as pool:
        return list(pool.map(function, todo))
