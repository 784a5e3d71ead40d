"""Processes that end together: children with their parent, and a parent that leaves none behind. Only on Linux."""

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36


def end_with_parent() -> None:
    """Of a process just forked: let it get a SIGTERM when its parent has ended. Elsewhere nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGTERM)


def adopt_orphans() -> None:
    """From now on children of this process's children become its own when their parent ends. Elsewhere nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)


def kill_children() -> None:
    """Kill every child of this process, also those that it adopts meanwhile. Elsewhere nothing."""
    while pids := _children():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> list[int]:
    """The children of this process, also those that have ended and that nobody has waited for."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            # pid (name, which may hold anything) state parent ...
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                pids.append(int(path.parent.name))
    return pids
