"""JSON files of format tables: an object on each line, all leaves texts. Source: Java `JsonFormatWriter`."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.format.plain.json_numbers import as_doubles, with_marks
from maintenance.format.plain.texts import cast_texts, nested_texts, text_type, with_leaves
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField, DataType

_LINE, _MARKED = "line", "marked"


def parse_json_lines(data: bytes, fields: Sequence[DataField], where: str, end: str = "\n") -> pa.Table:
    """The rows of a file; a key that is missing is null, unknown ones are passed over. `end`: of a line.

    Raises: DataError.
    """
    import duckdb

    whole: pa.ListArray = pc.split_pattern(pa.array([data.decode()], pa.large_string()), end)
    lines = whole.flatten()
    lines = lines.filter(pc.not_equal(pc.utf8_trim_whitespace(lines), ""))
    text_types = pa.struct([(field.name, text_type(field.type, field.name)) for field in fields])
    shape = json.dumps(json_shape(text_types)).replace("'", "''")
    places = [f"json_extract(row, {quoted_pointer(field.name)})" for field in fields]
    wrong = [misshapen(place, kind.type) for place, kind in zip(places, text_types, strict=True)]
    whens = "".join(f" WHEN {condition} THEN {i}" for i, condition in enumerate(wrong) if condition)
    with duckdb.connect() as connection:
        connection.register("lines", pa.table({_LINE: lines, _MARKED: with_marks(lines)}))
        try:
            parsed = connection.sql(
                f"SELECT json_transform(row, '{shape}') AS row, {f'CASE{whens} END' if whens else 'NULL'} AS wrong "
                f"FROM (SELECT CASE WHEN CAST({_LINE} AS JSON) IS NOT NULL THEN {_MARKED}::JSON END AS row FROM lines)"
            ).to_arrow_table()
        except duckdb.Error as error:
            first = str(error).splitlines()[0]
            raise DataError(f"not a JSON file of the table: {first}", where, "Correct the file.") from error
    place = pc.index(pc.is_valid(parsed["wrong"]), True).as_py()
    if place >= 0:
        field = fields[parsed["wrong"][place].as_py()]
        problem = f"column '{field.name}' is no {field.type.as_nullable()} in: {lines[place]}"
        raise DataError(problem, where, "Correct the file.")
    rows = parsed["row"].combine_chunks()
    columns = [_typed(_plain(pc.struct_field(rows, [i]), text_types[i].type), field) for i, field in enumerate(fields)]
    return pa.Table.from_arrays(columns, names=[field.name for field in fields])


def _typed(texts: pa.Array, field: DataField) -> pa.Array:
    def leaf(part: pa.Array, of: DataType) -> pa.Array:
        return cast_texts(as_doubles(part), of)

    return with_leaves(texts, field.type, lambda of: arrow_type(of, f"column {field.name}"), leaf)


def _plain(array: pa.Array, target: pa.DataType) -> pa.Array:
    return array if array.type == target else array.cast(target)


def json_shape(kind: pa.DataType) -> Any:
    """A type as DuckDB's `json_transform` takes it: leaves are texts, bytes are the JSON itself."""
    if pa.types.is_struct(kind):
        return {field.name: json_shape(field.type) for field in kind}
    if pa.types.is_list(kind):
        return [json_shape(kind.value_type)]
    if pa.types.is_map(kind):
        return f"MAP(VARCHAR, {_sql_type(kind.item_type)})"
    return _sql_type(kind)


def misshapen(value: str, kind: pa.DataType, depth: int = 0) -> str | None:
    """DuckDB's condition that a value is not shaped like a nested type, which `json_transform` makes null of.

    Args: `value`: an expression that gives JSON; `kind`: with texts as its leaves; `depth`: of the type in others.
    Returns: None: nothing is nested.
    """
    if not pa.types.is_nested(kind):
        return None
    part = f"part{depth}"
    inner: list[str | None] = []
    if pa.types.is_struct(kind):
        places = [(f"json_extract({value}, {quoted_pointer(field.name)})", field.type) for field in kind]
        inner = [misshapen(place, of, depth + 1) for place, of in places]
    else:
        of_parts = misshapen(part, kind.item_type if pa.types.is_map(kind) else kind.value_type, depth + 1)
        path = "$.*" if pa.types.is_map(kind) else "$[*]"
        listed = f"len(list_filter(json_extract({value}, '{path}'), lambda {part}: {of_parts})) > 0"
        inner = [listed if of_parts else None]
    own = f"json_type({value}) NOT IN ('{'ARRAY' if pa.types.is_list(kind) else 'OBJECT'}', 'NULL')"
    return " OR ".join(f"coalesce({condition}, false)" for condition in (own, *inner) if condition)


def pointer(key: str) -> str:
    """The place of a key of an object, RFC 6901."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def quoted_pointer(key: str) -> str:
    """The same in quotes of SQL."""
    return "'" + pointer(key).replace("'", "''") + "'"


def _sql_type(kind: pa.DataType) -> str:
    if pa.types.is_struct(kind):
        return f"STRUCT({', '.join(f'{quoted(field.name)} {_sql_type(field.type)}' for field in kind)})"
    if pa.types.is_map(kind):
        return f"MAP(VARCHAR, {_sql_type(kind.item_type)})"
    if pa.types.is_list(kind):
        return f"{_sql_type(kind.value_type)}[]"
    return "JSON" if pa.types.is_binary(kind) else "VARCHAR"


def quoted(name: str) -> str:
    """A name in quotes of SQL."""
    return '"' + name.replace('"', '""') + '"'


def serialize_json_lines(rows: pa.Table, fields: Sequence[DataField], end: str = "\n") -> bytes:
    """Rows as a file. `end`: of a line. Raises: UnsupportedError: a type that texts cannot hold."""
    import duckdb

    if not rows.num_rows:
        return b""
    columns = [_texts(rows[field.name], field.type, field.name) for field in fields]
    table = pa.Table.from_arrays(columns, names=[field.name for field in fields])
    with duckdb.connect() as connection:
        connection.register("texts", table)
        struct = ", ".join(f"{quoted(name)} := {quoted(name)}" for name in table.column_names)
        lines_table = connection.sql(f"SELECT to_json(struct_pack({struct})) AS {_LINE} FROM texts").to_arrow_table()
    lines: list[str] = lines_table[_LINE].cast(pa.string()).to_pylist()
    return "".join(f"{line}{end}" for line in lines).encode()


def _texts(column: pa.ChunkedArray, data_type: DataType, name: str) -> pa.Array:
    return nested_texts(column.combine_chunks(), data_type, name)
