"""The files of a table that are outside its folder, as all its metadata names them: they go when it is dropped."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from maintenance.errors import InfrastructureError, PaimonError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branches import Branches
from maintenance.metadata.external_folders import roots_ever
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.paths import TablePaths

_LOG = logging.getLogger(__name__)


def external_files(file_io: FileIO, location: str) -> list[str]:
    """Paths of the external files that snapshots, tags and changelogs of any branch add or delete.

    Metadata that is missing or damaged names nothing, with a warning in the log: its files stay.
    Raises: StorageError: storage does not answer.
    """
    paths = TablePaths(location.rstrip("/"))
    branches = Branches(file_io, paths)
    roots: tuple[str, ...] = ("any",)
    with _passing_over():
        roots = roots_ever(branches)
    if not roots:
        return []
    search = _Search(Manifests(file_io, paths))
    for snapshot in _snapshots(branches):
        search.add(snapshot)
    return list(search.found)


@contextmanager
def _passing_over() -> Iterator[None]:
    try:
        yield
    except InfrastructureError:
        raise
    except (PaimonError, FileNotFoundError) as error:
        _LOG.warning("external files of a dropped table that only this names stay: %s", error)


def _snapshots(branches: Branches) -> Iterator[Snapshot]:
    """All that name files, those of removals that did not end among them."""
    for branch in branches.names():
        snapshots, tags = branches.snapshots(branch), branches.tags(branch)
        for number in snapshots.list_ids():
            with _passing_over():
                snapshot = snapshots.find(number)
                yield from [] if snapshot is None else [snapshot]
        with _passing_over():
            yield from snapshots.retired().values()
        with _passing_over():
            yield from (tag.snapshot for tag in (*tags.all().values(), *tags.retired().values()))
        with _passing_over():
            yield from branches.changelogs(branch).all()


@dataclass(frozen=True, slots=True)
class _Search:
    """`found`: paths; `seen`: names of the metadata that was read."""

    manifests: Manifests
    found: dict[str, None] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def add(self, snapshot: Snapshot) -> None:
        """What a snapshot names."""
        for name in (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list):
            if name is not None and self._is_new(name):
                with _passing_over():
                    self._add_list(name)
        index = snapshot.index_manifest
        if index is not None and self._is_new(index):
            with _passing_over():
                parts = self.manifests.read_index_manifest(index)
                self.found.update((part.external_path, None) for part in parts if part.external_path is not None)

    def _add_list(self, name: str) -> None:
        for meta in self.manifests.read_list(name):
            if self._is_new(meta.file_name):
                with _passing_over():
                    self._add_manifest(meta.file_name)

    def _add_manifest(self, name: str) -> None:
        for entry in self.manifests.read(name):
            if entry.file.external_path is not None:
                files = self.manifests.paths.all_files_of(entry.partition, entry.bucket, entry.file)
                self.found.update(dict.fromkeys(files))

    def _is_new(self, name: str) -> bool:
        if name in self.seen:
            return False
        self.seen.add(name)
        return True
