"""Streams bring what the Java core's bring, from every start, and on tables of both engines."""

import random
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.overwrite import Overwrite
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.scan.stream_position import Limits, StreamPosition
from maintenance.table.stream import TableStream
from maintenance.types.row_kind import texts_of_kinds
from tests.java.process import JavaProcess
from tests.java.samples import Row, arrow_of, comparable, rows_in, table_of
from tests.tables import live

COLUMNS = (("id", "BIGINT NOT NULL"), ("v", "STRING"))
PRODUCERS = ("none", "input", "lookup", "full-compaction")
STARTS: tuple[Mapping[str, str], ...] = (
    {},
    {"scan.mode": "latest"},
    {"scan.mode": "compacted-full"},
    {"scan.snapshot-id": "1"},
    {"scan.version": "5"},
    {"scan.mode": "from-snapshot-full", "scan.snapshot-id": "4"},
    {"scan.timestamp-millis": "0"},
)


def followed(
    table: CatalogTable, *, with_kind: bool = False, start: StreamPosition | None = None
) -> tuple[list[Row], int]:
    """Rows that a stream brings until it waits, and the snapshot it waits for."""
    stream = TableStream(table)
    first = stream.start() if start is None else start
    end, _ = stream.advance(first, stream.end(), Limits())
    read = stream.read(first, end, with_kind=with_kind)
    parts = [part for split in stream.between(first, end) for part in read.tables(split)]
    if not parts:
        return [], end.snapshot_id
    rows = pa.concat_tables(parts)
    if with_kind:
        rows = rows.set_column(0, "rowkind", texts_of_kinds(rows.column(0).combine_chunks()))
    return rows_in(rows), end.snapshot_id


def written(java: JavaProcess, warehouse: str, producer: str, commits: int, seed: str) -> None:
    """Changes of both engines in turn, compacted now and then; each engine has its own word for what comes from it."""
    dice = random.Random(seed)
    for number in range(commits):
        count = dice.randint(1, 6)
        rows: list[Row] = [(dice.randint(0, 7), f"{seed} {number}") for _ in range(count)]
        kinds = [dice.choice(["+I", "+U", "-D"]) for _ in range(count)]
        if number % 2 or producer in ("lookup", "full-compaction"):
            table_of(warehouse).write_arrow(arrow_of(rows, COLUMNS), kinds)
        else:
            java.write(warehouse, "db.t", rows, kinds)
        if number % 3 == 2 and producer in ("lookup", "full-compaction"):
            produce_changelog(None, table_of(warehouse))
        elif number == 4:
            java.compact(warehouse, "db.t")


@pytest.mark.parametrize("producer", PRODUCERS)
def test_every_start_brings_what_java_brings(java: JavaProcess, tmp_path: Path, producer: str) -> None:
    warehouse = str(tmp_path)
    options = {"bucket": "2", "write-only": "true", "changelog-producer": producer}
    java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), options)
    written(java, warehouse, producer, 8, "first")
    waits = {}
    for start in STARTS:
        actual, following = followed(table_of(warehouse).copy(start))
        wanted, expected = java.stream(warehouse, "db.t", start)
        assert (comparable(actual), following) == (comparable(wanted), expected), start
        waits[tuple(start.items())] = following
    assert len(set(waits.values())) == 1
    (following,) = set(waits.values())
    written(java, warehouse, producer, 5, "then")
    actual, ours = followed(table_of(warehouse), with_kind=True, start=StreamPosition(following))
    wanted, theirs = java.stream(warehouse, "db.t$audit_log", {}, following)
    assert (comparable(actual), ours) == (comparable(wanted), theirs)
    assert actual


