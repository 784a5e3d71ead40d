"""Two compactors in processes of their own and a writer on one table: nothing is lost, and reports tell the truth."""

import multiprocessing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from multiprocessing.synchronize import Barrier, Event
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.report import CompactReport
from tests.tables import create_table, data_files, files_on_disk, get_table, live

FIELDS = (("part", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "INT"))
KEYS, PARTS, TURNS = 60, 3, 10
TABLES: dict[str, dict[str, str]] = {
    "deduplicate": {"bucket": "4"},
    "aggregation": {"bucket": "4", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "deletion vectors": {"bucket": "4", "deletion-vectors.enabled": "true"},
    "dynamic": {"bucket": "-1", "dynamic-bucket.target-row-num": "6"},
}


@dataclass
class Told:
    """What a compactor reported. `retries`: lines about groups that were planned again."""

    reports: list[CompactReport] = field(default_factory=list)
    retries: int = 0


def compactor(warehouse: str, start: Barrier, stop: Event, results: Any) -> None:
    """Compact until told to stop. Runs in a process of its own; the first plans of all are of one snapshot."""
    shown, waits = Told(), [start]

    def listen(line: str) -> None:
        shown.retries += "planned again" in line
        if waits and " to compact: " in line:
            waits.pop().wait(120)

    done = False
    while not done:
        done = stop.is_set()
        table = get_table(warehouse)
        report = compact(None, table, full=bool(waits), groups_per_commit=5, max_retries=50, progress=listen)
        shown.reports.append(report)
    results.put(shown)


def batch(turn: int) -> pa.Table:
    ids = range(turn, KEYS, 1 + turn % 3)
    values = {"part": [i % PARTS for i in ids], "id": [*ids], "v": [turn + 1] * len(ids)}
    return pa.table({name: pa.array(column, pa.int32()) for name, column in values.items()})


def expected(name: str) -> Iterator[tuple[int, int, int]]:
    """The rows after all batches."""
    values: dict[int, int] = {}
    for turn in range(TURNS):
        for i in batch(turn)["id"].to_pylist():
            values[i] = turn + 1 + (values.get(i, 0) if name == "aggregation" else 0)
    return ((i % PARTS, i, value) for i, value in values.items())


def rows_of(table: CatalogTable) -> list[tuple[int, int, int]]:
    return sorted(tuple(row.values()) for row in table.to_arrow().to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_two_compactors_beside_a_writer(tmp_path: Path, name: str) -> None:
    options = {"write-only": "true", "num-sorted-run.compaction-trigger": "2", "commit.max-retries": "200"}
    table = create_table(tmp_path, FIELDS, ("part", "id"), {**options, **TABLES[name]}, partition_keys=("part",))
    for turn in range(3):
        table.write_arrow(batch(turn))
    context = multiprocessing.get_context("spawn")
    start, stop, results = context.Barrier(3), context.Event(), context.Queue()
    processes = [
        context.Process(target=compactor, args=(str(tmp_path), start, stop, results), daemon=True) for _ in range(2)
    ]
    try:
        for process in processes:
            process.start()
        start.wait(120)
        for turn in range(3, TURNS):
            table.write_arrow(batch(turn))
        stop.set()
        shown = [results.get(timeout=120) for _ in processes]
        for process in processes:
            process.join(60)
    finally:
        for process in processes:
            process.kill()
    assert rows_of(table) == sorted(expected(name))
    check_reports(table, shown)
    compact(None, table, full=True)
    assert rows_of(table) == sorted(expected(name))
    assert compact(None, table, full=True).snapshot_ids == ()
    assert {entry.file.level for entry in live(table)} == {2}
    assert files_on_disk(table) == data_files(table), "what lost was removed again"


def check_reports(table: CatalogTable, shown: list[Told]) -> None:
    """Reported commits are those of the table, each of one compactor; what was planned was committed or told of."""
    snapshots = {i: table.snapshots.get(i) for i in table.snapshots.list_ids()}
    compactions = [i for i, snapshot in snapshots.items() if snapshot.commit_kind == CommitKind.COMPACT]
    reported = [i for each in shown for report in each.reports for i in report.snapshot_ids]
    assert sorted(reported) == compactions
    assert sum(each.retries for each in shown) > 0, "both began with the same plan: one of them lost"
    for report in (report for each in shown for report in each.reports):
        assert report.failed == ()
        done = report.count("committed") + report.count("conflict_retried")
        assert (done > 0) == bool(report.snapshot_ids)
    assert replaced_files(table, snapshots) == merged_files(shown)


def replaced_files(table: CatalogTable, snapshots: Mapping[int, Any]) -> int:
    """How many files compactions took away, as the table has it."""
    kinds = (s for s in snapshots.values() if s.commit_kind == CommitKind.COMPACT)
    return sum(
        entry.kind.name == "DELETE"
        for snapshot in kinds
        for entry in table.manifests.entries_of(table.manifests.delta_manifests(snapshot))
    )


def merged_files(shown: list[Told]) -> int:
    """How many files the reports say were merged."""
    groups = [group for each in shown for report in each.reports for group in report.groups]
    return sum(group.input_files for group in groups if group.outcome in ("committed", "conflict_retried"))
