"""Tables with postponed buckets: where rows go, in which order they come out, and who wins."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.bucket.postpone import PostponeOptions
from maintenance.catalog import CatalogTable
from maintenance.commit.commit import commit_compact
from maintenance.commit.identity import CommitIdentity
from maintenance.compaction.postpone import PostponeTask, distribute, in_order, leaving
from maintenance.errors import DataError, OptionError
from maintenance.operations.checks.fsck import fsck
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.plan import CompactionScope
from maintenance.operations.compaction.postponed import plan_postponed
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.read.data_file import ReadContext
from maintenance.write.context import wall_clock_millis
from tests.tables import create_table, data_files, files_on_disk, get_table, keyed, live, state
from tests.unit.compaction.files import data_file

WAITING = {"bucket": "-2", "postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "3"}


def waiting(table: CatalogTable) -> int:
    return sum(entry.bucket == -2 for entry in live(table))


@pytest.mark.parametrize(
    ("options", "rows", "size", "buckets"),
    [
        (PostponeOptions(), 0, 0, 1),
        (PostponeOptions(), 5, 1 << 30, 1),
        (PostponeOptions(), 5, (1 << 30) + 1, 2),
        (PostponeOptions(), 5, 5 << 30, 5),
        (PostponeOptions(most=4), 5, 5 << 30, 4),
        (PostponeOptions(target_rows=10), 45, 5 << 30, 5),
        (PostponeOptions(default_buckets=7), 31, 0, 7),
        (PostponeOptions(default_buckets=7, target_rows=10), 45, 0, 5),
    ],
)
def test_the_number_of_buckets_of_a_new_partition(options: PostponeOptions, rows: int, size: int, buckets: int) -> None:
    assert options.buckets_for(rows, size) == buckets


def test_later_commits_and_later_files_of_a_writer_come_later() -> None:
    names = [*(f"data--u-b-s-1-w-x-{number}.avro" for number in (0, 10, 9)), "data--u-a-s-1-w-y-0.avro"]
    files = [data_file(name) for name in names]
    commits = {names[0]: 4, names[1]: 4, names[2]: 4, names[3]: 5}
    assert [file.file_name for file in in_order(files, commits)] == [names[0], names[2], names[1], names[3]]
    assert in_order(files, {})[0].file_name == names[3], "without commits and times by name"


def test_rows_wait_until_a_compaction(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=WAITING)
    table.write_arrow(keyed([(1, "a"), (2, "a"), (1, "b")]))
    table.write_arrow(keyed({2: "c", 3: "c"}))
    table.write_arrow(keyed({3: None}), ["-D"])
    assert state(table) == {}
    assert waiting(table) == 3
    dry = compact(None, table, dry_run=True)
    assert [(group.bucket, group.outcome, group.input_rows) for group in dry.groups] == [(-2, "planned", 6)]
    report = compact(None, table)
    assert state(table) == {1: "b", 2: "c"}
    assert [group.outcome for group in report.groups if group.bucket == -2] == ["committed"]
    assert waiting(table) == 0
    assert {entry.total_buckets for entry in live(table)} == {3}
    assert compact(None, table).snapshot_ids == ()
    assert files_on_disk(table) == data_files(table)
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
    assert files_on_disk(table) == data_files(table)
    assert fsck(table.file_io, table.location, deep=True).healthy


def test_batches_choose_a_number_that_stays(tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("day", "STRING NOT NULL"))
    options = {"bucket": "-2", "postpone.target-row-num-per-bucket": "10"}
    table = create_table(tmp_path, fields, ("day", "id"), options, partition_keys=("day",))

    def write(day: str, ids: range) -> None:
        get_table(tmp_path).write_arrow(pa.table({"id": pa.array(ids, pa.int32()), "day": [day] * len(ids)}))

    write("a", range(40))
    write("a", range(30, 200))
    write("b", range(5))
    numbers = {(table.paths.spec_of(e.partition)["day"], e.total_buckets) for e in live(table)}
    assert numbers == {("a", 4), ("b", 1)}
    assert table.to_arrow(where="day = 'a' AND id = 77").num_rows == 1
    assert table.to_arrow().num_rows == 205
    table.overwrite_arrow(pa.table({"id": pa.array(range(200), pa.int32()), "day": ["b"] * 200}))
    assert {(table.paths.spec_of(e.partition)["day"], e.total_buckets) for e in live(table)} == {("a", 4), ("b", 20)}


def test_two_first_writers_agree_on_a_number(tmp_path: Path) -> None:
    create_table(tmp_path, options={"bucket": "-2", "postpone.target-row-num-per-bucket": "4"})

    def write(number: int) -> None:
        get_table(tmp_path).write_arrow(keyed(dict.fromkeys(range(10 ** (number + 1)), str(number))))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, range(2)))
    table = get_table(tmp_path)
    assert sorted(state(table)) == list(range(100))
    assert len({entry.total_buckets for entry in live(table)}) == 1


def test_what_could_not_be_merged_does_not_wait(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**WAITING, "merge-engine": "partial-update"})
    with pytest.raises(DataError):
        table.write_arrow(keyed({1: "a"}), ["-D"])
    assert files_on_disk(table) == set()


def test_a_changelog_of_input_comes_with_the_buckets(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**WAITING, "changelog-producer": "input"})
    table.write_arrow(keyed({1: "a"}))
    table.write_arrow(keyed({1: "a"}), ["-D"])
    compact(None, table)
    actual = [s for s in table.snapshots.newest_first() if s.changelog_record_count]
    assert sum(snapshot.changelog_record_count or 0 for snapshot in actual) == 2


def test_a_lost_race_for_the_rows_that_wait(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**WAITING, "commit.max-retries": "50"})
    for number in range(6):
        table.write_arrow(keyed(dict.fromkeys(range(number, 20), str(number))))
    with ThreadPoolExecutor(3) as pool:
        reports = list(pool.map(lambda _: compact(None, get_table(tmp_path)), range(3)))
    assert not any(report.failed for report in reports)
    assert state(table) == {i: str(min(i, 5)) for i in range(20)}
    assert waiting(table) == 0
    assert files_on_disk(table) == data_files(table)


def test_large_partitions_are_distributed_in_shares(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=WAITING)
    table.write_arrow(keyed(dict.fromkeys(range(30), "a")))
    (unit,) = plan_postponed(table, CompactionScope(), now_millis=wall_clock_millis()).units
    write = table.write_context()
    read = ReadContext(table.file_io, {0: table.schema}, write.row_fields)
    tasks = [PostponeTask(write, read, replace(unit, share=share, shares=2)) for share in range(2)]
    parts = [distribute(task).messages for task in tasks]
    assert [{message.bucket for message in part} for part in parts] == [{0, 2}, {1}]
    messages = [message for part in parts for message in part]
    committed = commit_compact(table.commit_target(), [leaving(unit), *messages], CommitIdentity("me"))
    assert committed.lost == {}
    assert len(state(table)) == 30
    # Once the rows have gone, who comes late must not bring them a second time: all of the partition is lost.
    late = [message for task in tasks for message in distribute(task).messages]
    again = commit_compact(table.commit_target(), [leaving(unit), *late], CommitIdentity("me"))
    assert again.snapshot_id is None
    assert {bucket for _, bucket in again.lost} == {-2, 0, 1, 2}
    assert files_on_disk(table) == data_files(table)


@pytest.mark.parametrize("user", ["../../../../esc", "a/b", "a:b", "\0", "x" * 120])
def test_a_user_that_no_file_can_be_named_after(tmp_path: Path, user: str) -> None:
    table = create_table(tmp_path / "warehouse", options=WAITING)
    with pytest.raises(OptionError, match="cannot be the commit user of rows that wait"):
        table.write_arrow(keyed({1: "a"}), commit_user=user, commit_identifier=1)
    table.write_arrow(keyed({1: "a"}), commit_user="x" * 80, commit_identifier=1)
    compact(None, table)
    assert state(table) == {1: "a"}
    assert [path.name for path in tmp_path.iterdir()] == ["warehouse"]
