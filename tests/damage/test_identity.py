"""Files that are intact and hold what belongs under another name: whoever finds one refuses and deletes nothing."""

import os
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_changelogs import expire_changelogs
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.delete_branch import delete_branch
from maintenance.operations.refs.delete_tag import delete_tag
from maintenance.operations.refs.fast_forward import fast_forward
from maintenance.operations.refs.replace_tag import replace_tag
from maintenance.operations.refs.rollback_to import rollback_to
from tests.models.reachable import files_on_disk
from tests.small_tables import put, rows, small_table, table_in

Change = Callable[[CatalogTable], object]


def expire(table: CatalogTable) -> object:
    return expire_snapshots(table, retain_min=1, retain_max=1)


DELETING: dict[str, Change] = {
    "expire_snapshots": expire,
    "delete_tag": lambda table: delete_tag(table, "two"),
    "expire_tags": lambda table: expire_tags(table, older_than=datetime(2199, 1, 1)),
    "replace_tag": lambda table: replace_tag(table, "two", snapshot_id=3),
    "rollback_to": lambda table: rollback_to(table, snapshot_id=3),
    "expire_changelogs": lambda table: expire_changelogs(table, delete_all=True),
    "delete_branch": lambda table: delete_branch(table, "b"),
    "fast_forward": lambda table: fast_forward(table, "b"),
}


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1 to 7 with a compaction, tags of 2 and 3, a branch that starts with 2, and changelogs."""
    table = small_table(tmp_path, {"bucket": "1", "changelog-producer": "input"})
    put(table, {1: "a"})
    create_tag(table, "one")
    put(table, {1: "b", 2: "b"})
    create_tag(table, "two")
    create_branch(table, "b", tag="two")
    for value in "cde":
        put(table, {1: value * 3, 3: value})
    compact(None, table, full=True)
    put(table, {9: "z"})
    put(table.on_branch("b"), {7: "branch"})
    kept = table.copy({"changelog.num-retained.max": "100", "snapshot.num-retained.max": "5"})
    expire_snapshots(kept, retain_max=6, retain_min=1)
    return table_in(tmp_path)


def refused(table: CatalogTable, change: Change, path: str) -> None:
    """The change fails, names the file and leaves everything where it is."""
    before = {name: Path(name).read_bytes() for name in files_on_disk(table)}
    with pytest.raises(CorruptFileError, match=r"expected .*found") as error:
        change(table_in(Path(table.location).parents[1]))
    assert os.path.basename(path) in str(error.value)
    assert error.value.fix
    assert {name: Path(name).read_bytes() for name in files_on_disk(table)} == before


def copied(source: str, target: str) -> str:
    shutil.copy(source, target)
    return target


@pytest.mark.parametrize("change", DELETING)
def test_a_snapshot_under_another_number(table: CatalogTable, change: str) -> None:
    path = copied(table.paths.snapshot(7), table.paths.snapshot(3))
    refused(table, DELETING[change], path)


def name_of(table: CatalogTable, snapshot_id: int, part: str) -> str:
    """Path of a list of a snapshot, or of the first manifest of one."""
    snapshot = table.snapshots.get(snapshot_id)
    kind, _, what = part.partition(" ")
    name = snapshot.base_manifest_list if kind == "base" else snapshot.delta_manifest_list
    if what == "manifest":
        name = table.manifests.read_list(name)[0].file_name
    return table.paths.manifest(name)


# What each operation must look at: a file of the newest snapshot, of a tag, of what goes.
@pytest.mark.parametrize("change", [name for name in DELETING if name not in ("delete_branch", "expire_changelogs")])
def test_a_manifest_under_another_name(table: CatalogTable, change: str) -> None:
    """The content of a manifest with a deletion stands where the tags, and states before it, have one of added rows."""
    path = copied(name_of(table, 6, "delta manifest"), name_of(table.on_branch("b"), 2, "delta manifest"))
    refused(table, DELETING[change], path)


@pytest.mark.parametrize("change", ["expire_snapshots", "delete_tag", "expire_tags", "rollback_to"])
def test_a_list_under_another_name(table: CatalogTable, change: str) -> None:
    path = copied(name_of(table, 7, "base list"), name_of(table, 3, "base list"))
    refused(table, DELETING[change], path)


def test_a_data_file_that_holds_another_one(table: CatalogTable) -> None:
    """The content of what would go may be what stays needs."""
    gone = table.manifests.live_entries(table.snapshots.get(5))[-1]
    kept = table.manifests.live_entries(table.snapshots.get(7))[0]
    paths = [table.paths.data_file(entry.partition, entry.bucket, entry.file) for entry in (gone, kept)]
    os.rename(paths[0], paths[0] + ".other")
    os.rename(paths[1], paths[0])
    os.rename(paths[0] + ".other", paths[1])
    refused(table, expire, paths[0])
    with pytest.raises(CorruptFileError, match=os.path.basename(paths[1])):
        rows(table)


@pytest.mark.parametrize("change", ["rollback_to", "fast_forward", "replace_tag"])
def test_a_state_to_go_to_that_lacks_a_data_file(table: CatalogTable, change: str) -> None:
    branch = table.on_branch("b")
    state = (branch, branch.snapshots.get(3)) if change == "fast_forward" else (table, table.snapshots.get(3))
    entry = state[0].manifests.live_entries(state[1])[-1]
    Path(table.paths.data_file(entry.partition, entry.bucket, entry.file)).unlink()
    before = files_on_disk(table)
    with pytest.raises(CorruptFileError, match=entry.file.file_name):
        DELETING[change](table)
    assert files_on_disk(table) == before


def test_snapshots_that_a_rollback_would_delete(table: CatalogTable) -> None:
    """One of them may hold a snapshot that stays; one that holds nothing known may go."""
    first, last = table.paths.snapshot(2), table.paths.snapshot(7)
    content = Path(last).read_bytes()
    shutil.copy(first, last)
    refused(table, lambda table: rollback_to(table, snapshot_id=4), last)
    Path(last).write_bytes(b"\0" * len(content))
    rollback_to(table, snapshot_id=4)
    assert table.snapshots.latest_id() == 4


def test_a_tag_of_another_history(table: CatalogTable) -> None:
    """The snapshot file of the tag's number holds something else than the tag."""
    create_tag(table, "new", snapshot_id=6)
    tag = Path(table.paths.tag("new"))
    tag.write_text(tag.read_text().replace(table.snapshots.get(6).delta_manifest_list, "manifest-list-other-1"))
    with pytest.raises(CorruptFileError):
        rollback_to(table, tag="new")
    assert table.snapshots.latest_id() == 7


