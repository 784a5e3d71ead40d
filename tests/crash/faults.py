"""Kill this process at its n-th change of storage, as the operating system sees it.

An audit hook hears of each file that Python creates, links, renames or deletes, before it happens; files that Arrow
writes are heard of where `FileIO` opens them. Production code knows nothing of this.
"""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa

from maintenance.fs.file_io import FileIO

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
# The argument that is the path which changes.
_CHANGES = {"os.link": 1, "os.remove": 0, "os.rename": 1, "os.mkdir": 0, "os.rmdir": 0}


class _Steps:
    def __init__(self, last: int, folder: Path, *, torn: bool) -> None:
        self._last, self._folder, self._torn = last, str(folder), torn
        self._count = 0
        self._lock = threading.RLock()  # the torn write below is heard too

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and (arguments[2] or 0) & _WRITING:
            self.step(arguments[0], written=True)
        elif event in _CHANGES:
            self.step(os.fspath(arguments[_CHANGES[event]]), written=False)

    def step(self, path: str, *, written: bool) -> None:
        if not path.startswith(self._folder) or (self._torn and not written):
            return
        with self._lock:
            self._count += 1
            if self._count != self._last:
                return
            if self._torn:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(os.open(path, os.O_WRONLY | os.O_CREAT), "wb") as file:
                    file.write(b'{"torn')
            os.kill(os.getpid(), signal.SIGKILL)


def kill_at(step: int, folder: Path, *, torn: bool) -> None:
    """From now on, die right before change number `step` below the folder, counted from 1.

    `torn`: only files that are written count, and the first bytes of the last one reach storage.
    """
    steps = _Steps(step, folder, torn=torn)
    opened = FileIO.open_output

    def open_output(file_io: FileIO, path: str) -> pa.NativeFile:
        steps.step(path, written=True)
        return opened(file_io, path)

    FileIO.open_output = open_output  # type: ignore[method-assign]
    sys.addaudithook(steps.heard)
