"""Delete the files of expired snapshots and tags; a crash at any point loses nothing and leaves nothing behind.

A removal has all files of one snapshot or tag, in stages: a file is deleted only after everything that is found through
it. Data, changelog, index and statistics files go first, then the manifests that name them, then the lists that name
the manifests, and last the record: that of a retired snapshot or tag. So if the process dies, all remaining
files are still named, and planning again finds them; files already deleted are skipped. A file that several snapshots
name goes with the last one.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import TypeVar

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import is_local
from maintenance.metadata.completeness import check_vectors
from maintenance.metadata.holders import Needed
from maintenance.metadata.identity import BEGINNINGS, check_size
from maintenance.metadata.manifests import Manifests, merge_scan
from maintenance.operations.bin.run import BinRun, Going
from maintenance.operations.expiry.doubtful_vectors import doubtful_index_manifests

T = TypeVar("T")

_THREADS = 8
_CHUNK = 32
# A listing tells of as many files as some requests for one each.
_WORTH_A_LISTING = 4
# Objects that one request of a store deletes.
_CHUNK_OF_STORE = 1000


class Stage(IntEnum):
    """When a file goes."""

    FILES = 0
    MANIFESTS = 1
    LISTS = 2
    RECORD = 3


@dataclass(frozen=True, slots=True)
class Deletion:
    """A file that goes. `size`: bytes; `back_to`: the path that it comes back to from the bin, if another one."""

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
class Leaving:
    """A snapshot, tag or long-lived changelog that goes.

    Attributes:
        record: path of the file deleted last; `back_to`: as of `Deletion`.
        following: the snapshot after it; what its delta deletes goes now. None for a tag: all its own files may go.
        is_changelog: only its changes go; its state went with its snapshot.
    """

    name: str
    snapshot: Snapshot
    record: str
    following: Snapshot | None = None
    is_changelog: bool = False
    back_to: str | None = None


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    """`removals`: one for each that leaves, in their order; `notes`: what could not be looked into, and why."""

    removals: tuple[Removal, ...]
    notes: tuple[str, ...] = ()


def plan_removals(leaving: Sequence[Leaving], needed: Needed, manifests: Manifests) -> RemovalPlan:
    """What goes with each, in order; every file exists, and nothing of it is needed.

    Raises: CorruptFileError: what something else needs cannot be read; or a file of those that leave is not what names
        it says, so that it may be what something else needs. It may be missing (an earlier run deleted it) or hold
        nothing that is known: then what it names stays, and a note says so.
    """
    stored = {status.name: status.size for status in manifests.file_io.list_files(manifests.paths.manifest_folder())}
    next_to = [(one.snapshot, one.following) for one in leaving if not one.is_changelog and one.following is not None]
    survey = _Survey(manifests, needed, frozenset(stored), doubtful_index_manifests(next_to, manifests), [])
    going: dict[str, tuple[int, _Going]] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        for index, files in enumerate(pool.map(survey.of, leaving)):
            going |= {file.path: (index, file) for file in files}
    names = {_name(path) for path, (_, file) in going.items() if file.stage == Stage.FILES}
    used = needed.data_files(manifests, names)
    going = {path: item for path, item in going.items() if _name(path) not in used or item[1].stage != Stage.FILES}
    deletions: list[list[Deletion]] = [[] for _ in leaving]
    for (index, file), size in zip(going.values(), sizes_of(manifests.file_io, list(going)), strict=True):
        if size is not None:
            _check_own(file, size, leaving[index], manifests.file_io)
            back_to = leaving[index].back_to if file.stage == Stage.RECORD else None
            deletions[index].append(Deletion(file.path, size, file.stage, back_to))
    removals = [
        Removal(part.name, tuple(sorted(files, key=lambda d: d.stage)))
        for part, files in zip(leaving, deletions, strict=True)
    ]
    return RemovalPlan(tuple(removals), tuple(dict.fromkeys(survey.notes)))


@dataclass(frozen=True, slots=True)
class _Going:
    """A file that goes if it is there. `size`: its bytes, where what names it says them."""

    path: str
    stage: Stage
    size: int | None = None


def _check_own(file: _Going, size: int, leaving: Leaving, file_io: FileIO) -> None:
    """Check a file that is to go against what names it. `size`: its bytes. Raises: CorruptFileError."""
    try:
        check_size(file.size, size, file.path)
    except CorruptFileError as error:
        # Of metadata that holds nothing known nothing can be lost; whether a data file does is not to be seen.
        if file.stage == Stage.FILES or _is_some_file(file_io, file.path):
            raise _of_another(leaving, error) from error


@dataclass(frozen=True, slots=True)
class _Survey:
    """Finds what those that leave name.

    Attributes:
        stored: names in the manifest folder.
        doubtful: index manifests that may be those of other states; grows, as `notes` do.
    """

    manifests: Manifests
    needed: Needed
    stored: frozenset[str]
    doubtful: set[str]
    notes: list[str]

    def of(self, leaving: Leaving) -> list[_Going]:
        """Raises: CorruptFileError: a file of it is intact and not what names it says."""
        try:
            return [*self._files(leaving), _Going(leaving.record, Stage.RECORD)]
        except CorruptFileError as error:
            raise _of_another(leaving, error) from error

    def _files(self, leaving: Leaving) -> Iterator[_Going]:
        if leaving.is_changelog:
            yield from self._changes(leaving.snapshot)
        elif leaving.following is not None or not self.needed.holds(leaving.snapshot):
            yield from self._data_files(leaving)
            yield from self._metadata(leaving.snapshot)
            if leaving.following is not None:
                yield from self._changelog(leaving.snapshot)

    def _data_files(self, leaving: Leaving) -> Iterator[_Going]:
        snapshot, following = leaving.snapshot, leaving.following
        if following is None or following.id != snapshot.id + 1:
            # A tag; or a gap, where no delta says what the missing snapshots deleted.
            metas = [*self._base(snapshot), *self._delta(snapshot)]
            self._look_at_vectors(snapshot, metas)
            yield from self._going(merge_scan(self._entries(metas)))
        if following is not None:
            deleted = (e for e in self._entries(self._delta(following)) if e.kind == FileKind.DELETE)
            yield from self._going(deleted)

    def _look_at_vectors(self, snapshot: Snapshot, metas: Sequence[ManifestFileMeta]) -> None:
        """Doubt the index manifest of a state if it is not for its files. `metas`: all manifests of the state."""
        name, lists = snapshot.index_manifest, (snapshot.base_manifest_list, snapshot.delta_manifest_list)
        if name is None or not self.stored.issuperset((name, *lists, *(meta.file_name for meta in metas))):
            return
        path = self.manifests.paths.manifest(name)
        index = self._readable(path, partial(self.manifests.read_index_manifest, name))
        try:
            check_vectors(index, merge_scan(self._entries(metas)), path)
        except CorruptFileError:
            self.doubtful.add(name)

    def _changes(self, snapshot: Snapshot) -> Iterator[_Going]:
        if snapshot.changelog_manifest_list is not None:
            yield from self._changelog(snapshot)
            return
        # What the delta added was kept as changes; what it deleted may have been, by an expiry of Java's.
        yield from self._going(self._entries(self._delta(snapshot)))
        yield from self._lists(snapshot)

    def _changelog(self, snapshot: Snapshot) -> Iterator[_Going]:
        name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
        if name is None or name in self.needed.changelogs:
            return
        metas = self._read_list(name, size)
        yield from self._going(self._entries(metas))
        yield from self._list_and_manifests(name, size, metas)

    def _metadata(self, snapshot: Snapshot) -> Iterator[_Going]:
        paths, needed = self.manifests.paths, self.needed.metadata
        yield from self._lists(snapshot)
        if snapshot.statistics is not None and snapshot.statistics not in needed:
            yield _Going(paths.statistics_file(snapshot.statistics), Stage.FILES)
        if snapshot.index_manifest is None or snapshot.index_manifest in needed:
            return
        path = paths.manifest(snapshot.index_manifest)
        if snapshot.index_manifest in self.doubtful:
            self.notes.append(f"{path} and the index files that it names stay: another snapshot may need it")
            return
        yield _Going(path, Stage.MANIFESTS)
        if snapshot.index_manifest in self.stored:
            for entry in self._readable(path, partial(self.manifests.read_index_manifest, snapshot.index_manifest)):
                if entry.file_name not in needed:
                    yield _Going(paths.index_file(entry), Stage.FILES, entry.file_size)

    def _lists(self, snapshot: Snapshot) -> Iterator[_Going]:
        base, delta = snapshot.base_manifest_list, snapshot.delta_manifest_list
        yield from self._list_and_manifests(base, snapshot.base_manifest_list_size, self._base(snapshot))
        yield from self._list_and_manifests(delta, snapshot.delta_manifest_list_size, self._delta(snapshot))

    def _list_and_manifests(self, name: str, size: int | None, metas: Iterable[ManifestFileMeta]) -> Iterator[_Going]:
        needed, path = self.needed.metadata, self.manifests.paths.manifest
        for meta in metas:
            if meta.file_name not in needed:
                self._entries([meta])
                yield _Going(path(meta.file_name), Stage.MANIFESTS, meta.file_size)
        if name not in needed:
            yield _Going(path(name), Stage.LISTS, size)

    def _base(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        return self._read_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)

    def _delta(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        return self._read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)

    def _entries(self, metas: Iterable[ManifestFileMeta]) -> list[ManifestEntry]:
        path = self.manifests.paths.manifest
        stored = (meta for meta in metas if meta.file_name in self.stored)
        read = (self._readable(path(m.file_name), partial(self.manifests.read_manifest, m)) for m in stored)
        return [entry for entries in read for entry in entries]

    def _read_list(self, name: str, size: int | None) -> list[ManifestFileMeta]:
        if name not in self.stored:
            return []
        return self._readable(self.manifests.paths.manifest(name), partial(self.manifests.read_list, name, size))

    def _readable(self, path: str, read: Callable[[], list[T]]) -> list[T]:
        """What a file holds, nothing where that is nothing known. Raises: CorruptFileError: it may be another's."""
        try:
            return read()
        except (CorruptFileError, UnsupportedError) as error:
            if isinstance(error, CorruptFileError) and _is_some_file(self.manifests.file_io, path):
                raise
            self.notes.append(f"the files that it names stay: {error}")
            return []

    def _going(self, entries: Iterable[ManifestEntry]) -> Iterator[_Going]:
        for entry in entries:
            first, *beside = self.manifests.paths.all_files_of(entry.partition, entry.bucket, entry.file)
            yield _Going(first, Stage.FILES, entry.file.file_size)
            for path in beside:
                yield _Going(path, Stage.FILES)


