"""Write a DataFrame whose keys may be in other partitions: each row goes to the task that knows its key.

The keys of the table and the rows to write are grouped by the hash of the key, the table's first, and processed hash by
hash, so that an assigner holds no more than one batch and the rows of one hash. Then each row goes to the writer of its
bucket.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maintenance.bucket.dynamic import Assigner, assigner_of
from maintenance.spark.frame_write import (
    ASSIGNER_COLUMN,
    BUCKET_COLUMN,
    HASH_COLUMN,
    KEY_COLUMN,
    ORDER_COLUMN,
    PARTITION_COLUMN,
    RETRACT_COLUMN,
    FrameWrite,
)
from maintenance.spark.tasks import in_task
from maintenance.types.row_kind import RowKind, is_retract, kinds_of_texts
from maintenance.write.key_index import KeyPlacer, KeyRecords, Placed, indexed, moved, records_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

_IN_INDEX = -1


def placed_frame(frame: "DataFrame", write: FrameWrite, count: int) -> "DataFrame":
    """What to write, with its partition and bucket, at the writer of these and in order. `count`: of assigners."""
    from pyspark.sql import functions

    together = _with_keys(frame.withColumn(ORDER_COLUMN, functions.monotonically_increasing_id()), write, count)
    if write.state.key_index is not None and write.state.key_index.splits:
        together = together.unionByName(_index(frame, write, count), allowMissingColumns=True)
    together = together.repartition(ASSIGNER_COLUMN)
    together = together.sortWithinPartitions(ASSIGNER_COLUMN, HASH_COLUMN, ORDER_COLUMN)

    @in_task
    def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        index = write.state.key_index
        placers: dict[int, KeyPlacer] = {}
        for rows in _whole_hashes(batches):
            numbers = rows.column(ASSIGNER_COLUMN).to_numpy()
            for number in np.unique(numbers).tolist():
                if number not in placers:
                    counts = {} if index is None else index.counts
                    placers[number] = KeyPlacer(write.context, counts, Assigner(number, count))
                yield from _placed(rows.filter(pa.array(numbers == number)), placers[number]).to_batches()

    out = together.mapInArrow(place, _with(together.schema, {RETRACT_COLUMN: "boolean"}))
    return out.repartition(PARTITION_COLUMN, BUCKET_COLUMN).sortWithinPartitions(ORDER_COLUMN)


def placed_rows(rows: pa.Table, write: FrameWrite) -> tuple[pa.Table, np.ndarray]:
    """Rows of the frame that `placed_frame` gave, as writers take them, and the bucket of each."""
    retract, buckets = (rows.column(name).to_numpy() for name in (RETRACT_COLUMN, BUCKET_COLUMN))
    partitions = rows.column(PARTITION_COLUMN).combine_chunks()
    placed = Placed(np.arange(rows.num_rows), _chunk(partitions), retract, buckets)
    return moved(write.conformed(rows), placed, write.context), buckets


def _with_keys(frame: "DataFrame", write: FrameWrite, count: int) -> "DataFrame":
    @in_task
    def add(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = _without_ignored(pa.Table.from_batches([batch]), write)
            yield from _described(rows, records_of(write.keys_of(rows), write.context), count).to_batches()

    return frame.mapInArrow(add, _with(frame.schema, _KEY_COLUMNS))


def _index(frame: "DataFrame", write: FrameWrite, count: int) -> "DataFrame":
    """The keys of the table, one task for each split."""
    index = write.state.key_index
    assert index is not None

    @in_task
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for records in indexed(index, index.splits[number], write.context):
                    order = np.full(len(records.keys), _IN_INDEX, np.int64)
                    yield from _described(pa.table({ORDER_COLUMN: order}), records, count).to_batches()

    numbers = frame.sparkSession.range(0, len(index.splits), 1, len(index.splits))
    schema = _with(numbers.select(numbers["id"].alias(ORDER_COLUMN)).schema, _KEY_COLUMNS)
    return numbers.mapInArrow(read, schema)


_KEY_COLUMNS = {
    KEY_COLUMN: "binary",
    PARTITION_COLUMN: "binary",
    HASH_COLUMN: "int",
    BUCKET_COLUMN: "int",
    ASSIGNER_COLUMN: "int",
}


def _described(rows: pa.Table, records: KeyRecords, count: int) -> pa.Table:
    """Rows with the columns of `_KEY_COLUMNS`."""
    columns = (
        records.keys,
        records.partitions,
        pa.array(records.hashes),
        pa.array(records.buckets),
        pa.array(assigner_of(records.hashes, count)),
    )
    for name, column in zip(_KEY_COLUMNS, columns, strict=True):
        rows = rows.append_column(name, column)
    return rows


def _whole_hashes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Tables that share no hash with one another: the last hash of a batch waits for the next batch."""
    waiting: list[pa.Table] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = pa.Table.from_batches([batch])
        hashes = rows.column(HASH_COLUMN).to_numpy()
        other = np.flatnonzero(hashes != hashes[-1])
        start = int(other[-1]) + 1 if len(other) else 0
        if waiting and (start or waiting[-1].column(HASH_COLUMN)[0].as_py() != hashes[0]):
            yield pa.concat_tables([*waiting, rows.slice(0, start)]).combine_chunks()
            waiting = []
        elif start:
            yield rows.slice(0, start)
        waiting.append(rows.slice(start))
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _placed(rows: pa.Table, placer: KeyPlacer) -> pa.Table:
    """What becomes of the rows of one assigner, without those of the index."""
    records = KeyRecords(
        *(_chunk(rows.column(name).combine_chunks()) for name in (KEY_COLUMN, PARTITION_COLUMN)),
        *(rows.column(name).to_numpy() for name in (HASH_COLUMN, BUCKET_COLUMN)),
    )
    placed = placer.place(records)
    out = rows.take(pa.array(placed.rows))
    # A deletion goes right before the record that it is made of.
    order = 2 * out.column(ORDER_COLUMN).to_numpy() + ~placed.retract
    new = {
        PARTITION_COLUMN: placed.partitions,
        BUCKET_COLUMN: pa.array(placed.buckets),
        ORDER_COLUMN: pa.array(order),
    }
    for name, column in new.items():
        out = out.set_column(out.schema.get_field_index(name), name, column)
    return out.append_column(RETRACT_COLUMN, pa.array(placed.retract))


def _without_ignored(rows: pa.Table, write: FrameWrite) -> pa.Table:
    """Rows without the retractions that the table ignores: these move no key."""
    name = write.context.model.rowkind_field or write.row_kind_column
    options = write.context.model
    if name is None or not (options.ignores_deletes or options.ignore_update_before):
        return rows
    kinds = kinds_of_texts(rows.column(name)).to_numpy()
    every = options.ignores_deletes
    ignored = is_retract(kinds) if every else kinds == RowKind.UPDATE_BEFORE
    return rows.filter(pa.array(~ignored))


def _chunk(column: "pa.Array | pa.ChunkedArray") -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks else pa.array([], column.type)
    return column


def _with(schema: "StructType", columns: dict[str, str]) -> "StructType":
    from pyspark.sql.types import BinaryType, BooleanType, IntegerType, StructField, StructType

    types: dict[str, DataType] = {"binary": BinaryType(), "int": IntegerType(), "boolean": BooleanType()}
    return StructType([*schema.fields, *(StructField(name, types[kind]) for name, kind in columns.items())])
