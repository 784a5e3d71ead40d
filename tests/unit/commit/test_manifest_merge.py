"""Merging manifests never changes which files are live, and keeps the list short."""

import tempfile
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.commit.manifest_merge import ManifestMergeOptions, cancelled, is_merged, merge_manifests
from maintenance.format.metadata import manifest
from maintenance.format.metadata.manifest import (
    FileKind,
    ManifestColumns,
    ManifestEntry,
    decode_manifest,
    serialize_manifest,
)
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.manifest_records import ManifestRecords
from maintenance.format.metadata.simple_stats import EMPTY_STATS
from maintenance.format.rows.binary_row import serialize_row
from maintenance.fs.file_io import FileIO
from maintenance.metadata import manifests as manifests_module
from maintenance.metadata.manifests import Manifests, ManifestWriter, merge_scan
from maintenance.metadata.paths import TablePaths
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataType, parse_type
from tests.examples import examples
from tests.tables import create_table, keyed, live_files, state
from tests.unit.commit.entries import add, delete

Change = list[ManifestEntry]

STRING = parse_type("STRING")


@st.composite
def histories(draw: st.DrawFn) -> list[Change]:
    """Commits that each add some files and delete some of those that are there; names are never used again."""
    alive: list[str] = []
    count = 0
    history = []
    for _ in range(draw(st.integers(1, 12))):
        gone = draw(st.lists(st.sampled_from(alive), unique=True)) if alive else []
        added = [f"file-{count + i}" for i in range(draw(st.integers(0, 3)))]
        count += len(added)
        alive = [name for name in alive if name not in gone] + added
        history.append([*(delete(name) for name in gone), *(add(name) for name in added)])
    return history


class Merger:
    """A table's manifests over a history of commits."""

    def __init__(self, folder: str, options: ManifestMergeOptions, partition_types: Sequence[DataType] = ()) -> None:
        paths = TablePaths(folder)
        self.manifests = Manifests(FileIO(), paths)
        self.writer = ManifestWriter(FileIO(), paths, partition_types, target_size=options.target_size)
        self.options = options
        self.list: list[ManifestFileMeta] = []
        self.reads: set[str] = set()

    def read(self, manifest: ManifestFileMeta) -> ManifestColumns:
        self.reads.add(manifest.file_name)
        return self.manifests.read_columns(manifest.file_name)

    def commit(self, change: Change) -> None:
        base = merge_manifests(self.list, self.options, self.read, self.writer, 0)
        self.list = base + self.writer.write(change, 0)

    @property
    def live(self) -> set[str]:
        merged = merge_scan(entry for manifest in self.list for entry in self.read(manifest).select())
        assert len({entry.file.file_name for entry in merged}) == len(merged), "a file is live twice"
        return {entry.file.file_name for entry in merged}


def model(history: list[Change]) -> set[str]:
    alive: set[str] = set()
    for change in history:
        for entry in change:
            (alive.add if entry.kind == FileKind.ADD else alive.remove)(entry.file.file_name)
    return alive


