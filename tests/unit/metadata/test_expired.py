"""What somebody expires while it is read is read again in its newest state, or named as that; damage stays damage."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, ErrorClass, ExpiredError, MissingFileError, NotFoundError
from maintenance.metadata.expired import again_if_expired, is_held
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.back_off import rival
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.partition_choice import check_partitions
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.table.partitions import named_partitions
from maintenance.table.shape import table_shape
from maintenance.table.stream import TableStream
from maintenance.table.system.view import system_table
from tests.foreign_commits import foreign_write
from tests.interference import assert_happened, interfered_with
from tests.small_tables import put, rows, small_table
from tests.tables import create_table, keyed, live

# What is looked at last of a state: its lists, a manifest, a data file.
LOOKED_AT = {"list": r"/manifest-list-", "manifest": r"/manifest-[0-9a-f-]{36}-\d+$", "data": r"/bucket-"}
PARTS = pytest.mark.parametrize("part", LOOKED_AT)


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1 to 4, the last of which replaces all files; a tag of the first."""
    table = small_table(tmp_path, {"bucket": "1"})
    put(table, {1: "a"})
    create_tag(table, "first")
    put(table, {1: "b", 2: "b"})
    put(table, {1: "c", 3: "c"})
    compact(None, table, full=True)
    return table


def replaced_and_expired(table: CatalogTable) -> Callable[[], object]:
    """A writer replaces everything, and all that was there expires."""

    def act() -> None:
        put(table, {1: "new"})
        compact(None, table, full=True)
        expire_snapshots(table, retain_min=1, retain_max=1)

    return act


NEW = [(1, "new"), (2, "b"), (3, "c")]


@PARTS
def test_the_newest_state_is_read_again(table: CatalogTable, part: str) -> None:
    assert rows(interfered_with(table, LOOKED_AT[part], replaced_and_expired(table))) == NEW


@PARTS
def test_a_snapshot_that_was_asked_for_is_named(table: CatalogTable, part: str) -> None:
    reading = interfered_with(table, LOOKED_AT[part], replaced_and_expired(table))
    with pytest.raises(ExpiredError, match="snapshot 3 was expired while it was read") as error:
        rows(reading, {"scan.snapshot-id": "3"})
    assert error.value.error_class is ErrorClass.CONFLICT
    with pytest.raises(NotFoundError, match="snapshot 3 is gone"):
        rows(table, {"scan.snapshot-id": "3"})


@PARTS
def test_a_tag_that_is_deleted_is_named(table: CatalogTable, part: str) -> None:
    def act() -> None:
        expire_snapshots(table, retain_min=1, retain_max=1)
        delete_tag(table, "first")

    with pytest.raises(ExpiredError, match="snapshot 1 was expired while it was read, and no tag holds it"):
        rows(interfered_with(table, LOOKED_AT[part], act), {"scan.tag-name": "first"})


@PARTS
def test_a_tag_holds_what_expires(table: CatalogTable, part: str) -> None:
    reading = interfered_with(table, LOOKED_AT[part], replaced_and_expired(table))
    assert rows(reading, {"scan.tag-name": "first"}) == [(1, "a")]


@pytest.mark.parametrize("asked", [{}, {"scan.snapshot-id": "4"}, {"scan.tag-name": "first"}])
@PARTS
def test_what_is_missing_though_it_is_still_named_stays_damage(
    table: CatalogTable, part: str, asked: dict[str, str]
) -> None:
    """The snapshot or tag that names the file is there."""
    held = table.tags.get("first").snapshot if "scan.tag-name" in asked else table.snapshots.get(4)
    entry = table.manifests.live_entries(held)[0]
    (meta, *_) = [m for m in table.manifests.data_manifests(held) if m.num_added_files]
    paths = table.paths
    path = {
        "list": paths.manifest(held.delta_manifest_list),
        "manifest": paths.manifest(meta.file_name),
        "data": paths.data_file(entry.partition, entry.bucket, entry.file),
    }[part]
    Path(path).unlink()
    with pytest.raises((CorruptFileError, MissingFileError), match=Path(path).name):
        rows(table, asked)


