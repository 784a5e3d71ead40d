"""Kill this process at its n-th change of storage, as the operating system sees it, or fill its disk from there on.

An audit hook hears of each file that Python creates, links, renames or deletes, before it happens; files that Arrow
writes are heard of where `FileIO` opens them. Production code knows nothing of this.
"""

import errno
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


class FullDisk:
    """A disk that takes no more content from the n-th file that is written below a folder on, or not that one alone.

    `refused`: whether it came to that.
    """

    def __init__(self, first: int, folder: Path, *, once: bool) -> None:
        self._first, self._folder, self._once = first, str(folder), once
        self._count = 0
        self._lock = threading.RLock()  # the partial write below is heard too
        self._partial = False
        self.refused = False

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and (arguments[2] or 0) & _WRITING:
            self.write(arguments[0])

    def write(self, path: str) -> None:
        with self._lock:
            if not path.startswith(self._folder) or self._partial:
                return
            self._count += 1
            if self._count < self._first or (self._once and self._count > self._first):
                return
            self._partial = self.refused = True
            try:
                with open(os.open(path, os.O_WRONLY | os.O_CREAT), "wb") as file:
                    file.write(b'{"to')
            finally:
                self._partial = False
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


class _FullSink:
    """A file that was opened and takes nothing."""

    closed = False

    def __init__(self, error: OSError) -> None:
        self._error = error

    def write(self, _data: object) -> int:
        raise OSError(*self._error.args)

    def tell(self) -> int:
        return 0

    def flush(self) -> None:
        raise OSError(*self._error.args)

    def close(self) -> None:
        self.closed = True


def fill_disk_at(step: int, folder: Path, *, once: bool) -> FullDisk:
    """From the n-th file on that is written below the folder, counted from 1, each keeps a few bytes and fails.

    New names, folders and deletions still succeed. `once`: only the n-th file fails.
    """
    disk = FullDisk(step, folder, once=once)
    opened = FileIO.open_output

    def open_output(file_io: FileIO, path: str) -> pa.NativeFile:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            disk.write(path)
        except OSError as error:
            return pa.PythonFile(_FullSink(error), mode="w")
        return opened(file_io, path)

    FileIO.open_output = open_output  # type: ignore[method-assign]
    sys.addaudithook(disk.heard)
    return disk
