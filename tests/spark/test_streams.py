"""Streams of Spark from and into tables: starts, limits, restarts from the checkpoint, consumers, exactly once."""

import pickle
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from maintenance.catalog import CatalogTable
from maintenance.connector.data_source import PaimonDataSource, register
from maintenance.errors import PaimonError
from maintenance.operations.checks.audit_changelog import audit_changelog
from maintenance.operations.compaction.produce_changelog import produce_changelog
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.ingestion.ingest_stream import ingest_stream
from maintenance.operations.ingestion.stream_sink import USER_FILE, Sink
from tests.small_tables import put, rows, set_commit_time, small_table, table_in
from tests.tables import create_table, get_table

Row = tuple[Any, ...]


@pytest.fixture(autouse=True)
def _registered(request: pytest.FixtureRequest) -> None:
    if "spark" in request.fixturenames:
        register(request.getfixturevalue("spark"))


class Follower:
    """A query that is started again for each look, with one checkpoint; remembers the rows of each batch."""

    def __init__(self, spark: SparkSession, table: CatalogTable, checkpoint: Path, **options: str) -> None:
        self._spark, self._table, self._checkpoint = spark, table, checkpoint
        self._options = {key.replace("__", "."): value for key, value in options.items()}
        self.batches: list[list[Row]] = []
        self._looks = 0

    def look(self) -> list[Row]:
        """What a run with `availableNow` brings."""
        frame = self._spark.readStream.format("paimon").options(**self._options).load(self._table.location)
        seen = len(self.batches)
        self._looks += 1
        folder = self._checkpoint.with_name(f"{self._checkpoint.name}-{self._looks}")
        folder.mkdir()

        def batch(rows: DataFrame, number: int) -> None:
            # Of a Connect session this runs in the server's process.
            (folder / f"{number:05d}").write_bytes(pickle.dumps(sorted(tuple(row) for row in rows.collect())))

        writer = frame.writeStream.foreachBatch(batch).option("checkpointLocation", str(self._checkpoint))
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(600), "the stream has not ended"
        self.batches += [pickle.loads(path.read_bytes()) for path in sorted(folder.iterdir())]
        return sorted(row for actual in self.batches[seen:] for row in actual)


@pytest.mark.slow
def test_a_stream_starts_with_the_state_and_goes_on_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    table = small_table(tmp_path / "lake", {"changelog-producer": "lookup"})
    put(table, {1: "a", 2: "b"})
    produce_changelog(None, table)
    put(table, {3: "not yet"})
    follower = Follower(spark, table, tmp_path / "checkpoint", **{"read.changelog": "true", "consumer-id": "f"})
    assert follower.look() == [("+I", 1, "a"), ("+I", 2, "b")]
    assert follower.look() == []
    put(table, {1: "c"}, [2])
    produce_changelog(None, table)
    expected = [("+I", 3, "not yet"), ("+U", 1, "c"), ("-D", 2, "b"), ("-U", 1, "a")]
    assert follower.look() == expected
    put(table, {4: "d"})
    produce_changelog(None, table)
    assert follower.look() == [("+I", 4, "d")]
    assert table.consumers.next_snapshots() == {"f": 8}
    assert expire_snapshots(table, retain_max=1, retain_min=1).earliest == 7
    assert follower.look() == []


@pytest.mark.slow
def test_a_batch_takes_no_more_than_its_limits(spark: SparkSession, tmp_path: Path) -> None:
    table = small_table(tmp_path / "lake", {"bucket": "1"})
    for i in range(5):
        put(table, {i: "x", 10 + i: "y"})
    options = {"scan.snapshot-id": "1", "read.stream.maxFilesPerTrigger": "2"}
    follower = Follower(spark, table, tmp_path / "c1", **options)
    assert len(follower.look()) == 10
    assert [len(batch) for batch in follower.batches] == [4, 4, 2]
    by_rows = Follower(spark, table, tmp_path / "c2", **{"scan.snapshot-id": "2", "read.stream.maxRowsPerTrigger": "3"})
    by_rows.look()
    assert [len(batch) for batch in by_rows.batches] == [4, 4]


@pytest.mark.slow
def test_streams_of_append_tables_and_starts_by_time(spark: SparkSession, tmp_path: Path) -> None:
    table = small_table(tmp_path / "lake", primary_key=False)
    for i in range(3):
        put(table, {i: "x"})
        set_commit_time(table, i + 1, 1000 * (i + 1))
    latest = Follower(spark, table, tmp_path / "c1", **{"scan.mode": "latest"})
    since = Follower(spark, table, tmp_path / "c2", **{"scan.timestamp-millis": "2000"})
    assert (latest.look(), since.look()) == ([], [(1, "x"), (2, "x")])
    put(table, {9: "later"})
    assert latest.look() == since.look() == [(9, "later")]


