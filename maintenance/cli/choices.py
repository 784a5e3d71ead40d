"""What runs commands and how results are shown: choices of several commands."""

import click

TEXTS = ("table", "json", "csv")
FILES = ("parquet", "arrow")
FORMATS = (*TEXTS, *FILES)
ENDINGS = {".jsonl": "json", ".feather": "arrow", **{f".{name}": name for name in FORMATS if name != "table"}}
"""What a file holds, by the end of its name."""
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print results as JSON, one object per row.")
