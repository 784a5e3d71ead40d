"""The rows of splits: here as Arrow, or as a Spark DataFrame."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.errors import PredicateError
from maintenance.read.split_read import ReadsSplits
from maintenance.scan.split import AnySplit
from maintenance.threads import map_in_threads
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Who asks for all rows of a table at once can hold more of them while merging than a task, and is faster for it.
WHOLE_TABLE_MEMORY = 256 << 20


def splits_to_spark(spark: "SparkSession", splits: Sequence[AnySplit], read: ReadsSplits) -> "DataFrame":
    """The rows of splits as a DataFrame, one task for each."""
    # Reading without Spark needs no pyspark.
    from maintenance.spark import read as spark_read

    return spark_read.splits_to_spark(spark, splits, read)


def rows_to_spark(spark: "SparkSession", rows: pa.Table, columns: Sequence[DataField]) -> "DataFrame":
    """Rows that are here as a DataFrame; metadata is small enough for that."""
    from maintenance.spark import read as spark_read

    return spark_read.rows_to_spark(spark, rows, columns)


def check_column(name: str, columns: Iterable[str], table: str) -> None:
    """Raises: PredicateError: the view of this name has no such column."""
    names = list(columns)
    if name not in names:
        raise PredicateError(f"there is no column '{name}'", table, f"The columns are {', '.join(names)}.")


def read_splits(splits: Sequence[AnySplit], read: ReadsSplits) -> list[pa.Table]:
    """Read splits on all cores of this process; tables in the order of the splits."""

    def whole(split: AnySplit) -> list[pa.Table]:
        return list(read.tables(split))

    return [table for tables in map_in_threads(whole, splits, os.cpu_count() or 1) for table in tables]
