"""What must stay on storage: all that a snapshot, a tag or a long-lived changelog of any branch still needs.

Snapshots of a branch count from its earliest on: snapshots below the EARLIEST hint were given up by an expiry
that did not end, and may lack files. As long as all their files are there they count too, since the hint may be wrong.
Data files are looked for by name: names are unique in a table, and a file that anything with its name holds must stay.
Each manifest is read once, however many snapshots and tags share it. A long-lived changelog holds changes, not a state:
its changelog files, or its delta where there is no changelog producer. Nobody reads that of a compaction.
Source: metadata sections 8.1, 10.1, 10.2; stricter than Java, which asks only the neighbouring tags of the main branch.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from maintenance.errors import RESTORE, CorruptFileError
from maintenance.format.bytes.text_hash import text_hashes
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.index_manifest import DeletionVectorRange, IndexManifestEntry
from maintenance.format.metadata.manifest import EntrySelection, FileKind, ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.metadata.tag import Tag
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.branches import Branches
from maintenance.metadata.completeness import check_vectors, is_untouched
from maintenance.metadata.each_read import each_read
from maintenance.metadata.hints import EARLIEST
from maintenance.metadata.identity import check_size
from maintenance.metadata.manifests import Manifests, merge_scan
from maintenance.metadata.shares import MANIFEST_BYTES, STATES, Sharing, in_one_batch
from maintenance.metadata.snapshots import Snapshots
from maintenance.metadata.tags import TagRead
from maintenance.threads import map_in_threads
from maintenance.types.integer_order import are_among, distinct_integers

READERS = 8
StateKey = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Holder:
    """A state, or changes, that must stay readable.

    Attributes:
        name: for messages, such as ``tag 'a' of branch b``.
        branch: that it is of.
        is_changelog: only changes are held; `delta`: those of the delta, as there is no changelog producer.
    """

    name: str
    snapshot: Snapshot
    is_tag: bool
    branch: str = MAIN_BRANCH
    is_changelog: bool = False
    delta: bool = False

    def manifests(self, manifests: Manifests) -> Manifests:
        """To read what it needs. `manifests`: of any branch of the table."""
        return replace(manifests, paths=replace(manifests.paths, branch=self.branch))


@dataclass(frozen=True, slots=True)
class HeldState:
    """A state that a holder needs. `manifests`: of its base list, then of its delta list; `index`: all index files."""

    holder: Holder
    manifests: tuple[ManifestFileMeta, ...]
    index: tuple[IndexManifestEntry, ...] = ()

    @property
    def names(self) -> Iterator[str]:
        """Names of its metadata and index files."""
        snapshot = self.holder.snapshot
        yield from (snapshot.base_manifest_list, snapshot.delta_manifest_list)
        yield from (meta.file_name for meta in self.manifests)
        if snapshot.index_manifest is not None:
            yield snapshot.index_manifest
            yield from (entry.file_name for entry in self.index)


@dataclass(frozen=True, slots=True)
class Needed:
    """What a set of holders needs.

    Attributes:
        metadata: names of manifest lists, manifests, index manifests, index files and statistics.
        changelogs: names of the changelog lists of snapshots and changelogs; a tag does not hold its changelog.
        states: the distinct states.
        deltas: the deltas that are held as changes, not of compactions; needed is what they add, and what they delete
            unless a compaction had written it.
    """

    metadata: frozenset[str]
    changelogs: frozenset[str]
    states: tuple[HeldState, ...]
    deltas: tuple[HeldState, ...] = ()

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether a holder is this very state: then it needs all that the snapshot needs."""
        return {snapshot.base_manifest_list, snapshot.delta_manifest_list} <= self.metadata

    def data_files(
        self, manifests: Manifests, candidates: Collection[str], sharing: Sharing = in_one_batch
    ) -> set[str]:
        """Names among the candidates, and of the files beside them, that belong to a file that a holder needs.

        Raises: CorruptFileError: a manifest cannot be read, or is not what its list says; a deletion vector is of a
            file that does not live. The message names the holder. ExpiredError: the holder is gone by now.
        """
        if not candidates:
            return set()
        names = {*candidates, *(part.data_file_name for state in self.states for part in _vectors(state))}
        entries = self._entries(manifests, names, sharing)
        used: set[str] = set()
        before: tuple[str, ...] | None = None
        live: list[ManifestEntry] = []
        for state in self.states:
            # Most states differ from the one before in manifests alone that have nothing of these files.
            naming = tuple(meta.file_name for meta in state.manifests if meta.file_name in entries)
            if naming != before:
                before, live = naming, merge_scan(entry for name in naming for entry in entries[name])
                for entry in live:
                    used.update((entry.file.file_name, *entry.file.extra_files))
            _check_vectors(state, live, manifests)
        for delta in self.deltas:
            for entry in (e for meta in delta.manifests for e in entries.get(meta.file_name, ())):
                # Java's streams take back what an overwrite replaced, as long as they find it.
                if entry.kind == FileKind.ADD or entry.file.file_source != FileSource.COMPACT:
                    used.update((entry.file.file_name, *entry.file.extra_files))
        return used & set(candidates)

    def _entries(
        self, manifests: Manifests, names: Collection[str], sharing: Sharing
    ) -> dict[str, list[ManifestEntry]]:
        """Of each manifest the entries of those files, where it has any."""
        metas = {m.file_name: (m, state.holder) for state in (*self.states, *self.deltas) for m in state.manifests}
        # Hashes of the names are what a task is given: a share of the names themselves would be far larger.
        wanted = distinct_integers(text_hashes(pa.array(list(names), pa.string())))
        sizes = [meta.file_size for meta, _ in metas.values()]
        done = sharing(partial(_entries_of, manifests, wanted), list(metas.values()), MANIFEST_BYTES, sizes)
        read = zip(metas, chain.from_iterable(done), strict=True)
        found = ((name, [entry for entry in kept if entry.file.file_name in names]) for name, kept in read)
        return {name: kept for name, kept in found if kept}


