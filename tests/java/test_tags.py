"""Tags that both engines create of one history: the same names, and the same bytes but for the time of creation."""

import random
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, SetOption, open_catalog
from maintenance.errors import OptionError
from maintenance.format.metadata.tag import parse_tag
from maintenance.operations import (
    compact,
    compact_manifest,
    create_branch,
    create_tag,
    delete_branch,
    delete_tag,
    expire_snapshots,
    fsck,
    purge_files,
    trigger_tag_automatic_creation,
)
from tests.java.process import JavaError, JavaProcess
from tests.small_tables import put, rows, set_commit_time, small_table, table_in

START = datetime(2024, 5, 14, 10, 20, tzinfo=UTC)
BY_TIME = {"tag.automatic-creation": "process-time"}
SCHEDULES = [
    {},
    {"tag.creation-period": "hourly", "tag.creation-delay": "20 min"},
    {"tag.creation-period": "hourly", "tag.automatic-completion": "true", "tag.num-retained-max": "4"},
    {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"},
    {"tag.creation-period": "two-hours", "tag.period-formatter": "without_dashes_and_spaces"},
    {"tag.creation-period-duration": "15 min", "tag.default-time-retained": "9000 d"},
    {"sink.process-time-zone": "America/Los_Angeles", "tag.period-formatter": "without_dashes"},
    {"sink.process-time-zone": "GMT+05:30", "tag.creation-period": "hourly"},
]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
def test_a_schedule_creates_the_same_tags_on_both_sides(
    java: JavaProcess, tmp_path: Path, schedule: Mapping[str, str]
) -> None:
    dice = random.Random(repr(schedule))
    ours = small_table(tmp_path / "ours", {**BY_TIME, **schedule})
    moment = START
    for _ in range(3):
        for _ in range(dice.randint(1, 6)):
            moment += timedelta(minutes=dice.choice([1, 7, 30, 61, 200, 1500]))
            set_commit_time(ours, put(ours, {1: "a"}), int(moment.timestamp() * 1000))
        theirs = copied(tmp_path, ours)
        trigger_tag_automatic_creation(ours)
        java.create_automatic_tags(str(tmp_path / "theirs"), "db.t")
        assert contents(ours) == contents(theirs) != {}
        assert without_times(ours) == without_times(theirs)


def test_each_continues_the_tags_of_the_other(java: JavaProcess, tmp_path: Path) -> None:
    table = small_table(tmp_path, {**BY_TIME, "tag.creation-period": "hourly", "tag.create-success-file": "true"})
    for hours in range(4):
        millis = int((START + timedelta(hours=hours)).timestamp() * 1000)
        set_commit_time(table, put(table, {1: f"v{hours}"}), millis)
        if hours % 2:
            java.create_automatic_tags(str(tmp_path), "db.t")
        else:
            trigger_tag_automatic_creation(table)
    held = {name: tag.snapshot.id for name, tag in table.tags.all().items()}
    zone = datetime.now().astimezone().tzinfo
    assert held == {f"{START.astimezone(zone) + timedelta(hours=h - 1):%Y-%m-%d %H}": h + 1 for h in range(4)}
    folder = Path(table.paths.tag_folder()) / "tag-success-file"
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{name}_SUCCESS" for name in held)
    forms = [[line.split(":")[0] for line in path.read_text().splitlines()] for path in folder.iterdir()]
    assert forms == [forms[0]] * 4


def test_tags_branches_and_expiry_by_turns(java: JavaProcess, tmp_path: Path) -> None:
    """Each engine goes on with what the other tagged, branched and expired, and both read the same."""
    warehouse = str(tmp_path)
    table = small_table(tmp_path, {"bucket": "1"})
    for number in range(6):
        java.write(warehouse, "db.t", [(number % 3, str(number))])
    java.create_tag(warehouse, "db.t", "theirs", 2)
    java.create_branch(warehouse, "db.t", "b", "theirs")
    create_tag(table, "ours", snapshot_id=3)
    create_branch(table, "c", snapshot_id=4)
    compact(None, table, full=True)
    java.expire(warehouse, "db.t", 4)
    put(table.on_branch("b"), {7: "b"})
    java.write(warehouse, "db.t", [(8, "c")], None, None, {"branch": "c"})
    expire_snapshots(table, retain_min=2, retain_max=2)
    expected = {
        "main": [(0, "3"), (1, "4"), (2, "5")],
        "theirs": [(0, "0"), (1, "1")],
        "ours": [(0, "0"), (1, "1"), (2, "2")],
        "b": [(0, "0"), (1, "1"), (7, "b")],
        "c": [(0, "3"), (1, "1"), (2, "2"), (8, "c")],
    }
    reads: dict[str, dict[str, str]] = {
        "main": {},
        "theirs": {"scan.tag-name": "theirs"},
        "ours": {"scan.tag-name": "ours"},
        "b": {"branch": "b"},
        "c": {"branch": "c"},
    }
    for name, options in reads.items():
        assert rows(table, options) == expected[name], name
        assert sorted(java.rows(warehouse, "db.t", options)) == expected[name], name
    delete_tag(table, "theirs")
    java.delete_tag(warehouse, "db.t", "ours")
    compact_manifest(table)
    java.write(warehouse, "db.t", [(0, "6")])
    assert rows(table) == sorted(java.rows(warehouse, "db.t")) == [(0, "6"), (1, "4"), (2, "5")]
    assert rows(table, {"branch": "c"}) == expected["c"]
    assert fsck(table.file_io, table.location, deep=True).healthy
    purge_files(table, minimum_age=timedelta(0))
    assert java.rows(warehouse, "db.t") == []
    assert java.orphans(warehouse, "db.t") == []


def test_a_branch_without_schema_can_be_deleted_and_purged(java: JavaProcess, tmp_path: Path) -> None:
    """Paimon deletes the files of a branch one after the other on an object store, and may be interrupted."""
    ours = small_table(tmp_path / "ours")
    put(ours, {1: "a"})
    create_tag(ours, "x")
    for name in ("b", "c"):
        create_branch(ours, name, tag="x")
        shutil.rmtree(Path(ours.location) / f"branch/branch-{name}/schema")
    theirs = copied(tmp_path, ours)
    java.delete_branch(str(tmp_path / "theirs"), "db.t", "b")
    assert delete_branch(ours, "b").snapshots == (1,)
    folders = [Path(table.location) / "branch" for table in (ours, theirs)]
    assert [[path.name for path in folder.iterdir()] for folder in folders] == [["branch-c"]] * 2
    assert purge_files(ours, minimum_age=timedelta(0)).branches == ("c",)
    assert list(folders[0].iterdir()) == []


def test_a_branch_cannot_be_purged_as_in_java(java: JavaProcess, tmp_path: Path) -> None:
    """Java refuses it once all branches are gone; here nothing is."""
    ours = small_table(tmp_path / "ours")
    put(ours, {1: "a"})
    for name in ("b", "c"):
        create_branch(ours, name, snapshot_id=1)
    copied(tmp_path, ours)
    with pytest.raises(JavaError, match=r"preparing snapshot"):
        java.purge(str(tmp_path / "theirs"), "db.t$branch_b")
    with pytest.raises(OptionError, match=r"whole table.*branch 'b'.*the table db\.t,"):
        purge_files(ours.on_branch("b"), minimum_age=timedelta(0))
    catalog = open_catalog({"warehouse": str(tmp_path / "ours")})
    catalog.alter_table("db.t", [SetOption("scan.fallback-branch", "c")])
    with pytest.raises(OptionError, match=r"scan\.fallback-branch"):
        purge_files(table_in(tmp_path / "ours"), minimum_age=timedelta(0))
    assert rows(ours, {"branch": "b"}) == rows(ours, {"branch": "c"}) == rows(ours) == [(1, "a")]


def copied(folder: Path, table: CatalogTable) -> CatalogTable:
    """The warehouse `theirs`, as ours is now."""
    shutil.rmtree(folder / "theirs", ignore_errors=True)
    shutil.copytree(folder / "ours", folder / "theirs")
    theirs = table_in(folder / "theirs")
    assert theirs.tags.names() == table.tags.names()
    return theirs


def contents(table: CatalogTable) -> dict[str, object]:
    """What each tag holds, and how long it lives."""
    return {name: (tag.snapshot, tag.time_retained) for name, tag in table.tags.all().items()}


def without_times(table: CatalogTable) -> dict[str, bytes]:
    """The bytes of the tags that are kept for ever: those of others have the time of their creation."""
    files = {name: Path(table.paths.tag(name)).read_bytes() for name in table.tags.names()}
    return {name: data for name, data in files.items() if parse_tag(data, name).time_retained is None}
