"""What names files of a table: snapshots, tags and long-lived changelogs of all branches, and unfinished removals."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from maintenance.errors import CorruptFileError, NotFoundError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.branches import Branches
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.holders import History, Holder, holders_of
from maintenance.metadata.manifests import Manifests
from maintenance.metadata.schemas import Schemas

# Branch, name, lists and index manifest: what makes it another one.
Key = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Something that names files.

    Attributes:
        needed: names of the lists that must be there, with their manifests; others may have been deleted.
        is_state: the index manifest must be there, too.
        holds: it keeps files. Otherwise a removal that died has left it, and the next one deletes what it names.
    """

    holder: Holder
    needed: frozenset[str]
    is_state: bool
    holds: bool = True

    @property
    def key(self) -> Key:
        snapshot = self.holder.snapshot
        return self.holder.branch, self.holder.name, *lists_of(snapshot), snapshot.index_manifest, snapshot.statistics


def lists_of(snapshot: Snapshot) -> list[str]:
    """Names of its manifest lists."""
    names = (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list)
    return [name for name in names if name is not None]


def sources_of(
    branches: Branches, manifests: Manifests, *, never_committed: bool = False, checked: set[str] | None = None
) -> dict[Key, Source]:
    """All that name files now.

    Args: `never_committed`: a table that never had a snapshot is allowed; `checked`: branches that are known to have a
        schema; those that are found to have one are added.
    Raises: CorruptFileError: a snapshot, tag or changelog cannot be read; a branch has no schema; nothing keeps files
        although the table has or had snapshots. NotFoundError: it never had one.
    """
    # A branch that comes after this listing is seen by whoever looks again.
    names = branches.names()
    holders = holders_of(History(branches, manifests), MAIN_BRANCH, branch_names=names)
    _check_schemas(branches, names, set() if checked is None else checked)
    if not holders:
        had_some = _has_or_had_snapshots(branches)
        # The first one may have been committed since they were listed.
        holders = holders_of(History(branches, manifests), MAIN_BRANCH)
        if not holders:
            _check_no_snapshots(branches, had_some=had_some, allowed=never_committed)
    sources = [_of_holder(holder) for holder in holders]
    counted = {(holder.branch, holder.snapshot.id) for holder in holders if not holder.is_tag}
    sources += [_left(path, branch, snapshot) for path, branch, snapshot in _unfinished(branches, names, counted)]
    return {source.key: source for source in sources}


def _of_holder(holder: Holder) -> Source:
    snapshot = holder.snapshot
    base, delta, changelog = (
        snapshot.base_manifest_list,
        snapshot.delta_manifest_list,
        snapshot.changelog_manifest_list,
    )
    if holder.is_changelog:
        # Without a producer its delta is its changelog, of which an expiry by Java may have deleted parts.
        return Source(holder, frozenset([changelog] if changelog else []), is_state=False)
    # A tag does not hold the changelog of its snapshot.
    lists = [base, delta, *([changelog] if changelog and not holder.is_tag else [])]
    return Source(holder, frozenset(lists), is_state=True)


def _left(path: str, branch: str, snapshot: Snapshot) -> Source:
    holder = Holder(path, snapshot, is_tag=False, branch=branch)
    return Source(holder, frozenset(), is_state=False, holds=False)


def _unfinished(
    branches: Branches, names: Sequence[str], counted: set[tuple[str, int]]
) -> Iterator[tuple[str, str, Snapshot]]:
    """Records of snapshots and tags that are given up, whose files the next expiry deletes. `counted`: not these."""
    for branch in names:
        snapshots = branches.snapshots(branch)
        files = branches.file_io.list_names(snapshots.paths.snapshot_folder())
        others = [number for number in snapshots.ids_among(files) if (branch, number) not in counted]
        found = snapshots.find_many(others)
        for number, snapshot in found.items():
            yield snapshots.paths.snapshot(number), branch, snapshot
        # One that is gone by now may have been retired after the listing.
        retired = snapshots.retired_among(files) if len(found) == len(others) else snapshots.retired()
        for number, snapshot in retired.items():
            yield snapshots.paths.retired_snapshot(number), branch, snapshot
        for path, tag in branches.tags(branch).retired().items():
            yield path, branch, tag.snapshot


def _check_schemas(branches: Branches, names: Sequence[str], checked: set[str]) -> None:
    for branch in (name for name in names if name not in checked):
        folder = branches.snapshots(branch).paths.schema_folder()
        if not Schemas(branches.file_io, folder).list_ids() and branch in branches.names():
            raise CorruptFileError(
                f"branch {branch} has no schema, so nothing is deleted", folder, "Restore it, or delete the branch."
            )
        checked.add(branch)


def _has_or_had_snapshots(branches: Branches) -> bool:
    """Whether there are snapshots, or hints of some."""
    return any(
        snapshots.list_ids() or any(snapshots.read_hint(name) is not None for name in (LATEST, EARLIEST))
        for snapshots in map(branches.snapshots, branches.names())
    )


def _check_no_snapshots(branches: Branches, *, had_some: bool, allowed: bool) -> None:
    """Raises: CorruptFileError: there are snapshots, or were some; NotFoundError: none is not allowed."""
    if had_some:
        raise CorruptFileError(
            "the table has or had snapshots, and none of them keeps a file, so nothing is deleted",
            branches.snapshots(MAIN_BRANCH).paths.snapshot_folder(),
            "Restore the snapshots, or run fsck.",
        )
    if allowed:
        return
    raise NotFoundError(
        "the table has no snapshot, so every file in it looks like an orphan",
        branches.paths.root,
        "If no writer is about to make its first commit, allow it with never_committed.",
    )