def test_changes_that_expire_while_they_are_read_are_named(table: CatalogTable) -> None:
    between = {"incremental-between": "1,3"}
    for part in LOOKED_AT.values():
        reading = interfered_with(table, part, lambda: None)
        assert rows(reading, between) == [(1, "b"), (1, "c"), (2, "b"), (3, "c")]
    reading = interfered_with(table, LOOKED_AT["data"], replaced_and_expired(table))
    with pytest.raises(ExpiredError, match="snapshot 2 was expired"):
        rows(reading, between)


def test_a_stream_whose_snapshot_expires(table: CatalogTable) -> None:
    stream = TableStream(interfered_with(table, LOOKED_AT["list"], replaced_and_expired(table)))
    position = stream.start()
    with pytest.raises(ExpiredError, match="snapshot 4 was expired"):
        stream.between(position, stream.end())


@pytest.mark.parametrize("name", ["files", "manifests", "partitions", "buckets"])
def test_system_tables_show_the_newest_state_after_an_expiry(table: CatalogTable, name: str) -> None:
    reading = interfered_with(table, LOOKED_AT["list"], replaced_and_expired(table))
    assert system_table(reading, name).to_arrow().equals(system_table(table, name).to_arrow())


def test_a_commit_on_a_snapshot_that_expires(table: CatalogTable) -> None:
    writing = interfered_with(table, LOOKED_AT["list"], replaced_and_expired(table))
    put(writing, {1: "newer"})
    assert rows(table) == [(1, "newer"), *NEW[1:]]


def test_expiry_beside_a_removal_of_tags(table: CatalogTable) -> None:
    """The tag is among those that hold files, and gone when its manifests are read."""
    put(table, {5: "e"})

    def act() -> None:
        delete_tag(table, "first")

    expire_snapshots(table, retain_min=4, retain_max=4)
    expiring = interfered_with(table, LOOKED_AT["list"], act)
    assert expire_snapshots(expiring, retain_min=1, retain_max=1).expired == (2, 3, 4)
    assert table.tags.names() == []
    assert fsck(table.file_io, table.location, deep=True).healthy


@PARTS
def test_one_expiry_beside_another_leaves_a_healthy_table(table: CatalogTable, part: str) -> None:
    put(table, {5: "e"})
    expiring = interfered_with(table, LOOKED_AT[part], replaced_and_expired(table))
    expire_snapshots(expiring, retain_min=2, retain_max=2)
    assert rows(table)[0] == (1, "new" if part != "data" else "c")
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_a_removal_of_tags_beside_expiry(table: CatalogTable) -> None:
    removing = interfered_with(table, LOOKED_AT["list"], replaced_and_expired(table))
    assert delete_tag(removing, "first").expired == ("first",)
    assert rows(table) == NEW
    report = fsck(table.file_io, table.location, deep=True)
    assert (report.faults, report.notes) == ((), ())


def test_two_removals_of_one_tag(table: CatalogTable) -> None:
    """The second one finds the tag gone, and nothing left to do."""
    removing = interfered_with(table, LOOKED_AT["list"], lambda: delete_tag(table, "first"))
    delete_tag(removing, "first")
    assert table.tags.names() == []
    assert table.tags.retired() == {}


@pytest.mark.parametrize("looked_at", [*LOOKED_AT.values(), r"/snapshot-2$", r"/tag-first$"])
@pytest.mark.parametrize("deep", [False, True])
def test_an_examination_beside_expiry(table: CatalogTable, looked_at: str, deep: bool) -> None:
    def act() -> None:
        replaced_and_expired(table)()
        delete_tag(table, "first")

    reading = interfered_with(table, looked_at, act)
    report = fsck(reading.file_io, table.location, deep=deep)
    assert report.faults == ()
    assert_happened(reading)


