"""What runs commands and how results are shown: choices of several commands."""

import click

TEXTS = ("table", "json", "csv")
FILES = ("parquet", "arrow")
FORMATS = (*TEXTS, *FILES)
ENGINE = click.Option(
    ["--engine"], help="Runs queries and operations: embedded (this process), spark, sail, auto, or sc://HOST:PORT."
)
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print results as JSON: an object for each row.")
