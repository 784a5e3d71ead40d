"""Writers that compact beside writing: one history by each engine ends in the same rows and kinds of snapshots."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import StructType

from maintenance.catalog import CatalogTable
from maintenance.connector.data_source import PaimonDataSource
from maintenance.options import table as table_options
from tests.java.process import JavaProcess
from tests.tables import create_table, get_table, keyed, live_files

INLINE = {"write-only": "false"}
CASES: Mapping[str, Mapping[str, str]] = {
    "merge-on-read": {},
    "two runs": {"num-sorted-run.compaction-trigger": "2"},
    "forced": {"compaction.force-up-level-0": "true"},
    "merge-on-write": {"deletion-vectors.enabled": "true"},
    "changelog": {"changelog-producer": "lookup"},
    "full changelog": {"changelog-producer": "full-compaction", "num-sorted-run.compaction-trigger": "3"},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update", "num-sorted-run.compaction-trigger": "2"},
    "write-only": {"write-only": "true", "num-sorted-run.compaction-trigger": "2"},
}


def kinds(table: CatalogTable) -> str:
    """The kinds of the snapshots, by their first letters."""
    return "".join(table.snapshots.get(i).commit_kind.value[0] for i in table.snapshots.list_ids())


def batch(number: int) -> list[tuple[int, str]]:
    """Rows of about the same size in each batch, some of them there already."""
    return [(number * 3 + i, f"{number:02}/{i}") for i in range(6)]


@pytest.mark.parametrize("how", CASES)
def test_the_same_history_by_each(java: JavaProcess, tmp_path: Path, how: str) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "java"
    for folder in (ours, theirs):
        create_table(folder, options={**INLINE, **CASES[how]})
    for number in range(9):
        get_table(ours).write_arrow(keyed(batch(number)))
        java.write(str(theirs), "db.t", batch(number))
        if how == "full changelog":
            # The core's writer leaves this to the engine around it: Flink's sink does it with every commit.
            java.compact(str(theirs), "db.t")
        rows = sorted(java.rows(str(ours), "db.t"))
        assert rows == sorted(java.rows(str(theirs), "db.t"))
        assert rows == sorted((row["id"], row["v"]) for row in get_table(ours).to_arrow().to_pylist())
    assert kinds(get_table(ours)) == kinds(get_table(theirs))
    levels = [sorted(file.level for file in live_files(get_table(folder))) for folder in (ours, theirs)]
    assert levels[0] == levels[1]
    assert ("C" in kinds(get_table(ours))) != table_options.WRITE_ONLY.of(get_table(ours).options)


@pytest.mark.parametrize("how", ["merge-on-read", "merge-on-write", "changelog", "first-row"])
def test_both_compact_while_they_write_by_turns_and_see_the_same(java: JavaProcess, tmp_path: Path, how: str) -> None:
    table = create_table(tmp_path, options={**INLINE, **CASES[how], "num-sorted-run.compaction-trigger": "3"})
    expected: dict[int, str] = {}
    for number in range(8):
        if number % 2:
            table.write_arrow(keyed(batch(number)))
        else:
            java.write(str(tmp_path), "db.t", batch(number))
        for key, value in batch(number):
            expected[key] = expected.get(key, value) if how == "first-row" else value
        assert sorted(java.rows(str(tmp_path), "db.t")) == sorted(expected.items())
        actual = {row["id"]: row["v"] for row in table.to_arrow().to_pylist()}
        assert actual == expected
    assert java.orphans(str(tmp_path), "db.t") == []


def test_tasks_of_spark_that_wrote_the_same_keys(java: JavaProcess, tmp_path: Path) -> None:
    """Writers side by side number their rows in lanes: every reader takes the same row of those of one key."""
    table = create_table(tmp_path, options={"bucket": "2"})
    java.write(str(tmp_path), "db.t", batch(0))
    writer = PaimonDataSource({"path": table.location}).writer(StructType(), False)
    tasks = [keyed([(key, f"task {task}") for key in range(task, 4 + task)]) for task in range(3)]
    messages: list[Any] = [writer.written(iter(rows.to_batches()), task) for task, rows in enumerate(tasks)]
    writer.commit(messages)
    expected = {**dict(batch(0)), 0: "task 0", 1: "task 1", **dict.fromkeys(range(2, 6), "task 2")}
    assert dict(java.rows(str(tmp_path), "db.t")) == expected
    assert {row["id"]: row["v"] for row in table.to_arrow().to_pylist()} == expected
    java.write(str(tmp_path), "db.t", [(2, "java")])
    java.compact(str(tmp_path), "db.t")
    assert {row["id"]: row["v"] for row in table.to_arrow().to_pylist()} == {**expected, 2: "java"}


def test_java_stops_where_we_do(java: JavaProcess, tmp_path: Path) -> None:
    """A bucket with too many runs: Java's writer compacts after its own rows, ours before; then both are the same."""
    ours, theirs = tmp_path / "ours", tmp_path / "java"
    for folder in (ours, theirs):
        create_table(folder, options={"num-sorted-run.compaction-trigger": "3", "num-sorted-run.stop-trigger": "6"})
        for number in range(8):
            get_table(folder).write_arrow(keyed(batch(number)))
    get_table(ours).copy(INLINE).write_arrow(keyed(batch(8)))
    java.write(str(theirs), "db.t", batch(8), options=INLINE)
    assert kinds(get_table(theirs)) == "A" * 9 + "C"
    assert kinds(get_table(ours)) == "A" * 8 + "CA"
    assert sorted(java.rows(str(ours), "db.t")) == sorted(java.rows(str(theirs), "db.t"))
    assert max(len(live_files(get_table(folder))) for folder in (ours, theirs)) <= 2