def _is_some_file(file_io: FileIO, path: str) -> bool:
    """Whether a file that cannot be read as what it should be may be an intact one: another's, or of another kind."""
    try:
        return file_io.read_range(path, 0, 4).startswith(BEGINNINGS)
    except FileNotFoundError:
        return False


def _of_another(leaving: Leaving, error: CorruptFileError) -> CorruptFileError:
    return CorruptFileError(
        f"{leaving.name} cannot be deleted, so nothing is: {error.found}; the file may be needed by another one",
        error.where,
        "Restore the file from a copy. If there is none, and nothing needs what it holds, delete it and run again.",
    )


def sizes_of(file_io: FileIO, paths: Sequence[str], threads: int = _THREADS) -> list[int | None]:
    """Bytes of each file, None for one that is missing. On a store, folders with several of them are listed."""
    in_folder = Counter(_folder(path) for path in paths if not is_local(path))
    listed = [folder for folder, count in in_folder.items() if count >= _WORTH_A_LISTING]
    alone = [path for path in paths if in_folder[_folder(path)] < _WORTH_A_LISTING]
    with ThreadPoolExecutor(threads) as pool:
        size_of = {status.path: status.size for files in pool.map(file_io.list_files, listed) for status in files}
        sizes = dict(zip(alone, pool.map(file_io.size, alone), strict=True))
    return [sizes[path] if path in sizes else size_of.get(path) for path in paths]


