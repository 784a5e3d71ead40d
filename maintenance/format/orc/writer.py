"""Writing ORC data files. Source: data section 1.5, Java `OrcTypeUtil`, `OrcWriterFactory`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.bytes.held_sink import HeldSink
from maintenance.format.bytes.protobuf import Message
from maintenance.format.data_format import FileSettings, OpenWriter, format_options, number_of_option
from maintenance.format.orc.repair import repaired_stripes
from maintenance.format.orc.tail import MAGIC, Kind, OrcTail, Stripe, joined, with_attribute, with_kind
from maintenance.format.orc.zones import is_missing_database, missing_database
from maintenance.format.rows.system_fields import element_field_id, map_key_field_id
from maintenance.options.formats import ORC_HARMLESS, ORC_HONOURED
from maintenance.types import nanos
from maintenance.types.arrow import arrow_type, element_of, map_parts, timestamp_type
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType
from maintenance.types.nanos import NANOS
from maintenance.types.nested import Path, Rebuild, leaves_of, retyped

T = TypeVar("T")

_CODECS = {"zstd": "zstd", "lz4": "lz4", "snappy": "snappy", "zlib": "zlib", "none": "uncompressed"}
# The levels of zstd that ORC's C++ writer has, and what it calls them.
_ZSTD_STRATEGIES = {1: "speed", 3: "compression"}
_TEXT_KINDS = {"CHAR": Kind.CHAR, "VARCHAR": Kind.VARCHAR}
_FIELD_ID = "paimon.id"
_GREGORIAN = -141_427 * 86_400  # 1582-10-15 in seconds since 1970
_PER_MILLI = {"us": 1000, "ns": 1_000_000}
_DEFAULT_STRIPE_BYTES = 64 << 20


def orc_type(data_type: DataType, where: str) -> pa.DataType:
    """The Arrow type whose ORC form is Paimon's: TIME is a number. Raises: UnsupportedError: ORC has none."""
    match data_type.root:
        case "TIME":
            return pa.int32()
        case "ARRAY":
            return pa.list_(orc_type(element_of(data_type), where))
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            return pa.map_(orc_type(key, where), orc_type(value, where))
        case "TIMESTAMP" | "TIMESTAMP_LTZ":
            return timestamp_type(data_type)
        case "VARIANT" | "BLOB":
            raise UnsupportedError(f"type {data_type} in an ORC file", where, "Paimon has it in parquet files alone.")
        case "VECTOR":
            raise UnsupportedError(
                f"type {data_type} in an ORC file", where, "Paimon has it in parquet and Avro files."
            )
        case "ROW":
            return pa.struct(_named_types(data_type.fields, where))
    return arrow_type(data_type, where)


def _named_types(fields: Sequence[DataField], where: str) -> list[tuple[str, pa.DataType]]:
    for field in fields:
        if "`" in field.name:
            raise UnsupportedError(
                f"the name '{field.name}' in an ORC file", where, "Java's ORC takes no backquote there: rename it."
            )
    return [(field.name, orc_type(field.type, f"{where}, {field.name}")) for field in fields]


def prepare_writer(fields: Sequence[DataField], settings: FileSettings) -> OpenWriter:
    """See `DataFormat`."""
    schema = pa.schema(_named_types(fields, "columns"))
    arguments = _arguments(schema.names, settings)
    try:
        orc.ORCWriter(pa.BufferOutputStream(), **arguments)
    except (ValueError, pa.ArrowException) as error:
        fix = "Correct or unset the options of the table that begin with 'orc.'."
        raise OptionError(f"an option 'orc.…': {error}", "options", fix) from error
    return lambda sink: _OrcWriter(sink, fields, schema, arguments)


