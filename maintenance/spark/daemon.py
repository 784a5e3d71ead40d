"""The parent of Python workers: it has imported this engine, so that each worker that it forks has, too.

They are the workers of a session of this process on its own machine, and those of a Connect server, which find this
package by themselves. Spark starts it as ``python -m maintenance.spark.daemon pyspark.worker``
(`spark.python.daemon.module`). A worker that was idle for a minute ends; the next one is there in milliseconds instead
of importing everything again.
"""

import polars
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pyspark.sql.pandas.serializers
import pyspark.worker
from pyspark.daemon import manager

import maintenance.compaction.rewrite
import maintenance.read.split_read
import maintenance.write.table_write

PRELOADED = (
    polars,
    pa.compute,
    pa.parquet,
    pyspark.sql.pandas.serializers,
    pyspark.worker,
    maintenance.compaction.rewrite,
    maintenance.read.split_read,
    maintenance.write.table_write,
)

if __name__ == "__main__":
    manager()