def _entries_of(
    manifests: Manifests, wanted: npt.NDArray[np.uint64], metas: Sequence[tuple[ManifestFileMeta, Holder]]
) -> list[list[ManifestEntry]]:
    """Of each manifest the entries whose names have one of these hashes. Runs in this process or in a task."""
    selection = EntrySelection(names=lambda names: are_among(text_hashes(names), wanted))

    def found(item: tuple[ManifestFileMeta, Holder]) -> list[ManifestEntry]:
        meta, holder = item
        with naming_holder(holder, manifests):
            return manifests.read_manifest(meta, selection)

    return map_in_threads(found, metas, READERS)


def counting_ids(snapshots: Snapshots, manifests: Manifests) -> list[int]:
    """Ids of the snapshots that count, ascending: from the earliest on, or all where nothing is gone of any below it.

    Raises: CorruptFileError: the file of a snapshot below the earliest is damaged, or holds another snapshot.
    """
    # One listing does: what comes between it and the hint is for whoever looks again.
    ids, hint = snapshots.list_ids(), snapshots.read_hint(EARLIEST)
    if not ids:
        return []
    earliest = hint if hint in ids else ids[0]
    below = [snapshots.find(i) for i in ids if i < earliest]
    own = replace(manifests, paths=snapshots.paths)
    untouched = all(snapshot is not None and is_untouched(own, snapshot) for snapshot in below)
    return [i for i in ids if untouched or i >= earliest]


@dataclass(frozen=True, slots=True)
class History:
    """The snapshots, tags and changelogs of all branches, each file read when it is first asked for, and once.

    It is what several plans of one operation look at; who plans again reads another one. `states`: as `needed_by` reads
    them, by what makes them the same.
    """

    branches: Branches
    manifests: Manifests
    states: "dict[StateKey, HeldState]" = field(default_factory=dict)
    _snapshots: dict[str, dict[int, Snapshot]] = field(default_factory=dict)
    _tags: dict[str, Mapping[str, Tag]] = field(default_factory=dict)
    _changelogs: dict[str, dict[int, Snapshot]] = field(default_factory=dict)

    @classmethod
    def beside(cls, census: "HolderCensus", branches: Branches, manifests: Manifests) -> "History":
        """With the tags of a census. Whoever deletes by it looks before whether that is still the census."""
        tags: dict[str, Mapping[str, Tag]] = {
            branch: {name: each.tag for name, each in read.items()} for branch, read in census.read.items()
        }
        return cls(branches, manifests, _tags=tags)

    def snapshots(self, branch: str, first: int = 0) -> dict[int, Snapshot]:
        """Those that count, from an id on, ascending. One that vanished meanwhile was given up by an expiry."""
        if branch not in self._snapshots:
            snapshots = self.branches.snapshots(branch)
            ids = [i for i in counting_ids(snapshots, self.manifests) if i >= first]
            found = snapshots.find_many(ids)
            if first:
                return found
            self._snapshots[branch] = found
        return {i: snapshot for i, snapshot in self._snapshots[branch].items() if i >= first}

    def tags(self, branch: str) -> Mapping[str, Tag]:
        """By name."""
        if branch not in self._tags:
            self._tags[branch] = self.branches.tags(branch).all()
        return self._tags[branch]

    def changelogs(self, branch: str) -> Mapping[int, Snapshot]:
        """By id, ascending."""
        if branch not in self._changelogs:
            self._changelogs[branch] = {each.id: each for each in self.branches.changelogs(branch).all()}
        return self._changelogs[branch]


