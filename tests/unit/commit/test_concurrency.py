"""Many writers and compactions at once, in threads and in processes: every commit is there, exactly once."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from maintenance.catalog import CatalogTable
from maintenance.operations.compaction.compact import compact
from tests.tables import create_table, data_files, files_on_disk, get_table, keyed, live_files, state

OPTIONS = {
    "bucket": "2",
    "commit.max-retries": "200",
    "commit.max-retry-wait": "50 ms",
    "manifest.merge-min-count": "5",
}


def write(warehouse: str, number: int, commits: int) -> None:
    """Commit rows that no other writer has, and one row that all of them change."""
    table = get_table(warehouse)
    for i in range(commits):
        rows = keyed({number * 1000 + i: f"{number}/{i}", -1: f"{number}/{i}"})
        table.write_arrow(rows, commit_user=f"writer-{number}", commit_identifier=i)


def check(table: CatalogTable, writers: int, commits: int) -> None:
    actual = state(table)
    shared = actual.pop(-1)
    assert actual == {n * 1000 + i: f"{n}/{i}" for n in range(writers) for i in range(commits)}
    ids = table.snapshots.list_ids()
    assert ids == list(range(1, len(ids) + 1)), "the chain has no gap"
    snapshots = [table.snapshots.get(i) for i in ids]
    made = [(s.commit_user, s.commit_identifier) for s in snapshots if s.commit_user.startswith("writer-")]
    last_user, last_number = made[-1]
    assert shared == f"{last_user.removeprefix('writer-')}/{last_number}", "what was committed last is newest"
    assert sorted(made) == sorted((f"writer-{n}", i) for n in range(writers) for i in range(commits))
    for user in {user for user, _ in made}:
        assert [i for u, i in made if u == user] == list(range(commits)), "in the writer's order"
    total = 0
    for snapshot in snapshots:
        total += snapshot.delta_record_count or 0
        assert snapshot.total_record_count == total
    assert snapshots[-1].total_record_count == sum(file.row_count for file in live_files(table))
    assert files_on_disk(table) == data_files(table), "nobody left a file behind or deleted a live one"


def test_commits_of_several_threads_are_there_exactly_once(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=OPTIONS)
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(write, str(tmp_path), n, 8) for n in range(4)]:
            done.result()
    check(table, 4, 8)


def test_processes_and_compactions_between_them(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=OPTIONS)
    # Forked: importing everything again in each process takes longer than what is tested.
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=write, args=(str(tmp_path), n, 6)) for n in range(3)]
    for writer in writers:
        writer.start()
    outcomes = []
    while any(writer.is_alive() for writer in writers):
        outcomes += [group.outcome for group in compact(None, get_table(tmp_path), full=True).groups]
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    compact(None, table, full=True)
    assert {"committed", "conflict_retried"} & set(outcomes)
    assert "failed" not in outcomes
    check(table, 3, 6)


def test_compactions_against_each_other(tmp_path: Path) -> None:
    table = create_table(tmp_path, options=OPTIONS)
    write(str(tmp_path), 0, 8)
    with ThreadPoolExecutor(3) as pool:
        reports = list(pool.map(lambda _: compact(None, get_table(tmp_path), full=True), range(3)))
    outcomes = [group.outcome for report in reports for group in report.groups]
    assert "failed" not in outcomes
    assert sum(outcome in ("committed", "conflict_retried") for outcome in outcomes) >= 2
    assert {file.level for file in live_files(table)} == {5}
    check(table, 1, 8)