@pytest.mark.slow
def test_a_new_query_of_a_consumer_goes_on_where_the_one_before_ended(spark: SparkSession, tmp_path: Path) -> None:
    table = small_table(tmp_path / "lake", primary_key=False)
    options = {"consumer-id": "f", "scan.snapshot-id": "1", "read.stream.maxFilesPerTrigger": "1"}
    for number in range(2):
        put(table, {number: "x"})
        put(table, {10 + number: "x"})
        follower = Follower(spark, table, tmp_path / f"checkpoint-{number}", **options)
        assert follower.look() == [(number, "x"), (10 + number, "x")]
        assert len(follower.batches) == 2
        assert table.consumers.next_snapshots() == {"f": 2 * number + 3}


def test_what_a_consumer_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Spark calls, in its order: a batch is done when Spark asks for the next one."""
    table = small_table(tmp_path, primary_key=False)
    put(table, {1: "x"})
    put(table, {2: "x"})
    clock = [1000.0]
    monkeypatch.setattr("maintenance.connector.stream_source.time.monotonic", lambda: clock[0])
    source = PaimonDataSource({"path": table.location, "consumer-id": "f", "scan.snapshot-id": "1"})
    reader = source.streamReader(StructType().add("k", "long").add("v", "string"))
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert table.consumers.next_snapshots() == {"f": 1}, "expiry waits for the first batch, too"
    reader.partitions(start, end)
    assert table.consumers.next_snapshots() == {"f": 1}, "the batch may still fail"
    assert reader.latestOffset(end, ReadAllAvailable()) == end
    assert table.consumers.next_snapshots() == {"f": 3}
    path = Path(table.paths.consumer("f"))
    path.unlink()
    reader.latestOffset(end, ReadAllAvailable())
    assert not path.exists(), "each trigger asks"
    clock[0] += 61
    reader.latestOffset(end, ReadAllAvailable())
    assert table.consumers.next_snapshots() == {"f": 3}, "a stream without new rows is alive"


def copied(spark: SparkSession, source: CatalogTable, folder: Path, sink: Sink) -> None:
    frame = spark.readStream.format("paimon").option("read.changelog", "true").load(source.location)
    assert ingest_stream(spark, frame, lambda: table_in(folder), sink).awaitTermination(600), "the stream has not ended"


@pytest.mark.slow
def test_a_table_follows_another_batch_by_batch(spark: SparkSession, tmp_path: Path) -> None:
    source = small_table(tmp_path / "source", {"changelog-producer": "lookup"})
    copy = small_table(tmp_path / "copy", {"changelog-producer": "input"})
    sink = Sink(str(tmp_path / "checkpoint"), row_kind_column="rowkind")
    for values, deleted in (({1: "a", 2: "b"}, []), ({2: "c", 3: "d"}, [1]), ({1: "again"}, [])):
        put(source, values, deleted)
        produce_changelog(None, source)
        copied(spark, source, tmp_path / "copy", sink)
        assert rows(copy) == rows(source)
    snapshots = [copy.snapshots.get(number) for number in copy.snapshots.list_ids()]
    assert [snapshot.commit_identifier for snapshot in snapshots] == [0, 1, 2]
    (user,) = {snapshot.commit_user for snapshot in snapshots}
    assert (tmp_path / "checkpoint" / USER_FILE).read_text() == user
    audit = audit_changelog(None, copy)
    assert (audit.holds, audit.images) == (True, True)


@pytest.mark.slow
def test_a_batch_that_is_in_the_table_is_not_written_again(spark: SparkSession, tmp_path: Path) -> None:
    """Between the commit and Spark's own note of it: the note of the batch is taken away, and Spark repeats it."""
    source = small_table(tmp_path / "source", primary_key=False)
    copy = small_table(tmp_path / "copy", primary_key=False)
    checkpoint = tmp_path / "checkpoint"
    put(source, {1: "a"})

    def run(sink: Sink) -> None:
        frame = spark.readStream.format("paimon").load(source.location)
        assert ingest_stream(spark, frame, lambda: table_in(tmp_path / "copy"), sink).awaitTermination(600), (
            "the stream has not ended"
        )

    sink = Sink(str(checkpoint))
    run(sink)
    put(source, {2: "b"})
    run(sink)
    forget(checkpoint, 1)
    run(sink)
    assert rows(copy) == [(1, "a"), (2, "b")]
    assert copy.snapshots.list_ids() == [1, 2]
    # Once the snapshots of the pipeline have expired its commit records tell.
    for i in range(3):
        put(copy, {100 + i: "other"})
    expire_snapshots(copy, retain_max=1, retain_min=1)
    forget(checkpoint, 1)
    run(sink)
    assert copy.snapshots.list_ids() == [5]
    # Without them nothing tells: then it says so.
    copy.file_io.delete_folder(copy.paths.commit_record_folder())
    forget(checkpoint, 1)
    with pytest.raises(Exception, match="may be in the table already"):
        run(sink)
    run(Sink(str(checkpoint), resume_after=1))
    put(source, {3: "c"})
    run(Sink(str(checkpoint), resume_after=1))
    assert [row for row in rows(copy) if row[0] < 100] == [(1, "a"), (2, "b"), (3, "c")]


