"""Rows from a file, by the end of its name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, feather, json, parquet

from maintenance.cli.choices import ENDINGS
from maintenance.errors import DataError


def rows_of(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    """The rows of a CSV file with a header, a file of a JSON object a line, a Parquet file or an Arrow file.

    Args: `types`: of the columns that the rows are for; texts are read as these.
    Raises: DataError: it is none of these, or damaged, or a value is not of its column's type.
    """
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        end = path.suffix or "no ending"
        raise DataError(f"rows cannot be read from a file with {end}", str(path), "Give csv, json, parquet or arrow.")
    try:
        rows: pa.Table = _read(path, kind, types)
        names: list[str] = rows.column_names  # which are text by now only
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(f"the file cannot be read: {error}", str(path), "Correct the file.") from error
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DataError(f"there are two columns '{twice[0]}'", str(path), "Give each column a name of its own.")
    return rows


def _read(path: Path, kind: str, types: Mapping[str, pa.DataType]) -> Any:
    match kind:
        case "csv":
            known = {name: data_type for name, data_type in types.items() if not pa.types.is_nested(data_type)}
            # An empty field is a missing value; one in quotes is an empty text.
            options = csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False, column_types=known)
            return csv.read_csv(path, convert_options=options)
        case "json":
            return _json(path, types)
        case "parquet":
            return parquet.read_table(path, partitioning=None)
    return feather.read_table(path)


def _json(path: Path, types: Mapping[str, pa.DataType]) -> pa.Table:
    names = json.read_json(path).column_names
    known = {name: types[name] for name in names if name in types}
    # Arrow takes days and times of day for numbers in JSON, where they are texts.
    texts = {name: kind for name, kind in known.items() if pa.types.is_date(kind) or pa.types.is_time(kind)}
    read = pa.schema({**known, **dict.fromkeys(texts, pa.string())})
    rows = json.read_json(path, parse_options=json.ParseOptions(explicit_schema=read))
    return rows.cast(pa.schema([field.with_type(texts.get(field.name, field.type)) for field in rows.schema]))
