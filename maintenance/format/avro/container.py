"""Avro object container files, the shape of all manifests. Source: metadata section 4.

A container is a header (schema and codec), then blocks: record count, byte size, compressed records, sync marker.
fastavro decodes the plain blocks by a schema without logical types:

- Paimon stores local date-times as `timestamp-millis`, and fastavro would make an aware datetime of each. Without the
  logical type they stay the numbers they are.
- The codecs are those of `avro_codec`, whatever packages fastavro finds.

Fields are matched by name, so files of other writers with other record names or more fields read the same.
"""

import io
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import fastavro

from maintenance.errors import RESTORE, CorruptFileError, PaimonError, UnsupportedError
from maintenance.format.avro.codec import AVRO_CODECS, AvroCodec
from maintenance.format.bytes.varint import read_varint, unzigzag, varint
from maintenance.format.columnar_records import columnar_records, is_columnar
from maintenance.format.json_object import missing_key
from maintenance.format.polars_threads import polars_works_here

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

NAMESPACE = "org.apache.paimon.avro.generated"

_MAGIC = b"Obj\x01"
_SYNC_SIZE = 16
_HEADER_SCHEMA = fastavro.parse_schema({"type": "map", "values": "bytes"})
# Stands between the blocks of the files written here; any 16 bytes do, and fixed ones make equal records equal files.
_SYNC_MARKER = bytes.fromhex("7061696d6f6e2d6d61696e74656e616e")
_NOTHING: Mapping[str, bytes] = {}


def record_schema(name: str, fields: list[dict[str, Any]]) -> Any:
    """The parsed schema of a record. `fields`: in file order, nested records under their full schema."""
    return fastavro.parse_schema({"type": "record", "name": name, "namespace": NAMESPACE, "fields": fields})


def read_records(data: bytes, where: str, convert: Callable[[dict[str, Any]], T], field: str | None = None) -> list[T]:
    """All records of a metadata file, in file order: of a container, or of an ORC or parquet file.

    Args: `convert`: makes something of a record, a dict by field name, with times as the stored numbers; its KeyError
        means a missing field; `field`: one that only files of this kind have, which tells them apart without records.
    Raises: CorruptFileError: it is not an Avro file, it is damaged, or a field is missing; UnsupportedError: its codec
    is
        unknown.
    """
    # The decoder meets bytes of unknown origin, and damaged ones make it fail in every way Python has.
    try:
        # One after the other: all records at once would keep the garbage collector busy.
        records: Iterable[Any] = columnar_records(data) if is_columnar(data) else _records(data)
        converted = [convert(record) for record in records]
        if not converted and field is not None and not is_columnar(data) and field not in _field_names(data):
            raise KeyError(field)
        return converted
    except PaimonError as error:
        raise error.at(where) from error
    except KeyError as error:
        raise missing_key(error, where) from error
    except Exception as error:
        raise CorruptFileError(f"no valid metadata file: {error!r}", where, RESTORE) from error


def _field_names(data: bytes) -> list[str]:
    schema = json.loads(schema_of_container(data))
    # Some writers put a union with null around the record.
    record = schema[1] if isinstance(schema, list) else schema
    return [field["name"] for field in record["fields"]]


@dataclass(frozen=True, slots=True)
class AvroColumns:
    """A container's records as columns, a good ten times faster than one by one, with times as the stored numbers.

    Attributes:
        header: of a container without compression and logical types.
        counts, blocks: records and stored bytes of each block. codec: by which those are compressed.
    """

    header: bytes
    counts: tuple[int, ...]
    blocks: tuple[bytes, ...]
    codec: AvroCodec

    @classmethod
    def open(cls, data: bytes) -> "AvroColumns | None":
        """All blocks of a file; None where the columnar decoder cannot be used, see `read`."""
        return next(cls.parts(data, sys.maxsize))

    @classmethod
    def parts(cls, data: bytes, at_least: int) -> "Iterator[AvroColumns | None]":
        """Some blocks at a time, of so many stored bytes but for the last ones; None as of `open`, at the end.

        A file without blocks has one part.
        """
        blocks: list[tuple[int, bytes]] = []
        size, is_first = 0, True
        try:
            header, position = _header(data)
            codec, plain = _codec_of(header), _plain_header(header["avro.schema"])
            for count, block in _blocks(data, position):
                blocks.append((count, block))
                size += len(block)
                if size >= at_least:
                    yield cls.of_blocks(plain, blocks, codec)
                    blocks, size, is_first = [], 0, False
            if blocks or is_first:
                yield cls.of_blocks(plain, blocks, codec)
        except Exception:  # noqa: BLE001 - `read_records` meets the same bytes and tells
            yield None

    @classmethod
    def of_blocks(cls, header: bytes, blocks: Sequence[tuple[int, bytes]], codec: AvroCodec) -> "AvroColumns | None":
        """Blocks by their number of records and stored bytes; None where the columnar decoder cannot be used."""
        if not polars_works_here():
            return None
        return cls(header, tuple(block[0] for block in blocks), tuple(block[1] for block in blocks), codec)

    def read(self, names: Sequence[str] | None = None, blocks: Sequence[int] | None = None) -> "pl.DataFrame | None":
        """Columns of all records, or of those in some blocks (numbers, ascending).

        None where that cannot be done: the file is damaged, has a shape the decoder lacks, or this process was forked
        from one that used the decoder, whose threads did not come along. `read_records` says what is wrong, or reads.
        """
        import polars as pl  # starts threads: see `manifest`

        chosen = range(len(self.counts)) if blocks is None else blocks
        count = sum(self.counts[number] for number in chosen)
        try:
            pieces = self.codec.pieces([self.blocks[number] for number in chosen])
            size = sum(map(len, pieces))
            # The decoder makes room for as many rows as a block says it has.
            if count > size:
                return None
            # One large block: the decoder makes arrays for each.
            block = (_long(count), _long(size), *pieces, _SYNC_MARKER) if chosen else ()
            plain = b"".join((self.header, *block))
            frame = pl.read_avro(io.BytesIO(plain), columns=None if names is None else list(names))
        except pl.exceptions.PanicException:  # not an Exception: how polars meets bytes that are out of order
            return None
        except Exception:  # noqa: BLE001 - `read_records` meets the same bytes and tells
            return None
        return frame if len(frame) == count else None


