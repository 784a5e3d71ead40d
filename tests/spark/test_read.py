"""Reading with Spark: to_spark and the data source, filters, columns, time travel, types."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from maintenance.catalog import AddColumn, CatalogTable, RenameColumn, SchemaChange, UpdateColumnType
from maintenance.connector.data_source import register
from maintenance.errors import UnsupportedError
from maintenance.operations.checks.explain_scan import explain_scan
from maintenance.operations.compaction.compact import compact
from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.types.nested import Rebuild
from tests.tables import create_table, get_table, keyed, open_warehouse, state

TYPES: dict[str, tuple[str, Any]] = {
    "a": ("BOOLEAN", True),
    "b": ("TINYINT", -1),
    "c": ("SMALLINT", 2),
    "d": ("INT", -3),
    "e": ("BIGINT", 2**40),
    "f": ("FLOAT", 0.5),
    "g": ("DOUBLE", -1.5),
    "h": ("DECIMAL(20, 3)", Decimal("12345678901234567.125")),
    "i": ("CHAR(3)", "abc"),
    "j": ("STRING", "text \u00e9"),
    "k": ("BYTES", b"\x00\xff"),
    "l": ("DATE", dt.date(1969, 12, 31)),
    "m": ("TIMESTAMP(3)", dt.datetime(2024, 5, 14, 10, 20, 30, 123000)),
    "n": ("TIMESTAMP(6)", dt.datetime(1960, 1, 1, 0, 0, 0, 1)),
    "o": ("TIMESTAMP(6) WITH LOCAL TIME ZONE", dt.datetime(2024, 5, 14, tzinfo=dt.UTC)),
    "p": ("TIME(3)", dt.time(23, 59, 59, 999000)),
    "q": ("TIME(0)", dt.time(12, 0, 1)),
    "r": ("ARRAY<ARRAY<TIMESTAMP(3)>>", [[dt.datetime(2024, 5, 14), None], None, []]),
    "s": ("MAP<INT, ROW<`a.b` INT NOT NULL, `c``d` TIME(3)>>", [(1, {"a.b": 2, "c`d": dt.time(1)}), (2, None)]),
    "t": ("ROW<x DECIMAL(20, 3), y ARRAY<BYTES>>", {"x": Decimal("1.125"), "y": [b"\x00", None]}),
    "u": ("MULTISET<STRING>", [("a", 2), ("b", 1)]),
}


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Two snapshots, with runs that overlap; a tag on the first."""
    table = create_table(tmp_path, options={"bucket": "3"})
    table.write_arrow(keyed({i: f"old {i}" for i in range(30)}))
    create_tag(table, "first")
    table.write_arrow(keyed({i: f"new {i}" for i in range(20, 40)}))
    return table


def found(frame: DataFrame) -> dict[int, str | None]:
    rows = frame.collect()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["v"] for row in rows}


def load(spark: SparkSession, table: CatalogTable, **options: str) -> DataFrame:
    register(spark)
    return spark.read.format("paimon").options(**options).load(table.location)


@pytest.mark.slow
def test_to_spark_reads_what_to_arrow_reads(spark: SparkSession, table: CatalogTable) -> None:
    assert found(table.to_spark(spark)) == state(table)
    assert found(table.to_spark(spark, where="id > 25 and v like 'new%'")) == state(
        table, where="id > 25 and v like 'new%'"
    )
    assert table.to_spark(spark, columns=["v"]).columns == ["v"]
    travelled = {"scan.snapshot-id": "1"}
    assert found(table.to_spark(spark, options=travelled)) == state(table, options=travelled)
    assert table.to_spark(spark, where="id = 1000").count() == 0
    tasks = table.to_spark(spark).selectExpr("spark_partition_id()").distinct().count()
    assert tasks == len(table.plan()[0].splits)


def test_the_data_source_reads_by_location_and_by_name(spark: SparkSession, table: CatalogTable) -> None:
    assert found(load(spark, table)) == state(table)
    by_name = spark.read.format("paimon").options(warehouse=str(Path(table.location).parents[1]), table="db.t").load()
    assert found(by_name) == state(table)


