"""How large many files are, and which of them are missing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby

from maintenance.fs.file_io import FileIO
from maintenance.fs.location import is_local
from maintenance.metadata.shares import FILES, Sharing, in_one_batch
from maintenance.threads import map_in_threads

_THREADS = 8
# Files that a thread asks for one after the other.
_TOGETHER = 256
# A listing tells of as many files as some requests for one each.
_WORTH_A_LISTING = 4


@dataclass(frozen=True, slots=True)
class _Lookup:
    """Files of one folder; `numbers`: their places among all; `listed`: the folder is listed."""

    folder: str
    names: tuple[str, ...]
    numbers: tuple[int, ...]
    listed: bool


def sizes_of(
    file_io: FileIO, paths: Sequence[str], *, threads: int = _THREADS, sharing: Sharing = in_one_batch
) -> list[int | None]:
    """Bytes of each file, None for one that is missing. On a store, folders with several of them are listed."""
    lookups = list(_lookups(paths))
    done = sharing(partial(_sizes, file_io, threads), lookups, FILES, [len(one.names) for one in lookups])
    sizes: list[int | None] = [None] * len(paths)
    for lookup, found in zip(lookups, chain.from_iterable(done), strict=True):
        for number, size in zip(lookup.numbers, found, strict=True):
            sizes[number] = size
    return sizes


def _lookups(paths: Sequence[str]) -> Iterator[_Lookup]:
    """The files by folder; those that are asked for one by one in parts that are no longer than `_TOGETHER`."""
    places = sorted((path.rpartition("/")[0], number) for number, path in enumerate(paths))
    for folder, group in groupby(places, lambda place: place[0]):
        numbers = tuple(number for _, number in group)
        listed = len(numbers) >= _WORTH_A_LISTING and not is_local(folder)
        step = len(numbers) if listed else _TOGETHER
        for start in range(0, len(numbers), step):
            part = numbers[start : start + step]
            yield _Lookup(folder, tuple(paths[n].rpartition("/")[2] for n in part), part, listed)


def _sizes(file_io: FileIO, threads: int, lookups: Sequence[_Lookup]) -> list[list[int | None]]:
    """Of each lookup the sizes in order. Runs in this process or in a task."""
    return map_in_threads(partial(_found, file_io), lookups, threads)


def _found(file_io: FileIO, lookup: _Lookup) -> list[int | None]:
    if not lookup.listed:
        return [file_io.size(f"{lookup.folder}/{name}") for name in lookup.names]
    there = {status.name: status.size for status in file_io.list_files(lookup.folder)}
    return [there.get(name) for name in lookup.names]
