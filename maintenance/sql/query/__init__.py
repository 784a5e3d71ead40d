"""Queries: names resolved to tables, then run by DuckDB in this process, or by Spark."""
