"""Writers that get into each other's way are named; those that do not raise nothing."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from maintenance.format.metadata.snapshot import CommitKind
from maintenance.monitor.census import Census, Commit, Interleaving, find_interleaving, take_census
from maintenance.monitor.writers import judge_writers, no_bucket_overlap, single_compactor, writers_are_write_only
from maintenance.operations.compaction.compact import compact
from tests.tables import create_table, keyed

BATCH = 2**63 - 1
APPEND, COMPACT = CommitKind.APPEND, CommitKind.COMPACT


def commit(
    number: int, writer: str, kind: CommitKind = APPEND, bucket: int = 0, identifier: int | None = None
) -> Commit:
    identifier = number if identifier is None else identifier
    return Commit(number, writer, identifier, kind, number, frozenset({("day=1", bucket)}), 1, 0)


def census(*commits: tuple[str, CommitKind, int]) -> Census:
    return Census(tuple(commit(i, *args) for i, args in enumerate(commits, 1)))


def test_two_writers_by_turns_in_a_bucket_are_named(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    actual = no_bucket_overlap(table, census(("flink", APPEND, 0), ("spark", APPEND, 0), ("flink", APPEND, 0)))
    assert not actual.passed
    for part in ("'flink' (snapshots 1 and 3)", "'spark' (snapshot 2)", "day=1 bucket 0"):
        assert part in actual.summary
    assert "sequence.field" in actual.fix
    other_buckets = census(("flink", APPEND, 0), ("spark", APPEND, 1), ("flink", APPEND, 0))
    assert no_bucket_overlap(table, other_buckets).passed
    append = create_table(tmp_path, primary_keys=(), name="db.append")
    assert no_bucket_overlap(append, census(("a", APPEND, 0), ("b", APPEND, 0), ("a", APPEND, 0))).passed


def test_the_run_or_application_of_a_commit_is_named(tmp_path: Path) -> None:
    commits = (
        commit(1, "etl"),
        replace(commit(2, "loader"), application="app-20260131-0001"),
        replace(commit(3, "etl"), run="5f2a"),
    )
    actual = no_bucket_overlap(create_table(tmp_path), Census(commits))
    assert "'etl' (snapshots 1 and 3, run 5f2a)" in actual.summary
    assert "'loader' (snapshot 2, Spark application app-20260131-0001)" in actual.summary


def test_what_drops_partitions_is_no_second_writer(tmp_path: Path) -> None:
    dropped = replace(commit(2, "operation expire_partitions", CommitKind.OVERWRITE), added_files=0, deleted_files=3)
    commits = (commit(1, "flink"), dropped, commit(3, "flink"))
    assert no_bucket_overlap(create_table(tmp_path), Census(commits)).passed
    rewritten = replace(dropped, added_files=1)
    assert not no_bucket_overlap(
        create_table(tmp_path, name="db.u"), Census((commits[0], rewritten, commits[2]))
    ).passed


def test_two_compactors_by_turns_are_named() -> None:
    actual = single_compactor(census(("a", COMPACT, 0), ("w", APPEND, 0), ("b", COMPACT, 0), ("a", COMPACT, 0)))
    assert not actual.passed
    assert actual.details["snapshots"] == [1, 3, 4]
    assert (actual.details["first"], actual.details["second"]) == ("a", "b")
    assert "'write-only' = 'true'" in actual.fix
    assert single_compactor(census(("a", COMPACT, 0), ("b", COMPACT, 0), ("c", COMPACT, 0))).passed


def test_a_writer_that_compacts_beside_another_is_named() -> None:
    inline = (commit(1, "flink"), commit(2, "flink", COMPACT, identifier=1), commit(4, "flink"))
    assert writers_are_write_only(Census(inline)).passed
    actual = writers_are_write_only(Census((*inline[:2], commit(3, "spark", identifier=BATCH), inline[2])))
    assert not actual.passed
    assert "'flink' compacts what it writes (last in snapshot 2)" in actual.summary
    assert "'spark'" in actual.summary
    before = Census((commit(0, "spark"), *inline))
    assert writers_are_write_only(before).passed, "they followed one another"


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), max_size=12))
def test_turns_as_a_slow_look_finds_them(turns: list[tuple[str, int]]) -> None:
    commits = [commit(i, writer, APPEND, bucket) for i, (writer, bucket) in enumerate(turns)]
    slow = any(
        one.writer == again.writer != between.writer and one.places == between.places == again.places
        for i, one in enumerate(commits)
        for j, between in enumerate(commits[i:], i)
        for again in commits[j:]
    )
    interleaving = find_interleaving(commits, same_place=True)
    assert (interleaving is not None) == slow
    if isinstance(interleaving, Interleaving):
        one, between, again = interleaving.commits
        assert one.writer == again.writer == interleaving.first != interleaving.second == between.writer
        assert one.snapshot_id < between.snapshot_id < again.snapshot_id


def test_a_thousand_clean_commits_raise_nothing(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    commits = []
    for number in range(1, 1001):
        kind = COMPACT if number % 10 == 0 else APPEND
        # Batch jobs, each with a user of its own, one writer that streams into another bucket, one compactor.
        writer, bucket = ("compactor", 0) if kind == COMPACT else ("stream", 1) if number % 2 else (f"job {number}", 0)
        commits.append(commit(number, writer, kind, bucket))
    assert [judgement.check for judgement in judge_writers(table, Census(tuple(commits))) if not judgement.passed] == []


def test_the_census_of_a_table(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    for i in range(3):
        table.write_arrow(keyed({i: "a"}), commit_user="etl", commit_identifier=i)
    compact(None, table, full=True)
    actual = take_census(table)
    assert [(c.writer, c.kind) for c in actual.commits] == [("etl", APPEND)] * 3 + [("operation compact", COMPACT)]
    assert actual.commits[0].places == {("whole table", 0)}
    assert [c.snapshot_id for c in take_census(table, after=2).commits] == [3, 4]
    assert [c.snapshot_id for c in take_census(table, limit=1).commits] == [4]
    assert [judgement.passed for judgement in judge_writers(table, actual)] == [True] * 3
