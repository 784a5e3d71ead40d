"""Live files as columns: what is left of additions and deletions, added up, and what changes meet in them."""

import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.commit.changes import Changes
from maintenance.commit.commit import check_replaced, commit_compact, manifests_met
from maintenance.commit.conflicts import OTHER_BUCKETS, Base, ManifestsMet, find_conflict
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.target import CommitTarget
from maintenance.errors import CorruptFileError
from maintenance.format.metadata.manifest import EntrySelection, FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.format.rows.binary_row import serialize_row
from maintenance.fs.file_io import FileIO
from maintenance.fs.local_storage import LocalStorage
from maintenance.metadata import manifests as module
from maintenance.metadata.live_groups import live_groups, live_sizes
from maintenance.metadata.manifests import Manifests
from maintenance.options.catalog import CacheSettings
from maintenance.types.data_type import parse_type
from maintenance.write.message import CommitMessage
from tests.examples import examples
from tests.tables import create_table, get_table, live
from tests.unit.commit.entries import KEY_OF, entry
from tests.unit.metadata.states import HandMade, file, snapshot_of

ALONE = CommitIdentity("another compaction")
PARTITIONS = [serialize_row([day], [parse_type("INT")]) for day in range(2)]


@st.composite
def changes(draw: st.DrawFn) -> ManifestEntry:
    first = draw(st.integers(0, 5)) * 10
    made = entry(
        draw(st.sampled_from(FileKind)),
        f"f{draw(st.integers(0, 8))}",
        level=draw(st.sampled_from([0, 4, 5])),
        keys=(first, first + draw(st.sampled_from([5, 15]))),
        bucket=draw(st.integers(0, 1)),
        total_buckets=draw(st.sampled_from([2, 2, 2, 4, -1])),
        partition=draw(st.sampled_from(PARTITIONS)),
        index=draw(st.sampled_from([None, None, b"x"])),
    )
    few = st.integers(0, 9)
    more: dict[str, Any] = {"max_sequence_number": draw(st.integers(0, 99)), "creation_time": draw(st.none() | few)}
    more |= {"file_size": draw(few), "row_count": draw(few), "delete_row_count": draw(st.none() | few)}
    return replace(made, file=replace(made.file, **more))


STATES = st.lists(st.lists(changes(), max_size=30), min_size=1, max_size=3)


def state(folder: str, parts: Sequence[Sequence[ManifestEntry]]) -> tuple[Manifests, Snapshot]:
    table = HandMade(Path(folder) / "t")
    entries = [each for part in parts[:-1] for each in part]
    return table.manifests, table.state(1, base=entries, delta=parts[-1])


@pytest.fixture(params=["held", "read twice"], autouse=True)
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "read twice":
        monkeypatch.setattr(module, "_HELD_BYTES", 0)


@given(STATES, st.sampled_from([None, PARTITIONS[:1]]))
@settings(max_examples=examples(40))
def test_live_columns_are_the_live_entries(parts: list[list[ManifestEntry]], wanted: list[bytes] | None) -> None:
    selection = EntrySelection(None if wanted is None else wanted.__contains__)
    with tempfile.TemporaryDirectory() as folder:
        manifests, snapshot = state(folder, parts)
        live = manifests.live_entries(snapshot, selection)
        assert [e for columns in manifests.live_columns(snapshot, selection) for e in columns.select()] == live
        summed = defaultdict(list)
        for each in live:
            summed[each.partition, each.bucket, each.total_buckets, each.file.level].append(each.file)
        groups = {group[:4]: group for group in live_groups(manifests, snapshot, selection)}
        assert groups.keys() == summed.keys()
        for key, files in summed.items():
            created = [file.creation_time for file in files if file.creation_time is not None]
            largest = max(file.max_sequence_number for file in files)
            assert groups[key][4:] == (len(files), largest, max(created, default=None))