@pytest.mark.slow
@pytest.mark.parametrize(
    "condition",
    [
        "id in (7, 25, 99) and v <> 'new 25'",
        "v like 'new 2%' and id > 21 and not (id <=> 22)",
        "v is null",
        "v = 'old 25'",
    ],
)
def test_pushed_filters_find_what_spark_finds_by_itself(
    spark: SparkSession, table: CatalogTable, condition: str
) -> None:
    plain = spark.createDataFrame(table.to_arrow()).where(condition)
    assert found(load(spark, table).where(condition)) == found(plain)


def test_one_column_is_selected_and_rows_are_counted(spark: SparkSession, table: CatalogTable) -> None:
    assert load(spark, table).select("v").where("id = 5").collect()[0]["v"] == "old 5"
    assert load(spark, table).count() == 40


def test_time_travel_of_the_data_source(spark: SparkSession, table: CatalogTable) -> None:
    first = {i: f"old {i}" for i in range(30)}
    assert found(load(spark, table, **{"scan.snapshot-id": "1"})) == first
    assert found(load(spark, table, **{"scan.tag-name": "first"})) == first
    assert found(load(spark, table, **{"scan.version": "first"})) == first
    with pytest.raises(Exception, match=r"scan\.bounded"):
        load(spark, table, **{"scan.bounded.watermark": "soon"}).collect()


@pytest.mark.slow
def test_changes_logs_and_branches(spark: SparkSession, table: CatalogTable) -> None:
    """Each through `to_spark` and through the data source, as to_arrow has it."""
    catalog = open_warehouse(table.location.rsplit("/", 2)[0])
    create_branch(table, "b", tag="first")
    changes = {"incremental-between": f"1,{table.snapshots.latest_id()}"}
    for name, options, where in (
        ("db.t", changes, "id >= 0"),
        ("db.t", {**changes, "incremental-between-scan-mode": "diff"}, "id < 12"),
        ("db.t", {"branch": "b"}, "id >= 0"),
        ("db.t$branch_b", {}, "id = 3"),
        ("db.t$audit_log", changes, "rowkind = '+I' and id > 3"),
        ("db.t$audit_log", {}, "id >= 0"),
        ("db.t$binlog", changes, "rowkind = '+I'"),
        ("db.t$ro", {}, "id >= 0"),
        ("db.t$snapshots", {}, "snapshot_id = 1"),
        ("db.t$files", {}, "level = 0"),
        ("db.t$table_indexes", {}, "bucket = 0"),
        ("sys.all_table_options", {}, "table_name = 't'"),
    ):
        handle = catalog.get_table(name)
        expected = sorted(map(str, handle.to_arrow(where=where, options=options).to_pylist()))
        frame = handle.to_spark(spark, where=where, options=options)
        assert sorted(map(str, frame.toArrow().to_pylist())) == expected, name
        warehouse = table.location.rsplit("/", 2)[0]
        source = spark.read.format("paimon").options(warehouse=warehouse, table=name, **options).load().where(where)
        assert sorted(map(str, source.toArrow().to_pylist())) == expected, name


def test_a_compacted_table_reads_as_before(spark: SparkSession, table: CatalogTable) -> None:
    expected = state(table)
    compact(None, table, full=True)
    assert found(table.to_spark(spark)) == expected
    assert found(load(spark, table).where("id >= 0")) == expected


@pytest.mark.not_on_sail("it reads no TIME through the format: see test_sail")
def test_every_type_is_read_as_by_arrow_but_for_nanoseconds(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path, [(name, text) for name, (text, _) in TYPES.items()], ())
    values = {name: value for name, (_, value) in TYPES.items()}
    schema = table.to_arrow().schema
    table.write_arrow(pa.Table.from_pylist([values, dict.fromkeys(TYPES)], schema))
    expected = table.to_arrow().to_pylist()
    for frame in (table.to_spark(spark), load(spark, table)):
        assert natural(frame.toArrow(), table) == expected
    with pytest.raises(UnsupportedError, match=r"TIMESTAMP\(9\) has more digits"):
        create_table(tmp_path, [("t", "TIMESTAMP(9)")], (), name="db.nanos").to_spark(spark)


def natural(rows: pa.Table, table: CatalogTable) -> list[dict[str, Any]]:
    """Rows in the Arrow types of a table, which Arrow's own cast does not give for maps of rows."""
    cast = Rebuild(lambda array, wanted, _: array.cast(wanted))
    schema = table.to_arrow().schema
    return pa.table({field.name: cast.column(rows.column(field.name), field.type) for field in schema}).to_pylist()


