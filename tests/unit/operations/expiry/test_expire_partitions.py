"""Expiry of partitions: which are due, what goes with them, and that compaction leaves alone what is about to go."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import OptionError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.monitor.backlog import WaitingCommits, commits_without_changelog
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.expiry.expire_partitions import expire_partitions
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.partition_states import partition_states
from tests.tables import create_table, data_files, files_on_disk, get_table, live, texts_of

FIELDS = (("id", "INT NOT NULL"), ("day", "STRING NOT NULL"), ("v", "INT"))
NOW = datetime(2026, 3, 10, 12)
DAYS = ("2026-03-01", "2026-03-02", "2026-03-03 12:00:00", "2026-03-09", "soon")


def filled(folder: Path, days: Sequence[str] = DAYS, **options: str) -> CatalogTable:
    chosen = {"partition.expiration-time": "7 d", "write-only": "true", **options}
    table = create_table(folder, FIELDS, ("day", "id"), chosen, partition_keys=("day",))
    for version in range(2):
        put(table, days, version)
    return table


def put(table: CatalogTable, days: Sequence[str], version: int) -> None:
    ids = pa.array([i for _ in days for i in range(3)], pa.int32())
    table.write_arrow(pa.table({"id": ids, "day": [d for d in days for _ in range(3)], "v": [version] * len(ids)}))


def days_of(table: CatalogTable) -> list[str]:
    return sorted(set(table.to_arrow(["day"])["day"].to_pylist()))


def test_only_partitions_past_their_time_go(tmp_path: Path) -> None:
    table = filled(tmp_path)
    plan = expire_partitions(table, now=NOW, dry_run=True)
    assert table.snapshots.list_ids() == [1, 2]
    report = expire_partitions(table, now=NOW)
    assert plan.expired == report.expired
    assert texts_of(report.expired) == ({"day": "2026-03-01"}, {"day": "2026-03-02"})
    assert (plan.files, plan.rows, plan.bytes) == (report.files, report.rows, report.bytes)
    assert (report.files, report.rows, report.remaining) == (4, 12, 0)
    assert texts_of(report.without_time) == ({"day": "soon"},)
    assert days_of(table) == ["2026-03-03 12:00:00", "2026-03-09", "soon"], "12:00 is not yet over"
    assert report.snapshot_ids == (3,)
    assert table.snapshots.get(3).commit_kind == CommitKind.OVERWRITE
    assert expire_partitions(table, now=NOW).snapshot_ids == (), "nothing is left to do, nothing is committed"
    later = expire_partitions(table, now=NOW + timedelta(seconds=1))
    assert texts_of(later.expired) == ({"day": "2026-03-03 12:00:00"},)


def test_the_files_go_with_their_snapshots(tmp_path: Path) -> None:
    table = filled(tmp_path)
    before = files_on_disk(table)
    expire_partitions(table, now=NOW)
    assert files_on_disk(table) == before, "older snapshots still read them"
    expire_snapshots(table, retain_max=1, retain_min=1)
    assert files_on_disk(table) == data_files(table)
    assert not any("2026-03-01" in path for path in files_on_disk(table))


def test_batches_and_a_most(tmp_path: Path) -> None:
    days = [f"2026-01-{day:02d}" for day in range(1, 8)]
    table = filled(tmp_path, days, **{"partition.expiration-batch-size": "2", "partition.expiration-max-num": "5"})
    report = expire_partitions(table, now=NOW)
    assert report.expired == tuple({"day": day} for day in days[:5])
    assert (report.snapshot_ids, report.remaining) == ((3, 4, 5), 2)
    assert expire_partitions(table, now=NOW).expired == tuple({"day": day} for day in days[5:])


def test_an_expiry_that_died_is_finished_by_the_next(tmp_path: Path) -> None:
    table = filled(tmp_path, DAYS[:2], **{"partition.expiration-batch-size": "1"})

    def die(line: str) -> None:
        raise KeyboardInterrupt(line)

    with pytest.raises(KeyboardInterrupt):
        expire_partitions(table, now=NOW, progress=die)
    assert days_of(table) == [DAYS[1]]
    assert texts_of(expire_partitions(table, now=NOW).expired) == ({"day": DAYS[1]},)
    assert live(table) == []


def test_a_partition_that_is_written_to_meanwhile(tmp_path: Path) -> None:
    """By update-time it stays, for it is young again; by its values it goes with the new rows, as in Paimon."""
    young = filled(tmp_path / "a", **{"partition.expiration-strategy": "update-time"})
    old = filled(tmp_path / "b", **{"partition.expiration-batch-size": "1"})
    written: list[str] = []

    def late(line: str) -> None:
        if not written:
            put(old, [DAYS[1]], 9)
            written.append(line)

    expire_partitions(old, now=NOW, progress=late)
    assert written
    assert DAYS[1] not in days_of(old)
    in_a_year = datetime.now() + timedelta(days=365)
    assert expire_partitions(young).expired == ()
    assert len(expire_partitions(young, now=in_a_year, dry_run=True).expired) == 5
    put(young, [DAYS[0]], 9)
    newest = max(entry.file.creation_time or 0 for entry in live(young))
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=newest, days=7)
    assert {"day": DAYS[0]} not in expire_partitions(young, now=moment).expired
    assert DAYS[0] in days_of(young)


def test_arguments_stand_in_for_options(tmp_path: Path) -> None:
    table = filled(tmp_path, ("20260301", "20260309"))
    assert len(expire_partitions(table, now=NOW).without_time) == 2
    asked = partial(
        expire_partitions, table, now=NOW, dry_run=True, timestamp_formatter="yyyyMMdd", timestamp_pattern="$day"
    )
    assert texts_of(asked().expired) == ({"day": "20260301"},)
    assert len(asked(expiration_time=timedelta(days=1)).expired) == 2
    assert expire_partitions(table, now=NOW, dry_run=True, expire_strategy="update-time").expired == ()
    with pytest.raises(OptionError, match=r"partition.expiration-strategy.*expected one of values-time, update-time"):
        expire_partitions(table, expire_strategy="by mood")
    with pytest.raises(OptionError, match=r"partition.timestamp-formatter.*not 'EEE'"):
        expire_partitions(table, timestamp_formatter="EEE")


def test_tables_without_a_time_or_without_partitions(tmp_path: Path) -> None:
    plain = create_table(tmp_path / "a", options={"partition.expiration-time": "1 d"})
    with pytest.raises(OptionError, match="Only partitions can expire"):
        expire_partitions(plain)
    table = create_table(tmp_path / "b", FIELDS, ("day", "id"), partition_keys=("day",))
    with pytest.raises(OptionError, match=r"Set 'partition.expiration-time'"):
        expire_partitions(table)
    assert expire_partitions(table, expiration_time=timedelta(days=1)).expired == ()


def now_texts() -> tuple[str, str, str]:
    """Days of a table whose partitions live for 7 days: past its retention, due within the hour, young."""
    now = datetime.now()
    days = (now - timedelta(days=8), now - timedelta(days=7) + timedelta(minutes=30), now - timedelta(days=1))
    past, soon, young = (f"{day:%Y-%m-%d %H:%M:%S}" for day in days)
    return past, soon, young


@pytest.mark.parametrize("bucket", ["1", "-1", "-2"])
def test_compaction_leaves_alone_what_is_about_to_go(tmp_path: Path, bucket: str) -> None:
    days = past, soon, young = now_texts()
    waiting = {"postpone.batch-write-fixed-bucket": "false", "postpone.default-bucket-num": "1"}
    table = filled(tmp_path, days, bucket=bucket, **(waiting if bucket == "-2" else {}))
    for dry_run in (True, False):
        report = compact(None, table, full=True, dry_run=dry_run)
        skipped = {group.partition: group.message for group in report.groups if group.outcome == "skipped"}
        assert skipped.keys() == {f"day={past}", f"day={soon}"}
        assert "past its retention" in skipped[f"day={past}"]
        assert "about to expire" in skipped[f"day={soon}"]
    assert {group.partition for group in report.groups if group.outcome == "committed"} == {f"day={young}"}
    # A change of the interval moves the margin; the option in its Paimon meaning switches the rule off.
    often = get_table(tmp_path).copy({"partition.expiration-check-interval": "1 min"})
    assert f"day={soon}" in {g.partition for g in compact(None, often, full=True).groups if g.outcome == "committed"}
    everything = table.copy({"compaction.skip-expired-partitions": "false"})
    assert compact(None, everything, full=True).count("skipped") == 0
    assert {state.stale for state in partition_states(table).partitions} == {False}


def test_append_tables_and_partitions_named_by_hand(tmp_path: Path) -> None:
    past, _, young = now_texts()
    options = {"partition.expiration-time": "7 d", "compaction.min.file-num": "2", "write-only": "true"}
    table = create_table(tmp_path, FIELDS, (), options, partition_keys=("day",))
    for version in range(3):
        put(table, (past, young), version)
    report = compact(None, table, full=True, partitions=[{"day": past}])
    assert [group.outcome for group in report.groups] == ["skipped"]
    assert compact(None, table, full=True).count("committed") == 1
    sorted_too = compact(None, table, order_strategy="order", order_by=["v"])
    assert {g.partition for g in sorted_too.groups if g.outcome == "skipped"} == {f"day={past}"}


def test_a_changelog_is_made_of_partitions_about_to_go(tmp_path: Path) -> None:
    past, _, young = now_texts()
    table = filled(tmp_path, (past, young), **{"changelog-producer": "full-compaction"})
    report = produce_changelog(None, table)
    assert report.count("skipped") == 0
    assert report.changelog_rows["+I"] == 6


def test_what_only_drops_partitions_lacks_no_changelog(tmp_path: Path) -> None:
    table = filled(tmp_path, **{"changelog-producer": "lookup"})
    produced = produce_changelog(None, table).snapshot_ids
    assert expire_partitions(table, now=NOW).snapshot_ids
    assert commits_without_changelog(table) == WaitingCommits([], produced[-1])
    put(table, ["2026-03-09"], 5)
    table.overwrite_arrow(table.to_arrow(where="day = '2026-03-09'"))
    assert len(commits_without_changelog(table).waiting) == 2


def test_many_columns_make_one_time(tmp_path: Path) -> None:
    fields = (("id", "INT NOT NULL"), ("dt", "INT NOT NULL"), ("hh", "INT"), ("zone", "STRING"))
    options = {
        "partition.expiration-time": "1 d",
        "partition.timestamp-pattern": "$dt $hh:00",
        "partition.timestamp-formatter": "yyyyMMdd H:mm",
    }
    table = create_table(tmp_path, fields, (), options, partition_keys=("dt", "hh", "zone"))
    hours = pa.array([11, 12, None], pa.int32())
    rows = {"id": pa.array([1, 2, 3], pa.int32()), "dt": pa.array([20260309] * 3, pa.int32()), "hh": hours}
    table.write_arrow(pa.table({**rows, "zone": ["de"] * 3}))
    report = expire_partitions(table, now=NOW)
    assert texts_of(report.expired) == ({"dt": "20260309", "hh": "11", "zone": "de"},)
    assert texts_of(report.without_time) == ({"dt": "20260309", "hh": "__DEFAULT_PARTITION__", "zone": "de"},)
    assert sorted(table.to_arrow()["id"].to_pylist()) == [2, 3]
