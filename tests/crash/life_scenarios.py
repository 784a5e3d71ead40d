"""Automatic tags, manifests, merged branches and purged tables: what is killed, and what must hold afterwards."""

from datetime import timedelta
from typing import TYPE_CHECKING

from maintenance.catalog import CatalogTable
from maintenance.errors import NotFoundError
from maintenance.metadata.branches import Branches
from maintenance.operations import (
    compact_manifest,
    create_branch,
    create_tag,
    delete_branch,
    expire_snapshots,
    merge_branch,
    purge_files,
    remove_orphan_files,
    rename_branch,
    reset_consumer,
    rollback_to_as_latest,
    trigger_tag_automatic_creation,
)
from tests.models.reachable import files_on_disk, unreachable_files
from tests.small_tables import Place, put, rows, rows_of_tag, set_commit_time, small_table

if TYPE_CHECKING:
    from tests.crash.scenarios import Reading

_NO_AGE = timedelta(0)
_HOUR = 3_600_000
_START = 1_715_680_800_000  # 2024-05-14 10:00 UTC
_HOURLY = {
    "tag.automatic-creation": "process-time",
    "tag.creation-period": "hourly",
    "tag.num-retained-max": "2",
    "sink.process-time-zone": "UTC",
    "tag.create-success-file": "true",
}


def prepare_hours(place: Place) -> None:
    """Two tags of hours whose snapshots have expired, and two more hours to tag."""
    table = small_table(place, _HOURLY)
    for hour in range(4):
        set_commit_time(table, put(table, {1: f"{hour}"}), _START + hour * _HOUR)
        if hour == 1:
            trigger_tag_automatic_creation(table)
    expire_snapshots(table, retain_min=2, retain_max=2)


def tag_hours(table: CatalogTable) -> None:
    trigger_tag_automatic_creation(table)


def check_hours_tagged(table: CatalogTable) -> None:
    assert {name: rows_of_tag(table, name) for name in table.tags.names()} == {
        "2024-05-14 11": [(1, "2")],
        "2024-05-14 12": [(1, "3")],
    }


def check_some_hours_tagged(before: "Reading", after: CatalogTable) -> None:
    assert rows(after) == before.rows
    expected = {f"2024-05-14 {9 + hour:02d}": [(1, str(hour))] for hour in range(4)}
    actual = {name: rows_of_tag(after, name) for name in after.tags.names()}
    assert actual.items() <= expected.items()


def check_hours_tagged_once(whole: CatalogTable, table: CatalogTable) -> None:
    check_hours_tagged(table)
    assert table.tags.retired() == {}
    ours, theirs = ({path.removeprefix(t.location) for path in files_on_disk(t)} for t in (table, whole))
    assert {path for path in ours if "SUCCESS" not in path} == {path for path in theirs if "SUCCESS" not in path}


def expire_again(table: CatalogTable) -> None:
    """Works off what a killed removal of tags left on record."""
    expire_snapshots(table, retain_min=2, retain_max=2)


def prepare_manifests(place: Place) -> None:
    table = small_table(place)
    for number in range(5):
        put(table, {number: "a"})


def merge_manifests(table: CatalogTable) -> None:
    compact_manifest(table)


def check_manifests_merged(table: CatalogTable) -> None:
    assert table.snapshots.latest_id() == 6
    assert len(table.manifests.data_manifests(table.snapshots.get(6))) == 1
    assert len(rows(table)) == 5


def check_rows_stay(before: "Reading", after: CatalogTable) -> None:
    assert rows(after) == before.rows


def check_manifests_merged_once(_whole: CatalogTable, table: CatalogTable) -> None:
    check_manifests_merged(table)


def prepare_branches(place: Place) -> None:
    table = small_table(place, primary_key=False)
    put(table, {1: "both"})
    create_branch(table, "b", snapshot_id=1)
    put(table, {2: "main"})
    put(table.on_branch("b"), {3: "branch"})


def merge(table: CatalogTable) -> None:
    merge_branch(table, "b")


def check_merged(table: CatalogTable) -> None:
    assert rows(table) == [(1, "both"), (2, "main"), (3, "branch")]
    assert table.snapshots.latest_id() == 3


def check_merged_or_not(before: "Reading", after: CatalogTable) -> None:
    assert rows(after) in (before.rows, [*before.rows, (3, "branch")])


def check_merged_once(_whole: CatalogTable, table: CatalogTable) -> None:
    check_merged(table)


def go_back_by_commit(table: CatalogTable) -> None:
    rollback_to_as_latest(table, snapshot_id=2)


