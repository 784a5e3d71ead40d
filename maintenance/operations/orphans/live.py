"""Which candidates are live: whatever a snapshot, tag, long-lived changelog or unfinished removal of any branch names.

Both what manifests add and what they delete counts, as in Java. Unlike in Java, metadata that a snapshot or tag needs
must be there: if it is missing, either the snapshot is gone by now and all are looked at again, or the table is damaged
and nothing may be deleted. Each list and manifest is read once. No set of live names is ever built: each manifest's
names are looked up among the candidates and dropped.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import ConflictError, CorruptFileError, ExpiredError
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.metadata.branches import Branches
from maintenance.metadata.holders import Holder, naming_holder
from maintenance.metadata.manifests import Manifests
from maintenance.operations.orphans.candidates import Candidates
from maintenance.operations.orphans.sources import Key, Source, lists_of, sources_of
from maintenance.spark.sharing import SparkSharing
from maintenance.spark.tasks import all_done, run_tasks

T = TypeVar("T")

_ATTEMPTS = 10
# From the third time on, only snapshots that vanish are a reason to look again, and not those that come.
_PATIENT = 2
# So many bytes of manifests are worth Spark's tasks.
_LARGE = 256 << 20
_MANIFESTS_OF_A_TASK = 16
_TASKS_AT_ONCE = 256


@dataclass(slots=True)
class LiveFiles:
    """Marks the candidates that are live.

    Attributes:
        manifests: of any branch of the table.
        sharing: of large manifests, and of small ones if `parallelism` is given: the most tasks that share them.
        never_committed: a table without any snapshot is allowed; all its files are orphans then.
        started_over: how often, because snapshots or tags vanished.
        sources: what named files at the last look.
    """

    manifests: Manifests
    candidates: Candidates
    sharing: SparkSharing
    parallelism: int | None = None
    never_committed: bool = False
    started_over: int = 0
    sources: dict[Key, Source] = field(default_factory=dict)
    _read: set[str] = field(default_factory=set)
    _marked: set[Key] = field(default_factory=set)
    _with_schema: set[str] = field(default_factory=set)

    def look(self) -> None:
        """Mark what is live by now.

        Raises: CorruptFileError: metadata that something needs is missing or damaged; NotFoundError: nothing was ever
            committed; ConflictError: snapshots vanish faster than they can be read.
        """
        seen = self.sources or self._now()
        for attempt in range(_ATTEMPTS):
            try:
                self._mark(seen)
            except ExpiredError:
                self.started_over += 1
                seen = self._now()
                continue
            now = self._now()
            gone = any(source.holds for key, source in seen.items() if key not in now)
            came = now.keys() - seen.keys()
            seen = now
            self.started_over += gone
            if not gone and (not came or attempt >= _PATIENT):
                self._mark(now)
                self.sources = now
                return
        raise ConflictError(
            f"snapshots or tags vanished in each of {_ATTEMPTS} attempts to find the files that they need",
            self.manifests.paths.root,
            "Nothing more was deleted. Run again when the expiry has ended.",
        )

    def _now(self) -> dict[Key, Source]:
        branches = Branches(self.manifests.file_io, self.manifests.paths)
        return sources_of(branches, self.manifests, never_committed=self.never_committed, checked=self._with_schema)

    def _mark(self, sources: dict[Key, Source]) -> None:
        """Mark what these name, as far as it was not read before."""
        metas: dict[str, _Named] = {}
        for source in (source for key, source in sources.items() if key not in self._marked):
            for named in self._metadata_of(source):
                # One that must be there goes before one that may be missing.
                if named.meta.file_name not in self._read and (named.holder or named.meta.file_name not in metas):
                    metas[named.meta.file_name] = named
        size = sum(named.meta.file_size for named in metas.values())
        enough = self.parallelism is not None or size > _LARGE
        for payloads in self._payloads(list(metas.values())):
            where = self.sharing.session_for(len(payloads), f"{size} bytes of manifests", enough=enough)
            for names in all_done(run_tasks(where, _names_of, payloads), self.manifests.paths.root):
                self.candidates.mark(names)
        self._read |= metas.keys()
        self._marked |= sources.keys()

    def _payloads(self, named: Sequence["_Named"]) -> "list[list[_Reading]]":
        size = _MANIFESTS_OF_A_TASK
        if self.parallelism is not None:
            size = max(1, -(-len(named) // self.parallelism))
        parts = [_Reading(self.manifests, tuple(named[at : at + size])) for at in range(0, len(named), size)]
        return [parts[at : at + _TASKS_AT_ONCE] for at in range(0, len(parts), _TASKS_AT_ONCE)]

    def _metadata_of(self, source: Source) -> "list[_Named]":
        """Mark a source's lists, manifests, index files and statistics; returns the manifests."""
        snapshot, own = source.holder.snapshot, source.holder.manifests(self.manifests)
        sizes = {
            snapshot.base_manifest_list: snapshot.base_manifest_list_size,
            snapshot.delta_manifest_list: snapshot.delta_manifest_list_size,
            snapshot.changelog_manifest_list: snapshot.changelog_manifest_list_size,
        }
        named: list[_Named] = []
        for name in lists_of(snapshot):
            holder = source.holder if name in source.needed else None
            metas = _read(own, holder, name, lambda n=name: own.read_list(n, sizes[n]))  # type: ignore[misc]
            named += [_Named(meta, holder) for meta in metas]
        names = [*lists_of(snapshot), *(one.meta.file_name for one in named)]
        index = snapshot.index_manifest
        if index is not None:
            holder = source.holder if source.is_state else None
            names += [index, *(e.file_name for e in _read(own, holder, index, lambda: own.read_index_manifest(index)))]
        names += [] if snapshot.statistics is None else [snapshot.statistics]
        self.candidates.mark(_texts(names))
        return named


@dataclass(frozen=True, slots=True)
class _Named:
    """A manifest. `holder`: what needs it; None: it may be missing."""

    meta: ManifestFileMeta
    holder: Holder | None


@dataclass(frozen=True, slots=True)
class _Reading:
    """Manifests for one task."""

    manifests: Manifests
    named: tuple[_Named, ...]


def _names_of(reading: _Reading) -> pa.Array:
    """The names of all files in some manifests. Runs in a task."""
    own = reading.manifests
    found = [
        _read(own, one.holder, one.meta.file_name, lambda m=one.meta: own.file_names(m))  # type: ignore[misc]
        for one in reading.named
    ]
    return pc.unique(pa.concat_arrays([_texts(names) if isinstance(names, list) else names for names in found]))


def _read(own: Manifests, holder: Holder | None, name: str, read: Callable[[], T]) -> "T | list[Any]":
    """What a file holds. If no holder needs it and it is missing: nothing. Raises: CorruptFileError, ExpiredError."""
    if holder is not None:
        with naming_holder(holder, own):
            return read()
    try:
        return read()
    except CorruptFileError:
        if own.file_io.exists(own.paths.manifest(name)):
            raise
        return []


def _texts(names: Sequence[str]) -> pa.Array:
    return pa.array(names, pa.string())
