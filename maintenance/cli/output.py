"""Rows as text, and as files."""

import io
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from maintenance.amounts import size_text
from maintenance.cli.choices import ENDINGS, FILES

# Names are listed without Arrow, which takes longer to import than all else.
if TYPE_CHECKING:
    import pyarrow as pa

# Characters of a line, and those around each column.
_WIDTH, _AROUND_COLUMN = 160, 3
_IS_SIZE = re.compile(r"(^|_)bytes$|Bytes$")


def for_people(rows: "pa.Table") -> "pa.Table":
    """What an operation reports, for a terminal: each size in its unit, times to the second, truth values as words.

    A size is a number of a column `bytes`, or of one whose name ends so.
    """
    import pyarrow as pa

    def shown(field: pa.Field) -> Callable[[Any], str] | None:
        if _IS_SIZE.search(field.name) and pa.types.is_integer(field.type):
            return size_text
        if pa.types.is_timestamp(field.type):
            return "{:%Y-%m-%d %H:%M:%S}".format
        if pa.types.is_floating(field.type):
            return "{:,.10g}".format
        return _yes_or_no if pa.types.is_boolean(field.type) else None

    for place, field in enumerate(rows.schema):
        text = shown(field)
        if text is not None:
            texts = [None if value is None else text(value) for value in rows.column(place).to_pylist()]
            rows = rows.set_column(place, field.name, pa.array(texts, pa.string()))
    return rows


def _yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def text_of(rows: "pa.Table", output: str) -> str:
    """The rows. `output`: ``table``, ``json`` (an object a line) or ``csv``."""
    return text_of_values(rows.column_names, list(zip(*(c.to_pylist() for c in rows.columns), strict=True)), output)


def text_of_values(names: Sequence[str], rows: Sequence[Sequence[Any]], output: str) -> str:
    """The same of rows that are no Arrow."""
    if output == "json":
        objects = (dict(zip(names, row, strict=True)) for row in rows)
        return "\n".join(json.dumps(one, default=_plain, ensure_ascii=False) for one in objects)
    if output == "csv":
        return _csv(names, rows)
    return _records(names, rows) if is_wide(names) and rows else _table(names, rows)


def is_wide(names: Sequence[str]) -> bool:
    """Whether columns do not stand side by side, so that each row is a block of lines."""
    return sum(len(name) + _AROUND_COLUMN for name in names) > _WIDTH


def bytes_of(rows: "pa.Table", output: str) -> bytes:
    """The rows as a file. `output`: ``parquet`` or ``arrow``."""
    import pyarrow as pa

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
    known = ENDINGS.get(path.suffix.lower())
    if known is None:
        raise click.UsageError(f"'{path}' does not end in csv, json, parquet or arrow.")
    return known


def write_file(rows: "pa.Table", path: Path, output: str) -> None:
    """Write rows to a file; what was there stays until all of them are written."""
    data = bytes_of(rows, output) if output in FILES else (text_of(rows, output) + "\n").encode()
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def _records(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A block of lines for each row, a line for each column: for more columns than stand side by side."""
    width = max(map(len, names))
    blocks = (
        "\n".join(
            f"{name:<{width}}  {'' if value is None else value}".rstrip()
            for name, value in zip(names, row, strict=True)
        )
        for row in rows
    )
    return "\n\n".join(blocks)


def _table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=SIMPLE_HEAD)
    for name in names:
        drawn.add_column(Text(name), overflow="fold")
    for values in rows:
        drawn.add_row(*(Text("" if value is None else str(value)) for value in values))
    console = Console(file=io.StringIO(), width=None if len(names) < 2 else _WIDTH)
    console.print(drawn)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue().rstrip("\n")


def of_plain_values(rows: Sequence[Mapping[str, Any]]) -> "pa.Table":
    """Rows for printing: what is not a number or a text becomes one."""
    import pyarrow as pa

    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: Sequence[Any]) -> "pa.Array":
    import pyarrow as pa

    if all(value is None or (isinstance(value, int) and not isinstance(value, bool)) for value in values):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else _text(value) for value in values], pa.string())


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex()
    return json.dumps(value, default=str, ensure_ascii=False) if isinstance(value, list | dict) else str(value)
