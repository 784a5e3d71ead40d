"""What keeps files, snapshots, tags and partitions, and what would release them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import NotFoundError, OptionError
from maintenance.operations import (
    compact,
    create_branch,
    create_tag,
    delete_tag,
    drop_partitions,
    expire_snapshots,
    explain,
    reset_consumer,
)
from maintenance.sql import Session
from tests.models.reachable import files_on_disk
from tests.small_tables import put, set_commit_time, small_table

NOW = datetime(2024, 5, 14, 12, tzinfo=UTC)


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1 to 3 of 5, 4 and 3 hours ago, 4 compacts them, 5 adds another row an hour ago; tag `t` holds 2."""
    options = {"bucket": "1", "snapshot.num-retained.min": "1", "snapshot.time-retained": "2 h"}
    table = small_table(tmp_path, options)
    for number, hours in enumerate((5, 4, 3), start=1):
        put(table, {number: str(number)})
        set_commit_time(table, number, int((NOW - timedelta(hours=hours)).timestamp() * 1000))
    compact(None, table, full=True)
    put(table, {9: "9"})
    for number in (4, 5):
        set_commit_time(table, number, int((NOW - timedelta(hours=1)).timestamp() * 1000))
    create_tag(table, "t", snapshot_id=2)
    return table


def first_file(table: CatalogTable) -> str:
    (entry,) = table.manifests.live_entries(table.snapshots.get(1))
    return entry.file.file_name


def test_a_file_is_kept_by_each_state_that_names_it(table: CatalogTable) -> None:
    name = first_file(table)
    actual = explain(table, file=f"{table.location}/bucket-0/{name}", now=NOW)
    assert [keeper.holder for keeper in actual.kept_by] == ["snapshots 1 to 2", "snapshot 3", "tag 't'"]
    due, young, tag = actual.kept_by
    assert (due.reason, due.release) == ("nothing; the next expiry deletes it", "expire_snapshots")
    assert young.reason == "snapshot.time-retained: younger than 2:00:00"
    ripe = (NOW + timedelta(hours=1)).astimezone().isoformat(timespec="seconds")
    assert young.release == f"expire_snapshots after {ripe}, or a shorter snapshot.time-retained"
    assert (tag.reason, tag.release) == ("the tag has no time to live", "delete_tag 't'")
    snapshot = table.snapshots.get(2)
    manifest = table.manifests.data_manifests(table.snapshots.get(1))[0].file_name
    assert tag.chain == ("tag 't'", snapshot.base_manifest_list, manifest, name)


def test_a_file_goes_when_all_its_keepers_are_released(table: CatalogTable) -> None:
    name = first_file(table)
    expire_snapshots(table, now=NOW)
    delete_tag(table, "t")
    assert [keeper.holder for keeper in explain(table, file=name, now=NOW).kept_by] == ["snapshot 3"]
    expire_snapshots(table, now=NOW + timedelta(hours=1, seconds=1))
    actual = explain(table, file=name, now=NOW)
    assert actual.kept_by == ()
    assert "remove_orphan_files" in actual.note
    assert not [path for path in files_on_disk(table) if str(path).endswith(name)]


def test_every_file_of_a_table_is_kept_by_something(table: CatalogTable) -> None:
    create_branch(table, "b", snapshot_id=3)
    for path in files_on_disk(table):
        name = Path(path).name
        if name not in ("EARLIEST", "LATEST") and "commit-records" not in str(path) and "/branch/" not in str(path):
            assert explain(table, file=name, now=NOW).kept_by, name


def test_branches_and_consumers_keep_files_too(table: CatalogTable) -> None:
    create_branch(table, "b", snapshot_id=1)
    reset_consumer(table, "job", 2)
    actual = explain(table, file=first_file(table), now=NOW).kept_by
    by_holder = {keeper.holder: keeper for keeper in actual}
    assert by_holder["snapshot 1 of branch b"].reason == "the current state"
    assert by_holder["snapshots 2 to 3"].reason == "consumer job has yet to read snapshot 2"
    assert by_holder["snapshots 2 to 3"].release.startswith("reset_consumer")


def test_a_snapshot_and_a_tag_with_the_bytes_that_they_alone_hold(table: CatalogTable) -> None:
    actual = explain(table, snapshot_id=2, now=NOW)
    assert [keeper.holder for keeper in actual.kept_by] == ["snapshot 2", "tag 't'"]
    expire_snapshots(table, now=NOW + timedelta(days=1))
    before = sum(Path(path).stat().st_size for path in files_on_disk(table))
    tag = explain(table, tag="t", now=NOW)
    assert [keeper.chain for keeper in tag.kept_by] == [("tag 't'", "snapshot 2")]
    assert [keeper.holder for keeper in explain(table, snapshot_id=2, now=NOW).kept_by] == ["tag 't'"]
    delete_tag(table, "t")
    assert before - sum(Path(path).stat().st_size for path in files_on_disk(table)) == tag.bytes > 0
    with pytest.raises(NotFoundError, match="snapshot 2 does not exist"):
        explain(table, snapshot_id=2)


def test_a_tag_that_expires(table: CatalogTable) -> None:
    create_tag(table, "short", time_retained=timedelta(days=2), now=datetime(2024, 5, 14))
    (keeper,) = explain(table, tag="short").kept_by
    assert keeper.reason == "the tag lives for 2 d"
    assert keeper.release.startswith("expire_tags after 2024-05-16T00:00:00")


def test_a_partition_that_was_dropped_is_kept_by_older_snapshots(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False, partition_keys=["v"])
    put(table, {1: "a", 2: "b"})
    actual = explain(table, partition={"v": "a"})
    assert [keeper.holder for keeper in actual.kept_by] == ["the current state"]
    assert actual.bytes > 0
    drop_partitions(table, [{"v": "a"}])
    actual = explain(table, partition={"v": "a"})
    assert ([keeper.holder for keeper in actual.kept_by], actual.bytes) == (["snapshot 1"], 0)
    for wrong in ({"v": "c"}, {"k": "1"}, {}):
        with pytest.raises(NotFoundError):
            explain(table, partition=wrong)


def test_one_thing_at_a_time(table: CatalogTable) -> None:
    several: list[dict[str, Any]] = [{}, {"tag": "t", "snapshot_id": 1}]
    for wrong in several:
        with pytest.raises(OptionError, match="one thing"):
            explain(table, **wrong)


def test_it_is_a_procedure(tmp_path: Path, table: CatalogTable) -> None:
    session = Session({"warehouse": str(tmp_path)})
    shown = session.sql("CALL sys.explain(table => 'db.t', tag => 't')").to_arrow().to_pylist()
    assert shown == [
        {
            "kept_by": "tag 't'",
            "chain": "tag 't' → snapshot 2",
            "reason": "the tag has no time to live",
            "release": "delete_tag 't'",
        }
    ]
