"""What each commit makes of the Iceberg metadata of the one before: figures, manifests, what stays and what goes."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from maintenance.catalog import CatalogTable, open_catalog
from maintenance.commit.iceberg import follow as module
from maintenance.commit.iceberg.follow import follow
from maintenance.errors import ExpiredError
from maintenance.format.iceberg.manifest import Status
from maintenance.format.iceberg.manifest_list import IcebergManifest
from maintenance.format.iceberg.table_metadata import (
    COMMIT_IDENTITY,
    IcebergSnapshot,
    TableMetadata,
    serialize_metadata,
)
from maintenance.fs.file_io import FileIO
from maintenance.metadata.iceberg import IcebergFolder
from maintenance.metadata.paths import TablePaths
from maintenance.metastore.schema_change import AddColumn
from maintenance.operations import compact, create_tag, delete_tag, rollback_to
from maintenance.options.model import TableModel
from tests.small_tables import put, rows, small_table, table_in
from tests.unit.metadata.states import snapshot_of

BESIDE = {"metadata.iceberg.storage": "table-location", "snapshot.time-retained": "1 h"}
THREE = {**BESIDE, "metadata.iceberg.format-version": "3"}
KEEPING = {**BESIDE, "metadata.iceberg.delete-after-commit.enabled": "false"}
DAY = 24 * 3600 * 1000


def folder_of(table: CatalogTable) -> IcebergFolder:
    return IcebergFolder(table.file_io, f"{table.location}/metadata")


def newest(table: CatalogTable) -> TableMetadata:
    actual = folder_of(table).find(table.snapshots.latest_id() or 0)
    assert actual is not None
    return actual


def manifests(table: CatalogTable) -> list[IcebergManifest]:
    return folder_of(table).read_list(newest(table).current.manifest_list)


def entries(table: CatalogTable) -> list[tuple[int, int, int]]:
    """Status, snapshot and number of rows of each entry, in order of manifests."""
    folder = folder_of(table)
    return [
        (entry.status, entry.snapshot_id, entry.file.record_count)
        for manifest in manifests(table)
        for entry in folder.read_manifest(manifest)
    ]


def figures(table: CatalogTable, *names: str) -> list[int]:
    return [int(newest(table).current.summary[name]) for name in names]


def again(table: CatalogTable, options: Mapping[str, str] | None = None, *, afresh: bool = False) -> None:
    """As the next commit would."""
    follow("db.t", table.file_io, table.paths, TableModel(options or table.schema.options), afresh=afresh)


def test_the_summary_says_what_came_and_what_is_there(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**BESIDE, "bucket": "1"})
    put(table, {1: "a", 2: "b"})
    compact(None, table, full=True)
    put(table, {3: "c"})
    compact(None, table, full=True)
    summary = dict(newest(table).current.summary)
    (now,) = (entry.file for entry in table.manifests.live_entries(table.snapshots.latest()))  # type: ignore[arg-type]
    before = table.manifests.live_entries(table.snapshots.get(2))[0].file
    latest = table.snapshots.get(4)
    assert summary == {
        "operation": "replace",
        "added-data-files": "1",
        "added-records": "3",
        "added-files-size": str(now.file_size),
        "deleted-data-files": "1",
        "deleted-records": "2",
        "removed-files-size": str(before.file_size),
        "changed-partition-count": "1",
        "total-data-files": "1",
        "total-records": "3",
        "total-files-size": str(now.file_size),
        "total-delete-files": "0",
        "total-position-deletes": "0",
        "total-equality-deletes": "0",
        **(latest.properties or {}),
        COMMIT_IDENTITY: latest.uuid or f"{latest.commit_user}:{latest.commit_identifier}:{latest.time_millis}",
    }


def test_the_operation_is_that_of_the_commit(tmp_path: Path) -> None:
    table = small_table(tmp_path, {**BESIDE, "compaction.min.file-num": "2"}, primary_key=False)
    put(table, {1: "a"})
    put(table, {2: "b"})
    assert newest(table).current.summary["operation"] == "append"
    assert newest(table).current.parent_id == 1
    compact(None, table, full=True)
    assert newest(table).current.summary["operation"] == "replace"
    table.overwrite_arrow(table.to_arrow(where="k = 2"))
    assert newest(table).current.summary["operation"] == "overwrite"
    assert figures(table, "total-data-files", "total-records", "deleted-records", "added-records") == [1, 1, 2, 1]


def test_metadata_made_afresh_counts_all_files(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    put(table, {1: "a"})
    put(table, {2: "b", 3: "c"})
    again(table, BESIDE)
    made = newest(table)
    assert made.current.summary["operation"] == "append"
    assert figures(table, "total-data-files", "total-records", "added-data-files", "added-records") == [2, 3, 2, 3]
    sizes = [entry.file.file_size for entry in table.manifests.live_entries(table.snapshots.get(2))]
    assert figures(table, "total-files-size", "added-files-size") == [sum(sizes)] * 2
    assert (made.current.parent_id, made.last_partition_id, made.next_row_id) == (1, 999, None)
    assert made.last_column_id == 1
    assert folder_of(table).hint() == 2


def test_the_first_snapshot_has_no_parent(tmp_path: Path) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})
    assert newest(table).current.parent_id is None
    assert newest(table).current.first_row_id is None


def test_rows_get_ids_from_version_3_on(tmp_path: Path) -> None:
    """Each manifest those of its live rows, the snapshot says which are its own, the table which comes next."""
    table = small_table(tmp_path, THREE, primary_key=False)
    put(table, {1: "a", 2: "b"})
    put(table, {3: "c"})
    made = newest(table)
    assert (made.current.first_row_id, made.current.added_rows, made.next_row_id) == (2, 1, 3)
    assert [manifest.first_row_id for manifest in manifests(table)] == [0, 2]
    again(table, afresh=True)
    made = newest(table)
    assert (made.current.first_row_id, made.current.added_rows, made.next_row_id) == (3, 3, 6)


def test_a_manifest_that_a_file_leaves_is_written_again(tmp_path: Path) -> None:
    """What stays in it is marked as there already, what leaves as deleted by this snapshot; others stay as they are."""
    table = small_table(tmp_path, BESIDE, primary_key=False, partition_keys=["k"])
    put(table, {1: "a", 2: "b", 3: "c"})
    put(table, {4: "d"})
    (kept,) = [m.path for m in manifests(table) if m.added_snapshot_id == 2]
    table.overwrite_arrow(table.to_arrow(where="k = 2"))
    assert rows(table) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert sorted(entries(table)) == [
        (Status.EXISTING, 1, 1), (Status.EXISTING, 1, 1), (Status.ADDED, 2, 1), (Status.ADDED, 3, 1),
        (Status.DELETED, 3, 1),
    ]  # fmt: skip
    assert kept in [manifest.path for manifest in manifests(table)]
    put(table, {5: "e"})
    table.overwrite_arrow(table.to_arrow(where="k = 1"))
    assert [count for status, _, count in entries(table) if status == Status.DELETED] == [1]
    assert figures(table, "total-data-files", "changed-partition-count") == [5, 1]


# Joining small manifests


class _Compacting:
    """What joining manifests needs, of manifests that do not exist: `read` and `joined` tell which were."""

    def __init__(self, target: int, few: int, many: int) -> None:
        options = {
            "manifest.target-file-size": f"{target} b",
            "metadata.iceberg.compaction.min.file-num": str(few),
            "metadata.iceberg.compaction.max.file-num": str(many),
        }
        nothing: Any = None
        folder = cast(IcebergFolder, self)
        self.follower = module._Follower(nothing, nothing, nothing, folder, TableModel(options), {})
        self.read: list[int] = []

    def read_manifest(self, manifest: IcebergManifest) -> list[Any]:
        self.read.append(manifest.length)
        return []

    def place(self, path: str) -> str:
        return path

    def joined(self, *lengths: int) -> list[int]:
        """The lengths of the manifests that are joined."""
        self.read.clear()
        listed = [IcebergManifest(f"m{i}", n, 0, 1, 1, 1, 1, 0, 0, 1, 0, 0, ()) for i, n in enumerate(lengths)]
        self.follower._compacted(listed, 9)
        return self.read


def test_manifests_below_two_thirds_of_the_size_are_small() -> None:
    compacting = _Compacting(target=300, few=2, many=2)
    assert compacting.joined(199, 199, 200) == [199, 199]
    assert compacting.joined(199, 200, 201) == []


def test_small_ones_are_joined_once_they_fill_one() -> None:
    compacting = _Compacting(target=300, few=2, many=50)
    assert compacting.joined(150, 150) == [150, 150]
    assert compacting.joined(150, 149) == []


def test_small_ones_are_joined_once_they_are_many() -> None:
    compacting = _Compacting(target=300, few=2, many=3)
    assert compacting.joined(1, 1, 1) == [1, 1, 1]
    assert compacting.joined(1, 1) == []


def test_few_small_ones_stay_whatever_their_size() -> None:
    assert _Compacting(target=300, few=3, many=50).joined(199, 199) == []
    assert _Compacting(target=300, few=3, many=50).joined(199, 199, 1) == [199, 199, 1]
    assert _Compacting(target=300, few=0, many=0).joined(1) == [], "one alone is never written again"
    assert _Compacting(target=300, few=0, many=0).joined(1, 1) == [1, 1]


def test_joined_manifests_say_what_is_new(tmp_path: Path) -> None:
    """Files of this snapshot as added, those of former ones as there, and what they have deleted is gone."""
    few = {"metadata.iceberg.compaction.min.file-num": "2", "metadata.iceberg.compaction.max.file-num": "3"}
    table = small_table(tmp_path, {**BESIDE, **few}, primary_key=False, partition_keys=["k"])
    put(table, {1: "a"})
    put(table, {2: "b", 3: "c"})
    assert len(manifests(table)) == 2
    table.overwrite_arrow(table.to_arrow(where="k = 3"))
    actual = [sorted(entries(table)), len(manifests(table))]
    assert actual == [[(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1)], 1]
    put(table, {4: "d"})
    put(table, {5: "e"})
    assert len(manifests(table)) == 1
    assert sorted(entries(table)) == [(0, 1, 1), (0, 2, 1), (0, 3, 1), (0, 4, 1), (1, 5, 1)]
    on_disk = [path.name for path in Path(folder_of(table).folder).glob("*-m*.avro")]
    named = {m.path.rpartition("/")[2] for s in newest(table).snapshots for m in _listed(table, s)}
    assert set(on_disk) == named


def _listed(table: CatalogTable, snapshot: IcebergSnapshot) -> list[IcebergManifest]:
    return folder_of(table).read_list(snapshot.manifest_list)


def test_many_entries_take_several_manifests(tmp_path: Path) -> None:
    options = {**BESIDE, "manifest.target-file-size": "1 b"}
    table = small_table(tmp_path, options, primary_key=False, partition_keys=["k"])
    put(table, {1: "a", 2: "b", 3: "c"})
    assert [(m.added_files, m.added_snapshot_id) for m in manifests(table)] == [(1, 1)] * 3
    assert len({m.path for m in manifests(table)}) == 3
    large = small_table(tmp_path / "large", BESIDE, primary_key=False, partition_keys=["k"])
    put(large, {1: "a", 2: "b", 3: "c"})
    assert [m.added_files for m in manifests(large)] == [3]


class _TenBytes:
    """Manifests that have ten bytes for each of their entries."""

    partition_fields = ()

    @property
    def layout(self) -> "_TenBytes":
        return self

    def serialize(self, entries: Sequence[Any], _: object) -> bytes:
        return b"x" * 10 * len(entries)


@pytest.mark.parametrize(
    ("target", "count", "sizes"),
    [
        (5, 1, [1]),
        (1, 1, [1]),
        (10, 2, [2]),
        (9, 2, [1, 1]),
        (10, 3, [1, 2]),
        (15, 3, [3]),
        (14, 6, [1, 2, 1, 2]),
        (1, 0, []),
    ],
)
def test_a_manifest_is_at_most_twice_as_large_as_it_should_be(
    monkeypatch: pytest.MonkeyPatch, target: int, count: int, sizes: list[int]
) -> None:
    """But for one with a single entry."""
    made: list[list[Any]] = []
    nothing: Any = None

    def noted(path: str, size: int, entries: Sequence[Any], snapshot_id: int, _: object) -> str:
        assert (size, snapshot_id) == (10 * len(entries), 7)
        made.append([entry.number for entry in entries])
        return path

    monkeypatch.setattr(module, "manifest_of", noted)
    monkeypatch.setattr(module._Follower, "_store", lambda self, path, _: self.written.append(path))
    options = {"manifest.target-file-size": f"{target} b"}
    folder = cast(IcebergFolder, SimpleNamespace(folder="f"))
    follower = module._Follower(nothing, nothing, cast(Any, _TenBytes()), folder, TableModel(options), {})
    given = [SimpleNamespace(number=n, snapshot_id=7, file=SimpleNamespace(content=0)) for n in range(count)]
    paths = follower._write(cast(Any, given))
    assert [len(part) for part in made] == sizes
    assert [number for part in made for number in part] == [*range(count)]
    assert len(set(paths)) == len(sizes)


# What stays


class _Earliest:
    """Snapshots of which only the oldest counts."""

    def __init__(self, earliest: int | None) -> None:
        self._earliest = earliest

    def earliest_id(self) -> int | None:
        return self._earliest


def kept(
    ages: Sequence[int], fewest: int, most: int, *, earliest: int | None = 1, tagged: Sequence[int] = ()
) -> list[int]:
    """Which snapshots stay. Args: `ages`: days of snapshots 1, 2 ... ; those younger than half a day are kept."""
    options = {
        "snapshot.num-retained.min": str(fewest),
        "snapshot.num-retained.max": str(most),
        "snapshot.time-retained": "12 h",
    }
    nothing: Any = None
    snapshots = cast(Any, _Earliest(earliest))
    tags = {f"tag-{number}": number for number in tagged}
    follower = module._Follower(snapshots, nothing, nothing, nothing, TableModel(options), tags)
    now = module._now()
    listed = [IcebergSnapshot(i, None, now - age * DAY, {}, "", 0) for i, age in enumerate(ages, 1)]
    return [snapshot.id for snapshot in follower._kept(listed, snapshot_of(len(ages)))]


def test_snapshots_stay_as_long_as_paimons() -> None:
    assert kept([0, 0, 0, 0], fewest=1, most=10) == [1, 2, 3, 4]
    assert kept([1, 1, 1, 1], fewest=1, most=10) == [4]
    assert kept([1, 1, 1, 1], fewest=2, most=10) == [3, 4]
    assert kept([1, 1, 0, 1], fewest=1, most=10) == [3, 4]
    assert kept([0, 0, 0, 0], fewest=1, most=2) == [3, 4]
    assert kept([0, 0, 0, 0], fewest=1, most=4) == [1, 2, 3, 4]


def test_what_has_expired_goes_and_what_a_tag_holds_stays() -> None:
    assert kept([0, 0, 0, 0], fewest=1, most=10, earliest=3) == [3, 4]
    assert kept([0, 0, 0, 0], fewest=1, most=10, earliest=3, tagged=[1]) == [1, 3, 4]
    assert kept([1, 1, 1, 1], fewest=1, most=1, tagged=[2]) == [2, 4]
    assert kept([0, 0, 0], fewest=1, most=10, earliest=None) == [3]


def test_a_snapshot_as_old_as_it_may_be_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_now", lambda: 10 * DAY)
    nothing: Any = None
    options = {"snapshot.num-retained.min": "1", "snapshot.time-retained": "12 h"}
    follower = module._Follower(cast(Any, _Earliest(1)), nothing, nothing, nothing, TableModel(options), {})
    limit = 10 * DAY - DAY // 2
    listed = [IcebergSnapshot(i, None, time, {}, "", 0) for i, time in ((1, limit - 1), (2, limit), (3, 0))]
    assert [snapshot.id for snapshot in follower._kept(listed, snapshot_of(3))] == [2, 3]


def test_tags_and_expired_snapshots_are_followed(tmp_path: Path) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})
    put(table, {2: "b"})
    create_tag(table, "kept", snapshot_id=1)
    assert newest(table).refs == {"kept": 1}
    delete_tag(table, "kept")
    assert newest(table).refs == {}
    assert [snapshot.id for snapshot in newest(table).snapshots] == [1, 2]


def test_nothing_is_written_where_nothing_has_changed(tmp_path: Path) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})
    folder = Path(folder_of(table).folder)
    (folder / "version-hint.text").write_text("0")
    os.utime(folder / "v1.metadata.json", (5, 5))
    before = {path.name for path in folder.iterdir()}
    again(table)
    assert folder_of(table).hint() == 1, "what points to the newest is put right"
    os.utime(folder / "version-hint.text", (5, 5))
    again(table)
    assert {path.name for path in folder.iterdir()} == before
    assert [(folder / name).stat().st_mtime for name in ("v1.metadata.json", "version-hint.text")] == [5, 5]


def test_a_version_is_made_afresh_where_the_changes_do_not_say_all(tmp_path: Path) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})
    put(table, {2: "b"})
    table_id, list_before = newest(table).table_uuid, newest(table).current.manifest_list
    again(table, afresh=True)
    assert newest(table).table_uuid == table_id
    assert newest(table).current.manifest_list != list_before
    assert [snapshot.id for snapshot in newest(table).snapshots] == [2]
    assert not Path(list_before).exists()


@pytest.mark.parametrize("most", [0, 1, 2])
def test_so_many_former_versions_stay(tmp_path: Path, most: int) -> None:
    options = {**BESIDE, "metadata.iceberg.previous-versions-max": str(most)}
    table = small_table(tmp_path, options, primary_key=False)
    for number in range(4):
        put(table, {number: "a"})
    assert folder_of(table).versions() == list(range(4 - most, 5))


def test_former_versions_stay_where_they_are_not_to_be_deleted(tmp_path: Path) -> None:
    table = small_table(tmp_path, KEEPING, primary_key=False)
    for number in range(3):
        put(table, {number: "a"})
    assert folder_of(table).versions() == [1, 2, 3]


def test_what_only_expired_snapshots_need_is_deleted(tmp_path: Path) -> None:
    """Lists, and manifests that the snapshots on both sides do not have."""
    options = {**BESIDE, "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
    table = small_table(tmp_path, options, primary_key=False, partition_keys=["k"])
    put(table, {1: "a"})
    put(table, {2: "b"})
    for _ in range(4):
        table.overwrite_arrow(table.to_arrow(where="k = 1"))
    made = newest(table)
    assert [snapshot.id for snapshot in made.snapshots] == [5, 6]
    named = {snapshot.manifest_list for snapshot in made.snapshots}
    named |= {manifest.path for snapshot in made.snapshots for manifest in _listed(table, snapshot)}
    there = {str(path) for path in Path(folder_of(table).folder).glob("*.avro")}
    assert there == {folder_of(table).place(path) for path in named}


def test_what_a_tagged_snapshot_needs_stays_between_those_that_expire(tmp_path: Path) -> None:
    options = {**BESIDE, "snapshot.num-retained.min": "1", "snapshot.num-retained.max": "1"}
    table = small_table(tmp_path, options, primary_key=False)
    put(table, {1: "a"})
    put(table, {2: "b"})
    create_tag(table, "kept", snapshot_id=2)
    put(table, {3: "c"})
    table.overwrite_arrow(table.to_arrow(where="k = 1"))
    made = newest(table)
    assert [snapshot.id for snapshot in made.snapshots] == [2, 4]
    for snapshot in made.snapshots:
        for manifest in _listed(table, snapshot):
            assert folder_of(table).read_manifest(manifest)


# Which version is continued


def history(table: CatalogTable) -> list[int]:
    return [snapshot.id for snapshot in newest(table).snapshots]


def changed(table: CatalogTable, version: int, **parts: Any) -> None:
    """Write a version with other values."""
    folder = folder_of(table)
    actual = folder.find(version)
    assert actual is not None
    table.file_io.overwrite(folder.path(version), serialize_metadata(replace(actual, **parts)))


def test_a_new_schema_continues_the_version_before(tmp_path: Path) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})
    open_catalog({"warehouse": str(tmp_path)}).alter_table("db.t", [AddColumn("n", "INT")])
    table = table_in(tmp_path)
    table.write_arrow(table.to_arrow())
    made = newest(table)
    assert history(table) == [1, 2]
    assert [form["schema-id"] for form in made.schemas] == [0, 1]
    assert (made.current_schema_id, made.last_column_id, made.current.schema_id) == (1, 2, 1)


@pytest.mark.parametrize(
    "parts",
    [
        {"format_version": 3},
        {"location": "/elsewhere"},
        {"schemas": [{"type": "struct", "schema-id": 0, "fields": []}]},
    ],
)
def test_a_version_that_does_not_fit_is_not_continued(tmp_path: Path, parts: Mapping[str, Any]) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})
    table_id = newest(table).table_uuid
    changed(table, 1, **parts)
    put(table, {2: "b"})
    assert history(table) == [2]
    assert newest(table).table_uuid == table_id
    assert (newest(table).format_version, newest(table).location) == (2, table.location)
    assert figures(table, "total-records") == [2]


def test_a_version_without_row_ids_is_not_continued_where_rows_have_them(tmp_path: Path) -> None:
    table = small_table(tmp_path, THREE, primary_key=False)
    put(table, {1: "a"})
    changed(table, 1, next_row_id=None)
    put(table, {2: "b"})
    assert history(table) == [2]
    assert newest(table).next_row_id == 2


@pytest.mark.parametrize("said", [None, "another"])
def test_the_version_before_must_be_of_the_snapshot_before(tmp_path: Path, said: str | None) -> None:
    """Older writers do not say of which snapshot it is: then its number decides."""
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a"})
    current = newest(table).current
    summary = {key: text for key, text in current.summary.items() if key != COMMIT_IDENTITY}
    summary |= {} if said is None else {COMMIT_IDENTITY: said}
    changed(table, 1, snapshots=[replace(current, summary=summary)])
    put(table, {2: "b"})
    assert history(table) == ([1, 2] if said is None else [2])


def test_totals_that_are_missing_are_counted_from_the_manifests(tmp_path: Path) -> None:
    table = small_table(tmp_path, BESIDE, primary_key=False)
    put(table, {1: "a", 2: "b"})
    current = newest(table).current
    summary = {key: text for key, text in current.summary.items() if not key.startswith("total-")}
    changed(table, 1, snapshots=[replace(current, summary=summary)])
    put(table, {3: "c"})
    added = table.manifests.delta_entries(table.snapshots.get(2))[0].file.file_size
    assert figures(table, "total-data-files", "total-records", "total-files-size") == [2, 3, added]


def test_versions_above_a_rollback_are_deleted(tmp_path: Path) -> None:
    table = small_table(tmp_path, KEEPING, primary_key=False)
    for number in range(3):
        put(table, {number: "a"})
    rollback_to(table, snapshot_id=2)
    assert folder_of(table).versions() == [1, 2]
    assert folder_of(table).hint() == 2


# Failures


def test_whoever_comes_second_leaves_the_version_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small_table(tmp_path, KEEPING, primary_key=False)
    put(table, {1: "a"})
    unseen = table.copy({"metadata.iceberg.storage": "disabled"})
    put(unseen, {2: "b"})
    before = {path.name for path in Path(folder_of(table).folder).iterdir()}
    monkeypatch.setattr(FileIO, "publish", lambda *_: False)
    again(table)
    assert {path.name for path in Path(folder_of(table).folder).iterdir()} == before


def test_what_a_failure_has_written_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = small_table(tmp_path, KEEPING, primary_key=False)
    put(table, {1: "a"})
    put(table.copy({"metadata.iceberg.storage": "disabled"}), {2: "b"})
    before = {path.name for path in Path(folder_of(table).folder).iterdir()}
    tries: list[int] = []

    def failing(*_: object) -> bytes:
        tries.append(1)
        raise OSError("no space")

    monkeypatch.setattr(module, "serialize_metadata", failing)
    again(table)
    assert "no space" in caplog.text
    assert len(tries) == 1, "only what expires meanwhile is tried again"
    assert {path.name for path in Path(folder_of(table).folder).iterdir()} == before


def test_what_expires_meanwhile_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = small_table(tmp_path, primary_key=False)
    put(table, {1: "a"})
    made = module._Follower.run
    tries: list[int] = []

    def expiring(self: Any, *, afresh: bool) -> None:
        tries.append(1)
        if len(tries) < 3:
            raise ExpiredError("gone", "here", "Again.")
        made(self, afresh=afresh)

    monkeypatch.setattr(module._Follower, "run", expiring)
    again(table, BESIDE)
    assert folder_of(table).versions() == [1]
    assert caplog.text == ""


@pytest.mark.parametrize("branch", [False, True])
def test_neither_branches_nor_tables_without_the_option_have_metadata(tmp_path: Path, branch: bool) -> None:
    table = small_table(tmp_path, primary_key=False)
    put(table, {1: "a"})
    paths = TablePaths(table.location, branch="b") if branch else table.paths
    follow("db.t", table.file_io, paths, TableModel(BESIDE if branch else {}))
    assert not Path(folder_of(table).folder).exists()


def test_a_table_without_snapshots_has_none(tmp_path: Path) -> None:
    again(table := small_table(tmp_path, BESIDE, primary_key=False))
    assert not Path(folder_of(table).folder).exists()
