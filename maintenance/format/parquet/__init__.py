"""Parquet data files: reading, also many small ones at once, and writing."""
