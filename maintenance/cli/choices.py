"""How results are shown: choices of every command that shows some."""

import click

TEXTS = ("table", "json", "csv")
FILES = ("parquet", "arrow")
FORMATS = (*TEXTS, *FILES)
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print results as JSON: an object for each row.")