def test_an_examination_finds_damage_beside_expiry(table: CatalogTable) -> None:
    """A file that both an expired snapshot and the tag need is missing."""
    held = table.tags.get("first").snapshot
    entry = table.manifests.live_entries(held)[0]
    path = Path(table.paths.data_file(entry.partition, entry.bucket, entry.file))
    path.unlink()
    reading = interfered_with(table, r"/manifest-list-", replaced_and_expired(table))
    report = fsck(reading.file_io, table.location)
    assert [fault.object.rsplit("/", 1)[1] for fault in report.faults] == [path.name]


def test_what_is_tried_again() -> None:
    said: list[Exception] = []

    def work() -> str:
        if said:
            raise said.pop(0)
        return "done"

    said = [ExpiredError("one", "", ""), ExpiredError("two", "", "")]
    assert again_if_expired(work) == "done"
    said = [ExpiredError(str(n), "", "") for n in range(9)]
    with pytest.raises(ExpiredError, match="0"):
        again_if_expired(work, 3)
    said = [ExpiredError("one", "", ""), NotFoundError("gone", "", "")]
    with pytest.raises(ExpiredError, match="one"):
        again_if_expired(work)
    said = [ExpiredError("one", "", ""), MissingFileError("lost", "", "")]
    with pytest.raises(MissingFileError, match="lost"):
        again_if_expired(work)
    said = [NotFoundError("never", "", "")]
    with pytest.raises(NotFoundError, match="never"):
        again_if_expired(work)


def test_a_snapshot_is_held_by_its_own_file_or_by_a_tag(table: CatalogTable) -> None:
    held = [is_held(table.file_io, table.paths, number) for number in (1, 4, 5)]
    assert held == [True, True, False]
    expire_snapshots(table, retain_min=1, retain_max=1)
    assert [is_held(table.file_io, table.paths, number) for number in (1, 2, 4)] == [True, False, True]


def test_another_snapshot_of_the_same_number_is_not_held(table: CatalogTable) -> None:
    """A number is used again after a rollback, or when a commit was withdrawn."""
    first = table.snapshots.get(2)
    other = replace(first, commit_user="another")
    assert is_held(table.file_io, table.paths, 2, snapshot=first)
    assert not is_held(table.file_io, table.paths, 2, snapshot=other)
    create_tag(table, "two", snapshot_id=2)
    assert not is_held(table.file_io, table.paths, 2, snapshot=other)
    Path(table.paths.snapshot(2)).unlink()
    assert is_held(table.file_io, table.paths, 2, snapshot=first), "a tag holds it"


def test_a_compaction_whose_files_expire(table: CatalogTable) -> None:
    """Planned again, not reported as damage."""
    put(table, {7: "g"})
    report = compact(None, interfered_with(table, LOOKED_AT["data"], replaced_and_expired(table)), full=True)
    assert [group.outcome for group in report.groups] == ["nothing_to_do"]
    assert rows(table) == [*NEW, (7, "g")]


def test_a_compaction_whose_vectors_expire(tmp_path: Path) -> None:
    """They are read once more at its end: by then another writer has replaced them with the files that they are of."""
    table = small_table(tmp_path, {"deletion-vectors.enabled": "true"}, primary_key=False)
    put(table, {1: "a", 2: "b"})
    table.delete("k = 2")
    put(table, {3: "c"})
    others = [lambda: (compact(None, table, full=True), expire_snapshots(table, retain_min=1, retain_max=1))]

    def race(line: str) -> None:
        if "groups rewritten" in line and others:
            others.pop()()

    report = compact(None, table, full=True, progress=race)
    assert [group.outcome for group in report.groups] == ["conflict_retried"]
    assert not others
    assert rows(table) == [(1, "a"), (3, "c")]