def remove(file_io: FileIO, removals: Iterable[Removal], into: BinRun | None = None) -> None:
    """Delete what a plan says, stage by stage; records on a disk one by one, in order.

    A record that is gone names nothing any more, so what it named must be deleted first.

    Args: `into`: takes the files instead of destroying them; None = they are destroyed.
    """
    deletions = [deletion for removal in removals for deletion in removal.deletions]
    with ThreadPoolExecutor(_THREADS) as pool:
        for stage in (Stage.FILES, Stage.MANIFESTS, Stage.LISTS):
            if into is not None:
                into.take([_going(deletion) for deletion in deletions if deletion.stage == stage])
                continue
            paths = [deletion.path for deletion in deletions if deletion.stage == stage]
            size = _CHUNK if not paths or is_local(paths[0]) else _CHUNK_OF_STORE
            list(pool.map(file_io.delete_unordered, (paths[i : i + size] for i in range(0, len(paths), size))))
    named = [deletion.path for deletion in deletions if deletion.stage != Stage.RECORD]
    file_io.flush_folders({path.rpartition("/")[0] for path in named})
    if into is not None:
        into.take([_going(deletion) for deletion in deletions if deletion.stage == Stage.RECORD], in_order=True)
        return
    records = [deletion.path for deletion in deletions if deletion.stage == Stage.RECORD]
    if records and not is_local(records[0]):
        file_io.delete_unordered(records)
    else:
        file_io.delete_quietly(records)


def _going(deletion: Deletion) -> Going:
    return Going(deletion.path, deletion.size, int(deletion.stage), deletion.back_to)


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def batch_text(removals: Sequence[Removal]) -> str:
    """A batch in one line, for progress."""
    deletions = [deletion for removal in removals for deletion in removal.deletions]
    names = removals[0].name if len(removals) == 1 else f"{removals[0].name} to {removals[-1].name}"
    return f"{names}: deleting {len(deletions)} files, {sum(deletion.size for deletion in deletions)} bytes"