@dataclass(frozen=True, slots=True)
class HolderCensus:
    """Who held what at one moment. A plan of deletions counts only while the census is the one it was made at.

    A tag that appears, or is moved to another snapshot, needs files that the plan deletes. A tag or snapshot that goes
    leaves files to whoever deletes last: two removals that each count on the other would leave them to nobody.

    Attributes:
        tags: the snapshot of each tag, by branch and name.
        earliest: id of each branch's earliest snapshot.
        read: the tags as they were read, by branch and name.
    """

    tags: Mapping[str, Mapping[str, Snapshot]]
    earliest: Mapping[str, int | None]
    read: Mapping[str, Mapping[str, TagRead]] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, branches: Branches, before: "HolderCensus | None" = None) -> "HolderCensus":
        """The census now. `before`: an earlier one; tags whose files are the same are not read again."""
        names, known = branches.names(), {} if before is None else before.read
        read = map_in_threads(lambda name: branches.tags(name).read(known.get(name, {})), names, READERS)
        earliest = map_in_threads(lambda name: branches.snapshots(name).earliest_id(), names, READERS)
        held = [{name: each.tag.snapshot for name, each in of_branch.items()} for of_branch in read]
        tags, first = dict(zip(names, held, strict=True)), dict(zip(names, earliest, strict=True))
        return cls(tags, first, dict(zip(names, read, strict=True)))

    def without_tags(self, branch: str, names: Collection[str]) -> "HolderCensus":
        """The same without some tags of a branch."""
        remaining = {name: snapshot for name, snapshot in self.tags[branch].items() if name not in names}
        return replace(self, tags={**self.tags, branch: remaining})

    def without_earliest(self, branch: str) -> "HolderCensus":
        """The same without a branch's earliest snapshot."""
        return replace(self, earliest={**self.earliest, branch: None})


def holders_of(
    history: History,
    branch: str,
    *,
    first_snapshot: int | None = None,
    without_tags: Collection[str] = (),
    without_changelogs: Collection[int] = (),
    to_changelogs: Sequence[Snapshot] = (),
    branch_names: Sequence[str] | None = None,
) -> list[Holder]:
    """All snapshots, tags and long-lived changelogs, except those that are to go.

    Args: `branch`: the one that is worked on; `first_snapshot`: its first snapshot to stay, None = all that count;
        `without_tags`, `without_changelogs`: its tags and changelogs that go; `to_changelogs`: its snapshots that are
        to become changelogs; `branch_names`: None = they are listed.
    """
    holders = []
    for name in history.branches.names() if branch_names is None else branch_names:
        where = "" if name == MAIN_BRANCH else f" of branch {name}"
        first = first_snapshot if name == branch and first_snapshot is not None else 0
        read = history.snapshots(name, first).values()
        holders += [Holder(f"snapshot {s.id}{where}", s, False, name) for s in read]
        for tag_name, tag in history.tags(name).items():
            if name != branch or tag_name not in without_tags:
                holders.append(Holder(f"tag '{tag_name}'{where}", tag.snapshot, True, name))
        changes = dict(history.changelogs(name))
        if name == branch:
            changes |= {snapshot.id: snapshot for snapshot in to_changelogs}
            changes = {i: changelog for i, changelog in changes.items() if i not in without_changelogs}
        if changes:
            delta = history.branches.options(name).changelog_producer == "none"
            holders += [
                Holder(f"changelog {i}{where}", changelog, False, name, is_changelog=True, delta=delta)
                for i, changelog in changes.items()
            ]
    return holders


