"""The Spark data source `paimon`: batch and streaming reads, and writes, through Spark's own readers and writers."""

from maintenance.spark.release import check_data_sources

check_data_sources()

from maintenance.connector.data_source import register  # noqa: E402

__all__ = ["register"]
