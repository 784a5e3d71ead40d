"""TPC-H: its tables and its queries, for timing and for tests."""
