"""Changes that outlive their snapshots: what stays for readers, what goes, and that nothing else is left."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_changelogs import expire_changelogs
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.expiry.expire_tags import expire_tags
from maintenance.operations.expiry.rules import ChangelogRetention, plan_changelogs
from maintenance.operations.refs.create_tag import create_tag
from tests.models.reachable import changes_of, files_on_disk, unreachable_files
from tests.small_tables import branch_from_tag, put, rows, rows_of_tag, small_table

RETENTION = {
    "snapshot.num-retained.min": "1",
    "snapshot.num-retained.max": "2",
    "changelog.num-retained.min": "1",
    "changelog.num-retained.max": "5",
}
PRODUCERS = ("none", "input", "lookup", "full-compaction")


def filled(folder: Path, producer: str, commits: int = 5, options: dict[str, str] | None = None) -> CatalogTable:
    """Snapshots 1 and 2 written and compacted, 3 and 4 …"""
    table = small_table(folder, {"changelog-producer": producer, **RETENTION, **(options or {})})
    for i in range(commits):
        put(table, {1: f"{i}", i: "x"})
        compact(None, table, full=True)
    return table


def hint(table: CatalogTable, name: str) -> int | None:
    path = Path(table.paths.changelog_folder()) / name
    return int(path.read_text()) if path.exists() else None


def whole(table: CatalogTable) -> bool:
    """Whether the changes of each long-lived changelog are all there."""
    needed = {path for changelog in table.changelogs.all() for path in changes_of(table, changelog)}
    return needed <= files_on_disk(table)


@pytest.mark.parametrize("producer", PRODUCERS)
def test_changes_stay_until_their_own_time_comes(tmp_path: Path, producer: str) -> None:
    table = filled(tmp_path, producer)
    actual = rows(table)
    report = expire_snapshots(table)
    assert (report.expired, report.changelogs) == (tuple(range(1, 9)), (1, 2, 3, 4, 5))
    assert table.snapshots.list_ids() == [9, 10]
    assert table.changelogs.list_ids() == [6, 7, 8]
    assert (hint(table, EARLIEST), hint(table, LATEST)) == (6, 8)
    assert whole(table)
    assert unreachable_files(table) == set()
    assert rows(table) == actual
    assert any(list(changes_of(table, changelog)) for changelog in table.changelogs.all())


def test_data_of_compactions_goes_with_snapshots(tmp_path: Path) -> None:
    """Without a producer the changes are what was appended: what compactions wrote of it nobody reads any more."""
    table = filled(tmp_path, "none")
    files = {i: {e.file.file_name for e in table.manifests.live_entries(table.snapshots.get(i))} for i in (6, 7, 9)}
    appended, compacted = files[7] - files[6], files[6] - files[9]
    assert appended
    assert compacted
    expire_snapshots(table)
    assert table.changelogs.list_ids() == [6, 7, 8]
    left = {path.rpartition("/")[2] for path in files_on_disk(table)}
    assert appended <= left
    assert not compacted & left
    assert whole(table)


@pytest.mark.parametrize("producer", ["none", "input"])
def test_it_takes_exactly_what_the_dry_run_lists(tmp_path: Path, producer: str) -> None:
    table = filled(tmp_path, producer)
    expire_snapshots(table.copy({"changelog.num-retained.max": "100"}))
    before = files_on_disk(table)
    plan = expire_changelogs(table, retain_max=3, dry_run=True)
    assert files_on_disk(table) == before
    report = expire_changelogs(table, retain_max=3)
    assert report.expired == plan.expired == tuple(range(1, 8))
    assert set(report.deleted_files) == set(plan.deleted_files) == before - files_on_disk(table) - {"EARLIEST"}
    assert (report.earliest, report.latest) == (8, 8)
    assert whole(table)
    assert unreachable_files(table) == set()


def test_stranded_changelogs_go_when_they_are_no_longer_wanted(tmp_path: Path) -> None:
    table = filled(tmp_path, "input")
    expire_snapshots(table)
    assert table.changelogs.list_ids() == [6, 7, 8]
    unset = table.copy({"changelog.num-retained.max": "2", "changelog.num-retained.min": "1"})
    assert expire_snapshots(unset).changelogs == (6, 7, 8)
    assert list(Path(table.paths.changelog_folder()).iterdir()) == []
    assert unreachable_files(table) == set()


def test_all_of_them_can_be_deleted(tmp_path: Path) -> None:
    table = filled(tmp_path, "none")
    expire_snapshots(table)
    assert expire_changelogs(table, delete_all=True).expired == (6, 7, 8)
    assert (hint(table, EARLIEST), hint(table, LATEST)) == (None, None)
    assert unreachable_files(table) == set()
    assert expire_changelogs(table, delete_all=True).expired == ()


def test_a_consumer_holds_changelogs_and_only_these_if_the_table_says_so(tmp_path: Path) -> None:
    table = filled(tmp_path, "input")
    table.consumers.record("slow", 3)
    report = expire_snapshots(table)
    assert (report.expired, report.changelogs) == ((1, 2), (1,))
    report = expire_snapshots(table.copy({"consumer.changelog-only": "true"}))
    assert report.expired == tuple(range(3, 9))
    assert table.changelogs.list_ids() == [3, 4, 5, 6, 7, 8]
    assert report.changelogs == (2,)
    assert whole(table)


def test_consumers_that_stand_still_expire_first(tmp_path: Path) -> None:
    table = filled(tmp_path, "input")
    table.consumers.record("slow", 3)
    now = datetime.now(UTC)
    held = table.copy({"consumer.expiration-time": "1 h"})
    assert expire_snapshots(held, now=now, dry_run=True).consumers == ()
    later = now + timedelta(hours=2)
    plan = expire_snapshots(held, now=later, dry_run=True)
    assert plan.consumers == ("slow",)
    assert table.consumers.next_snapshots() == {"slow": 3}
    assert expire_snapshots(held, now=later).expired == plan.expired == tuple(range(1, 10))
    assert table.consumers.next_snapshots() == {}


def test_tags_branches_and_changelogs_do_not_take_from_one_another(tmp_path: Path) -> None:
    table = filled(tmp_path, "none", options={"tag.default-time-retained": "1 h"})
    create_tag(table, "kept", snapshot_id=3, now=datetime.now(UTC))
    branch_from_tag(table, "b", "kept")
    wanted = rows_of_tag(table, "kept")
    expire_snapshots(table)
    assert rows_of_tag(table, "kept") == wanted
    assert whole(table)
    expire_tags(table, now=datetime.now(UTC) + timedelta(hours=2))
    assert whole(table)
    expire_changelogs(table, delete_all=True)
    assert unreachable_files(table) == set()


def test_what_a_dead_expiry_left_is_finished(tmp_path: Path) -> None:
    """It died after the changelogs were kept and EARLIEST had moved: snapshots and changelogs are there both."""
    table = filled(tmp_path, "none")
    for snapshot_id in range(1, 7):
        table.changelogs.keep(table.snapshots.get(snapshot_id))
    table.snapshots.write_hint(EARLIEST, 7)
    expire_snapshots(table)
    assert table.snapshots.list_ids() == [9, 10]
    assert table.changelogs.list_ids() == [6, 7, 8]
    assert whole(table)
    assert unreachable_files(table) == set()


def test_a_maximum_below_the_minimum_is_refused(tmp_path: Path) -> None:
    table = filled(tmp_path, "input", commits=1)
    table.changelogs.keep(table.snapshots.get(1))
    with pytest.raises(OptionError):
        expire_changelogs(table, retain_max=1, retain_min=2)


@pytest.mark.parametrize(
    ("ids", "rules", "consumers", "gone"),
    [
        # Java's example: snapshots 5 and 6, at most 5 changes.
        ([1, 2, 3, 4], (1, 5, 0), {}, [1]),
        ([1, 2, 3, 4], (1, 2, 0), {}, [1, 2, 3]),
        ([1, 2, 3, 4], (4, 4, 0), {}, [1, 2]),
        ([1, 2, 3, 4], (1, 100, 2500), {}, [1, 2]),
        ([1, 2, 3, 4], (1, 2, 0), {"a": 2}, [1]),
        ([2, 4], (1, 100, 9000), {}, [2]),
        ([], (1, 1, 0), {}, []),
    ],
)
def test_counts_times_and_consumers_say_which_changes_go(
    ids: list[int], rules: tuple[int, int, int], consumers: dict[str, int], gone: list[int]
) -> None:
    retention = ChangelogRetention(*rules, consumers, newest_stays=True)
    assert list(plan_changelogs(ids, 6, lambda number: number * 1000, retention)) == gone


def test_consumer_files_are_as_java_writes_them(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    table.consumers.record("a", 7)
    content = (Path(table.location) / "consumer" / "consumer-a").read_text()
    assert json.loads(content) == {"nextSnapshot": 7}
    assert content == '{\n  "nextSnapshot" : 7\n}'
    for wrong in ("", "a/b", "a:b", "x" * 250):
        with pytest.raises(OptionError):
            table.consumers.record(wrong, 1)
