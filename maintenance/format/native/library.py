"""The libraries of formats, and what they say when something is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType

import pyarrow as pa

from maintenance.errors import RESTORE, CorruptFileError, PaimonError, UnsupportedError
from maintenance.format.data_format import is_of_storage

_PACKAGES = {"vortex": "vortex-data", "lance": "pylance", "mosaic": "paimon-mosaic"}


def library(name: str, where: str) -> ModuleType:
    """The library of a format, whose module and whose extra have the format's name. Raises: UnsupportedError."""
    try:
        return import_module(name)
    except ImportError as error:
        raise UnsupportedError(
            f"data files of format '{name}' need the package {_PACKAGES[name]}, which is not installed",
            where,
            f"Install it where this runs: pip install 'paimon-maintenance[{name}]'.",
        ) from error


class Source:
    """A file as the libraries ask for its bytes, from any thread. They hide what fails, so it is kept in `error`."""

    def __init__(self, source: pa.NativeFile) -> None:
        self._source = source
        self._size = int(source.size())
        self.error: Exception | None = None

    def size(self) -> int:
        return self._size

    def read_at(self, start: int, count: int) -> bytes:
        try:
            content: bytes = self._source.read_at(count, start)
        except Exception as error:
            self.error = error
            raise
        return content

    def read_into(self, start: int, target: memoryview) -> int:
        content = self.read_at(start, len(target))
        target[: len(content)] = content
        return len(content)


class Sink:
    """An output as a library writes to it, see `Source`."""

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self.error: Exception | None = None

    def write(self, content: object) -> None:
        try:
            self._sink.write(content)
        except Exception as error:
            self.error = error
            raise

    def flush(self) -> None:
        """Nothing is held here; the owner of the output closes it."""


@contextmanager
def reading_by(path: str, source: Source | None = None) -> Iterator[None]:
    """Reading a file with a library. Raises: CorruptFileError for what it says of the file's bytes."""
    with _of_library(source) as said:
        yield
    if said:
        raise CorruptFileError(f"the file is damaged: {said[0]}", path, RESTORE)


@contextmanager
def writing_by(name: str, sink: Sink | None = None) -> Iterator[None]:
    """Writing a file with a library. Raises: UnsupportedError for what it says of the rows."""
    with _of_library(sink) as said:
        yield
    if said:
        raise UnsupportedError(
            f"the rows cannot be written: {said[0]}", f"a {name} file", "Set 'file.format' to parquet or orc."
        )


@contextmanager
def _of_library(file: Source | Sink | None) -> Iterator[list[str]]:
    """Collects what a library says. Panics of Rust are no exceptions in the sense of Python."""
    said = list[str]()
    try:
        yield said
    except PaimonError:
        raise
    except BaseException as error:
        if file is not None and file.error is not None:
            raise file.error from error
        if is_of_storage(error) if isinstance(error, Exception) else type(error).__name__ != "PanicException":
            raise
        said.append((str(error) or type(error).__name__).splitlines()[0])