def test_the_partitions_of_a_compaction_are_read_again(tmp_path: Path) -> None:
    schema = (("day", "STRING NOT NULL"), ("id", "INT NOT NULL"))
    table = create_table(tmp_path, schema, ("day", "id"), partition_keys=("day",))
    for number in range(2):
        table.write_arrow(pa.table({"day": ["a"], "id": pa.array([number], pa.int32())}))

    def act() -> None:
        compact(None, table, full=True)
        expire_snapshots(table, retain_min=1, retain_max=1)

    reading = interfered_with(table, LOOKED_AT["list"], act)
    check_partitions(reading, named_partitions(table, [{"day": "a"}]))
    assert_happened(reading)


def test_who_changed_a_bucket_is_unknown_once_it_expired(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    first = table.latest_snapshot()
    foreign_write(table, keyed({2: "a"}), "flink")
    place = (live(table)[0].partition, 0)
    assert rival(table, first, {place}) == "flink"

    def act() -> None:
        compact(None, table, full=True)
        expire_snapshots(table, retain_min=1, retain_max=1)

    reading = interfered_with(table, LOOKED_AT["list"], act)
    assert rival(reading, first, {place}) is None
    assert_happened(reading)


def test_rows_that_are_changed_while_their_snapshot_expires(tmp_path: Path) -> None:
    table = small_table(tmp_path, {"deletion-vectors.enabled": "true"}, primary_key=False)
    put(table, {1: "a", 2: "b"})

    def act() -> None:
        table.update({"v": "'c'"}, "k = 1")
        compact(None, table, full=True)
        expire_snapshots(table, retain_min=1, retain_max=1)

    interfered_with(table, LOOKED_AT["data"], act).delete("k = 2")
    assert rows(table) == [(1, "c")]


def test_the_shape_is_taken_of_the_newest_state(table: CatalogTable) -> None:
    for part in ("list", "manifest"):
        reading = interfered_with(table, LOOKED_AT[part], replaced_and_expired(table))
        assert table_shape(reading).files == 1


def test_an_expiry_by_paimon_in_its_order_is_no_damage(table: CatalogTable) -> None:
    """It deletes the manifests of all snapshots first, then the snapshots, and the hint is written last."""
    paths = table.paths
    states = [table.snapshots.get(number) for number in (1, 2, 3)]
    for tag in table.tags.names():
        Path(paths.tag(tag)).unlink()
    for state in states:
        for name in (state.base_manifest_list, state.delta_manifest_list):
            Path(paths.manifest(name)).unlink()

    def ends() -> None:
        for state in states:
            Path(paths.snapshot(state.id)).unlink()

    later = threading.Timer(0.3, ends)
    later.start()
    try:
        with pytest.raises(ExpiredError, match="snapshot 2 was expired while it was read"):
            rows(table.copy({"scan.snapshot-id": "2"}))
    finally:
        later.join()
    assert rows(table) == [(1, "c"), (2, "b"), (3, "c")]


def test_an_expiry_that_never_goes_on_is_damage(table: CatalogTable) -> None:
    for number in (1, 2):
        file = table.snapshots.get(number).delta_manifest_list
        Path(table.paths.manifest(file)).unlink()
    with pytest.raises(CorruptFileError):
        rows(table.copy({"scan.snapshot-id": "2"}))


def test_a_damaged_table_is_waited_for_once(table: CatalogTable, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2, 3):
        Path(table.paths.manifest(table.snapshots.get(number).delta_manifest_list)).unlink()
    slept: list[float] = []
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds
        if seconds > 0.01:  # else a hint is read once more
            slept.append(seconds)

    monkeypatch.setattr("maintenance.metadata.expired.time.sleep", sleep)
    monkeypatch.setattr("maintenance.metadata.expired.time.monotonic", lambda: clock[0])
    assert is_held(table.file_io, table.paths, 1)
    first = sum(slept)
    assert first > 1
    assert is_held(table.file_io, table.paths, 2)
    assert is_held(table.file_io, table.paths, 3)
    assert sum(slept) == first