def check_back_by_commit(table: CatalogTable) -> None:
    assert rows(table) == [(0, "a"), (1, "a")]
    assert table.snapshots.list_ids() == [1, 2, 3, 4, 5, 6]
    assert len(table.tags.names()) == 1


def check_back_or_not(before: "Reading", after: CatalogTable) -> None:
    assert rows(after) in (before.rows, before.rows[:2])


def check_back_once(_whole: CatalogTable, table: CatalogTable) -> None:
    # What a killed commit has written of its metadata is an orphan.
    remove_orphan_files(None, table, minimum_age=_NO_AGE)
    check_back_by_commit(table)
    assert unreachable_files(table) == set()


def prepare_full(place: Place) -> None:
    table = small_table(place, {"changelog-producer": "input"})
    for number in range(3):
        put(table, {number: "a"})
    create_tag(table, "t", snapshot_id=1)
    create_branch(table, "b", tag="t")
    put(table.on_branch("b"), {9: "b"})
    reset_consumer(table, "c", 2)
    expire_snapshots(table, retain_min=2, retain_max=2)


def purge(table: CatalogTable) -> None:
    purge_files(table, minimum_age=_NO_AGE)


def check_purged(table: CatalogTable) -> None:
    assert (rows(table), table.tags.names(), table.consumers.names()) == ([], [], [])
    assert Branches(table.file_io, table.paths).names() == ["main"]
    assert table.snapshots.list_ids() == [4]
    assert unreachable_files(table) == set()
    assert not [path for path in files_on_disk(table) if "/bucket-" in path]


def check_all_or_none(before: "Reading", after: CatalogTable) -> None:
    assert rows(after) in (before.rows, [])
    for name in after.tags.names():
        assert rows_of_tag(after, name) == before.tags[name]


def check_purged_once(_whole: CatalogTable, table: CatalogTable) -> None:
    remove_orphan_files(None, table, minimum_age=_NO_AGE)
    check_purged(table)


def prepare_branch_to_delete(place: Place) -> None:
    table = small_table(place)
    put(table, {1: "main"})
    create_tag(table, "t", snapshot_id=1)
    create_branch(table, "b", tag="t")
    put(table.on_branch("b"), {2: "branch"})


def delete_b(table: CatalogTable) -> None:
    try:
        delete_branch(table, "b")
    except NotFoundError:  # it is gone, but for what hid it
        assert Branches(table.file_io, table.paths).names() == ["main"]


def check_b_deleted(table: CatalogTable) -> None:
    assert Branches(table.file_io, table.paths).names() == ["main"]
    assert rows(table) == [(1, "main")]
    assert not [path for path in files_on_disk(table) if "/branch-b/" in path]


def check_b_whole_or_none(before: "Reading", after: CatalogTable) -> None:
    assert rows(after) == before.rows
    if "b" in Branches(after.file_io, after.paths).names():
        assert rows(after.on_branch("b")) == [(1, "main"), (2, "branch")]


def check_b_deleted_once(_whole: CatalogTable, table: CatalogTable) -> None:
    remove_orphan_files(None, table, minimum_age=_NO_AGE)
    check_b_deleted(table)


# A branch with another name


def rename_b(table: CatalogTable) -> None:
    try:
        rename_branch(table, "b", "c")
    except NotFoundError:
        assert Branches(table.file_io, table.paths).names() == ["main", "c"]


def check_b_renamed(table: CatalogTable) -> None:
    assert Branches(table.file_io, table.paths).names() == ["main", "c"]
    check_branch_rows(table, "c")
    assert not [path for path in files_on_disk(table) if "/branch-b/" in path]


def check_branch_rows(table: CatalogTable, branch: str) -> None:
    assert rows(table.on_branch(branch)) == [(1, "main"), (2, "branch")]
    assert rows_of_tag(table.on_branch(branch), "t") == [(1, "main")]


def check_b_or_c(before: "Reading", after: CatalogTable) -> None:
    """One of the two at the least, and each of them whole."""
    assert rows(after) == before.rows
    names = Branches(after.file_io, after.paths).names()
    assert names in (["main", "b"], ["main", "c"], ["main", "b", "c"])
    for name in names[1:]:
        check_branch_rows(after, name)


def check_b_renamed_once(_whole: CatalogTable, table: CatalogTable) -> None:
    check_b_renamed(table)
    assert {path.rsplit("/", 2)[0] for path in _in_branches(table)} == {f"{table.location}/branch/branch-c"}


def _in_branches(table: CatalogTable) -> list[str]:
    root = f"{table.location}/branch"
    return [f"{root}/{file.path}" for file in table.file_io.list_tree(root) if file.name != ".folder"]
