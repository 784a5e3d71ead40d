"""What must stay on storage: all that a snapshot, a tag or a long-lived changelog of any branch still needs.

Snapshots of a branch count from its earliest on: what lies below the EARLIEST hint was given up by an expiry that did
not end, and may lack files. Data files are looked for by name: names are unique in a table, and a file that anything
with its name holds must stay. Each manifest is read once, however many snapshots and tags share it. A long-lived
changelog holds changes, not a state: its changelog files, or what its delta added where there is no changelog producer.
Source: metadata sections 8.1, 10.1, 10.2; stricter than Java, which asks only the neighbouring tags of the main branch.
"""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from maintenance.errors import CorruptFileError
from maintenance.format.manifest import FileKind, ManifestEntry
from maintenance.format.snapshot import Snapshot
from maintenance.metadata.branches import Branches
from maintenance.metadata.manifests import Manifests, merge_scan
from maintenance.metadata.paths import MAIN_BRANCH
from maintenance.metadata.snapshots import Snapshots
from maintenance.options import table as table_options

READERS = 8


@dataclass(frozen=True, slots=True)
class Holder:
    """A state, or changes, that must stay readable.

    Attributes:
        name: for messages, such as ``tag 'a' of branch b``.
        is_changelog: only changes are held; `delta`: those of the delta, as there is no changelog producer.
    """

    name: str
    snapshot: Snapshot
    is_tag: bool
    is_changelog: bool = False
    delta: bool = False


@dataclass(frozen=True, slots=True)
class Needed:
    """What a set of holders needs.

    Attributes:
        metadata: names of manifest lists, manifests, index manifests, index files and statistics.
        changelogs: names of the changelog lists of snapshots and changelogs; a tag does not hold its changelog.
        states: the manifests of each distinct state, base list before delta list.
        deltas: manifests of the deltas that are held as changes; what they add is needed.
    """

    metadata: frozenset[str]
    changelogs: frozenset[str]
    states: tuple[tuple[str, ...], ...]
    deltas: tuple[str, ...] = ()

    def holds(self, snapshot: Snapshot) -> bool:
        """Whether a holder is this very state: then it needs all that the snapshot needs."""
        return {snapshot.base_manifest_list, snapshot.delta_manifest_list} <= self.metadata

    def data_files(self, manifests: Manifests, candidates: Collection[str]) -> set[str]:
        """Names among the candidates, and of the files beside them, that belong to a file that a holder needs.

        Raises: CorruptFileError: a manifest cannot be read.
        """
        if not candidates:
            return set()

        def found(name: str) -> list[ManifestEntry]:
            return [entry for entry in manifests.read(name) if entry.file.file_name in candidates]

        names = list(dict.fromkeys((*(name for state in self.states for name in state), *self.deltas)))
        with ThreadPoolExecutor(READERS) as pool:
            entries = {name: kept for name, kept in zip(names, pool.map(found, names), strict=True) if kept}
        used: set[str] = set()
        for state in self.states:
            for entry in merge_scan(e for name in state for e in entries.get(name, ())):
                used.update((entry.file.file_name, *entry.file.extra_files))
        for name in self.deltas:
            for entry in entries.get(name, ()):
                if entry.kind == FileKind.ADD:
                    used.update((entry.file.file_name, *entry.file.extra_files))
        return used


def counting_ids(snapshots: Snapshots) -> list[int]:
    """Ids of the snapshots from the earliest on, ascending."""
    earliest = snapshots.earliest_id()
    return [i for i in snapshots.list_ids() if earliest is not None and i >= earliest]


@dataclass(frozen=True, slots=True)
class Census:
    """Who held what at one moment. A plan of deletions counts only while the census is the one it was made at.

    A tag that appears, or is moved to another snapshot, needs files that the plan deletes. A tag or snapshot that goes
    leaves files to whoever deletes last: two removals that each count on the other would leave them to nobody.

    Attributes:
        tags: the snapshot of each tag, by branch and name.
        earliest: id of each branch's earliest snapshot.
    """

    tags: Mapping[str, Mapping[str, Snapshot]]
    earliest: Mapping[str, int | None]

    @classmethod
    def of(cls, branches: Branches) -> "Census":
        """The census now."""
        names = branches.names()
        with ThreadPoolExecutor(READERS) as pool:
            tags = list(pool.map(lambda name: branches.tags(name).all(), names))
            earliest = list(pool.map(lambda name: branches.snapshots(name).earliest_id(), names))
        held = [{name: tag.snapshot for name, tag in found.items()} for found in tags]
        return cls(dict(zip(names, held, strict=True)), dict(zip(names, earliest, strict=True)))

    def without_tags(self, branch: str, names: Collection[str]) -> "Census":
        """The same without some tags of a branch."""
        left = {name: snapshot for name, snapshot in self.tags[branch].items() if name not in names}
        return replace(self, tags={**self.tags, branch: left})

    def without_earliest(self, branch: str) -> "Census":
        """The same without a branch's earliest snapshot."""
        return replace(self, earliest={**self.earliest, branch: None})


