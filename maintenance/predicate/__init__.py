"""Filters: SQL text to a tree; the tree against rows in Arrow, against parquet row groups and against statistics."""
