"""Tables whose keys may change their partition: both engines write and compact in turns, and each key is there once.

Java's index of keys needs RocksDB, which stands beside the Java core among Spark's own jars.
"""

from pathlib import Path

import pytest

from maintenance.operations.compaction.compact import compact
from tests.java.process import JavaProcess
from tests.java.replay import Batch, Replay
from tests.java.samples import Row, Sample, arrow_of, comparable, rows_in, rows_of, table_of

OPTIONS = {"bucket": "-1", "dynamic-bucket.target-row-num": "3", "write-only": "true"}


def inserts(ids: range, version: int) -> Batch:
    """Rows of three partitions; another version puts a key into another one."""
    rows: list[Row] = [
        (f"part {(key + version) % 3}", *row[1:]) for key, row in zip(ids, rows_of(ids, version), strict=True)
    ]
    return rows, ["+I"] * len(rows)


def deletions(ids: range, version: int) -> Batch:
    rows, _ = inserts(ids, version)
    return rows, ["-D"] * len(rows)


def java_writes(replay: Replay, batch: Batch) -> None:
    replay.java.write_cross_partition(replay.warehouse, "db.t", *batch)
    replay.expect(batch)


def test_java_finds_each_key_once(java: JavaProcess, tmp_path: Path) -> None:
    sample = Sample(("id",), ("p",), OPTIONS)
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    replay.we_write(inserts(range(12), 0))
    replay.check()
    replay.we_write(inserts(range(4, 16), 1))
    replay.check()
    java.compact(replay.warehouse, "db.t")
    replay.check()
    replay.we_write(inserts(range(8), 2))
    replay.we_write((rows_of(range(6, 10), 5), ["-D"] * 4))
    compact(None, table_of(replay.warehouse), full=True)
    replay.check()


@pytest.mark.slow
@pytest.mark.parametrize("begins", ["ours", "java"])
def test_both_write_and_compact_in_turns(java: JavaProcess, tmp_path: Path, begins: str) -> None:
    sample = Sample(("id",), ("p",), OPTIONS)
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    ours = begins == "ours"
    for turn in range(6):
        batches = [inserts(range(3 * turn, 3 * turn + 12), turn), deletions(range(turn, turn + 2), turn)]
        for batch in batches[: 1 + turn % 2]:
            if ours:
                replay.we_write(batch)
            else:
                java_writes(replay, batch)
        replay.check()
        if turn % 3 == 2 and not ours:
            java.compact(replay.warehouse, "db.t")
        elif turn % 3 == 2:
            assert compact(None, table_of(replay.warehouse), full=True).snapshot_ids
        replay.check()
        ours = not ours


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation", "first-row"])
def test_every_merge_engine_puts_keys_where_java_does(java: JavaProcess, tmp_path: Path, engine: str) -> None:
    """Twins, one written by each engine; then the other one goes on."""
    options = {**OPTIONS, "merge-engine": engine}
    warehouses = ours, theirs = str(tmp_path / "ours"), str(tmp_path / "java")
    for warehouse in warehouses:
        Sample(("id",), ("p",), options).create(warehouse)
    for version, ids in enumerate([range(12), range(4, 16), range(0, 20, 3)]):
        table_of(ours).write_arrow(arrow_of(inserts(ids, version)[0]))
        java.write_cross_partition(theirs, "db.t", *inserts(ids, version))
        check(java, warehouses)
    compact(None, table_of(theirs), full=True)
    java.compact(ours, "db.t")
    check(java, warehouses)
    for version, ids in enumerate([range(2, 22), range(9)], 5):
        table_of(theirs).write_arrow(arrow_of(inserts(ids, version)[0]))
        java.write_cross_partition(ours, "db.t", *inserts(ids, version))
        check(java, warehouses)


def check(java: JavaProcess, warehouses: tuple[str, str]) -> None:
    """Both engines read the same rows of both tables, each key once."""
    wanted = comparable(java.rows(warehouses[0], "db.t"))
    assert comparable(java.rows(warehouses[1], "db.t")) == wanted
    for warehouse in warehouses:
        rows = rows_in(table_of(warehouse).to_arrow())
        assert comparable(rows) == wanted
        assert len({row[1] for row in rows}) == len(rows)