@settings(max_examples=examples(20))
@given(
    histories(),
    st.sampled_from([1, 3500, 1 << 20]),
    st.sampled_from([1, 2, 4, 30]),
    st.sampled_from([0, 6000, 1 << 30]),
)
def test_merges_leave_the_live_files_as_they_are(history: list[Change], target: int, least: int, full: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        merger = Merger(folder, ManifestMergeOptions(target, least, full))
        for number, change in enumerate(history, 1):
            merger.commit(change)
            assert merger.live == model(history[:number])


def test_minor_merge_at_30_small_manifests(tmp_path: Path) -> None:
    merger = Merger(str(tmp_path), ManifestMergeOptions(full_threshold=1 << 40))
    lengths = []
    for number in range(62):
        merger.commit([add(f"file-{number}")])
        lengths.append(len(merger.list))
    assert lengths[:30] == list(range(1, 31))
    assert lengths[30] == 2
    assert max(lengths) == 30
    assert len(merger.live) == 62


def test_minor_merge_at_the_target_size(tmp_path: Path) -> None:
    merger = Merger(str(tmp_path), ManifestMergeOptions(target_size=6000, full_threshold=1 << 40))
    for number in range(12):
        merger.commit([add(f"file-{number}")])
    assert len(merger.list) < 8
    assert len(merger.live) == 12


@pytest.mark.parametrize(
    ("sizes", "read"),
    [
        ([100, 10, 100, 10, 100, 10], []),
        ([100, 10, 100, 10, 10, 10, 10], [3, 4, 5, 6]),
        ([60, 60, 60], []),
        ([60, 39, 1, 10], [0, 1, 2]),
        ([60, 60, 40, 40, 40, 10], [2, 3, 4]),
        ([10, 10, 10, 100], [0, 1, 2, 3]),
    ],
)
def test_what_merging_would_not_make_fewer_is_not_read(tmp_path: Path, sizes: list[int], read: list[int]) -> None:
    """Small manifests beside large ones, as earlier merges leave them."""
    merger = Merger(str(tmp_path), ManifestMergeOptions(target_size=100, min_count=4, full_threshold=1 << 40))
    given = [
        replace(merger.writer.write([add(f"file-{number}")], 0)[0], file_size=size) for number, size in enumerate(sizes)
    ]
    merger.list = merge_manifests(given, merger.options, merger.read, merger.writer, 0)
    assert merger.reads == {given[number].file_name for number in read}
    kept = [meta for number, meta in enumerate(given) if number not in read]
    assert [meta for meta in merger.list if meta in given] == kept
    assert len(merger.live) == len(sizes)


def test_full_merge_drops_every_deletion(tmp_path: Path) -> None:
    merger = Merger(str(tmp_path), ManifestMergeOptions(full_threshold=1))
    merger.commit([add("a"), add("b")])
    merger.commit([delete("a"), add("c")])
    merger.commit([])
    assert [m.num_deleted_files for m in merger.list] == [0]
    assert merger.live == {"b", "c"}


def test_full_merge_leaves_partitions_without_deletions_alone(tmp_path: Path) -> None:
    merger = Merger(str(tmp_path), ManifestMergeOptions(target_size=1, full_threshold=1), [STRING])
    days = {day: serialize_row([day], [STRING]) for day in ("a", "b", "c", "d")}
    for day, partition in days.items():
        merger.commit([add(f"file-{day}", partition=partition), add(f"other-{day}", partition=partition)])
    before = {manifest.file_name for manifest in merger.list}
    merger.commit([delete("file-b", partition=days["b"])])
    merger.reads.clear()
    merger.commit([])
    after = {manifest.file_name for manifest in merger.list}
    assert len(before) == 8, "one for each entry"
    assert len(before & after) == len(after) == 7
    assert len(merger.reads & after) == 1, "the partition's other file"
    assert not any(m.num_deleted_files for m in merger.list)
    assert merger.live == {f"{name}-{day}" for day in days for name in ("file", "other")} - {"file-b"}


def test_manifests_are_kept_whole_where_nothing_is_to_do(tmp_path: Path) -> None:
    merger = Merger(str(tmp_path), ManifestMergeOptions(target_size=1, full_threshold=1))
    merger.commit([add("a")])
    merger.commit([add("b")])
    names = [manifest.file_name for manifest in merger.list]
    merger.commit([])
    assert [manifest.file_name for manifest in merger.list] == names


def _kinds_and_names(parts: Sequence[ManifestColumns]) -> list[tuple[FileKind, str]]:
    return [(entry.kind, entry.file.file_name) for part in parts for entry in part.select()]


def test_a_deletion_of_an_older_manifest_stays() -> None:
    parts = [ManifestColumns.of([add("a"), delete("old")]), ManifestColumns.of([delete("a"), add("b")])]
    assert _kinds_and_names(cancelled(parts)) == [(FileKind.DELETE, "old"), (FileKind.ADD, "b")]


@given(
    st.lists(st.lists(st.tuples(st.sampled_from([add, delete]), st.sampled_from("abc"), st.integers(0, 1)))),
    st.booleans(),
)
def test_what_is_cancelled_is_what_applying_one_by_one_cancels(
    manifests: list[list[tuple[Callable[..., ManifestEntry], str, int]]], decoded: bool
) -> None:
    made = [[make(name, level=level) for make, name, level in each] for each in manifests]
    merged: dict[Hashable, ManifestEntry] = {}
    for entry in chain.from_iterable(made):
        if entry.kind == FileKind.DELETE and entry.identity in merged:
            del merged[entry.identity]
        else:
            merged[entry.identity] = entry
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "_FEW_ENTRIES", 0)
        parts = [
            decode_manifest(serialize_manifest(each), "memory") if decoded else ManifestColumns.of(each)
            for each in made
        ]
    left = [entry for part in cancelled(parts) for entry in part.select()]
    assert len(left) == len(merged)
    assert {entry.identity: entry for entry in left} == merged


