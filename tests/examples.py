"""How many examples property tests try, and which: the count of each test, times a factor of the profile.

`make test` tries the same examples every time, so that what fails is of the change at hand: those of a test are drawn
from a seed that only the test itself changes. `make test-nightly` searches: with ``HYPOTHESIS_PROFILE=thorough`` seeds
are new, examples many, and no case is left out. What it finds is printed with the decorator that brings it back. It
becomes an ``@example`` of its test, or a test of its own where the test is a state machine, and so part of `make test`.
``HYPOTHESIS_PROFILE=quick`` is for a first look.
"""

import os
from collections.abc import Sequence
from random import Random
from typing import TypeVar

from hypothesis import settings

T = TypeVar("T")

_FACTORS = {"quick": 0.2, "shared": 0.5, "thorough": 10.0}
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "shared")
SEARCHES = PROFILE == "thorough"


def load_profile() -> None:
    """Let Hypothesis draw examples as the profile says."""
    # The machines are shared: how long an example takes says nothing.
    settings.register_profile("fixed", deadline=None, derandomize=True, database=None)
    settings.register_profile("searching", deadline=None, print_blob=True)
    settings.load_profile("searching" if SEARCHES else "fixed")


def some(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items, the same ones in each run; a search takes all."""
    return list(items) if SEARCHES or len(items) <= most else Random(len(items)).sample(items, most)


def examples(count: int) -> int:
    """The number of examples of a test for which `count` are usual."""
    return max(1, round(count * _FACTORS[PROFILE]))
