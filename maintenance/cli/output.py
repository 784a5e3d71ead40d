"""Rows as text, and as files."""

import io
import json
import os
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from maintenance.cli.choices import FILES, FORMATS

_ENDINGS = {".jsonl": "json", ".feather": "arrow", **{f".{name}": name for name in FORMATS if name != "table"}}


def text_of(rows: pa.Table, output: str) -> str:
    """The rows. `output`: ``table``, ``json`` (an object a line) or ``csv``."""
    if output == "json":
        return "\n".join(json.dumps(row, default=_plain, ensure_ascii=False) for row in rows.to_pylist())
    if output == "csv":
        return _csv(rows)
    return _table(rows)


def bytes_of(rows: pa.Table, output: str) -> bytes:
    """The rows as a file. `output`: ``parquet`` or ``arrow``."""
    sink = pa.BufferOutputStream()
    if output == "parquet":
        from pyarrow import parquet

        parquet.write_table(rows, sink)
    else:
        with pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows)
    return bytes(sink.getvalue())


def format_of(path: Path) -> str:
    """What a file is written as. Raises: click.UsageError: its name does not say."""
    found = _ENDINGS.get(path.suffix.lower())
    if found is None:
        raise click.UsageError(f"'{path}' does not end in csv, json, parquet or arrow.")
    return found


def write_file(rows: pa.Table, path: Path, output: str) -> None:
    """Write rows to a file; what was there stays until all of them are written."""
    data = bytes_of(rows, output) if output in FILES else (text_of(rows, output) + "\n").encode()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv(rows: pa.Table) -> str:
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    return text.getvalue().rstrip("\n")


def _table(rows: pa.Table) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD)
    for name in rows.column_names:
        drawn.add_column(Text(name), overflow="fold")
    for values in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        drawn.add_row(*(Text("" if value is None else str(value)) for value in values))
    console = Console(file=io.StringIO(), width=None if rows.num_columns < 2 else 160)
    console.print(drawn)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().rstrip("\n")
