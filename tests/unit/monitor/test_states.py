"""Judgements over a table's state: its chain, its backlogs, who holds it back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.monitor.backlog import BacklogLimits, judge_backlog
from maintenance.monitor.chain import snapshot_chain_intact
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.retention import retention_blockers
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.clear_consumers import clear_consumers
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from tests.tables import create_table, keyed


def backlog(table: CatalogTable, limits: BacklogLimits, later: timedelta = timedelta()) -> dict[str, Judgement]:
    return {j.check: j for j in judge_backlog(table, limits, datetime.now(UTC) + later)}


def written(folder: Path, commits: int = 3, **options: str) -> CatalogTable:
    table = create_table(folder, options=options)
    for i in range(commits):
        table.write_arrow(keyed({i: "a"}), commit_user="etl", commit_identifier=i)
    return table


def test_a_whole_chain_and_an_empty_table_are_intact(tmp_path: Path) -> None:
    table = written(tmp_path)
    compact(None, table, full=True)
    table.truncate()
    assert snapshot_chain_intact(table).passed
    assert snapshot_chain_intact(create_table(tmp_path, name="db.empty")).passed


def test_a_gap_a_wrong_count_and_a_commit_made_twice(tmp_path: Path) -> None:
    table = written(tmp_path, 4)
    second, fourth = table.snapshots.get(2), table.snapshots.get(4)
    twice = replace(fourth, commit_identifier=second.commit_identifier, total_record_count=9)
    Path(table.paths.snapshot(4)).write_bytes(serialize_snapshot(twice))
    actual = snapshot_chain_intact(table)
    assert not actual.passed
    assert "snapshots 2 and 4 are both commit 1 of 'etl'" in actual.summary
    assert "snapshot 4 counts 9 records, but 3 and its delta make 4" in actual.summary
    Path(table.paths.snapshot(3)).unlink()
    assert "snapshots 3 to 3 are missing" in snapshot_chain_intact(table).summary
    table.snapshots.write_hint("LATEST", 7)
    assert "LATEST says 7, the newest snapshot is 4" in snapshot_chain_intact(table).summary


def test_level_0_and_small_files(tmp_path: Path) -> None:
    table = written(tmp_path, 5)
    limits = BacklogLimits(max_level0_files=4, min_files=5)
    before = backlog(table, limits)
    assert not before["level0_backlog"].passed
    assert "bucket 0 has 5 files of level 0, the limit is 4" in before["level0_backlog"].summary
    assert not before["small_files"].passed
    assert before["small_files"].details["small_files"] == 5
    compact(None, table, full=True)
    after = backlog(table, limits)
    assert after["level0_backlog"].passed
    assert after["small_files"].passed
    assert backlog(written(tmp_path / "b", 10), BacklogLimits())["level0_backlog"].passed, "twice the trigger is 10"


def test_small_files_of_one_bucket_need_not_be_many(tmp_path: Path) -> None:
    for keys, folder in ((("id",), "keyed"), ((), "append")):
        table = create_table(tmp_path / folder, primary_keys=keys)
        for number in range(9):
            table.write_arrow(keyed({number: "a"}))
        assert backlog(table, BacklogLimits())["small_files"].passed, "the trigger is 5"
        table.write_arrow(keyed({9: "a"}))
        actual = backlog(table, BacklogLimits())["small_files"]
        assert not actual.passed
        assert actual.summary.startswith("10 of 10 files are smaller than")
        compact(None, table, full=True)
        assert backlog(table, BacklogLimits())["small_files"].passed
    spread = create_table(tmp_path / "spread", options={"bucket": "40"})
    spread.write_arrow(keyed(dict.fromkeys(range(400), "a")))
    assert backlog(spread, BacklogLimits())["small_files"].passed, "40 of 40, and no compaction makes them fewer"


def test_rows_older_than_allowed_are_not_fresh(tmp_path: Path) -> None:
    table = written(tmp_path)
    limits = BacklogLimits(max_age=timedelta(hours=1))
    assert backlog(table, limits)["freshness"].passed
    late = backlog(table, limits, timedelta(hours=2))["freshness"]
    assert not late.passed
    assert "the newest rows are 2 h 0 min old" in late.summary
    assert "snapshot 3 by 'etl'" in late.summary
    assert backlog(table, BacklogLimits(), timedelta(days=99))["freshness"].passed
    empty = create_table(tmp_path, name="db.empty")
    assert not backlog(empty, limits)["freshness"].passed


def test_only_rows_of_writers_make_a_table_fresh(tmp_path: Path) -> None:
    table = written(tmp_path, 2)
    compact(None, table, full=True)
    table.write_arrow(keyed({}), commit_user="idle", commit_identifier=1)
    table.truncate()
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    assert snapshot.id > 2, "there are later snapshots, none of them with rows"
    actual = backlog(table, BacklogLimits(max_age=timedelta(hours=1)), timedelta(hours=2))["freshness"]
    assert not actual.passed
    assert (actual.details["writer"], actual.details["snapshot"]) == ("etl", 2)
    assert "snapshot 2 by 'etl'" in actual.summary
    table.overwrite_arrow(keyed({7: "x"}), commit_user="nightly")
    assert backlog(table, BacklogLimits())["freshness"].details["writer"] == "nightly"


def test_a_writer_whose_snapshots_have_expired_is_older_than_what_is_left(tmp_path: Path) -> None:
    table = written(tmp_path, 2)
    compact(None, table, full=True)
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
    limits = BacklogLimits(max_age=timedelta(hours=1))
    assert backlog(table, limits)["freshness"].passed
    late = backlog(table, limits, timedelta(hours=2))["freshness"]
    assert not late.passed
    assert "the newest rows are more than 2 h 0 min old" in late.summary
    assert "no snapshot since 3 brought any" in late.summary


def test_commits_since_the_last_changelog_are_its_lag(tmp_path: Path) -> None:
    table = written(tmp_path, 3, **{"changelog-producer": "full-compaction"})
    limits = BacklogLimits(max_changelog_lag=2)
    assert not backlog(table, limits)["changelog_lag"].passed
    compact(None, table, full=True)
    assert backlog(table, limits)["changelog_lag"].details == {"commits": 0, "last changelog in snapshot": 4}
    table.write_arrow(keyed({9: "z"}))
    assert backlog(table, limits)["changelog_lag"].details["commits"] == 1


def test_who_holds_snapshots_back(tmp_path: Path) -> None:
    table = written(tmp_path, 3)
    create_tag(table, "audit", snapshot_id=1)
    create_tag(table, "daily", snapshot_id=1, time_retained=timedelta(days=900))
    table.file_io.write_bytes(f"{table.paths.consumer_folder()}/consumer-job", b'{"nextSnapshot": 2}')
    now = datetime.now(UTC)
    assert retention_blockers(table, now).passed
    late = retention_blockers(table, now + timedelta(days=30))
    assert not late.passed
    assert "holds snapshot 1, 30 days old; 1 more" in late.summary
    assert {row["name"] for row in late.details["blockers"]} == {"audit", "job"}
    assert late.details["held_bytes"] == 0, "snapshot 1 is still there"
    compact(None, table, full=True)
    (Path(table.paths.consumer_folder()) / "consumer-job").unlink()
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
    held = retention_blockers(table, now + timedelta(days=30))
    assert held.details["held_bytes"] > 0
    assert "tag 'audit'" in held.summary
    assert "tag.default-time-retained" in held.fix


def _added(table: CatalogTable, snapshot_id: int) -> int:
    (entry,) = table.manifests.delta_entries(table.snapshots.get(snapshot_id))
    return entry.file.file_size


def test_what_each_holder_holds(tmp_path: Path) -> None:
    table = written(tmp_path, 3)
    first = table.snapshots.get(1)
    sizes = [_added(table, number) for number in (1, 2, 3)]
    create_branch(table, "trial", snapshot_id=2)
    create_branch(table, "fresh", snapshot_id=1)
    own = table.on_branch("trial")
    own.write_arrow(keyed({7: "q"}))
    table.file_io.write_bytes(f"{table.paths.consumer_folder()}/consumer-slow", b'{"nextSnapshot": 1}')
    table.file_io.write_bytes(f"{table.paths.consumer_folder()}/consumer-quick", b'{"nextSnapshot": 3}')
    compact(None, table, full=True)
    now = datetime.fromtimestamp(first.time_millis / 1000, UTC) + timedelta(days=30)
    judged = retention_blockers(table, now)
    held = {(row["kind"], row["name"]): row["bytes"] for row in judged.details["blockers"]}
    assert held == {
        ("consumer", "slow"): sum(sizes),
        ("consumer", "quick"): sum(sizes),
        ("branch", "trial"): sizes[1] + _added(own, 3),
        ("branch", "fresh"): 0,
    }
    assert "; 1 more hold" in judged.summary, "branches do not count"
    clear_consumers(table)
    assert retention_blockers(table, now).passed
