"""Queries run by DuckDB in this process: what it is given, what it is told, and what it says."""
