"""Rows from a file, by the end of its name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from maintenance.errors import DataError


def rows_of(path: Path) -> pa.Table:
    """The rows of a CSV file with a header, a file of a JSON object a line, a Parquet file or an Arrow file.

    Raises: DataError: it is none of these, or damaged.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        end = path.suffix or "no ending"
        raise DataError(f"rows cannot be read from a file with {end}", str(path), "Give csv, json, parquet or arrow.")
    try:
        return read(path)
    except pa.ArrowException as error:
        raise DataError(f"the file cannot be read: {error}", str(path), "Correct the file.") from error


def _csv(path: Path) -> pa.Table:
    from pyarrow import csv

    # An empty field is a missing value; one in quotes is an empty text.
    options = csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    return csv.read_csv(path, convert_options=options)


def _json(path: Path) -> pa.Table:
    from pyarrow import json

    return json.read_json(path)


def _parquet(path: Path) -> pa.Table:
    from pyarrow import parquet

    return parquet.read_table(path, partitioning=None)


def _arrow(path: Path) -> pa.Table:
    from pyarrow import feather

    return feather.read_table(path)


_READERS: dict[str, Callable[[Path], Any]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _json,
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".feather": _arrow,
}
