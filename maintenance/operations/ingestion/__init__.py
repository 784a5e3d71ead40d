"""Rows from outside into a table: batches and streams, each exactly once, compacted as they are written."""