def forget(checkpoint: Path, batch: int) -> None:
    """As if Spark had been killed before it noted that a batch is done."""
    for path in (checkpoint / "commits").iterdir():
        if path.name in (str(batch), f".{batch}.crc"):
            path.unlink()


@pytest.mark.slow
def test_watermarks_are_recorded_and_never_go_back(spark: SparkSession, tmp_path: Path) -> None:
    fields = (("k", "BIGINT NOT NULL"), ("at", "TIMESTAMP(3)"))
    source = create_table(tmp_path / "source", fields, ("k",))
    create_table(tmp_path / "copy", fields, ("k",))
    sink = Sink(str(tmp_path / "checkpoint"), event_time=("at", timedelta(seconds=5)))
    marks = []
    for second in (30, 10, 50):
        moment = datetime(2024, 5, 14, 10, 0, second)
        source.write_arrow(pa.table({"k": pa.array([second]), "at": pa.array([moment], pa.timestamp("ms"))}))
        frame = spark.readStream.format("paimon").load(source.location)
        assert ingest_stream(spark, frame, lambda: get_table(tmp_path / "copy"), sink).awaitTermination(600), (
            "the stream has not ended"
        )
        snapshot = get_table(tmp_path / "copy").latest_snapshot()
        assert snapshot is not None
        marks.append(snapshot.watermark)
    base = int(datetime(2024, 5, 14, 10, tzinfo=UTC).timestamp() * 1000)
    assert marks == [base + 25_000, base + 25_000, base + 45_000]


def test_limits_and_kinds_of_a_stream_may_be_the_tables_own(tmp_path: Path) -> None:
    options = {"read.stream.maxFilesPerTrigger": "2", "read.changelog": "true", "changelog-producer": "input"}
    table = create_table(tmp_path, options=options)
    plain = {"path": table.location}
    fields = [StructField("id", IntegerType()), StructField("v", StringType())]
    source = PaimonDataSource(plain)
    assert source.schema().startswith("`rowkind`")
    reader = source.streamReader(StructType([StructField("rowkind", StringType()), *fields]))
    assert reader.getDefaultReadLimit().max_files == 2  # type: ignore[attr-defined]
    own = PaimonDataSource({**plain, "read.changelog": "false", "READ.stream.maxFilesPerTrigger": "3"})
    assert own.schema().startswith("`id`")
    limited = own.streamReader(StructType(fields)).getDefaultReadLimit()
    assert limited.max_files == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("scan.snaphot-id", "1", "Did you mean 'scan.snapshot-id'"),
        ("read.stream.maxFilePerTrigger", "1", "Did you mean 'read.stream.maxFilesPerTrigger'"),
        ("scan.bounded.watermark", "soon", "expected an integer"),
        ("write.merge-schema", "true", "use ALTER TABLE first"),
        ("scan.ignore-lost-files", "true", "is not supported"),
    ],
)
def test_options_of_reads_and_writes_follow_the_rule_for_all(
    tmp_path: Path, option: str, value: str, said: str
) -> None:
    table = create_table(tmp_path)
    source = PaimonDataSource({"path": table.location, option: value})
    for use in (source.schema, lambda: source.writer(StructType(), overwrite=False)):
        with pytest.raises(PaimonError, match=said):
            use()


def test_keys_that_spark_writes_in_lower_case_are_the_options(tmp_path: Path) -> None:
    table = create_table(tmp_path, (("id", "INT"), ("v", "VARIANT")), (), {"bucket": "-1"})
    options = {"path": table.location, "variant.inferShreddingSchema": "true", "my.team": "x"}
    writer = PaimonDataSource(options).writer(StructType(), overwrite=False)
    assert writer._table.dynamic_options == {"variant.inferShreddingSchema": "true", "my.team": "x"}
