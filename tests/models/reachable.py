"""Which files of a table anything still names: read naively, a file once for everything that names it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from maintenance.catalog import CatalogTable
from maintenance.errors import PaimonError
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.manifest import FileKind
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.fs.location import is_local
from maintenance.metadata.branches import Branches

Holder = TypeVar("Holder")


def files_on_disk(table: CatalogTable) -> set[str]:
    """Paths of all files below the table, without temporary ones that a killed process leaves."""
    if not is_local(table.location):
        listed = table.file_io.list_tree(table.location)
        return {f"{table.location}/{file.path}" for file in listed if not file.name.startswith(".")}
    actual = (os.path.join(folder, name) for folder, _, names in os.walk(table.location) for name in names)
    return {path for path in actual if not os.path.basename(path).startswith(".")}


def unreachable_files(table: CatalogTable) -> set[str]:
    """Files that no snapshot from the earliest on, no tag, no long-lived changelog and no branch names."""
    holders = needed_files(table)
    assert None not in holders.values(), f"cannot be read: {[path for path, files in holders.items() if files is None]}"
    named = {path for record, files in holders.items() for path in (record, *(files or ()))}
    return {path for path in files_on_disk(table) - named if not _is_record(path)}


def needed_files(table: CatalogTable) -> dict[str, set[str] | None]:
    """What each snapshot from the earliest on, tag and long-lived changelog of each branch names, by its own path.

    None for one that cannot be read.
    """
    branches = Branches(table.file_io, table.paths)
    of_branches = [replace(table, branch=branch) for branch in branches.names()]
    return {path: files for of_branch in of_branches for path, files in _needed_on(branches, of_branch)}


def _needed_on(branches: Branches, table: CatalogTable) -> Iterator[tuple[str, set[str] | None]]:
    """What `needed_files` finds of the branch that the table is on."""
    snapshots, tags = branches.snapshots(table.branch), branches.tags(table.branch)
    changelogs = branches.changelogs(table.branch)
    paths = snapshots.paths

    def of_snapshot(number: int) -> Iterator[str]:
        return _named(table, snapshots.get(number), changelog=True)

    def of_tag(name: str) -> Iterator[str]:
        return _named(table, tags.get(name).snapshot, changelog=False)

    def of_changelog(number: int) -> Iterator[str]:
        return changes_of(table, _there(changelogs.find(number)))

    earliest = snapshots.earliest_id() or 0
    for number in (i for i in snapshots.list_ids() if i >= earliest):
        yield paths.snapshot(number), _readable(of_snapshot, number)
    for name in tags.names():
        yield paths.tag(name), _readable(of_tag, name)
    for number in changelogs.list_ids():
        yield paths.changelog(number), _readable(of_changelog, number)


def _there(snapshot: Snapshot | None) -> Snapshot:
    assert snapshot is not None
    return snapshot


def _readable(read: Callable[[Holder], Iterator[str]], holder: Holder) -> set[str] | None:
    try:
        return set(read(holder))
    except PaimonError:
        return None


def missing_files(table: CatalogTable, snapshot: Snapshot, *, changelog: bool = True) -> set[str]:
    """Files that a snapshot names and that are not there. `changelog`: its changelog among them, which tags lack."""
    return {path for path in _named(table, snapshot, changelog=changelog) if not table.file_io.exists(path)}


def files_of(table: CatalogTable, snapshot: Snapshot, *, changelog: bool = False) -> set[str]:
    """Files that a snapshot names. `changelog`: its changelog among them, which tags lack."""
    return set(_named(table, snapshot, changelog=changelog))


def changes_of(table: CatalogTable, changelog: Snapshot) -> Iterator[str]:
    """Files of a long-lived changelog: without a producer those of its delta, but no data that compactions wrote."""
    name = changelog.changelog_manifest_list
    own = name is not None
    if name is None and table.options.get("changelog-producer", "none") == "none":
        name = changelog.delta_manifest_list
    if name is None:
        return
    yield table.paths.manifest(name)
    for meta in table.manifests.read_list(name):
        yield table.paths.manifest(meta.file_name)
        for entry in table.manifests.read(meta.file_name):
            held = entry.kind == FileKind.ADD or (not own and entry.file.file_source != FileSource.COMPACT)
            if held and (own or changelog.commit_kind != CommitKind.COMPACT):
                yield from table.paths.all_files_of(entry.partition, entry.bucket, entry.file)


def _is_record(path: str) -> bool:
    """Schemas, consumers, commit records and hints, which nothing names."""
    name = os.path.basename(path)
    return name in ("EARLIEST", "LATEST", "dropped") or name.startswith(("schema-", "consumer-", "record-"))


def _named(table: CatalogTable, snapshot: Snapshot, *, changelog: bool) -> Iterator[str]:
    paths, manifests = table.paths, table.manifests
    lists = [snapshot.base_manifest_list, snapshot.delta_manifest_list]
    if changelog and snapshot.changelog_manifest_list is not None:
        lists.append(snapshot.changelog_manifest_list)
    for name in lists:
        yield paths.manifest(name)
        yield from (paths.manifest(meta.file_name) for meta in manifests.read_list(name))
    if snapshot.index_manifest is not None:
        yield paths.manifest(snapshot.index_manifest)
        yield from (paths.index_file(entry) for entry in manifests.read_index(snapshot))
    if snapshot.statistics is not None:
        yield paths.statistics_file(snapshot.statistics)
    live = manifests.live_entries(snapshot)
    if changelog:
        live += [entry for entry in manifests.changelog_entries(snapshot) if entry.kind == FileKind.ADD]
    for entry in live:
        yield from paths.all_files_of(entry.partition, entry.bucket, entry.file)