def _arguments(names: Sequence[str], settings: FileSettings) -> dict[str, Any]:
    """Arguments of Arrow's writer. Raises: OptionError, UnsupportedError."""
    options = format_options(settings, ORC_HONOURED, ORC_HARMLESS)

    def number(key: str, default: T, parse: Callable[[str], T]) -> T:
        return number_of_option(settings, options, key, default, parse)

    codec = options.get("compress", settings.compression).lower()
    if codec not in _CODECS:
        raise OptionError(
            f"'file.compression' = '{codec}' is not a codec of ORC", "options", f"Use one of {', '.join(_CODECS)}."
        )
    level = number("compression.zstd.level", settings.zstd_level, int)
    if codec == "zstd" and level not in _ZSTD_STRATEGIES:
        problem = f"option 'file.compression.zstd-level' = '{level}' is not supported for ORC"
        raise UnsupportedError(problem, "options", "Set 'file.compression.zstd-level' to 1 or 3.")
    stripe = number("stripe.size", min(settings.block_bytes, _DEFAULT_STRIPE_BYTES), int)
    bloom = [name for name in options.get("bloom.filter.columns", "").split(",") if name]
    return {
        "compression": _CODECS[codec],
        "compression_strategy": _ZSTD_STRATEGIES[level] if codec == "zstd" else "speed",
        "compression_block_size": number("compress.size", 256 << 10, int),
        "stripe_size": max(1, min(stripe, settings.target_bytes // 2)),  # a file is closed behind a stripe
        "row_index_stride": number("row.index.stride", 10_000, int),
        "dictionary_key_size_threshold": number("dictionary.key.threshold", 0.8, float),
        "bloom_filter_columns": [names.index(name) for name in bloom if name in names] or None,
        "bloom_filter_fpp": number("bloom.filter.fpp", 0.01, float),
    }


class _OrcWriter:
    """Arrow writes the file, all but its end: types that Arrow lacks, and Paimon's ids of columns.

    Rows with times that Arrow's nanoseconds do not hold are written in microseconds, as a part of their own: in the
    file there is one type of timestamps.

    Rows whose times Java could not read as Arrow writes them become stripes of their own, repaired (`orc_repair`).
    """

    def __init__(
        self, sink: pa.NativeFile, fields: Sequence[DataField], schema: pa.Schema, arguments: dict[str, Any]
    ) -> None:
        self._sink = sink
        self._fields = fields
        self._schema = schema
        self._arguments = arguments
        self._open: _Part | None = None
        self._parts: list[tuple[OrcTail, Sequence[Stripe]]] = []
        self._row_index = True

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        try:
            self._write_part_of(rows)
        except pa.ArrowException as error:
            if not is_missing_database(error):
                raise
            raise missing_database("data file") from error
        self._row_index = self._row_index and not any(map(_misleads, rows.columns))

    def _write_part_of(self, rows: pa.Table) -> None:
        """Rows, in two parts where one schema does not hold them."""
        schema = _holding(rows, self._schema)
        if schema is None:
            if rows.num_rows == 1:
                raise UnsupportedError(
                    "a row for an ORC file has a time before 1677 or after 2262, and in its column nanoseconds",
                    "data file",
                    "Write parquet, or cut the timestamps to microseconds.",
                )
            half = rows.num_rows // 2
            self._write_part_of(rows.slice(0, half))
            self._write_part_of(rows.slice(half))
            return
        columns = [_STORED.column(column, field.type) for column, field in zip(rows.columns, schema, strict=True)]
        if self._open is not None and self._open.schema != schema:
            self._finish_part()
        self._write(pa.Table.from_arrays(columns, schema=schema))

    def _write(self, table: pa.Table) -> None:
        if any(map(_is_finer_before_1970, leaves_of(table))):
            self._finish_part()
            self._write_repaired(table)
            return
        if self._open is None:
            self._open = _Part(self._sink, self._arguments, table.schema)
        self._open.writer.write(table)

    def _write_repaired(self, table: pa.Table) -> None:
        """Rows as stripes of their own, which have no row index."""
        self._row_index = False
        sink = pa.BufferOutputStream()
        with orc.ORCWriter(sink, **self._arguments) as writer:
            writer.write(table)
        content = sink.getvalue().to_pybytes()
        if not self._parts:
            self._sink.write(content[: len(MAGIC)])
        placed = []
        for data, stripe in repaired_stripes(content):
            placed.append(replace(stripe, offset=int(self._sink.tell())))
            self._sink.write(data)
        self._parts.append((OrcTail.parse(content, len(content)), placed))

    def _finish_part(self) -> None:
        if self._open is not None:
            self._parts.append(self._open.finish())
            self._open = None

    def close(self) -> None:
        if self._open is None and not self._parts:
            self.write(self._schema.empty_table())
        self._finish_part()
        tail = joined(self._parts)
        self._sink.write(tail.serialized(self._types(tail), row_index=self._row_index))

    def _types(self, tail: OrcTail) -> list[Message]:
        """Paimon's types in place of those that Arrow wrote."""
        changes = [(None, None, None), *type_changes(self._fields)]
        types = []
        for message, (kind, length, field_id) in zip(tail.type_messages(), changes, strict=True):
            changed = message if kind is None else with_kind(message, kind, length)
            types.append(changed if field_id is None else with_attribute(changed, _FIELD_ID, str(field_id)))
        return types


class _Part:
    """What one writer of Arrow's adds to the file: stripes, without the end that would follow them."""

    def __init__(self, sink: pa.NativeFile, arguments: dict[str, Any], schema: pa.Schema) -> None:
        self.schema = schema
        self._start = int(sink.tell())
        self._sink = HeldSink(sink)
        self.writer = orc.ORCWriter(self._sink, **arguments)

    def finish(self) -> tuple[OrcTail, Sequence[Stripe]]:
        """The file tail that would follow, and where the stripes are in the file."""
        tails: list[OrcTail] = []

        def keep(end: bytes) -> bytes:
            tail = OrcTail.parse(end, len(end))
            tails.append(tail)
            return end[: tail.start]

        self._sink.hold()
        self.writer.close()
        self._sink.release(keep)
        return tails[0], [replace(stripe, offset=stripe.offset + self._start) for stripe in tails[0].stripes]


def _stored_leaf(array: pa.Array, target: pa.DataType, _: Path) -> pa.Array:
    if array.type != NANOS:
        return array.cast(target)
    return (nanos.in_nanoseconds if target.unit == "ns" else nanos.micros_of)(array, target.tz)


_STORED = Rebuild(_stored_leaf)


def _holding(rows: pa.Table, schema: pa.Schema) -> pa.Schema | None:
    """The schema in which Arrow's writer gets rows: columns with times that nanoseconds do not hold in microseconds.

    None: those of a column have finer digits.
    """
    for number, field in enumerate(schema):
        leaves = [leaf for leaf in leaves_of(rows.select([number])) if leaf.type == NANOS]
        if all(map(nanos.fits_nanoseconds, leaves)):
            continue
        if any(map(nanos.has_finer_digits, leaves)):
            return None
        schema = schema.set(number, field.with_type(_in_micros(field.type)))
    return schema


def _in_micros(arrow: pa.DataType) -> pa.DataType:
    return retyped(
        arrow,
        lambda leaf: pa.timestamp("us", leaf.tz) if pa.types.is_timestamp(leaf) and leaf.unit == "ns" else None,
    )


def _is_finer_before_1970(array: pa.Array) -> bool:
    """Whether there is a time before 1970 with parts of a millisecond."""
    if not pa.types.is_timestamp(array.type) or array.type.unit not in _PER_MILLI or len(array) == array.null_count:
        return False
    numbers = array.cast(pa.int64()).drop_null().to_numpy()
    return bool(np.any((numbers < 0) & (numbers % _PER_MILLI[array.type.unit] != 0)))


def _misleads(column: pa.ChunkedArray) -> bool:
    """Whether Java would not find all of a column's values by the bounds in row indexes.

    It takes -0.0 for smaller than 0.0, which the writer does not, has no place for NaN, and looks for days before the
    Gregorian calendar by another one.
    """
    if pa.types.is_floating(column.type):
        values = column.drop_null().to_numpy()
        return bool(np.any(np.isnan(values) | ((values == 0) & np.signbit(values))))
    if column.type == NANOS:
        column = pa.chunked_array([nanos.micros_of(chunk, None) for chunk in column.chunks], pa.timestamp("us"))
    if pa.types.is_date32(column.type) or (pa.types.is_timestamp(column.type) and column.type.unit != "ns"):
        return bool(pc.any(pc.less(column, pa.scalar(_GREGORIAN, pa.timestamp("s")).cast(column.type))).as_py())
    return False


def type_changes(fields: Sequence[DataField]) -> Iterator[tuple[Kind | None, int | None, int]]:
    """What Arrow's types lack, for each type of the file in its order: the kind, the length, and Paimon's id."""
    for field in fields:
        yield from _changes(field.type, field.id, field.id, 0)


def _changes(
    data_type: DataType, own_id: int, of_field: int, depth: int
) -> Iterator[tuple[Kind | None, int | None, int]]:
    """The same of one type and those inside. `of_field`: id of the named field around it, `depth`: levels below."""
    kind = _TEXT_KINDS.get(data_type.root) if data_type.length != MAX_LENGTH else None
    yield kind, data_type.length if kind else None, own_id
    match data_type.root:
        case "ARRAY":
            yield from _changes(element_of(data_type), element_field_id(of_field, depth + 1), of_field, depth + 1)
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            yield from _changes(key, map_key_field_id(of_field, depth + 1), of_field, depth + 1)
            yield from _changes(value, element_field_id(of_field, depth + 1), of_field, depth + 1)
        case "ROW":
            yield from type_changes(data_type.fields)