def needed_by(
    holders: Sequence[Holder],
    manifests: Manifests,
    sharing: Sharing = in_one_batch,
    known: "dict[StateKey, HeldState] | None" = None,
) -> Needed:
    """What these holders need. `known`: states that were read already; those that are read are added.

    Raises: CorruptFileError: a file that one of them needs is missing or damaged; the message names the holder.
        ExpiredError: the holder is gone by now.
    """
    distinct = {state_key(h.snapshot): h for h in holders if not h.is_changelog}
    known = {} if known is None else known
    unknown = {key: holder for key, holder in distinct.items() if key not in known}
    read = chain.from_iterable(sharing(partial(_states_of, manifests), list(unknown.values()), STATES))
    metas = {meta.file_name: meta for state in known.values() for meta in state.manifests}
    known.update(zip(unknown, (_shared(state, metas) for state in read), strict=True))
    # Of several holders of a state any may be named, but one that is still there.
    states = [
        state if state.holder is holder else replace(state, holder=holder)
        for state, holder in ((known[key], holder) for key, holder in distinct.items())
    ]
    folder = manifests.paths.manifest_folder()
    stored = {status.name: status.size for status in manifests.file_io.list_files(folder)}
    for state in states:
        _check_stored(state, stored, manifests)
    changelogs = (h.snapshot.changelog_manifest_list for h in holders if not h.is_tag)
    deltas = [
        _delta_of(holder, manifests, stored)
        for holder in {h.snapshot.delta_manifest_list: h for h in holders if _holds_delta(h)}.values()
        if holder.snapshot.delta_manifest_list in stored
    ]
    statistics = (h.snapshot.statistics for h in holders if not h.is_changelog)
    metadata = {name for state in states for name in state.names}
    metadata |= {name for name in statistics if name is not None}
    metadata |= {delta.holder.snapshot.delta_manifest_list for delta in deltas}
    metadata |= {meta.file_name for delta in deltas for meta in delta.manifests}
    changes = tuple(delta for delta in deltas if delta.holder.snapshot.commit_kind != CommitKind.COMPACT)
    return Needed(frozenset(metadata), frozenset(n for n in changelogs if n is not None), tuple(states), changes)


def _shared(state: HeldState, metas: dict[str, ManifestFileMeta]) -> HeldState:
    """The state with what is `metas` of its manifests: many states name the same ones, and they are kept once."""
    same = (metas.setdefault(meta.file_name, meta) for meta in state.manifests)
    return replace(state, manifests=tuple(k if k == m else m for k, m in zip(same, state.manifests, strict=True)))


def _check_stored(state: HeldState, stored: Mapping[str, int], manifests: Manifests) -> None:
    """Whether the manifests of a state are there, with the sizes that its lists say. Raises: CorruptFileError."""
    with naming_holder(state.holder, manifests):
        for meta in state.manifests:
            path = manifests.paths.manifest(meta.file_name)
            size = stored.get(meta.file_name)
            if size is None:
                raise CorruptFileError("a manifest is missing", path, RESTORE)
            check_size(meta.file_size, size, path)


def _vectors(state: HeldState) -> Iterator[DeletionVectorRange]:
    for entry in state.index:
        yield from entry.dv_ranges or ()


def _check_vectors(state: HeldState, live: Sequence[ManifestEntry], manifests: Manifests) -> None:
    """As `check_vectors`; the message names the holder."""
    with naming_holder(state.holder, manifests):
        check_vectors(state.holder.manifests(manifests), state.holder.snapshot, state.index, live)


def _holds_delta(holder: Holder) -> bool:
    return holder.delta and holder.snapshot.changelog_manifest_list is None


def _delta_of(holder: Holder, manifests: Manifests, stored: Collection[str]) -> HeldState:
    with naming_holder(holder, manifests):
        metas = holder.manifests(manifests).delta_manifests(holder.snapshot)
    return HeldState(holder, tuple(meta for meta in metas if meta.file_name in stored))


def state_key(snapshot: Snapshot) -> StateKey:
    return snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.index_manifest


def _states_of(manifests: Manifests, holders: Sequence[Holder]) -> list[HeldState]:
    """The state of each. Runs in this process or in a task."""
    # Most states name manifests that others name, too: each is kept once, from the beginning.
    metas: dict[str, ManifestFileMeta] = {}
    folder = manifests.paths.manifest_folder()
    return each_read(lambda holder: _shared(_state_of(holder, manifests), metas), holders, folder)


def _state_of(holder: Holder, manifests: Manifests) -> HeldState:
    of_branch = holder.manifests(manifests)
    with naming_holder(holder, manifests):
        metas = of_branch.data_manifests(holder.snapshot)
        return HeldState(holder, tuple(metas), tuple(of_branch.read_index(holder.snapshot)))


@contextmanager
def naming_holder(holder: Holder, manifests: Manifests) -> Iterator[None]:
    """Errors inside name the holder, or are `ExpiredError` if it is gone by then."""
    try:
        with holder.manifests(manifests).reading(holder.snapshot, changes=holder.is_changelog):
            yield
    except CorruptFileError as error:
        raise CorruptFileError(
            f"{holder.name} cannot be read completely, so nothing is deleted: {error.found}",
            error.where,
            "If another program's expiry died, let it finish; else restore the file, delete the tag, or roll back.",
        ) from error
