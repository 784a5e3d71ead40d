"""What expired snapshots and tags name: the files that may go with each of them.

Each is looked at by itself, so many are shared out. The one thing that concerns all of them comes first: which
index manifests may belong to another state (`doubtful`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cache, partial
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.metadata.manifest import EVERY_ENTRY, EntrySelection, FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.fs.location import is_local
from maintenance.metadata.completeness import check_vectors
from maintenance.metadata.file_sizes import sizes_of
from maintenance.metadata.holders import Needed
from maintenance.metadata.identity import BEGINNINGS
from maintenance.metadata.manifests import Manifests, merge_scan
from maintenance.metadata.paths import all_files_in
from maintenance.metadata.shares import STATES, Sharing
from maintenance.operations.expiry.doubtful_vectors import doubtful_index_manifests
from maintenance.threads import map_in_threads

T = TypeVar("T")

_THREADS = 8
_DELETIONS = EntrySelection(kind=FileKind.DELETE)


class Stage(IntEnum):
    """When a file goes."""

    FILES = 0
    MANIFESTS = 1
    LISTS = 2
    RECORD = 3


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

    @property
    def goes_whole(self) -> bool:
        """A tag; or a gap in the ids, where no delta says what the missing snapshots deleted."""
        return not self.is_changelog and (self.following is None or self.following.id != self.snapshot.id + 1)


class NamedFile(NamedTuple):
    """A file that goes if it is there. `size`: its bytes, where what names it says them; `there`: those that it has.

    A tuple, which is made in half the time of a dataclass: there may be hundreds of thousands.
    """

    path: str
    stage: Stage
    size: int | None = None
    there: int | None = None


@dataclass(frozen=True, slots=True)
class Survey:
    """`files`: what each that leaves names, in their order; `notes`: what could not be looked into, and why."""

    files: tuple[tuple[NamedFile, ...], ...]
    notes: tuple[str, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """It travels as columns: the driver gets hundreds of thousands of files while tasks wait for it."""
        columns = tuple(zip(*chain.from_iterable(self.files), strict=True))
        return _of_columns, ([len(files) for files in self.files], columns, self.notes)


def _of_columns(counts: Sequence[int], columns: Sequence[Sequence[Any]], notes: tuple[str, ...]) -> Survey:
    files = map(NamedFile._make, zip(*columns, strict=True))
    return Survey(tuple(tuple(islice(files, count)) for count in counts), notes)


def is_looked_for(root: str) -> bool:
    """Whether a survey of a table there looks for the files that it names: on a store, listings of folders tell of
    them, which are for all that leave."""
    return is_local(root)


def survey(leaving: Sequence[Leaving], needed: Needed, manifests: Manifests, sharing: Sharing) -> Survey:
    """What those that leave name; whether the files are there is only looked at as `is_looked_for` says.

    Raises: CorruptFileError: a file of one that leaves is intact and not what names it says.
    """
    stored = frozenset(status.name for status in manifests.file_io.list_files(manifests.paths.manifest_folder()))
    # Who needs what is enough here; what each state consists of need not travel.
    surveyor = _Surveyor(manifests, replace(needed, states=(), deltas=()), stored)
    doubtful = doubtful_index_manifests(_neighbours(leaving), manifests)
    whole = [one for one in leaving if one.goes_whole and one.snapshot.index_manifest is not None]
    doubtful.update(*sharing(surveyor.doubtful_among, whole, STATES))
    done = sharing(replace(surveyor, doubtful=frozenset(doubtful)).of, leaving, STATES)
    files = tuple(chain.from_iterable(share.files for share in done))
    return Survey(files, tuple(dict.fromkeys(chain.from_iterable(share.notes for share in done))))


def _neighbours(leaving: Sequence[Leaving]) -> list[tuple[Snapshot, Snapshot]]:
    return [(one.snapshot, one.following) for one in leaving if not one.is_changelog and one.following is not None]


@dataclass(frozen=True, slots=True)
class _Surveyor:
    """Finds what some of those that leave name; in this process or in a task.

    Attributes:
        stored: names in the manifest folder.
        doubtful: index manifests that may be those of other states.
        notes: what could not be looked into; grows.
        sound: names of manifests that were read, and are what their lists say; grows. The delta of a snapshot is read
            with the one before it, for what it deletes, and need not be read again.
    """

    manifests: Manifests
    needed: Needed
    stored: frozenset[str]
    doubtful: frozenset[str] = frozenset()
    notes: list[str] = field(default_factory=list)
    sound: set[str] = field(default_factory=set)

    def of(self, leaving: Sequence[Leaving]) -> Survey:
        """What a share of them names. Errors as of `survey`."""
        here = replace(self, notes=[], sound=set())
        files = tuple(map_in_threads(here._named_by, leaving, self._threads))
        return Survey(self._looked_for(files) if is_looked_for(self.manifests.paths.root) else files, tuple(here.notes))

    def _looked_for(self, files: Sequence[Sequence[NamedFile]]) -> tuple[tuple[NamedFile, ...], ...]:
        paths, stages, sizes, _ = zip(*chain.from_iterable(files), strict=True)
        there = sizes_of(self.manifests.file_io, paths)
        return _of_columns([len(of_one) for of_one in files], (paths, stages, sizes, there), ()).files

    def doubtful_among(self, leaving: Sequence[Leaving]) -> set[str]:
        """Index manifests of a share of those that go whole which are not for the files of their states."""
        here = replace(self, notes=[], sound=set())  # what they say is said again by `of`
        return {name for name in map_in_threads(here._doubtful, leaving, self._threads) if name is not None}

    @property
    def _threads(self) -> int:
        # Small files of a disk are there at once: their decoding is all there is, and threads get in each other's way.
        return 1 if is_local(self.manifests.paths.root) else _THREADS

    def _named_by(self, leaving: Leaving) -> tuple[NamedFile, ...]:
        try:
            return (*self._files(leaving), NamedFile(leaving.record, Stage.RECORD))
        except CorruptFileError as error:
            raise of_another(leaving, error) from error

    def _files(self, leaving: Leaving) -> Iterator[NamedFile]:
        if leaving.is_changelog:
            yield from self._changes(leaving.snapshot)
        elif leaving.following is not None or not self.needed.holds(leaving.snapshot):
            yield from self._data_files(leaving)
            yield from self._metadata(leaving.snapshot)
            if leaving.following is not None:
                yield from self._changelog(leaving.snapshot)

    def _data_files(self, leaving: Leaving) -> Iterator[NamedFile]:
        snapshot, following = leaving.snapshot, leaving.following
        if leaving.goes_whole:
            yield from self._going(merge_scan(self._entries([*self._base(snapshot), *self._delta(snapshot)])))
        if following is not None:
            yield from self._going(self._entries(self._delta(following), _DELETIONS))

    def _doubtful(self, leaving: Leaving) -> str | None:
        """The index manifest of a state if it is not for its files."""
        snapshot = leaving.snapshot
        name, lists = snapshot.index_manifest, (snapshot.base_manifest_list, snapshot.delta_manifest_list)
        if name is None or (leaving.following is None and self.needed.holds(snapshot)):
            return None
        try:
            metas = [*self._base(snapshot), *self._delta(snapshot)]
            if not self.stored.issuperset((name, *lists, *(meta.file_name for meta in metas))):
                return None
            path = self.manifests.paths.manifest(name)
            index = self._readable(path, partial(self.manifests.read_index_manifest, name))
            live = merge_scan(self._entries(metas))
        except CorruptFileError as error:
            raise of_another(leaving, error) from error
        try:
            check_vectors(self.manifests, snapshot, index, live, untold=True)
        except CorruptFileError:
            return name
        return None

    def _changes(self, snapshot: Snapshot) -> Iterator[NamedFile]:
        if snapshot.changelog_manifest_list is not None:
            yield from self._changelog(snapshot)
            return
        # What the delta added was kept as changes; what it deleted may have been, by an expiry of Java's.
        yield from self._going(self._entries(self._delta(snapshot)))
        yield from self._lists(snapshot)

    def _changelog(self, snapshot: Snapshot) -> Iterator[NamedFile]:
        name, size = snapshot.changelog_manifest_list, snapshot.changelog_manifest_list_size
        if name is None or name in self.needed.changelogs:
            return
        metas = self._read_list(name, size)
        yield from self._going(self._entries(metas))
        yield from self._list_and_manifests(name, size, metas)

    def _metadata(self, snapshot: Snapshot) -> Iterator[NamedFile]:
        paths, needed = self.manifests.paths, self.needed.metadata
        yield from self._lists(snapshot)
        if snapshot.statistics is not None and snapshot.statistics not in needed:
            yield NamedFile(paths.statistics_file(snapshot.statistics), Stage.FILES)
        if snapshot.index_manifest is None or snapshot.index_manifest in needed:
            return
        path = paths.manifest(snapshot.index_manifest)
        if snapshot.index_manifest in self.doubtful:
            self.notes.append(f"{path} and the index files that it names stay: another snapshot may need it")
            return
        yield NamedFile(path, Stage.MANIFESTS)
        if snapshot.index_manifest in self.stored:
            for entry in self._readable(path, partial(self.manifests.read_index_manifest, snapshot.index_manifest)):
                if entry.file_name not in needed:
                    yield NamedFile(paths.index_file(entry), Stage.FILES, entry.file_size)

    def _lists(self, snapshot: Snapshot) -> Iterator[NamedFile]:
        base, delta = snapshot.base_manifest_list, snapshot.delta_manifest_list
        yield from self._list_and_manifests(base, snapshot.base_manifest_list_size, self._base(snapshot))
        yield from self._list_and_manifests(delta, snapshot.delta_manifest_list_size, self._delta(snapshot))

    def _list_and_manifests(
        self, name: str, size: int | None, metas: Iterable[ManifestFileMeta]
    ) -> Iterator[NamedFile]:
        needed, path = self.needed.metadata, self.manifests.paths.manifest
        for meta in metas:
            if meta.file_name not in needed:
                self._check(meta)
                yield NamedFile(path(meta.file_name), Stage.MANIFESTS, meta.file_size)
        if name not in needed:
            yield NamedFile(path(name), Stage.LISTS, size)

    def _base(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        return self._read_list(snapshot.base_manifest_list, snapshot.base_manifest_list_size)

    def _delta(self, snapshot: Snapshot) -> list[ManifestFileMeta]:
        return self._read_list(snapshot.delta_manifest_list, snapshot.delta_manifest_list_size)

    def _entries(
        self, metas: Iterable[ManifestFileMeta], selection: EntrySelection = EVERY_ENTRY
    ) -> list[ManifestEntry]:
        path, read = self.manifests.paths.manifest, self.manifests.read_manifest
        stored = [meta for meta in metas if meta.file_name in self.stored]
        entries = [e for m in stored for e in self._readable(path(m.file_name), partial(read, m, selection))]
        self.sound.update(meta.file_name for meta in stored)
        return entries

    def _check(self, meta: ManifestFileMeta) -> None:
        """A manifest that goes must be the one that its list names; nothing else of it is asked."""
        if meta.file_name in self.stored and meta.file_name not in self.sound:
            path = self.manifests.paths.manifest(meta.file_name)
            self._readable(path, lambda: [self.manifests.file_names(meta)])

    def _read_list(self, name: str, size: int | None) -> list[ManifestFileMeta]:
        if name not in self.stored:
            return []
        return self._readable(self.manifests.paths.manifest(name), partial(self.manifests.read_list, name, size))

    def _readable(self, path: str, read: Callable[[], list[T]]) -> list[T]:
        """What a file holds, nothing where that is nothing known. Raises: CorruptFileError: it may be another's."""
        try:
            return read()
        except (CorruptFileError, UnsupportedError) as error:
            if isinstance(error, CorruptFileError) and is_some_file(self.manifests.file_io, path):
                raise
            self.notes.append(f"the files that it names stay: {error}")
            return []

    def _going(self, entries: Iterable[ManifestEntry]) -> Iterator[NamedFile]:
        folder_of = cache(self.manifests.paths.bucket_folder)
        for entry in entries:
            first, *extras = all_files_in(folder_of(entry.partition, entry.bucket), entry.file)
            yield NamedFile(first, Stage.FILES, entry.file.file_size)
            for path in extras:
                yield NamedFile(path, Stage.FILES)


def is_some_file(file_io: FileIO, path: str) -> bool:
    """Whether a file that cannot be read as what it should be may be an intact one: another's, or of another kind."""
    try:
        return file_io.read_range(path, 0, 4).startswith(BEGINNINGS)
    except FileNotFoundError:
        return False


def of_another(leaving: Leaving, error: CorruptFileError) -> CorruptFileError:
    return CorruptFileError(
        f"{leaving.name} cannot be deleted, so nothing is: {error.found}; the file may be needed by another one",
        error.where,
        "Restore the file from a copy. If there is none, and nothing needs what it holds, delete it and run again.",
    )