@given(
    st.lists(st.lists(changes(), min_size=1, max_size=4), min_size=1, max_size=6),
    st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=6),
)
@settings(max_examples=examples(60))
def test_groups_kept_in_memory_are_those_of_the_manifests(
    parts: list[list[ManifestEntry]], chosen: list[list[bool]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = HandMade(Path(folder) / "t")
        written = [meta for part in parts for meta in table.writer().write(part, 0)]
        forgetful = Manifests(FileIO(cache=CacheSettings(manifest_bytes=0)), table.paths)
        for number, wanted in enumerate(chosen):
            name, size = table.writer().write_list([meta for meta, each in zip(written, wanted, strict=False) if each])
            snapshot = replace(table.state(number), base_manifest_list=name, base_manifest_list_size=size)
            found, expected = live_groups(table.manifests, snapshot), live_groups(forgetful, snapshot)
            assert Counter(found) == Counter(expected)


def test_a_manifest_that_vanished_after_it_was_added_up_is_missed(tmp_path: Path) -> None:
    table = HandMade(tmp_path / "t")
    snapshot = table.published(table.state(1, [file("a", max_sequence_number=3)]))
    assert [group.max_sequence_number for group in live_groups(table.manifests, snapshot)] == [3]
    [meta] = table.manifests.data_manifests(snapshot)
    Path(table.paths.manifest(meta.file_name)).unlink()
    with pytest.raises(CorruptFileError, match="missing"):
        live_groups(table.manifests, snapshot)


@given(STATES)
@settings(max_examples=examples(20))
def test_sizes_of_levels_are_sums_over_the_live_entries(parts: list[list[ManifestEntry]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        manifests, snapshot = state(folder, parts)
        model: dict[tuple[bytes, int, int], list[int]] = defaultdict(lambda: [0] * 5)
        for each in manifests.live_entries(snapshot):
            sums, file = model[each.partition, each.bucket, each.file.level], each.file
            largest = max(sums[2], file.file_size)
            new = [1, file.file_size, 0, file.row_count, file.delete_row_count or 0]
            sums[:] = [old + more for old, more in zip(sums, new, strict=True)]
            sums[2] = largest
        found = live_sizes(manifests.live_columns(snapshot))
        assert {level[:3]: list(level[3:]) for level in found} == model
        assert len(found) == len(model)


@given(STATES, st.lists(changes(), min_size=1, max_size=6), st.booleans(), st.booleans())
@settings(max_examples=examples(60))
def test_what_changes_may_meet_is_enough_to_find_their_conflicts(
    parts: list[list[ManifestEntry]], delta: list[ManifestEntry], keyed: bool, check_buckets: bool
) -> None:
    key_of = KEY_OF if keyed else None
    with tempfile.TemporaryDirectory() as folder:
        manifests, snapshot = state(folder, parts)
        partitions = {each.partition for each in delta}
        whole = Base(manifests.live_entries(snapshot, EntrySelection(partitions.__contains__)))
        met = Base.of(manifests, snapshot, delta, (), by_key=keyed)
        expected = find_conflict(whole, delta, key_of=key_of, check_buckets=check_buckets)
        assert find_conflict(met, delta, key_of=key_of, check_buckets=check_buckets) == expected


@given(st.data(), st.lists(changes(), min_size=1, max_size=6), st.booleans(), st.booleans())
@settings(max_examples=examples(60))
def test_a_commit_that_is_tried_again_finds_the_conflicts_of_each_state(
    data: st.DataObject, delta: list[ManifestEntry], keyed: bool, check_buckets: bool
) -> None:
    parts = data.draw(st.lists(st.lists(changes(), min_size=1, max_size=12), min_size=1, max_size=4))
    of_states = data.draw(st.lists(st.lists(st.integers(0, len(parts) - 1), unique=True), min_size=2, max_size=4))
    with tempfile.TemporaryDirectory() as folder:
        table = HandMade(Path(folder) / "t")
        writer = table.writer()
        metas = [writer.write(part, 0) for part in parts]
        met = ManifestsMet(table.manifests, delta, (), keyed)
        for number, chosen in enumerate(of_states, 1):
            (base, base_size), (none, none_size) = (
                writer.write_list([meta for part in named for meta in metas[part]]) for named in (chosen, [])
            )
            snapshot = replace(
                snapshot_of(number, base_manifest_list=base, delta_manifest_list=none),
                base_manifest_list_size=base_size,
                delta_manifest_list_size=none_size,
            )
            exact = Base.of(table.manifests, snapshot, delta, (), by_key=keyed)
            known = met.base(snapshot)
            expected, found = (
                find_conflict(each, delta, key_of=KEY_OF if keyed else None, check_buckets=check_buckets)
                for each in (exact, known)
            )
            assert sorted(map(repr, known.entries)) == sorted(map(repr, exact.entries))
            assert known.totals >= exact.totals
            assert found == expected or (found is not None and found.reason == OTHER_BUCKETS)


def test_a_commit_that_lost_a_race_opens_only_what_is_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"bucket": "-1", "write-only": "true", "manifest.merge-min-count": "100"}
    table = create_table(tmp_path, [("id", "INT")], (), options)
    rows = pa.table({"id": pa.array([1], pa.int32())})
    for _ in range(12):
        table.write_arrow(rows)
    gone = live(table)[:2]
    entries = (*(replace(each, kind=FileKind.DELETE) for each in gone), entry(FileKind.ADD, "new", total_buckets=-1))
    changes = Changes(CommitKind.COMPACT, entries)
    target = table.commit_target()
    uncached = FileIO(cache=CacheSettings(manifest_bytes=0))
    met = replace(manifests_met(target, changes), manifests=Manifests(uncached, table.paths))
    opened: list[str] = []
    read = LocalStorage.read_bytes

    def counted(self: LocalStorage, path: str) -> bytes:
        opened.append(Path(path).name)
        return read(self, path)

    def check(target: CommitTarget) -> int:
        opened.clear()
        assert check_replaced(target, changes, table.latest_snapshot(), met) is None
        return sum(name.startswith("manifest-") and not name.startswith("manifest-list-") for name in opened)

    monkeypatch.setattr(LocalStorage, "read_bytes", counted)
    first = check(target)
    table.write_arrow(rows)
    assert (first, check(target)) == (12, 1)
    table.write_arrow(rows)
    table.write_arrow(rows)
    assert check(target) == 2
    # Another compaction was first: one of the files is gone.
    table.write_arrow(rows)
    latest = table.latest_snapshot()
    other = commit_compact(target, [CommitMessage(gone[0].partition, 0, -1, compact_before=(gone[0].file,))], ALONE)
    assert latest is not None
    assert other.snapshot_id == latest.id + 1
    conflict = check_replaced(target, changes, table.latest_snapshot(), met)
    assert conflict is not None
    assert conflict.reason == "files that this commit replaces were already replaced or deleted"


def test_a_number_of_buckets_that_only_deleted_files_had_is_no_conflict(tmp_path: Path) -> None:
    fields = [("id", "INT NOT NULL"), ("v", "STRING")]
    table = create_table(tmp_path, fields, ("id",), {"bucket": "2", "write-only": "true"})
    target = table.commit_target()
    old = entry(FileKind.ADD, "old", total_buckets=4)
    there = entry(FileKind.ADD, "there", total_buckets=2)
    made = HandMade(Path(table.location), "x")
    snapshot = made.state(1, [old, there], [replace(old, kind=FileKind.DELETE)])
    changes = Changes(CommitKind.COMPACT, (entry(FileKind.ADD, "new", level=0, total_buckets=2),))
    assert manifests_met(target, changes).base(snapshot).totals == {(there.partition, 4), (there.partition, 2)}
    assert check_replaced(target, changes, snapshot) is None
    still = made.state(2, [old, there])
    conflict = check_replaced(target, changes, still)
    assert conflict is not None
    assert conflict.reason == OTHER_BUCKETS


def test_a_base_holds_no_entries_that_changes_cannot_meet(tmp_path: Path) -> None:
    there = [entry(FileKind.ADD, f"f{number}", level=5, bucket=number % 4) for number in range(40)]
    manifests, snapshot = state(str(tmp_path), [there])
    gone = entry(FileKind.DELETE, "f1", level=5, bucket=1)
    assert len(Base.of(manifests, snapshot, [gone], (), by_key=True).entries) == 1
    new = entry(FileKind.ADD, "new", level=5, bucket=1)
    assert len(Base.of(manifests, snapshot, [gone, new], (), by_key=True).entries) == 10
    assert len(Base.of(manifests, snapshot, [gone, new], (), by_key=False).entries) == 1


def test_a_check_opens_only_manifests_that_may_hold_the_partitions(tmp_path: Path) -> None:
    fields = [("p", "INT"), ("id", "INT NOT NULL"), ("v", "STRING")]
    table = create_table(tmp_path, fields, ("p", "id"), {"bucket": "1", "write-only": "true"}, partition_keys=["p"])
    for part in (1, 3, 2):
        table.write_arrow(pa.table({"p": pa.array([part], pa.int32()), "id": pa.array([1], pa.int32()), "v": ["a"]}))
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    (of_first, *others) = live(table)
    for meta in table.manifests.data_manifests(snapshot):
        if meta.partition_stats.min_values != of_first.partition:
            Path(table.paths.manifest(meta.file_name)).unlink()
    table = get_table(tmp_path)
    gone = replace(of_first, kind=FileKind.DELETE)
    target = table.commit_target()
    assert check_replaced(target, Changes(CommitKind.COMPACT, (gone,)), snapshot) is None
    again = check_replaced(target, Changes(CommitKind.COMPACT, (of_first,)), snapshot)
    assert again is not None
    for other in others:
        with pytest.raises(CorruptFileError, match="is missing"):
            check_replaced(target, Changes(CommitKind.COMPACT, (replace(other, kind=FileKind.DELETE),)), snapshot)
