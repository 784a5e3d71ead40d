"""Iceberg metadata that follows a table's commits, so that readers of Iceberg see the table's own data files."""
