"""Streaming ingestion: a streaming DataFrame into a table, each micro-batch one commit, exactly once.

```python
changes = spark.readStream.format("paimon").option("read.changelog", "true").load("/lake/shop.db/orders")
sink = Sink("/lake/_checkpoints/copy", row_kind_column="rowkind")
ingest_stream(spark, changes, lambda: catalog.get_table("shop.copy"), sink).awaitTermination()
```

How it is exactly once is described in `stream_sink`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.ingestion.stream_sink import MicroBatch, Sink, start_stream
from maintenance.table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


def ingest_stream(
    spark: "SparkSession", frame: "DataFrame", open_table: Callable[[], Table], sink: Sink
) -> "StreamingQuery":
    """Start a streaming write. By default it writes what is there now, then ends (`sink.settings`, `trigger`).

    Args: `frame`: streaming, columns by name; `open_table`: the table as it is now; `sink`: the pipeline.
    Raises: UnsupportedError: the table cannot be written. What goes wrong in a batch ends the query: nothing of the
        batch is in the table then, and starting again repeats it.
    """

    def write(session: "SparkSession", table: Table, batch: MicroBatch) -> None:
        ingest(
            session,
            table,
            batch.frame,
            commit_user=batch.commit_user,
            commit_identifier=batch.number,
            row_kind_column=sink.row_kind_column,
            watermark=batch.watermark,
        )

    return start_stream(spark, frame, open_table, sink, write)
