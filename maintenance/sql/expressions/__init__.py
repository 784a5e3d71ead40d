"""What expressions of queries mean: their types in a dialect, and how each is said to DuckDB.

`typing` goes over a query once, from the inside out. What it finds is looked up in one table of entries (`table`),
which the modules named after the kinds of values fill. What has no entry is refused.
"""
