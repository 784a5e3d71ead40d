"""Whether polars can be used in this process: its threads do not survive a fork."""

import os
from functools import cache


def polars_works_here() -> bool:
    """False in a process forked from one that has used polars. Ask before each use."""
    return _first_process() == os.getpid()


@cache
def _first_process() -> int:
    """The process that used polars first; those forked from it inherit the answer."""
    return os.getpid()
