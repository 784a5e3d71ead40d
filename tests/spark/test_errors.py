"""Errors of tasks come back through Spark as they were raised, and Spark's own get a class and one line."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from maintenance.catalog import CatalogTable
from maintenance.errors import CorruptFileError, DataError, ErrorClass, MissingFileError, PaimonError
from maintenance.operations.rows.merge_clauses import Clause
from maintenance.spark.application import is_connect
from maintenance.spark.errors import as_paimon_error, errors_of_tasks
from maintenance.spark.session import TIMES_KEY
from maintenance.spark.tasks import in_task
from tests.tables import create_table, get_table, keyed

SAID = ("three's a crowd (or 'four')", 'column "a", 5°', "Take {another} one.")


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse whose table has a data file that is cut off."""
    folder = tmp_path_factory.mktemp("damaged")
    table = create_table(folder, primary_keys=(), options={"bucket": "-1"})
    for number in range(3):
        table.write_arrow(keyed({10 * number + i: "a" for i in range(10)}))
    path = sorted((folder / "db.db" / "t" / "bucket-0").iterdir())[0]
    path.write_bytes(path.read_bytes()[:-20])
    return folder


def raising(error: Exception) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    @in_task
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                raise error
            yield batch

    return run


def run_raising(spark: SparkSession, error: Exception) -> None:
    spark.range(0, 4, 1, 2).mapInArrow(raising(error), "id long").collect()


def test_an_error_of_a_task_is_raised_as_it_was(spark: SparkSession) -> None:
    with pytest.raises(DataError) as caught, errors_of_tasks():
        run_raising(spark, DataError(*SAID))
    assert (caught.value.found, caught.value.where, caught.value.fix) == SAID
    # What Spark makes of it stays: one click away in Dagster.
    assert isinstance(caught.value.__cause__, PySparkException)
    assert "Traceback" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(5, "input/output error"), ErrorClass.INFRASTRUCTURE),
        (ConnectionResetError("reset by peer"), ErrorClass.INFRASTRUCTURE),
        (KeyError("x"), ErrorClass.DEFECT),
        (ValueError("x"), ErrorClass.DEFECT),
    ],
)
def test_other_exceptions_of_tasks_keep_their_class(
    spark: SparkSession, error: Exception, expected: ErrorClass
) -> None:
    with pytest.raises(PySparkException) as caught:
        run_raising(spark, error)
    actual = as_paimon_error(caught.value, "table db.t")
    assert (actual.error_class, actual.where) == (expected, "table db.t")
    assert actual.found == f"{type(error).__name__}: {error}"


@pytest.mark.not_on_sail("its messages have no codes")
def test_mistakes_in_sql_are_the_users(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as unknown:
        spark.range(3).where("nothing = 1").collect()
    with pytest.raises(PySparkException) as broken:
        spark.range(3).where("id = = 1").collect()
    with pytest.raises(PySparkException) as divided:
        spark.range(3).selectExpr("1 / id").collect()
    for caught in (unknown, broken, divided):
        actual = as_paimon_error(caught.value, "where")
        assert actual.error_class == ErrorClass.USER
        assert "\n" not in actual.found
        assert "Exception: [" in actual.found


def test_times_that_a_server_does_not_send_are_named() -> None:
    told = PySparkException("[UNSUPPORTED_TIME_TYPE] The data type TIME is not supported. SQLSTATE: 0A000")
    actual = as_paimon_error(told, "where")
    assert (actual.error_class, actual.where) == (ErrorClass.USER, "the Spark session")
    assert f"Set '{TIMES_KEY}' = 'true'" in str(actual)


def delete(table: CatalogTable, spark: SparkSession) -> object:
    return table.delete("rand() < 2 AND v = 'a'", spark=spark)


def update(table: CatalogTable, spark: SparkSession) -> object:
    return table.update({"v": "concat(v, rand())"}, spark=spark)


def merge(table: CatalogTable, spark: SparkSession) -> object:
    source = spark.createDataFrame([(3, "x")], "id int, v string")
    return table.merge(source, "t.id = s.id", [Clause("matched", "delete")], spark=spark)


@pytest.mark.not_on_sail("it evaluates nothing that is written")
@pytest.mark.parametrize("change", [delete, update, merge])
def test_operations_that_read_in_spark_name_the_broken_file(
    spark: SparkSession, damaged: Path, change: Callable[[CatalogTable, SparkSession], object]
) -> None:
    table = get_table(damaged)
    with pytest.raises(CorruptFileError) as caught:
        change(table, spark)
    assert "bucket-0/data-" in caught.value.where
    assert table.snapshots.latest_id() == 3


def test_a_frame_of_a_user_says_it_too(spark: SparkSession, damaged: Path, tmp_path: Path) -> None:
    with pytest.raises(PySparkException) as caught:
        get_table(damaged).to_spark(spark).collect()
    assert isinstance(as_paimon_error(caught.value, "a frame"), CorruptFileError)
    with pytest.raises(CorruptFileError, match="bucket-0/data-") as named, errors_of_tasks():
        get_table(damaged).to_spark(spark).collect()
    kind = "connect" if is_connect(spark) else "captured"
    assert type(named.value.__cause__).__module__ == f"pyspark.errors.exceptions.{kind}"
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    next(iter((tmp_path / "db.db" / "t" / "bucket-0").iterdir())).unlink()
    with pytest.raises(MissingFileError), errors_of_tasks():
        table.to_spark(spark).collect()


def test_an_error_is_its_own_answer() -> None:
    error = PaimonError("found", "where", "Fix.")
    assert as_paimon_error(error, "elsewhere") is error