def test_merging_holds_no_more_than_a_few_manifests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: their entries leave in full manifests as they come."""
    monkeypatch.setattr(manifests_module, "_AT_ONCE", 100)
    merger = Merger(str(tmp_path), ManifestMergeOptions(target_size=4000, full_threshold=1))
    for number in range(40):
        names = [f"file-{number}-{i}" for i in range(50)]
        merger.list += merger.writer.write([add(name) for name in names], 0)
    merger.list += merger.writer.write([delete(f"file-{number}-7") for number in range(40)], 0)
    held: list[int] = []
    joined = ManifestRecords.joined

    def counting(parts: Sequence[ManifestRecords]) -> ManifestRecords:
        held.append(sum(map(len, parts)))
        return joined(parts)

    monkeypatch.setattr(ManifestRecords, "joined", counting)
    merger.commit([])
    assert len(merger.live) == 40 * 49
    assert len(held) > 10
    assert max(held) < 1000
    assert not any(meta.num_deleted_files for meta in merger.list)


def test_a_file_that_comes_back_is_live_again(tmp_path: Path) -> None:
    """Readers do not look at the order of entries: the deletion must be gone before the file is added again."""
    merger = Merger(str(tmp_path), ManifestMergeOptions())
    merger.commit([add("a")])
    merger.commit([delete("a"), add("a", index=b"x")])
    returning = [delete("a", index=b"x"), add("a")]
    base = merge_manifests(
        merger.list, merger.options, merger.read, merger.writer, 0, returning={returning[1].identity}
    )
    merger.list = base + merger.writer.write(returning, 0)
    assert merger.live == {"a"}


@pytest.mark.parametrize("threshold", ["16 mb", "1 b"])
def test_the_manifests_of_a_table_stay_few(tmp_path: Path, threshold: str) -> None:
    options = {"manifest.merge-min-count": "5", "manifest.full-compaction-threshold-size": threshold}
    table = create_table(tmp_path, options=options)
    for i in range(12):
        table.write_arrow(keyed({i: str(i)}))
        snapshot = table.latest_snapshot()
        assert snapshot is not None
        assert len(table.manifests.data_manifests(snapshot)) <= 6
    assert len(live_files(table)) == 12
    assert state(table) == {i: str(i) for i in range(12)}
    for snapshot_id in table.snapshots.list_ids():
        travelled = state(table, options={"scan.snapshot-id": str(snapshot_id)})
        assert travelled == {i: str(i) for i in range(snapshot_id)}


def test_what_is_not_set_is_as_in_paimon() -> None:
    assert (
        ManifestMergeOptions()
        == ManifestMergeOptions.of(TableModel(), ())
        == ManifestMergeOptions(8 << 20, 30, 16 << 20)
    )


def _meta(size: int, deleted: int = 0) -> ManifestFileMeta:
    return ManifestFileMeta("m", size, 1, deleted, EMPTY_STATS, 0)


def test_when_a_full_merge_would_change_nothing() -> None:
    options = ManifestMergeOptions(target_size=100)
    assert is_merged([], options, ())
    assert is_merged([_meta(100), _meta(99), _meta(200)], options, ())
    assert not is_merged([_meta(99), _meta(99)], options, ())
    assert not is_merged([_meta(100, 1)], options, ())
    assert not is_merged([_meta(99, 1)], options, ())
