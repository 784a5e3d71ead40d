"""Manifests: what lists and entries say, rolling at a size, and files that are not as they were named."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from maintenance.errors import CorruptFileError, ExpiredError
from maintenance.format.metadata.index_manifest import HASH_INDEX, DeletionVectorRange
from maintenance.format.metadata.manifest import (
    EVERY_ENTRY,
    EntryCounts,
    EntrySelection,
    ManifestColumns,
    ManifestEntry,
)
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.manifest_records import DESCRIBED
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW, serialize_row
from maintenance.fs.file_io import FileIO
from maintenance.metadata import manifests as module
from maintenance.metadata.cache import metadata_cache
from maintenance.metadata.manifests import Manifests, ManifestWriter, keep_all, manifest_meta, merge_scan
from maintenance.metadata.paths import TablePaths
from maintenance.options.catalog import CacheSettings
from maintenance.types.data_type import DataType, parse_type
from tests.unit.commit.entries import add, delete
from tests.unit.metadata.states import HandMade, file, snapshot_of, vectors_of

_Reader = Callable[[Snapshot], object]


@pytest.fixture
def table(tmp_path: Path) -> HandMade:
    return HandMade(tmp_path / "t")


@dataclass(frozen=True)
class Noting(FileIO):
    """The local disk; `read`: names of what was read; `threads`: by whom."""

    read: list[str] = field(default_factory=list, compare=False)
    threads: list[threading.Thread] = field(default_factory=list, compare=False)

    def read_bytes(self, path: str) -> bytes:
        self.read.append(path.rpartition("/")[2])
        self.threads.append(threading.current_thread())
        return super().read_bytes(path)


def names(entries: Sequence[ManifestEntry]) -> list[str]:
    return [entry.file.file_name for entry in entries]


def test_the_scan_merge_leaves_what_was_added_and_not_deleted() -> None:
    assert merge_scan([]) == []
    assert names(merge_scan([add("a"), add("b")])) == ["a", "b"]
    assert names(merge_scan([delete("a"), add("b"), add("a")])) == ["b"], "the order plays no role"
    assert names(merge_scan([add("a", level=0), delete("a", level=0), add("a", level=5)])) == ["a"]
    assert merge_scan([delete("a")]) == []


def described(entries: Sequence[ManifestEntry], types: Sequence[DataType] = ()) -> ManifestFileMeta:
    return manifest_meta("m", 7, ManifestColumns.of(entries).table(*DESCRIBED), types, 9)


def test_what_a_list_says_of_a_manifest() -> None:
    entries = [
        replace(file("a", schema_id=2, level=3, first_row_id=100), bucket=4),
        replace(file("b", schema_id=1, level=1, first_row_id=0), bucket=2),
        delete("c", bucket=3, level=2),
    ]
    meta = described(entries)
    assert (meta.file_name, meta.file_size, meta.counts) == ("m", 7, EntryCounts(2, 1))
    assert (meta.schema_id, meta.min_bucket, meta.max_bucket, meta.min_level, meta.max_level) == (2, 2, 4, 1, 3)
    assert (meta.min_row_id, meta.max_row_id) == (None, None), "one entry has no row ids"
    tracked = described(entries[:2])
    assert (tracked.min_row_id, tracked.max_row_id) == (0, 109)
    assert described(entries[1:2]).max_row_id == 9


def test_the_partitions_of_a_manifest() -> None:
    types = [parse_type("INT")]
    rows = [serialize_row([value], types) for value in (3, None, 1)]
    meta = described([add("a", partition=row) for row in rows], types)
    assert (meta.partition_stats.min_values, meta.partition_stats.max_values) == (rows[2], rows[0])
    assert meta.partition_stats.null_counts == (1,)


def test_what_is_written_is_read(table: HandMade) -> None:
    writer = table.writer()
    assert writer.write([], 0) == []
    (first,) = writer.write([add("a")], 0)
    (second,) = writer.write([add("b"), delete("a")], 0)
    (name, size), (empty, _) = writer.write_list([first, second]), writer.write_list([])
    index = [writer.write_index([vectors_of()]), writer.write_index([])]
    prefix = first.file_name.removesuffix("-0")
    assert second.file_name == f"{prefix}-1"
    assert [name, empty] == [prefix.replace("manifest", "manifest-list") + f"-{number}" for number in (0, 1)]
    assert index == [prefix.replace("manifest", "index-manifest") + f"-{number}" for number in (0, 1)]
    written = [first.file_name, second.file_name, name, empty, *index]
    assert writer.written == [table.paths.manifest(each) for each in written]
    assert Path(table.paths.manifest(name)).stat().st_size == size
    manifests = table.manifests
    assert manifests.read_list(name, size) == manifests.read_list(name) == [first, second]
    assert manifests.read_list(empty) == []
    assert manifests.read_manifest(second) == [add("b"), delete("a")]
    assert manifests.read_index_manifest(index[0]) == [vectors_of()]
    assert manifests.file_names(second).to_pylist() == ["b", "a"]


def test_names_of_two_writers_differ(table: HandMade) -> None:
    assert table.list_of([])[0] != table.list_of([])[0]


def rolled(table: HandMade, count: int, target: int) -> list[int]:
    entries = [add(f"data-{number:05}") for number in range(count)]
    metas = table.writer(target_size=target).write(entries, 0)
    assert [entry for meta in metas for entry in table.manifests.read_manifest(meta)] == entries
    return [meta.num_added_files for meta in metas]


def test_a_small_manifest_is_one(table: HandMade) -> None:
    assert rolled(table, 1, 8 << 20) == [1]
    assert rolled(table, 1, 1) == [1], "one entry stays whole, however large"
    assert rolled(table, 1300, 8 << 20) == [1300], "what is probed first is not a manifest of its own"


def test_manifests_are_rolled_at_the_size(table: HandMade) -> None:
    assert rolled(table, 2, 1) == [1, 1]
    assert rolled(table, 3, 1) == [1, 1, 1]
    (whole,) = table.writer().write([add(f"data-{number:05}") for number in range(512)], 0)
    assert rolled(table, 1024, whole.file_size) == [512, 512], "as large as wanted"
    # Half of what is written would be too small; more than twice the size is halved.
    assert rolled(table, 1024, 2 * whole.file_size + 2)[0] > 512
    assert rolled(table, 1024, 2 * whole.file_size)[0] == 512
    half = -(-whole.file_size // 2)
    assert rolled(table, 512, half) == [512]
    assert rolled(table, 512, half - 1) == [256, 256]


def test_a_file_with_another_size_than_said_is_damaged(table: HandMade) -> None:
    writer = table.writer()
    (meta,) = writer.write([add("a")], 0)
    name, size = writer.write_list([meta])
    for wrong in (size - 1, size + 1):
        with pytest.raises(CorruptFileError, match=f"expected {wrong} bytes, found {size}"):
            table.manifests.read_list(name, wrong)
    for _ in range(2):
        with pytest.raises(CorruptFileError, match=f"expected {meta.file_size + 1} bytes"):
            table.manifests.read_manifest(replace(meta, file_size=meta.file_size + 1))
        table.manifests.read_manifest(meta)


def test_a_manifest_with_another_count_than_said_is_damaged(table: HandMade) -> None:
    (meta,) = table.writer().write([add("a")], 0)
    wrong = replace(meta, num_added_files=2)
    readers: list[Callable[[ManifestFileMeta], object]] = [table.manifests.read_manifest, table.manifests.file_names]
    for read in [*readers, table.manifests.read_manifest]:
        with pytest.raises(CorruptFileError, match="expected 2 added and 0 deleted files, found 1 added"):
            read(wrong)
        table.manifests.read_manifest(meta)


def test_a_manifest_that_a_snapshot_names_must_be_there(table: HandMade) -> None:
    (meta,) = table.writer().write([add("a")], 0)
    Path(table.paths.manifest(meta.file_name)).unlink()
    readers: list[Callable[[ManifestFileMeta], object]] = [table.manifests.read_manifest, table.manifests.file_names]
    for read in readers:
        with pytest.raises(CorruptFileError, match="a manifest file that a snapshot names is missing"):
            read(meta)


@pytest.mark.parametrize(("settings", "reads"), [((1 << 20, 1 << 20, 20), 1), ((0, 0, 0), 2), ((1 << 20, 9, 20), 2)])
def test_how_often_a_file_is_read(table: HandMade, settings: tuple[int, int, int], reads: int) -> None:
    """Once where it is kept, each time where nothing is kept or it is too large to be."""
    writer = table.writer()
    (meta,) = writer.write([add("a")], 0)
    name, size = writer.write_list([meta])
    noting = Noting(cache=CacheSettings(*settings))
    manifests = Manifests(noting, table.paths)
    for _ in range(2):
        assert manifests.read_list(name, size) == [meta]
        assert manifests.read_manifest(meta) == [add("a")]
    assert noting.read == [name, meta.file_name] * reads


@pytest.mark.parametrize("less", [0, 1])
def test_the_largest_file_that_is_kept(table: HandMade, less: int) -> None:
    writer = table.writer()
    (meta,) = writer.write([add("a")], 0)
    name, size = writer.write_list([meta])
    readers: list[tuple[int, Callable[[Manifests], object]]] = [
        (size, lambda manifests: manifests.read_list(name)),
        (meta.file_size, lambda manifests: manifests.read_manifest(meta)),
    ]
    for length, read in readers:
        noting = Noting(cache=CacheSettings(1 << 20, length - less, 20))
        for _ in range(2):
            read(Manifests(noting, table.paths))
        assert len(noting.read) == 1 + less


def test_a_list_weighs_eight_times_its_bytes(table: HandMade) -> None:
    name, size = table.list_of([add("a")])
    for limit, kept in ((8 * size, True), (8 * size - 1, False)):
        settings = CacheSettings(limit, 1 << 20, 20)
        manifests = Manifests(Noting(cache=settings), table.paths)
        manifests.read_list(name)
        assert (metadata_cache(settings).manifests.newest(table.paths.manifest(name)) is not None) is kept


def test_what_is_given_out_may_be_changed(table: HandMade) -> None:
    name, size = table.list_of([add("a")])
    table.manifests.read_list(name, size).clear()
    assert len(table.manifests.read_list(name, size)) == 1


def test_a_snapshot_gives_its_live_delta_changelog_and_index_entries(table: HandMade) -> None:
    snapshot = table.state(
        1, [add("a"), add("b")], [delete("a"), add("c")], changelog=[add("change")], index=[vectors_of()]
    )
    manifests = table.manifests
    assert names(manifests.live_entries(snapshot)) == ["b", "c"]
    assert names(manifests.delta_entries(snapshot)) == ["a", "c"]
    assert names(manifests.changelog_entries(snapshot)) == ["change"]
    assert manifests.read_index(snapshot) == [vectors_of()]
    base, delta = manifests.data_manifests(snapshot)
    assert (base.num_added_files, manifests.delta_manifests(snapshot)) == (2, [delta])
    assert names(manifests.live_entries(snapshot, keep_manifest=lambda meta: meta != base)) == ["c"]
    selection = EntrySelection(test=lambda entry: entry.file.file_name == "b")
    assert names(manifests.live_entries(snapshot, selection)) == ["b"]


def test_a_snapshot_without_changelog_and_index(table: HandMade) -> None:
    snapshot = table.state(1)
    manifests = table.manifests
    assert (manifests.changelog_manifests(snapshot), manifests.changelog_entries(snapshot)) == ([], [])
    assert (manifests.read_index(snapshot), manifests.live_entries(snapshot)) == ([], [])
    assert (manifests.hash_files(snapshot), manifests.deletion_vectors(snapshot)) == ({}, {})


def test_a_manifest_that_is_named_twice(table: HandMade) -> None:
    name, size = table.list_of([add("a")])
    snapshot = snapshot_of(
        1,
        base_manifest_list=name,
        base_manifest_list_size=size,
        delta_manifest_list=name,
        delta_manifest_list_size=size,
    )
    with pytest.raises(CorruptFileError, match=r"expected each manifest once, found manifest-.* twice in"):
        table.manifests.data_manifests(snapshot)


def test_what_is_missing_of_a_snapshot(table: HandMade) -> None:
    """It expired, unless something names it still; of its changes also its changelog does."""
    snapshot = snapshot_of(1, changelog_manifest_list="none", index_manifest="none")
    manifests = table.manifests
    of_state: tuple[_Reader, ...] = (manifests.data_manifests, manifests.live_entries, manifests.read_index)
    of_changes: tuple[_Reader, ...] = (manifests.delta_manifests, manifests.delta_entries, manifests.changelog_entries)
    for read in (*of_state, *of_changes):
        with pytest.raises(ExpiredError):
            read(snapshot)
    table.branches.changelogs("main").keep(snapshot)
    for read in of_state:
        with pytest.raises(ExpiredError):
            read(snapshot)
    for read in of_changes:
        with pytest.raises(CorruptFileError):
            read(snapshot)
    table.published(snapshot)
    for read in of_state:
        with pytest.raises(CorruptFileError):
            read(snapshot)


def test_entries_whose_manifest_is_gone(table: HandMade) -> None:
    snapshot = table.state(1, [add("a")], [add("b")], changelog=[add("c")])
    changelog = table.manifests.changelog_manifests(snapshot)
    for meta in (*table.manifests.data_manifests(snapshot), *changelog):
        Path(table.paths.manifest(meta.file_name)).unlink()
    readers: tuple[_Reader, ...] = (table.manifests.delta_entries, table.manifests.changelog_entries)
    of_all: tuple[_Reader, ...] = (*readers, table.manifests.live_entries)
    for read in of_all:
        with pytest.raises(ExpiredError):
            read(snapshot)
    table.branches.changelogs("main").keep(snapshot)
    for read in readers:
        with pytest.raises(CorruptFileError):
            read(snapshot)


@pytest.mark.parametrize("small", [0, 1 << 20])
@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_entries_of_many_manifests_in_order(
    table: HandMade, monkeypatch: pytest.MonkeyPatch, small: int, count: int
) -> None:
    """One after the other, or by threads."""
    monkeypatch.setattr(module, "_SMALL_BYTES", small)
    metas = [meta for number in range(count) for meta in table.writer().write([add(f"{number}")], 0)]
    assert names(list(table.manifests.entries_of(metas))) == [f"{number}" for number in range(count)]


@pytest.mark.parametrize(("less", "threads"), [(0, False), (1, True)])
def test_which_manifests_are_read_by_threads(
    table: HandMade, monkeypatch: pytest.MonkeyPatch, less: int, threads: bool
) -> None:
    """Large ones, several of them, a few ahead of what is looked at."""
    metas = [meta for number in range(9) for meta in table.writer().write([add(f"{number}")], 0)]
    monkeypatch.setattr(module, "_SMALL_BYTES", sum(meta.file_size for meta in metas) - less)
    noting = Noting()
    entries = Manifests(noting, table.paths).entries_of(metas)
    assert next(entries).file.file_name == "0"
    list_of_read = [meta.file_name for meta in metas[:5]] if threads else [metas[0].file_name]
    assert set(noting.read) <= set(list_of_read)
    assert (threading.current_thread() not in noting.threads) is threads
    assert names([add("0"), *entries]) == [f"{number}" for number in range(9)]
    monkeypatch.setattr(module, "_SMALL_BYTES", 0)
    alone = Noting(cache=CacheSettings(0, 0, 0))
    assert len(list(Manifests(alone, table.paths).entries_of(metas[:1]))) == 1
    assert alone.threads == [threading.current_thread()], "one is not worth a thread"


def test_manifests_of_a_store_are_read_by_threads() -> None:
    """Small ones, too: each costs a round trip."""
    noting, paths = Noting(), TablePaths("memory://manifests")
    writer = ManifestWriter(noting, paths, ())
    metas = [meta for name in "ab" for meta in writer.write([add(name)], 0)]
    assert names(list(Manifests(noting, paths).entries_of(metas))) == ["a", "b"]
    assert len(noting.threads) == 2
    assert threading.current_thread() not in noting.threads


def test_index_files_by_bucket(table: HandMade) -> None:
    one, two = DeletionVectorRange("a", 1, 2, 1), DeletionVectorRange("b", 3, 2, 1)
    hashes = replace(vectors_of(name="hash"), index_type=HASH_INDEX, dv_ranges=None)
    others = [vectors_of(two, name="index-1", bucket=1), hashes, vectors_of(one), vectors_of(two, name="index-2")]
    snapshot = table.state(1, index=others)
    assert table.manifests.hash_files(snapshot) == {(EMPTY_ROW, 0): hashes}
    vectors = table.manifests.deletion_vectors(snapshot)
    assert list(vectors) == [(EMPTY_ROW, 1), (EMPTY_ROW, 0)]
    actual = {name: (vector.path, vector.range, vector.file_size) for name, vector in vectors[EMPTY_ROW, 0].items()}
    assert actual == {
        "a": (f"{table.folder}/index/index-0", one, 5),
        "b": (f"{table.folder}/index/index-2", two, 5),
    }


def test_two_vectors_of_one_file(table: HandMade) -> None:
    part = DeletionVectorRange("a", 1, 2, 1)
    snapshot = table.state(1, index=[vectors_of(part), vectors_of(part, name="index-1")])
    with pytest.raises(CorruptFileError, match="data file a has two deletion vectors"):
        table.manifests.deletion_vectors(snapshot)


def test_every_manifest_is_kept_unless_it_is_filtered(table: HandMade) -> None:
    assert keep_all(None)
    assert ManifestWriter(table.manifests.file_io, table.paths, ()).written == []
    assert EVERY_ENTRY.keeps(add("a"))
