"""A storage behind fsspec whose requests fail when a test says so: ``failing://`` is the local disk."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.local import LocalFileSystem

SCHEME = "failing://"


@dataclass
class Fault:
    """Requests to paths that match fail, so many times; then they work. `failed`: how many did."""

    pattern: str
    error: Callable[[], Exception]
    times: int
    failed: int = 0

    def strike(self, path: str) -> None:
        if self.failed < self.times and re.search(self.pattern, path):
            self.failed += 1
            raise self.error()


class FailingFileSystem(LocalFileSystem):  # type: ignore[misc]
    """The local disk, where reading files fails on demand."""

    protocol = "failing"
    faults: ClassVar[list[Fault]] = []

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "auto_mkdir": True})

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        return super()._strip_protocol(str(path).removeprefix(SCHEME))

    def _open(self, path: str, mode: str = "rb", **settings: Any) -> Any:
        opened = super()._open(path, mode, **settings)
        return FailingFile(opened, path) if mode == "rb" else opened


class FailingFile:
    """A file that is open for reading, as a store's: the first request is made when it is read."""

    def __init__(self, file: Any, path: str) -> None:
        self._file, self._path = file, path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "FailingFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        for fault in FailingFileSystem.faults:
            fault.strike(self._path)
        content: bytes = self._file.read(size)
        return content


fsspec.register_implementation("failing", FailingFileSystem, clobber=True)


@contextmanager
def failing(pattern: str, error: Callable[[], Exception], times: int) -> Iterator[Fault]:
    """Meanwhile the next `times` requests for paths that match `pattern` fail."""
    fault = Fault(pattern, error, times)
    FailingFileSystem.faults.append(fault)
    try:
        yield fault
    finally:
        FailingFileSystem.faults.remove(fault)
