"""Rows as text."""

import io
import json
from typing import Any

import pyarrow as pa


def text_of(rows: pa.Table, output: str) -> str:
    """The rows. `output`: ``table``, ``json`` (an object a line) or ``csv``."""
    if output == "json":
        return "\n".join(json.dumps(row, default=_plain, ensure_ascii=False) for row in rows.to_pylist())
    if output == "csv":
        return _csv(rows)
    return _table(rows)


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
