"""What older releases of Spark lack.

`DataFrame.toArrow` came with 4.0, data sources in Python that write Arrow with 4.1, limits of the streams that
they read with 4.2.
"""

import io
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.errors import UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def arrow_of(frame: "DataFrame") -> pa.Table:
    """The rows of a DataFrame."""
    if hasattr(frame, "toArrow"):
        whole: pa.Table = frame.toArrow()
        return whole
    from pyspark.sql.pandas.types import to_arrow_schema

    rows = frame.mapInArrow(_streams, "part binary").collect()
    parts = [pa.ipc.open_stream(bytes(row[0])).read_all() for row in rows]
    return pa.concat_tables(parts) if parts else to_arrow_schema(frame.schema).empty_table()


def _streams(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as the bytes of a stream."""
    for batch in batches:
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue()], pa.binary())], names=["part"])


def check_data_sources() -> None:
    """Raises: UnsupportedError: this release of Spark has no data sources in Python that read and write Arrow."""
    try:
        from pyspark.sql.datasource import DataSourceStreamArrowWriter  # noqa: F401
    except ImportError:
        from pyspark import __version__

        problem = f"PySpark {__version__} has no data sources in Python that read and write Arrow"
        fix = "Use PySpark 4.1 or newer; or read with table.to_spark(spark), and write with operations.ingest."
        raise UnsupportedError(problem, 'format("paimon")', fix) from None


def check_stream_sources() -> None:
    """Raises: UnsupportedError: in this release no data source in Python can limit the stream that it reads."""
    if find_spec("pyspark.sql.streaming.datasource") is None:
        from pyspark import __version__

        problem = f"PySpark {__version__} has no data sources in Python whose streams have limits"
        fix = "Use PySpark 4.2 or newer; or read what is new with incremental-between, and write streams as before."
        raise UnsupportedError(problem, 'readStream.format("paimon")', fix)
