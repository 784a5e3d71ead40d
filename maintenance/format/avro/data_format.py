"""Avro data files. Source: data section 1.6, Java `AvroSchemaConverter`, `AvroFileFormat`.

Paimon stores TIMESTAMP as `timestamp-*` and TIMESTAMP_LTZ as `local-timestamp-*`, the reverse of Avro's meaning. A map
whose keys are texts is a map; any other map is an array of records of `key` and `value`.

Avro holds rows; `avro_file` makes columns of their numbers and bytes, which become those of Paimon's types here.
Writing goes without rows too (`avro_columns`).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from maintenance.errors import RESTORE, CorruptFileError, PaimonError, UnsupportedError
from maintenance.format.avro.codec import AVRO_CODECS, codec_of
from maintenance.format.avro.columns import block_ends, encode_rows
from maintenance.format.avro.container import NAMESPACE, AvroFile, container_block, container_header
from maintenance.format.bytes.decimals import decimals_of_digits, null_where_too_long
from maintenance.format.data_format import (
    EVERY_ROW,
    DataFormat,
    FileSelection,
    FileSettings,
    OpenWriter,
    format_options,
    in_batches,
)
from maintenance.format.rows.nested import entries, rebuilt
from maintenance.options.formats import AVRO_HONOURED
from maintenance.types.arrow import arrow_type, map_parts
from maintenance.types.data_type import DataField, DataType

if TYPE_CHECKING:
    import polars as pl

_BLOCK_BYTES = 64_000
_ENCODED_ROWS = 1 << 14  # at a time, which fit into the processor's caches
_DEFLATE_LEVEL = 6
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PRIMITIVE = {
    "BOOLEAN": "boolean", "TINYINT": "int", "SMALLINT": "int", "INT": "int", "BIGINT": "long", "FLOAT": "float",
    "DOUBLE": "double", "CHAR": "string", "VARCHAR": "string", "BINARY": "bytes", "VARBINARY": "bytes",
}  # fmt: skip
_COUNT = DataType("INT")


def avro_schema(fields: Sequence[DataField]) -> dict[str, Any]:
    """The schema of a data file. Raises: UnsupportedError: a type or name that Avro lacks."""
    return {"type": "record", "name": "record", "namespace": NAMESPACE, "fields": _fields(fields, "record")}


def _fields(fields: Sequence[DataField], record: str) -> list[dict[str, Any]]:
    result = []
    for field in fields:
        if not _NAME.fullmatch(field.name):
            raise _unsupported(f"the name '{field.name}'", field.name, "letters, digits and _")
        form: dict[str, Any] = {"name": field.name, "type": _schema(field.type, f"{record}_{field.name}", field.name)}
        result.append({**form, "default": None} if field.type.nullable else form)
    return result


def _schema(data_type: DataType, record: str, where: str) -> Any:
    plain = _plain_schema(data_type, record, where)
    return ["null", plain] if data_type.nullable else plain


def _plain_schema(data_type: DataType, record: str, where: str) -> Any:
    if data_type.root in _PRIMITIVE:
        return _PRIMITIVE[data_type.root]
    match data_type.root:
        case "DECIMAL":
            digits = {"precision": data_type.precision, "scale": data_type.scale}
            return {"type": "bytes", "logicalType": "decimal", **digits}
        case "DATE":
            return {"type": "int", "logicalType": "date"}
        case "TIME" if (data_type.precision or 0) <= 3:
            return {"type": "int", "logicalType": "time-millis"}
        case "TIMESTAMP" | "TIMESTAMP_LTZ" if (data_type.precision or 0) <= 6:
            kind = "timestamp" if data_type.root == "TIMESTAMP" else "local-timestamp"
            return {"type": "long", "logicalType": f"{kind}-{'millis' if _in_millis(data_type) else 'micros'}"}
        case "ARRAY" | "VECTOR":
            assert data_type.element is not None
            return {"type": "array", "items": _schema(data_type.element, record, where)}
        case "ROW":
            return {"type": "record", "name": record, "fields": _fields(data_type.fields, record)}
        case "MAP" | "MULTISET":
            return _map_schema(data_type, record, where)
    raise _unsupported(f"type {data_type}", where, "TIME(3) and TIMESTAMP(6) at the most")


def _map_schema(data_type: DataType, record: str, where: str) -> dict[str, Any]:
    key, value = _map_types(data_type)
    if key.is_string:
        return {"type": "map", "values": _schema(value, record, where)}
    if data_type.root == "MULTISET":
        raise _unsupported(f"type {data_type}", where, "MULTISET of texts only, for Java reads no other")
    value_field: dict[str, Any] = {"name": "value", "type": _schema(value, f"{record}_value", where)}
    entry = [
        {"name": "key", "type": _schema(key, f"{record}_key", where)},
        {**value_field, "default": None} if value.nullable else value_field,
    ]
    return {"type": "array", "items": {"type": "record", "name": record, "fields": entry}, "logicalType": "map"}


def _map_types(data_type: DataType) -> tuple[DataType, DataType]:
    key, value = map_parts(data_type)
    return key, _COUNT if data_type.root == "MULTISET" else value


def _in_millis(data_type: DataType) -> bool:
    return (data_type.precision or 0) <= 3


def _unsupported(feature: str, column: str, has: str) -> UnsupportedError:
    return UnsupportedError(f"{feature} in an Avro file", f"column {column}", f"Avro has {has}; use parquet or orc.")


class _AvroWriter:
    def __init__(self, sink: pa.NativeFile, fields: Sequence[DataField], codec: str, level: int) -> None:
        self._sink = sink
        self._fields = fields
        self._compress = AVRO_CODECS[codec].compress
        self._level = level
        sink.write(container_header(json.dumps(avro_schema(fields), separators=(",", ":")), codec))

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        for batch in rows.combine_chunks().to_batches(max_chunksize=_ENCODED_ROWS):
            encoded = encode_rows(batch.columns, self._fields)
            position = 0
            for start, end in block_ends(encoded.lengths, _BLOCK_BYTES):
                size = int(encoded.lengths[start:end].sum())
                block = encoded.data[position : position + size].tobytes()
                self._sink.write(container_block(end - start, self._compress(block, self._level)))
                position += size

    def close(self) -> None:
        pass


def _prepare_writer(fields: Sequence[DataField], settings: FileSettings) -> OpenWriter:
    options = format_options(settings, AVRO_HONOURED)
    codec = codec_of(options.get("codec", settings.compression))
    level = settings.zstd_level if codec == "zstandard" else _DEFLATE_LEVEL
    _check_names(avro_schema(fields), set())
    return lambda sink: _AvroWriter(sink, fields, codec, level)


def _check_names(schema: Any, seen: set[str]) -> None:
    """Refuse two records of one name: column `a_b` and field `b` of column `a` come to the same."""
    if isinstance(schema, list):
        for part in schema:
            _check_names(part, seen)
    if not isinstance(schema, dict):
        return
    if schema["type"] == "record":
        if schema["name"] in seen:
            raise _unsupported(f"two records named '{schema['name']}'", schema["name"], "one record of a name")
        seen.add(schema["name"])
    for part in (*schema.get("fields", ()), schema.get("items"), schema.get("values"), schema["type"]):
        _check_names(part, seen)


class _AvroReader:
    """Decodes the blocks of a file. `source` is read whole, for blocks have no directory."""

    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._path = path
        content = source.read()
        try:
            self._file = AvroFile(content)
        except Exception as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> PaimonError:
        if isinstance(error, PaimonError):
            return error.at(self._path)
        return CorruptFileError(f"the file is not Avro: {error!r}", self._path, RESTORE)

    def read(self, fields: Sequence[DataField], selection: FileSelection = EVERY_ROW) -> pa.Table:
        tables = list(self._tables(fields, 1 << 16))
        return pa.concat_tables(tables) if tables else self._table([], fields)

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, selection: FileSelection = EVERY_ROW
    ) -> Iterator[pa.Table]:
        return in_batches(self._tables(fields, batch_rows), batch_rows)

    def positions(self, selection: FileSelection = EVERY_ROW) -> np.ndarray | None:
        return None

    def _tables(self, fields: Sequence[DataField], batch_rows: int) -> Iterator[pa.Table]:
        self._check_columns(fields)
        # The decoder meets bytes of unknown origin, and damaged ones make it fail in every way Python has.
        try:
            for part in self._file.parts(batch_rows, [field.name for field in fields]):
                yield self._table(part, fields)
        except Exception as error:
            raise self._damaged(error) from error

    def _check_columns(self, fields: Sequence[DataField]) -> None:
        for field in fields:
            if field.name not in self._file.column_names:
                raise CorruptFileError(f"the file has no column '{field.name}'", self._path, RESTORE)

    def _table(self, part: "pl.DataFrame | list[dict[str, Any]]", fields: Sequence[DataField]) -> pa.Table:
        stored = pa.struct([pa.field(field.name, _stored_type(field)) for field in fields])
        if not isinstance(part, list):
            columns = [
                part.get_column(field.name).to_arrow().cast(as_stored.type)
                for field, as_stored in zip(fields, stored, strict=True)
            ]
        else:
            columns = pa.array(part, stored).flatten()
        natural = [_natural(column, field.type) for column, field in zip(columns, fields, strict=True)]
        return pa.Table.from_arrays(natural, names=[field.name for field in fields])


def _stored_type(field: DataField) -> pa.DataType:
    arrow_type(field.type, f"column {field.name}")  # refuses by name what has no Arrow type
    return _stored(field.type)


def _stored(data_type: DataType) -> pa.DataType:
    """The Arrow type of stored values, logical types left aside."""
    match data_type.root:
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return pa.int64()
        case "DATE" | "TIME":
            return pa.int32()
        case "DECIMAL":
            return pa.binary()
        case "ARRAY" | "VECTOR":
            assert data_type.element is not None
            return pa.list_(_stored(data_type.element))
        case "ROW":
            return pa.struct([pa.field(part.name, _stored(part.type)) for part in data_type.fields])
        case "MAP" | "MULTISET":
            key, value = map(_stored, _map_types(data_type))
            return pa.list_(pa.struct([pa.field("key", key), pa.field("value", value)]))
    return arrow_type(data_type)


def _natural(array: pa.Array, data_type: DataType) -> pa.Array:
    """A stored column, not sliced, in its natural Arrow type: the same buffers around converted values."""
    target = arrow_type(data_type)
    match data_type.root:
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return array.cast(pa.timestamp("ms" if _in_millis(data_type) else "us", target.tz)).cast(target)
        case "DATE" | "TIME":
            return array.cast(target)
        case "DECIMAL":
            return null_where_too_long(decimals_of_digits(array, target))
        case "ARRAY" | "VECTOR":
            assert data_type.element is not None
            return rebuilt(array, target, [_natural(array.values, data_type.element)])
        case "ROW":
            parts = [_natural(array.field(i), part.type) for i, part in enumerate(data_type.fields)]
            return rebuilt(array, target, parts)
        case "MAP" | "MULTISET":
            key, value = _map_types(data_type)
            keys, items = array.values.flatten()
            if keys.null_count:
                raise UnsupportedError(
                    "a map has a null key, which Arrow cannot hold", str(data_type), "Leave the column out of the read."
                )
            return rebuilt(array, target, [entries(target, [_natural(keys, key), _natural(items, value)])])
    return array


def _open_reader(
    source: pa.NativeFile, path: str, options: Mapping[str, str], columns: Sequence[DataField] = ()
) -> _AvroReader:
    return _AvroReader(source, path)


AVRO = DataFormat("avro", _open_reader, _prepare_writer, keeps_long_decimals=False)
