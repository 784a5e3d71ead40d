"""COPY INTO: files loaded into a table, and rows of a query written as files."""