def test_a_consumer_of_ours_is_one_of_javas(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    java.create_table(
        warehouse, "db.t", COLUMNS, (["id"], []), {"bucket": "1", "write-only": "true", "changelog-producer": "input"}
    )
    written(java, warehouse, "input", 4, "a")
    stream = TableStream(table_of(warehouse).copy({"consumer-id": "both"}))
    end, _ = stream.advance(stream.start(), stream.end(), Limits())
    stream.progress(end)
    written(java, warehouse, "input", 3, "b")
    assert java.expire(warehouse, "db.t", 1) == end.snapshot_id - 1
    wanted, _ = java.stream(warehouse, "db.t", {"consumer-id": "both"})
    actual, _ = followed(table_of(warehouse).copy({"consumer-id": "both"}))
    assert comparable(actual) == comparable(wanted) != []


def test_changes_of_expired_snapshots_that_java_kept(java: JavaProcess, tmp_path: Path) -> None:
    for producer in ("none", "input"):
        warehouse = str(tmp_path / producer)
        options = {
            "bucket": "1",
            "changelog-producer": producer,
            "num-sorted-run.compaction-trigger": "3",
            "snapshot.num-retained.min": "1",
            "snapshot.num-retained.max": "2",
            "changelog.num-retained.min": "1",
            "changelog.num-retained.max": "100",
        }
        java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), options)
        for number in range(6):
            java.write(warehouse, "db.t", [(number % 4, f"{number}")])
        assert len(table_of(warehouse).snapshots.list_ids()) <= 2
        expire_snapshots(table_of(warehouse))
        start = {"scan.snapshot-id": "1"}
        actual, _ = followed(table_of(warehouse).copy(start))
        assert comparable(actual) == comparable([(number % 4, f"{number}") for number in range(6)])
        wanted, _ = java.stream(warehouse, "db.t", start)
        assert comparable(actual) == comparable(wanted)


@pytest.mark.parametrize("producer", ["none", "input", "append"])
def test_overwritten_rows_are_streamed_as_by_java(java: JavaProcess, tmp_path: Path, producer: str) -> None:
    warehouse, keyed = str(tmp_path), producer != "append"
    columns = (("p", "INT NOT NULL"), *COLUMNS)
    asked = {"streaming-read-overwrite" if keyed else "streaming-read-append-overwrite": "true"}
    options = {"bucket": "2", "write-only": "true", "changelog-producer": producer} if keyed else {"bucket": "-1"}
    java.create_table(warehouse, "db.t", columns, (["p", "id"] if keyed else [], ["p"]), {**options, **asked})
    java.write(warehouse, "db.t", [(k % 2, k, "first") for k in range(8)])
    java.write(warehouse, "db.t", [(k % 2, k, "second") for k in range(3, 10)])
    java.write(warehouse, "db.t", [(1, k, "java") for k in range(5, 12)], overwrite={})
    table_of(warehouse).overwrite_arrow(arrow_of([(0, k, "ours") for k in range(4)], columns), Overwrite([{"p": "0"}]))
    java.write(warehouse, "db.t", [(0, 1, "java again")], overwrite={"p": "0"})
    table_of(warehouse).delete("p = 1")
    start = {"scan.snapshot-id": "1"}
    actual, _ = followed(table_of(warehouse).copy(start), with_kind=True)
    wanted, _ = java.stream(warehouse, "db.t$audit_log", start)
    assert comparable(actual) == comparable(wanted)
    texts = {row[-1] for row in actual}
    assert texts == {"first", "second", "java", "ours", "java again"}
    assert {row[0] for row in actual} == ({"+I", "-D"} if keyed else {"+I"})


def test_streams_from_creation_times_are_javas(java: JavaProcess, tmp_path: Path) -> None:
    warehouse = str(tmp_path)
    java.create_table(warehouse, "db.t", COLUMNS, (["id"], []), {"bucket": "1", "write-only": "true"})
    for number in range(4):
        java.write(warehouse, "db.t", [(number, f"{number}")])
    table = table_of(warehouse)
    times = [table.snapshots.get(number).time_millis for number in table.snapshots.list_ids()]
    made = [(entry.file.creation_time or 0, entry.file.min_sequence_number) for entry in live(table)]
    expire_snapshots(table, retain_min=3, retain_max=3)
    moments = [0, *times, times[-1] + 10**7, *(millis for millis, _ in made)]
    for key in ("scan.file-creation-time-millis", "scan.creation-time-millis"):
        for moment in moments:
            start = {key: f"{moment}"}
            actual, following = followed(table.copy(start))
            wanted, expected = java.stream(warehouse, "db.t", start)
            assert (comparable(actual), following) == (comparable(wanted), expected), start
