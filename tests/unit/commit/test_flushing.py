"""Before a snapshot is published all that it names is safe from a power cut, and is made safe once."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.fs.file_io import FileIO
from maintenance.fs.staged import StagedFile
from maintenance.operations.compaction.compact import compact
from maintenance.operations.rows.delete import delete
from tests.tables import create_table, keyed


@dataclass(frozen=True, slots=True)
class Noting(FileIO):
    """Storage that notes which files are flushed before each snapshot."""

    flushed: list[str] = field(default_factory=list)
    at_publishing: list[list[str]] = field(default_factory=list)

    def flush(self, paths: Iterable[str], root: str) -> None:
        listed = list(paths)
        self.flushed.extend(listed)
        FileIO.flush(self, listed, root)

    def stage(self, path: str, data: bytes) -> StagedFile:
        if "/snapshot/" in path:
            self.at_publishing.append(list(self.flushed))
        return FileIO.stage(self, path, data)


def named(table: CatalogTable, snapshot_id: int) -> set[str]:
    """Paths of what a snapshot adds: data and changelog files, with those beside them, manifests, lists, indexes."""
    snapshot, manifests, paths = table.snapshots.get(snapshot_id), table.manifests, table.paths
    entries = [*manifests.delta_entries(snapshot), *manifests.changelog_entries(snapshot)]
    deleted = {entry.file.file_name for entry in entries if entry.kind}
    files = [
        path
        for entry in entries
        if entry.file.file_name not in deleted
        for path in paths.all_files_of(entry.partition, entry.bucket, entry.file)
    ]
    lists = (snapshot.base_manifest_list, snapshot.delta_manifest_list, snapshot.changelog_manifest_list)
    added = manifests.read_list(snapshot.delta_manifest_list, None)
    if snapshot.changelog_manifest_list is not None:
        added = [*added, *manifests.read_list(snapshot.changelog_manifest_list, None)]
    names = [*(name for name in (*lists, snapshot.index_manifest) if name is not None), *(m.file_name for m in added)]
    return {*files, *(f"{table.location}/manifest/{name}" for name in names)}


def noted(table: CatalogTable, work: Callable[[CatalogTable], object]) -> Noting:
    storage = Noting()
    work(replace(table, file_io=storage))
    return storage


@pytest.mark.parametrize("options", [{}, {"changelog-producer": "input"}, {"file-index.bloom-filter.columns": "v"}])
def test_rows_that_are_written(tmp_path: Path, options: dict[str, str]) -> None:
    table = create_table(tmp_path, options={**options, "file-index.in-manifest-threshold": "1 b"})
    storage = noted(table, lambda own: own.write_arrow(keyed({1: "a"})))
    (before,) = storage.at_publishing
    due = named(table, 1)
    assert len(due) == 4 + 3 * bool(options.get("changelog-producer")) + bool(
        "file-index.bloom-filter.columns" in options
    )
    assert set(before) == due
    assert len(before) == len(due), "each once"


def test_new_files_of_a_compaction_are_flushed_and_old_ones_are_not(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"changelog-producer": "full-compaction"})
    for text in "ab":
        table.write_arrow(keyed({1: text}))
    storage = noted(table, lambda own: compact(None, own, full=True))
    (before,) = storage.at_publishing
    assert set(before) >= named(table, 3)
    old = {path for number in (1, 2) for path in named(table, number)}
    assert not set(before) & old, "what was there before is safe"


def test_deletion_vectors_are_flushed_with_their_snapshot(tmp_path: Path) -> None:
    table = create_table(tmp_path, primary_keys=(), options={"deletion-vectors.enabled": "true"})
    table.write_arrow(keyed({1: "a", 2: "b"}))
    storage = noted(table, lambda own: delete(None, own, "id = 2"))
    (before,) = storage.at_publishing
    snapshot = table.snapshots.get(2)
    (index,) = table.manifests.read_index(snapshot)
    assert set(before) == {*named(table, 2), table.paths.index_file(index)}
