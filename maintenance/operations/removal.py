"""Delete what snapshots and tags that go leave behind, so that dying anywhere loses and leaves nothing.

A removal is all that goes with one snapshot or tag, in stages: a file is deleted only after all that is found through
it. Data, changelog, index and statistics files go first, then the manifests that name them, then the lists that name
the manifests, at last the record: the snapshot's file, or the journal of a tag. Whatever is left when the process dies
is therefore still named, and the same work planned anew finds it; what is already gone is passed over. A file that
several of them name goes with the last one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import TypeVar

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.manifest import FileKind, ManifestEntry
from maintenance.format.manifest_list import ManifestFileMeta
from maintenance.format.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata.holders import Needed
from maintenance.metadata.manifests import Manifests, merge_scan

T = TypeVar("T")

_THREADS = 8
_CHUNK = 32


class Stage(IntEnum):
    """When a file goes."""

    FILES = 0
    MANIFESTS = 1
    LISTS = 2
    RECORD = 3


@dataclass(frozen=True, slots=True)
class Deletion:
    """A file that goes. `size`: bytes."""

    path: str
    size: int
    stage: Stage


@dataclass(frozen=True, slots=True)
class Removal:
    """What goes with one snapshot or tag. `name`: the id, or the tag's name."""

    name: str
    deletions: tuple[Deletion, ...]


@dataclass(frozen=True, slots=True)
class Leaving:
    """A snapshot, tag or long-lived changelog that goes.

    Attributes:
        record: path of the file deleted last.
        following: the snapshot after it; what its delta deletes goes now. None for a tag: all its own files may go.
        is_changelog: only its changes go; its state went with its snapshot.
    """

    name: str
    snapshot: Snapshot
    record: str
    following: Snapshot | None = None
    is_changelog: bool = False


@dataclass(frozen=True, slots=True)
class RemovalPlan:
    """`removals`: one for each that leaves, in their order; `notes`: what could not be looked into, and why."""

    removals: tuple[Removal, ...]
    notes: tuple[str, ...] = ()


def plan_removals(leaving: Sequence[Leaving], needed: Needed, manifests: Manifests) -> RemovalPlan:
    """What goes with each, in order; every file exists, and nothing of it is needed.

    Raises: CorruptFileError: what something else needs cannot be read. A file of those that leave may be missing (an
        earlier run deleted it) or damaged: then what it names stays, and a note says so.
    """
    stored = {status.name: status.size for status in manifests.file_io.list_files(manifests.paths.manifest_folder())}
    survey = _Survey(manifests, needed, frozenset(stored), [])
    stages: dict[str, tuple[int, Stage]] = {}
    with ThreadPoolExecutor(_THREADS) as pool:
        for index, found in enumerate(pool.map(survey.of, leaving)):
            stages |= {path: (index, stage) for path, stage in found}
    names = {_name(path) for path, (_, stage) in stages.items() if stage == Stage.FILES}
    used = needed.data_files(manifests, names)
    stages = {path: place for path, place in stages.items() if _name(path) not in used or place[1] != Stage.FILES}
    deletions: list[list[Deletion]] = [[] for _ in leaving]
    for (path, (index, stage)), size in zip(stages.items(), sizes_of(manifests.file_io, list(stages)), strict=True):
        if size is not None:
            deletions[index].append(Deletion(path, size, stage))
    removals = [
        Removal(part.name, tuple(sorted(found, key=lambda d: d.stage)))
        for part, found in zip(leaving, deletions, strict=True)
    ]
    return RemovalPlan(tuple(removals), tuple(dict.fromkeys(survey.notes)))