def _records(data: bytes) -> Iterator[Any]:
    """The records of a file, one after the other."""
    header, position = _header(data)
    decompress, schema = _codec_of(header).decompress, _boxed(header["avro.schema"])
    for count, block in _blocks(data, position):
        source = io.BytesIO(decompress(block))
        for _ in range(count):
            box: Any = fastavro.schemaless_reader(source, schema, None)
            yield box["value"]


@lru_cache(maxsize=64)
def _boxed(schema: bytes) -> Any:
    """The parsed schema of a record whose one field, and bytes, are those of a file's records, as plain values.

    Parsing takes longer than reading a small file, and fastavro keeps what it has parsed of records alone: those of
    some writers are in a union with null.
    """
    value = without_logical_types(json.loads(schema))
    return fastavro.parse_schema({"type": "record", "name": "box", "fields": [{"name": "value", "type": value}]})


def _codec_of(header: Mapping[str, bytes]) -> AvroCodec:
    codec = header.get("avro.codec", b"null").decode()
    if codec not in AVRO_CODECS:
        raise UnsupportedError(f"Avro codec '{codec}'", "header", "Rewrite the file with compression zstd.")
    return AVRO_CODECS[codec]


class AvroFile:
    """A container of many records, decoded some blocks at a time. Damaged ones may raise anything.

    Maps are read as arrays of records of `key` and `value`, whose bytes are the same: the columnar decoder has no maps.
    `column_names`: of the records, in file order.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        header, self._position = _header(data)
        self._codec = _codec_of(header)
        schema = _maps_as_arrays(without_logical_types(json.loads(header["avro.schema"])), itertools.count())
        # Some writers put a union with null around the record.
        self._record = schema[1] if isinstance(schema, list) else schema
        self._header = container_header(json.dumps(schema), "null")
        self.column_names = [field["name"] for field in self._record["fields"]]

    def parts(self, batch_rows: int, names: Sequence[str]) -> Iterator["pl.DataFrame | list[dict[str, Any]]"]:
        """Columns of some blocks at a time: at least `batch_rows` rows but for the last.

        Where the columnar decoder cannot be used records come instead, of the columns `names` and maybe of others.
        """
        gathered: list[tuple[int, bytes]] = []
        rows = 0
        for count, block in _blocks(self._data, self._position):
            gathered.append((count, block))
            rows += count
            if rows >= batch_rows:
                yield self._decoded(gathered, names)
                gathered, rows = [], 0
        if gathered:
            yield self._decoded(gathered, names)

    def _decoded(
        self, blocks: Sequence[tuple[int, bytes]], names: Sequence[str]
    ) -> "pl.DataFrame | list[dict[str, Any]]":
        columns = AvroColumns.of_blocks(self._header, blocks, self._codec)
        frame = None if columns is None else columns.read(names)
        return self._records(blocks, names) if frame is None else frame

    def _records(self, blocks: Sequence[tuple[int, bytes]], names: Sequence[str]) -> list[dict[str, Any]]:
        reader_schema = None
        if set(names) != set(self.column_names):
            fields = [field for field in self._record["fields"] if field["name"] in names]
            reader_schema = fastavro.parse_schema({**self._record, "fields": fields})
        plain = (container_block(count, self._codec.decompress(block)) for count, block in blocks)
        container = b"".join([self._header, *plain])
        records: list[Any] = list(fastavro.reader(io.BytesIO(container), reader_schema))
        if len(records) != sum(count for count, _ in blocks):
            raise ValueError(f"blocks of {sum(count for count, _ in blocks)} records hold {len(records)}")
        return records


def _maps_as_arrays(schema: Any, numbers: Iterator[int]) -> Any:
    """A schema with arrays of records in place of maps. `numbers`: for the records' names."""
    if isinstance(schema, list):
        return [_maps_as_arrays(part, numbers) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") != "map":
        return {key: _maps_as_arrays(value, numbers) for key, value in schema.items()}
    fields = [
        {"name": "key", "type": "string"},
        {"name": "value", "type": _maps_as_arrays(schema["values"], numbers)},
    ]
    return {"type": "array", "items": {"type": "record", "name": f"entry_of_map_{next(numbers)}", "fields": fields}}


def schema_of_container(data: bytes) -> str:
    """The schema of a container file, JSON."""
    return _header(data)[0]["avro.schema"].decode()


def container_header(schema: str, codec: str, more: Mapping[str, bytes] = _NOTHING) -> bytes:
    """The beginning of a container file. `schema`: JSON; `codec`: a key of `AVRO_CODECS`; `more`: that it says."""
    out = io.BytesIO()
    out.write(_MAGIC)
    header = {"avro.schema": schema.encode(), "avro.codec": codec.encode(), **more}
    fastavro.schemaless_writer(out, _HEADER_SCHEMA, header)
    out.write(_SYNC_MARKER)
    return out.getvalue()


def container_block(count: int, content: bytes) -> bytes:
    """A block of `count` records. `content`: compressed."""
    return b"".join((_long(count), _long(len(content)), content, _SYNC_MARKER))


def write_records(
    schema: Any, records: Iterable[Mapping[str, Any]], codec: str, level: int, more: Mapping[str, bytes] = _NOTHING
) -> bytes:
    """A container file of records that fit `schema`.

    Args: `schema`: parsed; `codec`: a key of `AVRO_CODECS`; `level`: of zstandard, deflate and xz; `more`: what the
        header says besides, such as a schema with attributes and logical types in place of the plain one.
    """
    plain = io.BytesIO()
    fastavro.writer(plain, schema, records, codec="null", sync_marker=_SYNC_MARKER)
    header, position = _header(plain.getvalue())
    compress = AVRO_CODECS[codec].compress
    header = {"avro.schema": header["avro.schema"], "avro.codec": codec.encode(), **more}
    return _recoded(plain.getvalue(), position, header, lambda block: compress(block, level))


def encoded_records(schema: Any, records: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """The bytes of each record, as they stand in a block without compression. `schema`: parsed."""
    encoded = []
    for record in records:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, dict(record))
        encoded.append(out.getvalue())
    return encoded


def without_logical_types(schema: Any) -> Any:
    """A schema, as JSON, whose values stay plain numbers and bytes."""
    if isinstance(schema, dict):
        return {key: without_logical_types(value) for key, value in schema.items() if key != "logicalType"}
    return [without_logical_types(part) for part in schema] if isinstance(schema, list) else schema


@lru_cache(maxsize=64)
def _plain_header(schema: bytes) -> bytes:
    """The header of a container without compression and logical types; all manifests of a writer have one schema."""
    return container_header(json.dumps(without_logical_types(json.loads(schema))), "null")


def _header(data: bytes) -> tuple[dict[str, bytes], int]:
    """The header's map, and the position of the sync marker behind it."""
    if data[:4] != _MAGIC:
        raise ValueError("it does not begin with 'Obj' 1")
    source = io.BytesIO(data)
    source.seek(len(_MAGIC))
    header: Any = fastavro.schemaless_reader(source, _HEADER_SCHEMA, None)
    return header, source.tell()


def _recoded(data: bytes, position: int, header: dict[str, bytes], recode: Callable[[bytes], bytes]) -> bytes:
    """The container with another header and every block put through `recode`. `position`: of the first marker."""
    more = {key: value for key, value in header.items() if key not in ("avro.schema", "avro.codec")}
    parts = [container_header(header["avro.schema"].decode(), header.get("avro.codec", b"null").decode(), more)]
    parts.extend(container_block(count, recode(block)) for count, block in _blocks(data, position))
    return b"".join(parts)


def _blocks(data: bytes, position: int) -> Iterator[tuple[int, bytes]]:
    """Record count and bytes of every block. Raises: ValueError: a block is cut off or not followed by the marker."""
    marker, position = data[position : position + _SYNC_SIZE], position + _SYNC_SIZE
    if len(marker) < _SYNC_SIZE:
        raise ValueError("the header is cut off")
    while position < len(data):
        count, position = _read_long(data, position)
        size, position = _read_long(data, position)
        end = position + size
        if size < 0 or count < 0 or data[end : end + _SYNC_SIZE] != marker:
            raise ValueError(f"the block at byte {position} does not end with the sync marker")
        yield count, data[position:end]
        position = end + _SYNC_SIZE


def _read_long(data: bytes, position: int) -> tuple[int, int]:
    """A zigzag varint and the position after it."""
    value, position = read_varint(data, position)
    return unzigzag(value), position


def _long(value: int) -> bytes:
    """A number as a zigzag varint. `value`: not negative."""
    return varint(value << 1)
