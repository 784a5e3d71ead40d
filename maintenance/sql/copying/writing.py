"""``COPY INTO 'folder' FROM …``: rows as files, with the texts that Spark writes.

Source: Spark's `UnivocityGenerator`, `JacksonGenerator`; Java `CopyIntoLocationExec` of Paimon's Spark connector.
"""

import gzip
import uuid

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from maintenance.errors import AlreadyExistsError, OptionError, UnsupportedError
from maintenance.format.plain.texts import texts_of
from maintenance.fs.file_io import FileIO
from maintenance.sql.copying.file_format import FileFormat
from maintenance.sql.result import Result
from maintenance.types.arrow import data_type_of_arrow
from maintenance.types.casts.zones import UTC, wall_clock

_TIME = "%Y-%m-%dT%H:%M:%S"


def write(
    file_io: FileIO, warehouse: str, folder: str, rows: pa.Table, form: FileFormat, zone: str, *, overwrites: bool
) -> Result:
    """Write rows as a file of a folder.

    Args: `zone`: in which texts show instants; `overwrites`: what lies in the folder goes once they are.

    Raises: AlreadyExistsError: the folder is there, and not to be overwritten; OptionError: it has tables of the
        warehouse; UnsupportedError: such a file holds no such column.
    """
    place = folder.removeprefix("file:").rstrip("/")
    data = _serialized(rows, form, zone)
    if file_io.folder_exists(place) or file_io.exists(place):
        if not overwrites:
            problem, fix = "the folder exists", "Choose another one, or write OVERWRITE = TRUE."
            raise AlreadyExistsError(problem, folder, fix)
        own, other = warehouse.rstrip("/") + "/", place + "/"
        if own.startswith(other) or other.startswith(own):
            raise OptionError(
                "the folder has tables of the warehouse",
                folder,
                "Choose another folder for COPY INTO, or leave OVERWRITE out.",
            )
        if not file_io.folder_exists(place):
            file_io.delete_folder(place)
    old = [f"{place}/{status.path}" for status in file_io.list_tree(place)]
    folders = [f"{place}/{name}" for name in file_io.list_folders(place)]
    file_io.make_folder(place)
    file_io.write_bytes(f"{place}/part-00000-{uuid.uuid4()}-c000{form.suffix}", data)
    # What was there stays until its replacement is.
    file_io.delete_unordered(old)
    for inner in folders:
        file_io.delete_folder(inner)
    file_io.write_bytes(f"{place}/_SUCCESS", b"")
    columns = {"output_path": pa.array([folder]), "file_count": pa.array([1], pa.int32())}
    return Result(pa.table({**columns, "rows_written": pa.array([rows.num_rows], pa.int64())}))


def _serialized(rows: pa.Table, form: FileFormat, zone: str) -> bytes:
    if form.type == "PARQUET":
        sink = pa.BufferOutputStream()
        pq.write_table(rows, sink, compression=(form.compression or "SNAPPY").replace("UNCOMPRESSED", "NONE"))
        return bytes(sink.getvalue())
    text = _csv(rows, form, zone) if form.type == "CSV" else _json(rows, zone)
    return gzip.compress(text.encode()) if form.compression == "GZIP" else text.encode()


def _csv(rows: pa.Table, form: FileFormat, zone: str) -> str:
    """A missing value is an empty field, an empty text one with quotes."""
    columns = [_field_texts(rows.column(name), name, form, zone) for name in rows.column_names]
    lines = pc.binary_join_element_wise(*columns, form.delimiter).to_pylist() if rows.num_rows else []
    header = [form.delimiter.join(_in_quotes(pa.chunked_array([rows.column_names]), form).to_pylist())]
    return "".join(f"{line}\n" for line in [*(header if form.has_header else []), *lines])


def _field_texts(column: pa.ChunkedArray, name: str, form: FileFormat, zone: str) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        problem = f"column '{name}' of type {kind} cannot be in a CSV file"
        raise UnsupportedError(problem, "COPY INTO", "Write FILE_FORMAT = (TYPE = PARQUET).")
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    texts = _in_quotes(column.cast(pa.string()), form) if is_text else _plain_texts(column, zone)
    return pc.fill_null(texts, "")


