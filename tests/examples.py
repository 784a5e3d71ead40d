"""How many examples property tests try: the count of each test, times a factor of the profile.

``HYPOTHESIS_PROFILE=quick`` for a first look, ``thorough`` for a night; without it what `make test` runs: they differ
from run to run, so that many runs see what one long run sees.
"""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_FACTORS = {"quick": 0.2, "shared": 0.6, "thorough": 10.0}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "shared")


def some(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items, other ones in each run; `thorough` takes all."""
    return list(items) if PROFILE == "thorough" or len(items) <= most else random.sample(items, most)


def examples(count: int) -> int:
    """The number of examples of a test for which `count` are usual."""
    return max(1, round(count * _FACTORS[PROFILE]))
