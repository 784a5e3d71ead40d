"""A process that ends when its parent does, even one that is killed. On Linux alone."""

import ctypes
import signal
import sys

_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Of a process just forked: let it get a SIGTERM when its parent has ended. Elsewhere nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGTERM)
