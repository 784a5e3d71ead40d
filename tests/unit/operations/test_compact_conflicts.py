"""Groups that lose are planned again, the others stay; what came to nothing is reported as a failure."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.report import CompactReport
from tests.tables import create_table, data_files, files_on_disk, live

FIELDS = (("day", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "INT"))
DAYS = range(4)


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Four partitions of one bucket, with three sorted runs each."""
    table = create_table(tmp_path, FIELDS, ("day", "id"), {"write-only": "true"}, partition_keys=("day",))
    for version in range(3):
        put(table, version, DAYS)
    return table


def put(table: CatalogTable, version: int, days: range) -> None:
    rows = [(day, i, version) for day in days for i in range(5)]
    arrays = [pa.array(column, pa.int32()) for column in zip(*rows, strict=True)]
    table.write_arrow(pa.table(arrays, [name for name, _ in FIELDS]))


def versions(table: CatalogTable) -> dict[int, int]:
    """The one version that all rows of each day have; every row is there once."""
    rows = table.to_arrow().to_pylist()
    assert len(rows) == len({(row["day"], row["id"]) for row in rows}) == 5 * len({row["day"] for row in rows})
    actual = {(row["day"], row["v"]) for row in rows}
    assert len(dict(actual)) == len(actual)
    return dict(actual)


class Races:
    """A progress callback that lets others act whenever files are written and not yet committed, so many times."""

    def __init__(self, race: Callable[[int], None], count: int) -> None:
        self._race, self._count = race, count
        self.done = 0

    def __call__(self, line: str) -> None:
        # Of each attempt the last line before the commit tells how many groups it had.
        if "groups rewritten" in line and self.done < self._count:
            self.done += 1
            self._race(self.done)


def another(table: CatalogTable, day: int) -> Callable[[int], None]:
    """Somebody compacts a day and writes it again, so that there is work left."""

    def race(turn: int) -> None:
        assert compact(None, table, full=True, partitions=[{"day": str(day)}]).snapshot_ids
        put(table, 10 + turn, range(day, day + 1))

    return race


def outcomes(report: CompactReport) -> dict[str, str]:
    return {group.partition: group.outcome for group in report.groups}


def test_only_what_lost_is_planned_anew(table: CatalogTable) -> None:
    report = compact(None, table, full=True, progress=Races(another(table, 2), 1))
    assert outcomes(report) == {"day=2": "conflict_retried"} | {f"day={day}": "committed" for day in (0, 1, 3)}
    first, second = (table.snapshots.get(i) for i in report.snapshot_ids)
    partitions = [
        {entry.partition for entry in table.manifests.entries_of(table.manifests.delta_manifests(snapshot))}
        for snapshot in (first, second)
    ]
    assert [len(actual) for actual in partitions] == [3, 1]
    assert versions(table) == {0: 2, 1: 2, 2: 11, 3: 2}
    assert {entry.file.level for entry in live(table)} == {5}
    assert files_on_disk(table) == data_files(table)
    assert report.compacted_through == report.base_snapshot_id


def test_a_group_that_keeps_losing_is_given_up(table: CatalogTable) -> None:
    races = Races(another(table, 2), 99)
    report = compact(None, table, full=True, max_retries=2, progress=races)
    assert races.done == 3
    assert outcomes(report) == {"day=2": "failed"} | {f"day={day}": "committed" for day in (0, 1, 3)}
    assert "other writers kept winning" in report.failed[0].message
    assert len(report.snapshot_ids) == 1
    assert report.compacted_through is None
    assert versions(table) == {0: 2, 1: 2, 2: 13, 3: 2}
    assert files_on_disk(table) == data_files(table)


def test_work_without_a_commit_is_a_failure(table: CatalogTable) -> None:
    """Everything that was planned lost each time: no snapshot, and every group failed."""

    def race(turn: int) -> None:
        assert compact(None, table, full=True).snapshot_ids
        put(table, 10 + turn, DAYS)

    report = compact(None, table, full=True, max_retries=1, progress=Races(race, 99))
    assert report.snapshot_ids == ()
    assert len(report.failed) == len(DAYS)
    assert versions(table) == dict.fromkeys(DAYS, 12)


def test_batches_are_committed_one_by_one(table: CatalogTable) -> None:
    report = compact(None, table, full=True, groups_per_commit=1, progress=Races(another(table, 3), 1))
    assert len(report.snapshot_ids) == 4
    kinds = [table.snapshots.get(i).commit_kind for i in table.snapshots.list_ids()]
    assert kinds.count(CommitKind.COMPACT) == 5, "four of ours, one of the other"
    assert report.count("failed") == 0
    assert versions(table) == {0: 2, 1: 2, 2: 2, 3: 11}


def test_a_task_that_fails_undoes_no_other(table: CatalogTable) -> None:
    damaged = next(entry for entry in live(table) if table.paths.spec_of(entry.partition) == {"day": "1"})
    path = Path(table.paths.data_file(damaged.partition, damaged.bucket, damaged.file))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    report = compact(None, table, full=True)
    assert outcomes(report) == {"day=1": "failed"} | {f"day={day}": "committed" for day in (0, 2, 3)}
    assert damaged.file.file_name in report.failed[0].message
    only = compact(None, table, full=True)
    assert (only.snapshot_ids, only.count("failed"), only.count("nothing_to_do")) == ((), 1, 3)
    path.write_bytes(content)
    assert compact(None, table, full=True).count("committed") == 1
    assert versions(table) == dict.fromkeys(DAYS, 2)
    assert files_on_disk(table) == data_files(table)
