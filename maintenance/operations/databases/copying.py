"""Copy files between storages, and prove by a digest that each arrived as it was."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.errors import CorruptFileError
from maintenance.fs.file_io import FileIO
from maintenance.spark.tasks import all_done, run_tasks
from maintenance.threads import map_in_threads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHUNK = 8 << 20
# More is worth Spark's tasks.
_MUCH = 256 << 20
# Taken for the size of a file whose metadata does not say it: an index beside a data file.
_UNKNOWN = 1 << 20


@dataclass(frozen=True, slots=True)
class FileCopy:
    """A file to copy. `name`: relative to its table, the same on both sides; `bytes`: that it has, None = unknown."""

    name: str
    source: str
    target: str
    bytes: int | None


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """A file that is whole on both sides. `digest`: SHA-256; `copied`: False if it was there already."""

    name: str
    bytes: int
    digest: str
    copied: bool


def copy_files(
    source: FileIO,
    target: FileIO,
    files: Sequence[FileCopy],
    parallelism: int,
    on_done: Callable[[int], None],
    *,
    spark: "SparkSession | None" = None,
) -> list[CopiedFile]:
    """Copy files, those that are there already and the same apart, and read each one back.

    Args:
        parallelism: how many files this process copies at a time.
        on_done: called with the number of files that are there since the last call.
        spark: its tasks copy if there is much to copy; None: this process does. What was copied before an error
            stays, and is used by the next call.
    Raises: MissingFileError: a file is not there; CorruptFileError: one is not as long as it must be, or did not arrive
        as it was.
    """
    sizes = [file.bytes or _UNKNOWN for file in files]
    if spark is not None and sum(sizes) > _MUCH:
        payloads = [_Payload(source, target, file) for file in files]
        outcomes = run_tasks(spark, _copied_in_task, payloads, sizes=sizes, on_done=on_done)
        return all_done(outcomes, files[0].target)

    def one(file: FileCopy) -> CopiedFile:
        done = _copied(source, target, file)
        on_done(1)
        return done

    return map_in_threads(one, files, parallelism)


@dataclass(frozen=True, slots=True)
class _Payload:
    source: FileIO
    target: FileIO
    file: FileCopy


def _copied_in_task(payload: _Payload) -> CopiedFile:
    return _copied(payload.source, payload.target, payload.file)


def are_same(source: FileIO, target: FileIO, file: FileCopy) -> bool:
    """Whether a file has the same bytes on both sides. Raises: FileNotFoundError: it is missing on one."""
    return _digest(source, file.source) == _digest(target, file.target)


def digest_of(files: Iterable[CopiedFile]) -> str:
    """One digest of many files: of their names, sizes and digests, in the order of names."""
    lines = sorted(f"{file.name} {file.bytes} {file.digest}\n" for file in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _copied(source: FileIO, target: FileIO, file: FileCopy) -> CopiedFile:
    there = target.size(file.target)
    if there is not None and there == source.size(file.source):
        expected = _digest(source, file.source)
        if _digest(target, file.target) == expected:
            _check_size(file, there)
            return CopiedFile(file.name, there, expected, copied=False)
    size, digest = _stream(source, target, file)
    _check_size(file, size)
    if _digest(target, file.target) != digest:
        raise CorruptFileError(
            "a file did not arrive as it was sent", file.target, f"Run it again; the source is {file.source}."
        )
    return CopiedFile(file.name, size, digest, copied=True)


def _check_size(file: FileCopy, size: int) -> None:
    if file.bytes is not None and size != file.bytes:
        raise CorruptFileError(
            f"the file has {size} bytes, and its manifest says {file.bytes}", file.source, "Run fsck on the source."
        )


def _stream(source: FileIO, target: FileIO, file: FileCopy) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with source.open_input(file.source) as given, target.open_output(file.target) as taken:
        while chunk := _next(given):
            digest.update(chunk)
            size += len(chunk)
            taken.write(chunk)
    return size, digest.hexdigest()


def _digest(file_io: FileIO, path: str) -> str:
    digest = hashlib.sha256()
    with file_io.open_input(path) as file:
        while chunk := _next(file):
            digest.update(chunk)
    return digest.hexdigest()


def _next(file: pa.NativeFile) -> bytes:
    return bytes(file.read(_CHUNK))
