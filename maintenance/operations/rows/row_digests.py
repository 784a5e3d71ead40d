"""Digests of rows wherever they are: in this process, or in the tasks of a Spark."""

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.format.variant.extension import as_stored
from maintenance.spark.cancellation import ended_with_caller
from maintenance.spark.tasks import in_task
from maintenance.types.row_hash import Digest, HashOf, row_hashes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def digest_of(rows: "DataFrame | pa.Table") -> Digest:
    """The digest of some rows, which does not depend on their order."""
    if isinstance(rows, pa.Table):
        return _digest(as_stored(rows))

    @in_task
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        digests = [pickle.dumps(_digest(pa.Table.from_batches([batch]))) for batch in batches if batch.num_rows]
        yield pa.RecordBatch.from_arrays([pa.array(digests, pa.binary())], names=["digest"])

    with ended_with_caller(rows.sparkSession):
        found = rows.mapInArrow(run, "digest binary").collect()
    return sum((pickle.loads(bytes(row[0])) for row in found), Digest())


def _digest(rows: pa.Table) -> Digest:
    names = tuple(rows.column_names)
    return Digest.of(row_hashes(rows, {"row": HashOf(names, tuple(range(len(names))))})["row"])