def test_every_type_is_written_from_a_frame(spark: SparkSession, tmp_path: Path) -> None:
    fields = [(name, text) for name, (text, _) in TYPES.items()]
    source = create_table(tmp_path, fields, (), name="db.source")
    schema = source.to_arrow().schema
    source.write_arrow(pa.Table.from_pylist([{n: v for n, (_, v) in TYPES.items()}, dict.fromkeys(TYPES)], schema))
    target = create_table(tmp_path, fields, (), name="db.target")
    ingest(spark, target, source.to_spark(spark), commit_user="me")
    assert target.to_arrow().to_pylist() == source.to_arrow().to_pylist()
    buckets = {"bucket": "3", "bucket-key": "q"}
    keyed_by_time = create_table(tmp_path, fields, (), buckets, partition_keys=["p"], name="db.bucketed")
    ingest(spark, keyed_by_time, source.to_spark(spark), commit_user="me")
    assert keyed_by_time.to_arrow(where="p = TIME '23:59:59.999'").to_pylist() == source.to_arrow().to_pylist()[:1]


def test_an_empty_table_has_its_columns_and_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    table = create_table(tmp_path)
    for frame in (table.to_spark(spark), load(spark, table)):
        assert frame.columns == ["id", "v"]
        assert frame.collect() == []


def test_a_system_table_is_read_as_a_frame(spark: SparkSession, table: CatalogTable) -> None:
    view = open_warehouse(Path(table.location).parents[1]).get_table("db.t$snapshots")
    assert [row["snapshot_id"] for row in view.to_spark(spark, columns=["snapshot_id"]).collect()] == [1, 2]


def test_old_files_are_read_and_compacted_under_todays_columns(spark: SparkSession, tmp_path: Path) -> None:
    """Old files in Spark's tasks, under the columns of today; compacted by tasks too."""
    table = create_table(tmp_path, (("id", "INT"), ("a", "INT"), ("r", "ROW<x INT>")), ("id",))
    ids = pa.array([1, 2], pa.int32())
    table.write_arrow(pa.table({"id": ids, "a": pa.array([5, None], pa.int32()), "r": [{"x": 1}, None]}))
    changes: list[SchemaChange] = [
        RenameColumn("a", "z"), UpdateColumnType("z", "STRING"), AddColumn(("r", "n"), "DATE"),
    ]  # fmt: skip
    open_warehouse(tmp_path).alter_table("db.t", changes)
    table = get_table(tmp_path)
    table.write_arrow(pa.table({"id": ids.slice(1), "z": ["w"]}))
    expected = [(1, "5", (1, None)), (2, "w", None)]
    assert sorted(map(tuple, table.to_spark(spark).collect())) == expected
    assert [row.id for row in table.to_spark(spark, where="z = '5'").collect()] == [1]
    compact(spark, table, full=True)
    assert sorted(map(tuple, get_table(tmp_path).to_spark(spark).collect())) == expected


def test_filters_reach_file_indexes(spark: SparkSession, tmp_path: Path) -> None:
    """Files that the index rules out are not opened: they are not even there."""
    options = {"bucket": "-1", "file-index.bitmap.columns": "v"}
    table = create_table(tmp_path, primary_keys=(), options=options)
    for start in range(3):
        table.write_arrow(keyed({3 * row + start: f"{'abc'[start]}{row:02}" for row in range(50)}))
    table.write_arrow(keyed({1000: "a00", 1001: "z"}))
    kept = explain_scan(table, "v = 'b07'")
    assert kept.skipped == {"statistics": 2, "file index": 1}
    gone = [file.file_name for file in kept.files if not file.kept]
    for path in Path(table.location).rglob("data-*.parquet"):
        if path.name in gone:
            path.unlink()
    register(spark)
    frame = spark.read.format("paimon").load(table.location)
    assert found(frame.filter("v = 'b07'")) == {22: "b07"}


def test_the_format_is_known_in_any_thread_that_registers_it(spark: SparkSession, table: CatalogTable) -> None:
    """Each thread has a thread of the JVM of its own, in which no session is active at first."""

    def read() -> dict[int, str | None]:
        register(spark)
        return found(spark.read.format("paimon").load(table.location))

    with ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(read).result()) == 40