def test_a_hint_that_gives_up_whole_snapshots(table: CatalogTable) -> None:
    """LATEST in the place of EARLIEST: what the retention keeps is not taken for the rest of an expiry."""
    Path(table.paths.snapshot_folder(), "EARLIEST").write_text("7")
    report = expire_snapshots(table, retain_min=3, retain_max=3)
    assert report.expired == (2, 3, 4)
    assert table.snapshots.list_ids() == [5, 6, 7]
    assert any("5 to 6 are below the EARLIEST hint 7" in note for note in report.notes)
    assert [row[0] for row in rows(table, {"scan.snapshot-id": "5"})] == [1, 2, 3]


@pytest.mark.parametrize("kind", ["schema", "changelog"])
def test_a_number_that_is_not_that_of_the_name(table: CatalogTable, kind: str) -> None:
    paths = table.paths
    named = {"schema": paths.schema(0), "changelog": paths.changelog(1)}[kind]
    path = Path(named)
    number = {"schema": 0, "changelog": 1}[kind]
    path.write_text(path.read_text().replace(f'"id" : {number},', '"id" : 9,', 1))
    with pytest.raises(CorruptFileError, match=f"expected {kind} {number}, found {kind} 9"):
        table.schemas.get(0) if kind == "schema" else table.changelogs.find(1)


def test_a_manifest_that_two_lists_name(table: CatalogTable) -> None:
    """The lists of neighbouring snapshots are exchanged: then one names a manifest twice."""
    here, there = name_of(table, 3, "base list"), name_of(table, 4, "base list")
    shutil.copy(there, here)
    snapshot = Path(table.paths.snapshot(3))
    size = Path(here).stat().st_size
    text = snapshot.read_text().replace(f": {table.snapshots.get(3).base_manifest_list_size},", f": {size},", 1)
    snapshot.write_text(text)
    with pytest.raises(CorruptFileError, match="expected each manifest once"):
        rows(table, {"scan.snapshot-id": "3"})
