"""Tests do not wait for the disk.

What must be flushed, and in which order, is proved by `tests/crash/power_cut.py`, which keeps exactly what was flushed.
Everywhere else a flush that takes no time finds the same faults: a process that is killed leaves to the operating
system what it has written. A flush is milliseconds, and a commit has a dozen.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from maintenance.fs import local_disk

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

_FSYNC, _THREADS = os.fsync, local_disk._THREADS


def number_of(descriptor: "FileDescriptorLike") -> int:
    return descriptor if isinstance(descriptor, int) else descriptor.fileno()


def _without_waiting(fd: "FileDescriptorLike") -> None:
    os.fstat(number_of(fd))  # what is not open is refused still


def without_flushing() -> None:
    """From now on this process, and those forked from it, leave it to the operating system when the disk is written."""
    os.fsync, local_disk._THREADS = _without_waiting, 1


@contextmanager
def with_flushing() -> Iterator[None]:
    """Within, the disk is waited for."""
    before = os.fsync, local_disk._THREADS
    os.fsync, local_disk._THREADS = _FSYNC, _THREADS
    try:
        yield
    finally:
        os.fsync, local_disk._THREADS = before
