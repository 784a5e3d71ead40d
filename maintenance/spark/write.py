"""Write a DataFrame into the buckets of a table; commit messages come back to the driver.

With a primary key (or with buckets) rows are first given their bucket, then brought together by partition and bucket,
in the order in which the DataFrame holds them, so that of two records of one key the later one wins. Rows of an unaware
append table are written where they are.
"""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.errors import DataError
from maintenance.options import table as table_options
from maintenance.spark.tasks import TaskError, portable
from maintenance.types.row_kind import kinds_of_texts
from maintenance.write.buckets import buckets_of, check_bucket_mode
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rows import conform
from maintenance.write.table_write import Sequences, TableWrite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKET_COLUMN = "_paimon_bucket"
ORDER_COLUMN = "_paimon_order"


@dataclass(frozen=True, slots=True)
class FrameWrite:
    """How to write a DataFrame. `row_kind_column`: a column of ``+I`` … that is not stored; None = all ``+I``."""

    context: WriteContext
    last_sequences: Sequences
    row_kind_column: str | None = None

    def conformed(self, rows: pa.Table) -> pa.Table:
        """Rows of the DataFrame as writers take them."""
        rows = rows.drop_columns([c for c in (BUCKET_COLUMN, ORDER_COLUMN) if c in rows.column_names])
        kinds = None
        if self.row_kind_column is not None:
            kinds = kinds_of_texts(rows.column(self.row_kind_column))
            rows = rows.drop_columns([self.row_kind_column])
        return conform(rows, kinds, self.context)


def write_frame(frame: "DataFrame", write: FrameWrite) -> "list[CommitMessage | TaskError]":
    """What the tasks wrote, or why they could not."""
    check_bucket_mode(write.context)
    if write.row_kind_column is not None and write.row_kind_column not in frame.columns:
        raise DataError(
            f"there is no row kind column '{write.row_kind_column}'",
            f"table {write.context.name}",
            f"Columns are {', '.join(frame.columns)}.",
        )
    if table_options.BUCKET.of(write.context.options) != -1:
        frame = _brought_together(frame, write)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pa.set_cpu_count(1)
        data = [pickle.dumps(outcome) for outcome in _write(batches, write)]
        yield pa.RecordBatch.from_arrays([pa.array(data, pa.binary())], names=["outcome"])

    return [pickle.loads(bytes(row[0])) for row in frame.mapInArrow(run, "outcome binary").collect()]


def _brought_together(frame: "DataFrame", write: FrameWrite) -> "DataFrame":
    from pyspark.sql import functions
    from pyspark.sql.types import IntegerType, LongType, StructField, StructType

    schema = StructType(
        [*frame.schema.fields, StructField(ORDER_COLUMN, LongType()), StructField(BUCKET_COLUMN, IntegerType())]
    )

    def with_bucket(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pa.set_cpu_count(1)
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            # Ignored retractions must keep their rows here, so buckets are assigned before kinds are looked at.
            plain = rows.drop_columns([c for c in (ORDER_COLUMN, write.row_kind_column) if c])
            buckets = buckets_of(conform(plain, None, write.context), write.context)
            yield from rows.append_column(BUCKET_COLUMN, pa.array(buckets)).to_batches()

    ordered = frame.withColumn(ORDER_COLUMN, functions.monotonically_increasing_id())
    return (
        ordered.mapInArrow(with_bucket, schema)
        .repartition(*write.context.schema.partition_keys, BUCKET_COLUMN)
        .sortWithinPartitions(ORDER_COLUMN)
    )


def _write(batches: Iterator[pa.RecordBatch], write: FrameWrite) -> "list[CommitMessage | TaskError]":
    """Write what a task gets. An error comes back as a value: the driver deletes what the other tasks wrote."""
    writer = TableWrite(write.context, write.last_sequences)
    try:
        for batch in batches:
            writer.write(write.conformed(pa.Table.from_batches([batch])))
        return list(writer.finish())
    except Exception as error:  # noqa: BLE001 - the edge of a task
        writer.abort()
        return [TaskError(portable(error))]
