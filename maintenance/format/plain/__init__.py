"""Files of format tables, which other programs write and read too: CSV, JSON lines, text, Parquet and ORC."""