def holders_of(
    branches: Branches,
    branch: str,
    *,
    first_snapshot: int | None = None,
    without_tags: Collection[str] = (),
    without_changelogs: Collection[int] = (),
    to_changelogs: Sequence[Snapshot] = (),
) -> list[Holder]:
    """All snapshots, tags and long-lived changelogs, except those that are to go.

    Args: `branch`: the one that is worked on; `first_snapshot`: its first snapshot to stay, None = all that count;
        `without_tags`, `without_changelogs`: its tags and changelogs that go; `to_changelogs`: its snapshots that are
        to become changelogs.
    """
    found = []
    for name in branches.names():
        where = "" if name == MAIN_BRANCH else f" of branch {name}"
        snapshots = branches.snapshots(name)
        first = first_snapshot if name == branch and first_snapshot is not None else 0
        ids = [i for i in counting_ids(snapshots) if i >= first]
        with ThreadPoolExecutor(READERS) as pool:
            read = list(pool.map(snapshots.find, ids))
        # One that vanished since was given up by another expiry.
        found += [Holder(f"snapshot {s.id}{where}", s, False) for s in read if s is not None]
        for tag_name, tag in branches.tags(name).all().items():
            if name != branch or tag_name not in without_tags:
                found.append(Holder(f"tag '{tag_name}'{where}", tag.snapshot, True))
        changes = {changelog.id: changelog for changelog in branches.changelogs(name).all()}
        if name == branch:
            changes |= {snapshot.id: snapshot for snapshot in to_changelogs}
            changes = {i: changelog for i, changelog in changes.items() if i not in without_changelogs}
        if changes:
            delta = table_options.CHANGELOG_PRODUCER.of(branches.options(name)) == "none"
            found += [
                Holder(f"changelog {i}{where}", changelog, is_tag=False, is_changelog=True, delta=delta)
                for i, changelog in changes.items()
            ]
    return found


@dataclass(frozen=True, slots=True)
class _State:
    manifests: tuple[str, ...]
    others: tuple[str, ...]


def needed_by(holders: Sequence[Holder], manifests: Manifests) -> Needed:
    """What these holders need.

    Raises: CorruptFileError: a file that one of them needs is missing or damaged; the message names the holder.
    """
    distinct = list({_state_key(h.snapshot): h for h in holders if not h.is_changelog}.values())
    with ThreadPoolExecutor(READERS) as pool:
        read = list(pool.map(lambda holder: _state_of(holder, manifests), distinct))
    stored = set(manifests.file_io.list_names(manifests.paths.manifest_folder()))
    for holder, state in zip(distinct, read, strict=True):
        for name in state.manifests:
            if name not in stored:
                raise _unreadable(holder, CorruptFileError("a manifest is missing", manifests.paths.manifest(name), ""))
    changelogs = (h.snapshot.changelog_manifest_list for h in holders if not h.is_tag)
    lists = {h.snapshot.delta_manifest_list: h for h in holders if _holds_delta(h)}
    deltas = {name: _delta_of(holder, manifests) for name, holder in lists.items() if name in stored}
    delta_manifests = tuple(dict.fromkeys(name for names in deltas.values() for name in names if name in stored))
    states = [holder for holder in holders if not holder.is_changelog]
    return Needed(
        frozenset((*_all_names(states, read), *deltas, *delta_manifests)),
        frozenset(name for name in changelogs if name is not None),
        tuple(state.manifests for state in read),
        delta_manifests,
    )


def _holds_delta(holder: Holder) -> bool:
    return holder.delta and holder.snapshot.changelog_manifest_list is None


def _delta_of(holder: Holder, manifests: Manifests) -> list[str]:
    try:
        return [meta.file_name for meta in manifests.read_list(holder.snapshot.delta_manifest_list)]
    except CorruptFileError as error:
        raise _unreadable(holder, error) from error


def _state_key(snapshot: Snapshot) -> tuple[str | None, ...]:
    return snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.index_manifest


def _all_names(holders: Iterable[Holder], states: Iterable[_State]) -> Iterable[str]:
    for holder in holders:
        if holder.snapshot.statistics is not None:
            yield holder.snapshot.statistics
    for state in states:
        yield from state.manifests
        yield from state.others


def _state_of(holder: Holder, manifests: Manifests) -> _State:
    snapshot = holder.snapshot
    others = [snapshot.base_manifest_list, snapshot.delta_manifest_list]
    try:
        metas = manifests.data_manifests(snapshot)
        if snapshot.index_manifest is not None:
            others.append(snapshot.index_manifest)
            others.extend(entry.file_name for entry in manifests.read_index(snapshot))
    except CorruptFileError as error:
        raise _unreadable(holder, error) from error
    # Many states name the same manifests: one string each.
    return _State(tuple(sys.intern(meta.file_name) for meta in metas), tuple(others))


def _unreadable(holder: Holder, error: CorruptFileError) -> CorruptFileError:
    return CorruptFileError(
        f"{holder.name} cannot be read whole, so nothing is deleted: {error.found}",
        error.where,
        "If another program's expiry died, let it finish; else restore the file, delete the tag, or roll back.",
    )