def _in_quotes(texts: pa.ChunkedArray, form: FileFormat) -> pa.ChunkedArray:
    """Texts in quotes where they need them. Spark has no quote within quotes without the sign in front of it."""
    if not form.quote:
        return texts
    needed = pc.or_(pc.equal(texts, ""), pc.match_substring(texts, form.delimiter))
    for sign in (form.quote, "\n", "\r"):
        needed = pc.or_(needed, pc.match_substring(texts, sign))
    inner = texts
    if form.escape != form.quote:
        inner = pc.replace_substring(inner, form.escape, form.escape * 2)
    inner = pc.replace_substring(inner, form.quote, form.escape + form.quote)
    return pc.if_else(needed, pc.binary_join_element_wise(form.quote, inner, form.quote, ""), texts)


def _plain_texts(column: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    """Numbers, days and times as texts."""
    kind = column.type
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_timestamp(kind):
        # With milliseconds, whatever the type says, as Spark's writers do.
        times = column.cast(pa.timestamp("ms", UTC if kind.tz else None), safe=False)
        if not kind.tz:
            return pc.strftime(times, _TIME)
        texts = [_instant_texts(chunk, zone) for chunk in times.chunks]
        return pa.chunked_array(texts, pa.string())
    source = data_type_of_arrow(kind)
    return texts_of(column, source)


def _instant_texts(instants: pa.Array, zone: str) -> pa.Array:
    """The wall clock of the zone, and its distance from UTC in minutes: ``Z`` or ``+05:30``."""
    wall = wall_clock(instants, zone)
    away = pc.divide(pc.subtract(wall.cast(pa.int64()), instants.cast(pa.int64())), 60_000)
    distances = away.dictionary_encode()
    names = pa.array([_distance(minutes) for minutes in distances.dictionary.to_pylist()], pa.string())
    return pc.binary_join_element_wise(pc.strftime(wall, _TIME), names.take(distances.indices), "")


def _distance(minutes: int) -> str:
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02d}:{rest:02d}" if minutes else "Z"


def _json(rows: pa.Table, zone: str) -> str:
    """An object for each row. What has no value is left out."""
    import duckdb

    if not rows.num_rows:
        return ""
    parts = []
    columns = {}
    for number, name in enumerate(rows.column_names):
        column, kind = rows.column(number), rows.schema.field(number).type
        place = f"c{number}"
        if pa.types.is_nested(kind) and _has_times(kind):
            problem = f"column '{name}' has times inside, of type {kind}"
            raise UnsupportedError(problem, "COPY INTO", "Write FILE_FORMAT = (TYPE = PARQUET).")
        columns[place] = _plain_texts(column, zone) if pa.types.is_temporal(kind) else column
        value = place
        if pa.types.is_floating(kind):
            value = f"CASE WHEN isfinite({place}) THEN to_json({place}) ELSE to_json({_endless(place)}) END"
        elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            value = f"base64({place})"
        parts.append(f"'{name.replace(chr(39), chr(39) * 2)}', {value}")
    with duckdb.connect() as connection:
        connection.register("given", pa.table(columns))
        # Merging into nothing drops keys without a value.
        query = f"SELECT json_merge_patch('{{}}', json_object({', '.join(parts)})) AS line FROM given"
        lines: list[str] = connection.sql(query).to_arrow_table().column(0).cast(pa.string()).to_pylist()
    return "".join(f"{line}\n" for line in lines)


def _endless(name: str) -> str:
    return f"CASE WHEN isnan({name}) THEN 'NaN' WHEN {name} > 0 THEN 'Infinity' WHEN {name} < 0 THEN '-Infinity' END"


def _has_times(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return _has_times(kind.key_type) or _has_times(kind.item_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _has_times(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_has_times(field.type) for field in kind)
    return bool(pa.types.is_temporal(kind))
