"""Delete the files of expired snapshots and tags; a crash at any point loses nothing and leaves nothing behind.

A removal has all files of one snapshot or tag, in stages: a file is deleted only after everything that is found through
it. Data, changelog, index and statistics files go first, then the manifests that name them, then the lists that name
the manifests, and last the record: that of a retired snapshot or tag. So if the process dies, all remaining
files are still named, and planning again finds them; files already deleted are skipped. A file that several snapshots
name goes with the last one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from maintenance.amounts import number_of, size_text
from maintenance.errors import CorruptFileError
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import is_local
from maintenance.metadata.file_sizes import sizes_of
from maintenance.metadata.holders import Needed
from maintenance.metadata.identity import check_size
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.shares import FILES, Sharing, in_one_batch
from maintenance.operations.bin.run import BinRun, Going
from maintenance.operations.expiry.survey import (
    Leaving,
    NamedFile,
    Stage,
    is_looked_for,
    is_some_file,
    of_another,
    survey,
)
from maintenance.threads import map_in_threads

_THREADS = 8
# Files that a thread deletes at once: of a disk, and as many as one request of a store takes.
_CHUNK = 256
_CHUNK_OF_STORE = 1000


class Deletion(NamedTuple):
    """A file that goes. `size`: bytes; `back_to`: the path that it comes back to from the bin, if another one.

    A tuple as `NamedFile` is.
    """

    path: str
    size: int
    stage: Stage
    back_to: str | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes with one snapshot or tag. `name`: the id, or the tag's name."""

    name: str
    deletions: tuple[Deletion, ...]


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    """`removals`: one for each that leaves, in their order; `notes`: what could not be looked into, and why."""

    removals: tuple[Removal, ...]
    notes: tuple[str, ...] = ()


def plan_removals(
    leaving: Sequence[Leaving], needed: Needed, manifests: Manifests, sharing: Sharing = in_one_batch
) -> RemovalPlan:
    """What goes with each, in order; every file exists, and nothing of it is needed.

    Raises: CorruptFileError: what something else needs cannot be read; or a file of those that leave is not what names
        it says, so that it may be what something else needs. It may be missing (an earlier run deleted it) or hold
        nothing that is known: then what it names stays, and a note says so.
    """
    found = survey(leaving, needed, manifests, sharing)
    going = {file.path: (index, file) for index, files in enumerate(found.files) for file in files}
    names = {_name(path) for path, (_, file) in going.items() if file.stage == Stage.FILES}
    used = needed.data_files(manifests, names, sharing)
    if used:
        going = {path: item for path, item in going.items() if _name(path) not in used or item[1].stage != Stage.FILES}
    deletions: list[list[Deletion]] = [[] for _ in leaving]
    sizes = [file.there for _, file in going.values()]
    if not is_looked_for(manifests.paths.root):
        sizes = sizes_of(manifests.file_io, list(going), sharing=sharing)
    for (index, file), size in zip(going.values(), sizes, strict=True):
        if size is not None:
            if file.size is not None and file.size != size:
                _check_own(file, size, leaving[index], manifests.file_io)
            back_to = leaving[index].back_to if file.stage == Stage.RECORD else None
            deletions[index].append(Deletion(file.path, size, file.stage, back_to))
    removals = [
        Removal(part.name, tuple(sorted(files, key=attrgetter("stage"))))
        for part, files in zip(leaving, deletions, strict=True)
    ]
    return RemovalPlan(tuple(removals), found.notes)


def _check_own(file: NamedFile, size: int, leaving: Leaving, file_io: FileIO) -> None:
    """Check a file that is to go against what names it. `size`: its bytes. Raises: CorruptFileError."""
    try:
        check_size(file.size, size, file.path)
    except CorruptFileError as error:
        # Of metadata that holds nothing known nothing can be lost; whether a data file does is not to be seen.
        if file.stage == Stage.FILES or is_some_file(file_io, file.path):
            raise of_another(leaving, error) from error


def remove(
    file_io: FileIO, removals: Iterable[Removal], into: BinRun | None = None, sharing: Sharing = in_one_batch
) -> None:
    """Delete what a plan says, stage by stage; records on a disk one by one, in order.

    A record that is gone names nothing any more, so what it named must be deleted first.

    Args: `into`: takes the files instead of destroying them, in this process; None = they are destroyed.
    """
    by_stage: dict[Stage, list[Deletion]] = {stage: [] for stage in Stage}
    for removal in removals:
        for deletion in removal.deletions:
            by_stage[deletion.stage].append(deletion)
    for stage in (Stage.FILES, Stage.MANIFESTS, Stage.LISTS):
        of_stage = by_stage[stage]
        if into is None:
            sharing(partial(_delete, file_io), [deletion.path for deletion in of_stage], FILES)
        else:
            into.take([_going(deletion) for deletion in of_stage])
    named = chain(by_stage[Stage.FILES], by_stage[Stage.MANIFESTS], by_stage[Stage.LISTS])
    file_io.flush_folders({deletion.path.rpartition("/")[0] for deletion in named})
    if into is not None:
        into.take([_going(deletion) for deletion in by_stage[Stage.RECORD]], in_order=True)
        return
    records = [deletion.path for deletion in by_stage[Stage.RECORD]]
    if records and not is_local(records[0]):
        file_io.delete_unordered(records)
    else:
        file_io.delete_quietly(records)


def _delete(file_io: FileIO, paths: Sequence[str]) -> None:
    """Delete files in any order, by several threads. Runs in this process or in a task."""
    size = _CHUNK if is_local(paths[0]) else _CHUNK_OF_STORE
    map_in_threads(file_io.delete_unordered, (paths[i : i + size] for i in range(0, len(paths), size)), _THREADS)


def _going(deletion: Deletion) -> Going:
    return Going(deletion.path, deletion.size, int(deletion.stage), deletion.back_to)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def batch_text(removals: Sequence[Removal]) -> str:
    """A batch in one line, for progress."""
    deletions = [deletion for removal in removals for deletion in removal.deletions]
    names = removals[0].name if len(removals) == 1 else f"{removals[0].name} to {removals[-1].name}"
    return (
        f"{names}: deleting {number_of(len(deletions), 'file')}, {sum(deletion.size for deletion in deletions)} bytes"
    )


def gone_text(gone: str, files: int, size: int) -> str:
    """What is gone, with the files that only it needed, in a sentence of a report. `size`: bytes of the files."""
    return f"{gone}, {number_of(files, 'file')} of {size_text(size)} went with them."
