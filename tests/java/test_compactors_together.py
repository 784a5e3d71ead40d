"""Our compactor and the Java core's at the same time, in processes of their own, beside a writer: nothing is lost."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pyarrow as pa
import pytest

from maintenance.commit.identity import OPERATION_PROPERTY
from maintenance.operations.compaction.compact import compact
from maintenance.operations.compaction.report import CompactReport
from tests.java.process import JavaError, JavaProcess
from tests.java.samples import table_of
from tests.tables import create_table, get_table

FIELDS = (("part", "INT NOT NULL"), ("id", "INT NOT NULL"), ("v", "INT"))
TABLES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "keyed": (("part", "id"), {"bucket": "3"}),
    "deletion vectors": (("part", "id"), {"bucket": "3", "deletion-vectors.enabled": "true"}),
    "append": ((), {"bucket": "-1", "compaction.min.file-num": "2"}),
}


@contextmanager
def java_compacting(java: JavaProcess, warehouse: str) -> Iterator[list[str]]:
    """The Java core compacts again and again meanwhile. Yields of each run ``done``, ``idle`` or its error."""
    stop, reported = Event(), list[str]()

    def run() -> None:
        while not stop.is_set():
            try:
                java.compact(warehouse, "db.t")
                reported.append("done")
            except JavaError as error:
                idle = "EndOfScanException" in str(error)  # how append tables say that there is nothing to do
                reported.append("idle" if idle else str(error))

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        try:
            yield reported
        finally:
            stop.set()
            running.result(120)


def wait_for_one_more(reported: list[str]) -> None:
    """Let the Java core end a run that nobody disturbs."""
    before, deadline = len(reported), monotonic() + 120
    while len(reported) < before + 2 and monotonic() < deadline:
        sleep(0.05)


def batch(turn: int) -> list[tuple[int, int, int]]:
    return [(i % 2, i, turn) for i in range(turn % 3, 40, 1 + turn % 3)]


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_lost_while_ours_and_javas_compact_together(java: JavaProcess, tmp_path: Path, name: str) -> None:
    keys, chosen = TABLES[name]
    options = {"write-only": "true", "num-sorted-run.compaction-trigger": "2", "commit.max-retries": "100", **chosen}
    table = create_table(tmp_path, FIELDS, keys, options, partition_keys=("part",))
    warehouse = str(tmp_path)
    wanted: dict[tuple[int, ...], tuple[int, int, int]] = {}
    reports: list[CompactReport] = []
    turn = 0
    java.rows(warehouse, "db.t")  # so that Java is awake
    with java_compacting(java, warehouse) as reported:
        # Until both have compacted a few times.
        while turn < 60 and (turn < 8 or "done" not in reported or not any(r.snapshot_ids for r in reports)):
            rows = batch(turn)
            columns = zip(*rows, strict=True)
            table.write_arrow(pa.table([pa.array(column, pa.int32()) for column in columns], ["part", "id", "v"]))
            wanted |= {row[1:2] if keys else (turn, row[1]): row for row in rows}
            if turn < 8 or "done" in reported or not any(r.snapshot_ids for r in reports):
                reports.append(compact(None, get_table(warehouse), full=turn % 2 == 0, max_retries=30))
            else:
                wait_for_one_more(reported)  # a slow machine: Java has lost every race so far
            turn += 1
    expected = sorted(wanted.values())
    assert sorted(tuple(row.values()) for row in table_of(warehouse).to_arrow().to_pylist()) == expected
    assert sorted(java.rows(warehouse, "db.t")) == expected
    assert "done" in reported
    assert {line for line in reported if line not in ("done", "idle") and "onflict" not in line} == set(), (
        "Java lost by conflicts alone"
    )
    assert [group for report in reports for group in report.failed] == []
    snapshots = [table.snapshots.get(i) for i in table.snapshots.list_ids()]
    of_ours = [s.id for s in snapshots if (s.properties or {}).get(OPERATION_PROPERTY) == "compact"]
    assert [i for report in reports for i in report.snapshot_ids] == of_ours
    compact(None, table, full=True)
    assert sorted(java.rows(warehouse, "db.t")) == expected
