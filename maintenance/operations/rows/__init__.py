"""Rows that change: DELETE, UPDATE, MERGE INTO, dropped partitions."""
