"""Tables with postponed buckets: rows that real Paimon left waiting get theirs, and it reads what waits of ours."""

from pathlib import Path

import pytest

from maintenance.operations.compaction.compact import compact
from tests.java.process import JavaProcess
from tests.java.replay import Replay, batches, changes, inserts
from tests.java.samples import COLUMNS, VALUES, Sample, arrow_of, columns_of, table_of
from tests.tables import live

OPTIONS = {"bucket": "-2", "postpone.default-bucket-num": "2", "postpone.batch-write-fixed-bucket": "false"}
SAMPLES = {
    "whole": Sample(("id",), (), OPTIONS),
    "partitioned": Sample(("p", "id"), ("p",), OPTIONS),
}


@pytest.mark.parametrize("values", ["all", "Avro's"])
@pytest.mark.parametrize("name", SAMPLES)
def test_rows_of_both_wait_and_come_out_in_order(java: JavaProcess, tmp_path: Path, name: str, values: str) -> None:
    chosen = VALUES if values == "all" else {text: each for text, each in VALUES.items() if "(9)" not in text}
    SAMPLES[name].create(str(tmp_path), columns_of(chosen))
    replay = Replay(java, str(tmp_path), SAMPLES[name], columns_of(chosen))
    first, second, third, fourth, fifth = batches(SAMPLES[name], chosen)
    replay.java_writes(first)
    replay.we_write(second)
    formats = {entry.file.file_name.rpartition(".")[2] for entry in live(table_of(replay.warehouse))}
    assert formats == {"parquet" if values == "all" else "avro"}
    assert java.waiting_rows(replay.warehouse, "db.t") == len(first[0]) + len(second[0])
    assert compact(None, table_of(replay.warehouse)).snapshot_ids
    replay.check()
    replay.we_write(third)
    replay.java_writes(fourth)
    replay.we_write(fifth)
    compact(None, table_of(replay.warehouse), full=True)
    replay.check()
    assert {(entry.bucket, entry.total_buckets) for entry in live(table_of(replay.warehouse))} == {(0, 2), (1, 2)}


def test_java_reads_batches_that_went_straight_into_buckets(java: JavaProcess, tmp_path: Path) -> None:
    sample = Sample(("p", "id"), ("p",), {"bucket": "-2", "postpone.target-row-num-per-bucket": "3"})
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    for batch in batches(sample):
        replay.we_write(batch)
        replay.check()
    compact(None, table_of(replay.warehouse), full=True)
    replay.check()


@pytest.mark.parametrize("begins", ["ours", "java"])
def test_both_write_and_compact_in_turns(java: JavaProcess, tmp_path: Path, begins: str) -> None:
    """Rows that wait, rows that go straight into buckets and compactions of these, of either engine in turns.

    Giving buckets to the rows that wait is not part of the Java core: that is done here.
    """
    sample = Sample(("p", "id"), ("p",), {**OPTIONS, "write-only": "true"})
    replay = Replay(java, str(tmp_path), sample)
    if begins == "java":
        java.create_table(replay.warehouse, "db.t", COLUMNS, (["p", "id"], ["p"]), sample.options)
        replay.java_writes(inserts(range(20), 0))
    else:
        sample.create(replay.warehouse)
        replay.we_write(inserts(range(20), 0))
    assert compact(None, table_of(replay.warehouse)).snapshot_ids
    replay.check()
    java.write_straight(replay.warehouse, "db.t", *changes(range(5, 25), 1), 2)
    replay.expect(changes(range(5, 25), 1))
    replay.check()
    java.compact(replay.warehouse, "db.t")
    assert {entry.file.level for entry in live(table_of(replay.warehouse))} == {5}
    replay.check()
    straight = table_of(replay.warehouse).copy({"postpone.batch-write-fixed-bucket": "true"})
    batch = changes(range(15), 2)
    straight.write_arrow(arrow_of(batch[0]), batch[1])
    replay.expect(batch)
    replay.check()
    for turn in range(3, 7):
        if turn % 2:
            replay.java_writes(changes(range(turn, turn + 15), turn))
        else:
            replay.we_write(inserts(range(turn, turn + 15), turn))
        waiting = [entry for entry in live(table_of(replay.warehouse)) if entry.bucket == -2]
        assert waiting
        if turn % 2 == 0:
            compact(None, table_of(replay.warehouse), full=turn == 4)
            replay.check()
            java.compact(replay.warehouse, "db.t")
            replay.check()


def test_a_move_lets_no_row_overtake_what_java_is_still_writing(java: JavaProcess, tmp_path: Path) -> None:
    """Java numbers its rows on from what it found; a move meanwhile must not lift older rows above these numbers."""
    options = {**OPTIONS, "postpone.default-bucket-num": "1", "write-only": "true"}
    sample = Sample(("p", "id"), ("p",), options)
    sample.create(str(tmp_path))
    replay = Replay(java, str(tmp_path), sample)
    replay.we_write(inserts(range(20), 0))
    java.write_straight(replay.warehouse, "db.t", *inserts(range(5, 9), 1), 1)
    replay.expect(inserts(range(5, 9), 1))
    prepared = java.prepare_straight(replay.warehouse, "db.t", *inserts(range(7, 9), 2), 1)
    compact(None, table_of(replay.warehouse))
    replay.check(orphans=True)
    java.commit_prepared(prepared)
    replay.expect(inserts(range(7, 9), 2))
    replay.check()
