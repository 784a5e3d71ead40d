"""One file that COPY INTO loads: its rows as columns of the table, and how many records are none.

CSV is read by position, JSON and Parquet by name. Source: Java `CopyIntoDataFrameBuilder`, `CopyIntoErrorHandler`.
"""

import gzip
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from maintenance.errors import DataError
from maintenance.format.plain.json_numbers import with_marks, without_marks
from maintenance.spelling import meant
from maintenance.sql.copying.file_format import FileFormat
from maintenance.sql.copying.values import of_parquet, of_texts
from maintenance.types.data_type import DataField

if TYPE_CHECKING:
    import duckdb

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """`rows`: those without an error; `parsed`: all records; `error`: the first one."""

    rows: pa.Table
    parsed: int
    errors: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Texts:
    """Columns of texts. `malformed`: records that have none, the first of them as `example`."""

    columns: list[pa.Array]
    malformed: int = 0
    example: str | None = None


def read_file(data: bytes, name: str, fields: Sequence[DataField], form: FileFormat, zone: str) -> LoadedFile:
    """The rows of a file for some columns of a table. `zone`: of instants whose texts name none.

    Raises: DataError: it cannot be read; UnsupportedError.
    """
    try:
        if form.type == "PARQUET":
            return _parquet(data, fields, zone)
        is_zipped = form.compression == "GZIP" or name.endswith(".gz")
        content = gzip.decompress(data) if is_zipped else data
        texts = _csv(content, len(fields), form) if form.type == "CSV" else _json(content, fields, form)
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        first = str(error).splitlines()[0]
        raise DataError(f"not a {form.type} file: {first}", name, "Correct the file.") from error
    columns = (_without_nulls(column, form) for column in texts.columns)
    pairs = [of_texts(column, field, zone) for column, field in zip(columns, fields, strict=True)]
    return _good(pairs, fields, texts.malformed, texts.example)


def _good(
    pairs: Sequence[tuple[pa.Array, pa.Array]], fields: Sequence[DataField], malformed: int, example: str | None
) -> LoadedFile:
    """The rows whose values all are what their columns hold. `pairs`: values, and where they are not."""
    bad = pa.repeat(False, len(pairs[0][0]))
    failed = None
    for (_, wrong), field in zip(pairs, fields, strict=True):
        if failed is None and pc.any(wrong).as_py():
            failed = field
        bad = pc.or_(bad, wrong)
    rows = pa.Table.from_arrays([values for values, _ in pairs], names=[field.name for field in fields])
    count = pc.sum(bad.cast(pa.int64())).as_py() or 0
    error = None if failed is None else f"column '{failed.name}' has values that are not {failed.type}"
    if example is not None:
        error = f"malformed record: {example[:_SHOWN]}"
    return LoadedFile(rows.filter(pc.invert(bad)) if count else rows, len(bad) + malformed, count + malformed, error)


def _without_nulls(texts: pa.Array, form: FileFormat) -> pa.Array:
    """NULL_IF and EMPTY_FIELD_AS_NULL."""
    nulls = [*form.nulls, *([""] if form.empty_is_null else [])]
    if not nulls:
        return texts
    return pc.if_else(pc.is_in(texts, pa.array(nulls, pa.string())), pa.scalar(None, pa.string()), texts)


def _csv(content: bytes, width: int, form: FileFormat) -> _Texts:
    """An empty field has no value, quoted or not, as Spark reads it. Records of other lengths are malformed."""
    import duckdb

    if not content.strip(b"\r\n"):
        return _Texts([pa.array([], pa.string())] * width)
    content.decode()  # Raises here what would be many errors below.
    columns = {f"c{number}": "VARCHAR" for number in range(width)}
    with tempfile.NamedTemporaryFile(suffix=".csv") as file, duckdb.connect() as connection:
        file.write(content)
        file.flush()
        options = (
            f"columns = {json.dumps(columns)}, auto_detect = false, delim = {_literal(form.delimiter)},"
            f" quote = {_literal(form.quote)}, escape = {_literal(form.escape)}, skip = {int(form.has_header)},"
            " header = false, nullstr = '', allow_quoted_nulls = true, store_rejects = true, null_padding = false"
        )
        try:
            query = f"SELECT * FROM read_csv({_literal(file.name)}, {options})"
            rows = connection.sql(query).to_arrow_table()
            malformed = connection.sql(
                "SELECT line, first(csv_line ORDER BY column_idx) FROM reject_errors GROUP BY line ORDER BY line"
            ).fetchall()
        except duckdb.Error as error:
            raise DataError(str(error).splitlines()[0], "COPY INTO", "Correct the options or the file.") from error
    if width == 1:  # a line without anything is no record
        rows = rows.filter(rows.column(0).is_valid())
    arrays = [column.combine_chunks().cast(pa.string()) for column in rows.columns]
    return _Texts(arrays, len(malformed), malformed[0][1] if malformed else None)


def _json(content: bytes, fields: Sequence[DataField], form: FileFormat) -> _Texts:
    """An object for each record, or lists of them; keys that are missing have no value, others are passed over."""
    import duckdb

    text = content.decode()
    parts = pa.array([text], pa.large_string())
    lines = parts if form.is_whole else pc.split_pattern(parts, "\n").flatten()
    lines = lines.filter(pc.not_equal(pc.utf8_trim_whitespace(lines), ""))
    with duckdb.connect() as connection:
        connection.register("given", pa.table({"given": lines, "marked": with_marks(lines)}))
        kinds = connection.sql(
            "SELECT CASE WHEN json_valid(given) THEN json_type(given) END AS k,"
            " CASE WHEN json_valid(given) THEN marked ELSE given END AS line FROM given"
        )
        known = kinds.to_arrow_table()
        connection.register("known", known)
        records = (
            "SELECT line AS record FROM known WHERE k = 'OBJECT' UNION ALL"
            " SELECT unnest(from_json(line, '[\"JSON\"]')) FROM known WHERE k = 'ARRAY'"
        )
        wrong = "SELECT line AS record FROM known WHERE k IS NULL OR k NOT IN ('OBJECT', 'ARRAY')"
        keys = ", ".join(f"record ->> {_literal(_path(field.name))} AS c{n}" for n, field in enumerate(fields))
        objects = f"SELECT {keys} FROM ({records}) WHERE json_type(record) = 'OBJECT'"
        rows = _fetched(connection, objects)
        others = (
            f"{wrong} UNION ALL SELECT CAST(record AS VARCHAR) FROM ({records}) WHERE json_type(record) <> 'OBJECT'"
        )
        malformed = _fetched(connection, others)
    arrays = [without_marks(column.combine_chunks().cast(pa.string())) for column in rows.columns]
    example = without_marks(malformed.column(0))[0].as_py() if malformed.num_rows else None
    return _Texts(arrays, malformed.num_rows, example)


def _fetched(connection: "duckdb.DuckDBPyConnection", query: str) -> pa.Table:
    return connection.sql(query).to_arrow_table()


def _path(key: str) -> str:
    return '$."' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _parquet(data: bytes, fields: Sequence[DataField], zone: str) -> LoadedFile:
    """A column that the file has not is null; one of the same name in another case is taken for it."""
    rows = pq.read_table(pa.BufferReader(data))
    pairs = []
    for field in fields:
        name = next(iter(meant(rows.column_names, field.name)), None)
        column = rows[name] if name is not None else pa.chunked_array([pa.nulls(rows.num_rows)])
        pairs.append(of_parquet(column, field, zone))
    return _good(pairs, fields, 0, None)
