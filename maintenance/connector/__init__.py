"""The Spark data source `paimon`: batch and streaming reads, and writes, through Spark's own readers and writers."""

from maintenance.connector.data_source import register

__all__ = ["register"]