@dataclass(frozen=True, slots=True)
class _Survey:
    """Finds what those that leave name. `stored`: names in the manifest folder; `notes`: grows."""

    manifests: Manifests
    needed: Needed
    stored: frozenset[str]
    notes: list[str]

    def of(self, leaving: Leaving) -> list[tuple[str, Stage]]:
        if leaving.is_changelog:
            return [*self._changes(leaving.snapshot), (leaving.record, Stage.RECORD)]
        if leaving.following is None and self.needed.holds(leaving.snapshot):
            return [(leaving.record, Stage.RECORD)]
        found = [(path, Stage.FILES) for path in self._data_files(leaving)]
        found += self._metadata(leaving.snapshot)
        if leaving.following is not None:
            found += self._changelog(leaving.snapshot)
        return [*found, (leaving.record, Stage.RECORD)]

    def _data_files(self, leaving: Leaving) -> Iterator[str]:
        snapshot, following = leaving.snapshot, leaving.following
        if following is None or following.id != snapshot.id + 1:
            # A tag; or a gap, where no delta says what the missing snapshots deleted.
            lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list)
            yield from self._paths(merge_scan(self._entries(*lists)))
        if following is not None:
            deleted = (e for e in self._entries(following.delta_manifest_list) if e.kind == FileKind.DELETE)
            yield from self._paths(deleted)

    def _changes(self, snapshot: Snapshot) -> Iterator[tuple[str, Stage]]:
        if snapshot.changelog_manifest_list is not None:
            yield from self._changelog(snapshot)
            return
        # What the delta added was kept as changes; what it deleted may have been, by an expiry of Java's.
        for path in self._paths(self._entries(snapshot.delta_manifest_list)):
            yield path, Stage.FILES
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            yield from self._list_and_manifests(name)

    def _changelog(self, snapshot: Snapshot) -> Iterator[tuple[str, Stage]]:
        name = snapshot.changelog_manifest_list
        if name is None or name in self.needed.changelogs:
            return
        for path in self._paths(self._entries(name)):
            yield path, Stage.FILES
        yield from self._list_and_manifests(name)

    def _metadata(self, snapshot: Snapshot) -> Iterator[tuple[str, Stage]]:
        paths, needed = self.manifests.paths, self.needed.metadata
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list):
            yield from self._list_and_manifests(name)
        if snapshot.statistics is not None and snapshot.statistics not in needed:
            yield paths.statistics_file(snapshot.statistics), Stage.FILES
        if snapshot.index_manifest is None or snapshot.index_manifest in needed:
            return
        yield paths.manifest(snapshot.index_manifest), Stage.MANIFESTS
        if snapshot.index_manifest in self.stored:
            for entry in self._readable(partial(self.manifests.read_index, snapshot)):
                if entry.file_name not in needed:
                    yield paths.index_file(entry), Stage.FILES

    def _list_and_manifests(self, name: str) -> Iterator[tuple[str, Stage]]:
        needed, path = self.needed.metadata, self.manifests.paths.manifest
        for meta in self._read_list(name):
            if meta.file_name not in needed:
                yield path(meta.file_name), Stage.MANIFESTS
        if name not in needed:
            yield path(name), Stage.LISTS

    def _entries(self, *lists: str) -> Iterator[ManifestEntry]:
        for name in lists:
            for meta in self._read_list(name):
                if meta.file_name in self.stored:
                    yield from self._readable(partial(self.manifests.read, meta.file_name))

    def _read_list(self, name: str) -> list[ManifestFileMeta]:
        return self._readable(partial(self.manifests.read_list, name)) if name in self.stored else []

    def _readable(self, read: Callable[[], list[T]]) -> list[T]:
        try:
            return read()
        except (CorruptFileError, UnsupportedError) as error:
            self.notes.append(f"what it names stays: {error}")
            return []

    def _paths(self, entries: Iterable[ManifestEntry]) -> Iterator[str]:
        for entry in entries:
            yield from self.manifests.paths.all_files_of(entry.partition, entry.bucket, entry.file)


def sizes_of(file_io: FileIO, paths: Sequence[str]) -> list[int | None]:
    """Bytes of each file, None for one that is missing."""
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(file_io.size, paths))


def remove(file_io: FileIO, removals: Iterable[Removal]) -> None:
    """Delete what a plan says, stage by stage; records one by one, in order."""
    deletions = [deletion for removal in removals for deletion in removal.deletions]
    with ThreadPoolExecutor(_THREADS) as pool:
        for stage in (Stage.FILES, Stage.MANIFESTS, Stage.LISTS):
            paths = [deletion.path for deletion in deletions if deletion.stage == stage]
            list(pool.map(file_io.delete_quietly, (paths[i : i + _CHUNK] for i in range(0, len(paths), _CHUNK))))
    file_io.delete_quietly(deletion.path for deletion in deletions if deletion.stage == Stage.RECORD)


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def batch_text(removals: Sequence[Removal]) -> str:
    """A batch in one line, for progress."""
    deletions = [deletion for removal in removals for deletion in removal.deletions]
    names = removals[0].name if len(removals) == 1 else f"{removals[0].name} to {removals[-1].name}"
    return f"{names}: deleting {len(deletions)} files, {sum(deletion.size for deletion in deletions)} bytes"
