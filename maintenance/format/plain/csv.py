"""CSV files of format tables. Source: Java `CsvOptions`, `CsvFormatWriter`, `CsvFileReader`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from maintenance.errors import DataError
from maintenance.format.plain.texts import text_type, texts_of, typed_or_null
from maintenance.options.formats import (
    CSV_ESCAPE_CHARACTER,
    CSV_FIELD_DELIMITER,
    CSV_INCLUDE_HEADER,
    CSV_LINE_DELIMITER,
    CSV_MODE,
    CSV_NULL_LITERAL,
    CSV_QUOTE_CHARACTER,
)
from maintenance.types.data_type import DataField


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How values stand in a file; `mode`: what becomes of a row with a field that cannot be parsed."""

    field_delimiter: str
    line_delimiter: str
    quote: str
    escape: str
    header: bool
    null: str
    mode: str

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "CsvLayout":
        """Raises: OptionError."""
        mode = options.get(CSV_MODE.key)
        given = options if mode is None else {**options, CSV_MODE.key: mode.lower()}
        return cls(
            CSV_FIELD_DELIMITER.of(given),
            CSV_LINE_DELIMITER.of(given),
            CSV_QUOTE_CHARACTER.of(given),
            CSV_ESCAPE_CHARACTER.of(given),
            CSV_INCLUDE_HEADER.of(given),
            CSV_NULL_LITERAL.of(given),
            CSV_MODE.of(given),
        )


def parse_csv(data: bytes, fields: Sequence[DataField], layout: CsvLayout, where: str) -> pa.Table:
    """The rows of a file.

    In mode permissive a row ends at its first field that cannot be parsed: that field and all after it are null.

    Raises: DataError: a row has another number of fields; in mode failfast also: a field cannot be parsed.
    """
    names = [field.name for field in fields]
    if not data.strip(b"\r\n"):
        texts = pa.table({name: pa.array([], pa.string()) for name in names})
    else:
        texts = _texts(data, names, layout, where)
    lost = pa.repeat(False, texts.num_rows)
    columns = []
    for field in fields:
        text_type(field.type, field.name)
        column = texts[field.name].combine_chunks()
        values, wrong = typed_or_null(column, field)
        lost = pc.or_(lost, wrong)
        columns.append(pc.if_else(lost, pa.scalar(None, values.type), values))
    _check_mode(lost, layout, where)
    table = pa.Table.from_arrays(columns, names=names)
    return table.filter(pc.invert(lost)) if layout.mode == "dropmalformed" else table


def _check_mode(lost: pa.Array, layout: CsvLayout, where: str) -> None:
    if layout.mode == "failfast" and pc.any(lost).as_py():
        row = pc.index(lost, True).as_py()
        raise DataError(f"row {row + 1} cannot be parsed", where, "Correct the file, or use 'csv.mode' = 'permissive'.")


def _texts(data: bytes, names: list[str], layout: CsvLayout, where: str) -> pa.Table:
    if layout.line_delimiter not in ("\n", "\r\n"):
        data = data.replace(layout.line_delimiter.encode(), b"\n")
    try:
        return csv.read_csv(
            pa.BufferReader(data),
            csv.ReadOptions(column_names=names, skip_rows=1 if layout.header else 0),
            csv.ParseOptions(
                delimiter=layout.field_delimiter,
                quote_char=layout.quote,
                escape_char=layout.escape,
                double_quote=False,
                newlines_in_values=True,
                ignore_empty_lines=len(names) > 1,
            ),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
                null_values=[layout.null],
            ),
        )
    except (pa.ArrowInvalid, TypeError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"not a CSV file of {len(names)} columns: {first}", where, "Correct the file.") from error


def serialize_csv(rows: pa.Table, fields: Sequence[DataField], layout: CsvLayout) -> bytes:
    """Rows as a file; a value is in quotes only where it has to be. Raises: UnsupportedError: a nested column."""
    for field in fields:
        if text_type(field.type, field.name) != pa.string():
            raise DataError(f"column '{field.name}' is nested", "csv file", "Use json, parquet or orc.")
    columns = [_quoted(texts_of(rows[field.name], field.type), layout) for field in fields]
    lines = (
        pc.binary_join_element_wise(*columns, layout.field_delimiter) if rows.num_rows else pa.array([], pa.string())
    )
    text = [layout.field_delimiter.join(field.name for field in fields)] if layout.header else []
    text += lines.to_pylist()
    return "".join(f"{line}{layout.line_delimiter}" for line in text).encode()


def _quoted(texts: pa.ChunkedArray, layout: CsvLayout) -> pa.ChunkedArray:
    texts = texts.cast(pa.string())
    needed = pc.match_substring(texts, layout.quote)
    for part in (layout.field_delimiter, "\n", "\r", layout.line_delimiter):
        needed = pc.or_(needed, pc.match_substring(texts, part))
    inner = pc.replace_substring(texts, layout.quote, layout.escape + layout.quote)
    quoted = pc.binary_join_element_wise(layout.quote, inner, layout.quote, "")
    return pc.fill_null(pc.if_else(needed, quoted, texts), layout.null)
