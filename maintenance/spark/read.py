"""Read a table as a DataFrame: one task for each split."""

import pickle
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.read.split_read import ReadsSplits
from maintenance.scan.split import AnySplit
from maintenance.spark.tasks import in_task
from maintenance.spark.types import arrow_for_spark, spark_ddl
from maintenance.spark.workers import check_workers
from maintenance.types.data_type import DataField
from maintenance.types.nested import Rebuild

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def splits_to_spark(spark: "SparkSession", splits: Sequence[AnySplit], read: ReadsSplits) -> "DataFrame":
    """The rows of splits. Each split is read by the task that gets its number.

    Raises: OptionError: see `check_workers`.
    """
    ddl = spark_ddl(read.columns)
    if not splits:
        return spark.createDataFrame([], ddl)
    check_workers(spark)
    pickled = [pickle.dumps(split) for split in splits]

    @in_task
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield from split_batches(read, pickle.loads(pickled[index]))

    return spark.range(0, len(splits), 1, len(splits)).mapInArrow(run, ddl)


def rows_to_spark(spark: "SparkSession", rows: pa.Table, columns: Sequence[DataField]) -> "DataFrame":
    """Rows that are here already. `columns`: theirs."""
    return spark.createDataFrame(as_spark_takes(rows), spark_ddl(columns))


def split_batches(read: ReadsSplits, split: AnySplit) -> Iterator[pa.RecordBatch]:
    """Rows of a split in the forms that Spark takes."""
    for table in read.tables(split):
        yield from as_spark_takes(table).to_batches()


def as_spark_takes(table: pa.Table) -> pa.Table:
    """A table in the Arrow types that Spark takes."""
    schema = pa.schema([field.with_type(arrow_for_spark(field.type)) for field in table.schema])
    columns = [
        column if column.type.equals(field.type, check_metadata=True) else _REBUILD.column(column, field.type)
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


_REBUILD = Rebuild(lambda array, kind, _: array.cast(kind))
