"""What goes wrong inside a process by itself: at its n-th change of storage it dies, hangs, or is refused.

An audit hook hears of each file that Python creates, links, renames or deletes, before it happens; files that Arrow
writes are heard of where `FileIO` opens them. Production code knows nothing of this. The campaign kills from outside,
at any moment; this makes sure that the moments between two changes of storage are met often enough.
"""

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from maintenance.fs.file_io import FileIO
from tests.chaos.journal import Journal

KILL = "kill"
TORN = "torn"
HANG = "hang"
FULL = "full"
KINDS = (KILL, TORN, HANG, FULL)

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
# The argument that is the path which changes.
_CHANGES = {"os.link": 1, "os.remove": 0, "os.rename": 1, "os.mkdir": 0, "os.rmdir": 0}


@dataclass(frozen=True, slots=True)
class Injected:
    """One thing that goes wrong.

    Attributes:
        kind: ``kill`` before the change; ``torn``: the first bytes of a new file are written, then it is killed;
            ``hang``: the process stands still for so many `seconds`; ``full``: the next `refused` files cannot be
            written, as on a full disk.
        step: the number of the change, from 1.
    """

    kind: str
    step: int
    seconds: float = 0.0
    refused: int = 0

    def __str__(self) -> str:
        return f"{self.kind} at change {self.step}"


class _Steps:
    def __init__(self, injected: Injected, folder: Path, journal: Journal) -> None:
        self._injected, self._folder, self._journal = injected, str(folder), journal
        self._count = 0
        self._lock = threading.RLock()  # what is written here is heard, too

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and (arguments[2] or 0) & _WRITING:
            self.step(arguments[0], writes=True)
        elif event in _CHANGES:
            self.step(os.fspath(arguments[_CHANGES[event]]), writes=False)

    def step(self, path: str, *, writes: bool) -> None:
        if not path.startswith(self._folder):
            return
        injected = self._injected
        with self._lock:
            if injected.kind in (TORN, FULL) and not writes:
                return
            self._count += 1
            past = self._count - injected.step
        if past == 0 and injected.kind in (KILL, TORN):
            self._journal.note("killed itself", path=path)
            if injected.kind == TORN:
                _tear(path)
            os.kill(os.getpid(), signal.SIGKILL)
        if past == 0 and injected.kind == HANG:
            self._journal.note("hangs", path=path, seconds=injected.seconds)
            time.sleep(injected.seconds)
        if injected.kind == FULL and 0 <= past < injected.refused:
            self._journal.note("refused", path=path)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


def _tear(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT), "wb") as file:
        file.write(b'{"torn')


def arm(injected: Injected, folder: Path, journal: Journal) -> None:
    """From now on count the changes below the folder, and let it go wrong."""
    steps = _Steps(injected, folder, journal)
    opened: Callable[[FileIO, str], pa.NativeFile] = FileIO.open_output

    def open_output(file_io: FileIO, path: str) -> pa.NativeFile:
        steps.step(path, writes=True)
        return opened(file_io, path)

    FileIO.open_output = open_output  # type: ignore[method-assign]
    sys.addaudithook(steps.heard)
