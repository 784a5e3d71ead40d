"""The newest earlier state of a damaged table that is whole, for whoever reads that a file is broken.

The files that an error names are taken from its text. States that need one of them are left out; since a file stays in
the table from the snapshot that adds it, the last snapshot before it is found by bisection. That one, and a few before
it, are then examined as `fsck` does: all metadata is read, and every file must be there with its size. The contents of
data files are not read.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import TypeVar

from maintenance.errors import PaimonError
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.schemas import Schemas
from maintenance.metadata.snapshots import Snapshots
from maintenance.metadata.tags import Tags
from maintenance.operations.checks.faults import Faults
from maintenance.operations.checks.fsck_files import FileWalk
from maintenance.operations.checks.fsck_records import SmallFiles, State

# States that are examined whole, at most, of snapshots and of tags.
_EXAMINED = 10
T = TypeVar("T")
_WORD = re.compile(r"[^\s,;:()'\"]+")


@dataclass(frozen=True, slots=True)
class WayBack:
    """A whole state to go back to.

    Attributes:
        snapshot_id: of the state, a tag's if the snapshot itself has expired.
        tags: names of the tags that hold it.
        time_millis: when it was committed, milliseconds since 1970 UTC.
        latest_id: the newest snapshot; all after `snapshot_id` would be given up.
    """

    snapshot_id: int
    tags: tuple[str, ...]
    time_millis: int
    latest_id: int

    @property
    def summary(self) -> str:
        """What it is and how to go back to it in Python, in a sentence or two."""
        return self.told(f"rollback_to(table, snapshot_id={self.snapshot_id})")

    def told(self, way: str) -> str:
        """What it is and how to go back to it. `way`: what does that."""
        at = datetime.fromtimestamp(self.time_millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        tags = f", tag {', '.join(repr(name) for name in self.tags)}" if self.tags else ""
        state = f"Snapshot {self.snapshot_id} ({at}{tags})"
        if self.snapshot_id == self.latest_id:
            return f"{state}, the newest one, is complete without this file: the table itself can be used."
        given_up = f"snapshots {self.snapshot_id + 1} to {self.latest_id}"
        if self.latest_id == self.snapshot_id + 1:
            given_up = f"snapshot {self.latest_id}"
        return f"{state} is complete without this file: {way} goes back to it and gives up {given_up}."


def way_back(file_io: FileIO, location: str, error: PaimonError, *, branch: str = MAIN_BRANCH) -> WayBack | None:
    """The newest whole state of a table that needs none of the files that an error names; None if there is none.

    Args: `location`: the table's root.
    """
    table = _Damaged(file_io, location.rstrip("/"), branch, _names_in(f"{error.found} {error.where}"))
    latest = table.snapshots.latest_id()
    if latest is None:
        return None
    # An error may also name a file that the newest state no longer needs, such as one whose deletion vector is left.
    needed = table.needed_by(latest)
    if not table.broken.isdisjoint(needed):
        table = replace(table, broken=table.broken & needed)
    newest_whole = next((state for state in table.candidates() if table.is_whole(state)), None)
    if newest_whole is None:
        return None
    tags = tuple(name for name, snapshot in table.tags.items() if snapshot.id == newest_whole.id)
    return WayBack(newest_whole.id, tags, newest_whole.time_millis, max(latest, newest_whole.id))


def _names_in(text: str) -> frozenset[str]:
    """Names of files in a text: the last parts of its paths."""
    return frozenset(word.rstrip(".").rpartition("/")[2] for word in _WORD.findall(text))


@dataclass(frozen=True)
class _Damaged:
    """A table with files that are broken. `broken`: their names."""

    file_io: FileIO
    root: str
    branch: str
    broken: frozenset[str]

    @cached_property
    def schemas(self) -> dict[int, TableSchema]:
        schemas = Schemas(self.file_io, replace(TablePaths(self.root), branch=self.branch).schema_folder())
        readable = {number: _quietly(partial(schemas.get, number)) for number in schemas.list_ids()}
        return {number: schema for number, schema in readable.items() if schema is not None}

    @cached_property
    def paths(self) -> TablePaths:
        if not self.schemas:
            return replace(TablePaths(self.root), branch=self.branch)
        newest = self.schemas[max(self.schemas)]
        return replace(TablePaths.of(self.root, newest, newest.model), branch=self.branch)

    @cached_property
    def snapshots(self) -> Snapshots:
        return Snapshots(self.file_io, replace(TablePaths(self.root), branch=self.branch))

    @cached_property
    def tags(self) -> dict[str, Snapshot]:
        """Snapshots of the tags that can be read, newest first."""
        tags = Tags(self.file_io, self.paths)
        read = {name: _quietly(partial(tags.get, name)) for name in tags.names()}
        held = {name: tag.snapshot for name, tag in read.items() if tag is not None}
        return dict(sorted(held.items(), key=lambda item: -item[1].id))

    def candidates(self) -> Iterator[Snapshot]:
        """Snapshots and states of tags that may be whole, newest first."""
        ids = self.snapshots.list_ids()
        # The first `low` snapshots do not need a broken file, as far as is known; those from `high` on do.
        low, high = 0, len(ids)
        if ids and not self._needs_broken(ids[-1]):
            low = high
        while low < high:
            middle = (low + high) // 2
            if self._needs_broken(ids[middle]):
                high = middle
            else:
                low = middle + 1
        recent = [self._snapshot(number) for number in reversed(ids[max(0, low - _EXAMINED) : low])]
        tagged = [snapshot for snapshot in self.tags.values() if snapshot.id not in ids]
        snapshots = [*filter(None, recent), *tagged[:_EXAMINED]]
        yield from sorted(snapshots, key=lambda snapshot: -snapshot.id)

    def is_whole(self, snapshot: Snapshot) -> bool:
        """Whether all that a state needs is there and none of it is broken."""
        faults = Faults()
        walk = FileWalk(self.file_io, self.paths, SmallFiles({self.branch: self.schemas}, ()), faults)
        state = State(f"snapshot {snapshot.id}", self.branch, self.paths.snapshot(snapshot.id), snapshot)
        faults.attempt(state.path, state.name, lambda: walk.examine(state))
        return snapshot.schema_id in self.schemas and not faults.recorded and not self._has_broken(snapshot)

    def _needs_broken(self, snapshot_id: int) -> bool:
        """Whether a snapshot needs a broken file, or cannot be read at all."""
        snapshot = self._snapshot(snapshot_id)
        return snapshot is None or f"snapshot-{snapshot_id}" in self.broken or self._has_broken(snapshot)

    def _has_broken(self, snapshot: Snapshot) -> bool:
        needed = self._needed(snapshot)
        return needed is None or not needed.isdisjoint(self.broken)

    def needed_by(self, snapshot_id: int) -> frozenset[str]:
        """Names of the files that a snapshot needs, as far as it can be read."""
        snapshot = self._snapshot(snapshot_id)
        return frozenset(() if snapshot is None else self._needed(snapshot) or ())

    def _needed(self, snapshot: Snapshot) -> set[str] | None:
        return _quietly(lambda: set(_needed(Manifests(self.file_io, self.paths), snapshot)))

    def _snapshot(self, snapshot_id: int) -> Snapshot | None:
        snapshot = _quietly(lambda: self.snapshots.get(snapshot_id))
        return snapshot if snapshot is not None and snapshot.id == snapshot_id else None


def _needed(manifests: Manifests, snapshot: Snapshot) -> Iterator[str]:
    """Names of the files that a state needs."""
    yield from filter(
        None, (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.index_manifest, snapshot.statistics)
    )
    for manifest in manifests.data_manifests(snapshot):
        yield manifest.file_name
    for entry in manifests.live_entries(snapshot):
        yield from (entry.file.file_name, *entry.file.extra_files)
    for index in manifests.read_index(snapshot):
        yield index.file_name


def _quietly(read: Callable[[], T]) -> T | None:
    """What can be read of a damaged table; None if it cannot."""
    return Faults().attempt("", "", read)
