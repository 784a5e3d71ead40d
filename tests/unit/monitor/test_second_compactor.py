"""Who compacts beside us is told before one of the two is seen to lose, and our compaction backs off."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable, SetOption
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.monitor.census import Census, Commit, take_census
from maintenance.monitor.judgement import Judgement
from maintenance.monitor.second_compactor import compacts_alone, pause_for_others
from maintenance.operations.compaction.compact import compact
from maintenance.options.own import BESIDE_OTHER_COMPACTORS
from tests.deletion_vectors import ENABLED
from tests.foreign_commits import foreign_compaction, foreign_write
from tests.tables import create_table, get_table, keyed, open_warehouse

INLINE = {"write-only": "false"}


def check(table: CatalogTable, *, automatic: bool = True) -> Judgement:
    return compacts_alone(table, take_census(table), automatic=automatic)


def test_a_foreign_writer_of_a_table_that_is_not_write_only_is_told(tmp_path: Path) -> None:
    """Only the writer ever commits: whether our compaction loses every race cannot be seen."""
    table = create_table(tmp_path, options=INLINE)
    foreign_write(table, keyed({1: "a"}))
    foreign_write(table, keyed({2: "a"}))
    report = check(table)
    assert (report.passed, report.severe) == (False, False)
    assert "the table is not 'write-only'" in report.summary
    assert "'flink' commits to it, last in snapshot 2" in report.summary
    assert "Set 'write-only' = 'true'" in report.fix
    assert check(table, automatic=False).passed, "we do not compact it"
    compact(None, table, full=True)
    assert not check(table, automatic=False).passed, "somebody compacts it with us by hand"


@pytest.mark.parametrize(
    "options", [{"write-only": "true"}, {**INLINE, "bucket": "-2"}, {**INLINE, BESIDE_OTHER_COMPACTORS.key: "true"}]
)
def test_nobody_is_told_of_where_writers_leave_compaction_to_us(tmp_path: Path, options: dict[str, str]) -> None:
    table = create_table(tmp_path, options=options)
    foreign_write(table, keyed({1: "a"}))
    assert check(table).passed


def test_our_own_writers_are_no_strangers(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**INLINE, "num-sorted-run.compaction-trigger": "2"})
    for version in "abc":
        table.write_arrow(keyed({1: version}))
    kinds = [commit.kind for commit in take_census(table).commits]
    assert CommitKind.COMPACT in kinds
    assert all(commit.ours for commit in take_census(table).commits)
    assert check(table).passed


def test_with_deletion_vectors_it_is_a_matter_of_correctness(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={**ENABLED, **INLINE})
    report = check(table)
    assert (report.passed, report.severe) == (False, False), "nobody has done it yet"
    assert "a matter of correctness, not of speed" in report.summary
    foreign_write(table, keyed({1: "a"}))
    report = check(table)
    assert (report.passed, report.severe) == (False, True)
    assert "'flink' commits to it" in report.summary
    foreign_compaction(table)
    assert "our compaction refuses" in check(table).summary
    open_warehouse(tmp_path).alter_table("db.t", [SetOption("write-only", "true")])
    assert check(get_table(tmp_path)).passed, "what was compacted before does no harm"


def test_a_compaction_job_of_another_engine_is_told_where_deletions_are_at_stake(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=ENABLED)
    foreign_write(table, keyed({1: "a"}))
    foreign_compaction(table)
    report = check(table)
    assert (report.passed, report.severe) == (False, True)
    assert "another engine compacts the table as well: 'flink', last in snapshot 2" in report.summary
    plain = create_table(tmp_path, name="db.plain")
    foreign_write(plain, keyed({1: "a"}))
    foreign_compaction(plain)
    assert check(plain).passed, "it costs work at most, and turns are told by another check"


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def commit(number: int, minutes_ago: float, *, ours: bool, kind: CommitKind, bucket: int = 0) -> Commit:
    millis = int((NOW - timedelta(minutes=minutes_ago)).timestamp() * 1000)
    writer = "operation compact" if ours else "flink"
    return Commit(number, writer, number, kind, millis, frozenset({("whole table", bucket)}), 1, 1, ours)


def ours(number: int, minutes_ago: float) -> Commit:
    return commit(number, minutes_ago, ours=True, kind=CommitKind.COMPACT)


def theirs(number: int, minutes_ago: float, kind: CommitKind = CommitKind.APPEND, bucket: int = 0) -> Commit:
    return commit(number, minutes_ago, ours=False, kind=kind, bucket=bucket)


def waits(table: CatalogTable, *commits: Commit) -> timedelta | None:
    """From the last compaction of ours on."""
    pause = pause_for_others(table, Census(commits), NOW)
    last = max(c.time_millis for c in commits if c.ours)
    return None if pause is None else pause.until - datetime.fromtimestamp(last / 1000, UTC)


def test_our_compaction_gives_way_longer_and_longer(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=INLINE)
    assert waits(table, ours(1, 1), theirs(2, 0.5)) == timedelta(minutes=2)
    assert waits(table, ours(1, 10), ours(2, 1), theirs(3, 0.5)) == timedelta(minutes=4)
    many = [ours(number, 30 - number) for number in range(1, 30)]
    assert waits(table, *many, theirs(31, 0.5)) == timedelta(hours=1)
    assert waits(table, ours(1, 90), ours(2, 1), theirs(3, 0.5)) == timedelta(minutes=2), "long ago counts no more"
    assert waits(table, ours(1, 3), theirs(2, 0.5)) is None, "the pause is over"


def test_it_does_not_wait_for_those_who_do_not_compact(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=INLINE)
    assert waits(table, ours(1, 1)) is None
    assert waits(table, theirs(1, 2), ours(2, 1)) is None, "nothing came since"
    assert waits(table, ours(1, 1), theirs(2, 0.5, bucket=1)) is None, "another bucket"
    assert pause_for_others(table, Census((theirs(1, 2),)), NOW) is None
    dedicated = create_table(tmp_path, name="db.dedicated")
    assert waits(dedicated, ours(1, 1), theirs(2, 0.5)) is None, "its writers do not compact"
    assert waits(dedicated, ours(1, 1), theirs(2, 0.5, CommitKind.COMPACT)) == timedelta(minutes=2)
