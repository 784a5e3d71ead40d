"""Writing ORC data files. Source: data section 1.5, Java `OrcTypeUtil`, `OrcWriterFactory`."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from maintenance.errors import DataError, OptionError, UnsupportedError
from maintenance.format.data_format import FileSettings, OpenWriter, format_options
from maintenance.format.held_sink import HeldSink
from maintenance.format.orc_tail import Kind, OrcTail, with_attribute, with_kind
from maintenance.format.system_fields import element_field_id, map_key_field_id
from maintenance.types.arrow import arrow_type, element_of, map_parts
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType
from maintenance.types.nested import Path, Rebuild

_CODECS = {"zstd": "zstd", "lz4": "lz4", "snappy": "snappy", "zlib": "zlib", "none": "uncompressed"}
# The levels of zstd that ORC's C++ writer has, and what it calls them.
_ZSTD_STRATEGIES = {1: "speed", 3: "compression"}
_TEXT_KINDS = {"CHAR": Kind.CHAR, "VARCHAR": Kind.VARCHAR}
_FIELD_ID = "paimon.id"
_GREGORIAN = -141_427 * 86_400  # 1582-10-15 in seconds since 1970
_PER_MILLI = {"us": 1000, "ns": 1_000_000}
_DEFAULT_STRIPE_BYTES = 64 << 20
_HONOURED = (
    "compress",
    "compress.size",
    "compression.zstd.level",
    "stripe.size",
    "row.index.stride",
    "dictionary.key.threshold",
    "bloom.filter.columns",
    "bloom.filter.fpp",
    "timestamp-ltz.legacy.type",
)
# How rows are handed to Java's writer, and how it pads blocks of HDFS.
_HARMLESS = ("write.batch-size", "block.padding", "block.padding.tolerance", "block.size", "rows.between.memory.checks")


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
    return lambda sink: _OrcWriter(sink, fields, schema, arguments)


def _arguments(names: Sequence[str], settings: FileSettings) -> dict[str, object]:
    """Arguments of Arrow's writer. Raises: OptionError, UnsupportedError."""
    options = format_options(settings, _HONOURED, _HARMLESS)
    codec = options.get("compress", settings.compression).lower()
    if codec not in _CODECS:
        raise OptionError(
            f"'file.compression' = '{codec}' is no codec of ORC", "options", f"Use one of {', '.join(_CODECS)}."
        )
    level = int(options.get("compression.zstd.level", settings.zstd_level))
    if codec == "zstd" and level not in _ZSTD_STRATEGIES:
        raise UnsupportedError(
            f"option 'file.compression.zstd-level' = '{level}' is not supported for ORC", "options", "Use 1 or 3."
        )
    stripe = int(options.get("stripe.size", min(settings.block_bytes, _DEFAULT_STRIPE_BYTES)))
    bloom = [name for name in options.get("bloom.filter.columns", "").split(",") if name]
    return {
        "compression": _CODECS[codec],
        "compression_strategy": _ZSTD_STRATEGIES[level] if codec == "zstd" else "speed",
        "compression_block_size": int(options.get("compress.size", 256 << 10)),
        "stripe_size": min(stripe, settings.target_bytes),
        "row_index_stride": int(options.get("row.index.stride", 10_000)),
        "dictionary_key_size_threshold": float(options.get("dictionary.key.threshold", 0.8)),
        "bloom_filter_columns": [names.index(name) for name in bloom if name in names] or None,
        "bloom_filter_fpp": float(options.get("bloom.filter.fpp", 0.01)),
    }


class _OrcWriter:
    """Arrow writes the file, all but its types: texts with a length, and the ids that Paimon gives to columns."""

    def __init__(
        self, sink: pa.NativeFile, fields: Sequence[DataField], schema: pa.Schema, arguments: dict[str, object]
    ) -> None:
        self._sink = HeldSink(sink)
        self._fields = fields
        self._schema = schema
        self._writer = orc.ORCWriter(self._sink, **arguments)
        self._row_index = True
        self._empty = True

    @property
    def size(self) -> int:
        return self._sink.tell()

    def write(self, rows: pa.Table) -> None:
        columns = [_STORED.column(column, field.type) for column, field in zip(rows.columns, self._schema, strict=True)]
        self._writer.write(pa.Table.from_arrays(columns, schema=self._schema))
        self._row_index = self._row_index and not any(map(_misleads, rows.columns))
        self._empty = False

    def close(self) -> None:
        if self._empty:
            self._writer.write(self._schema.empty_table())
        self._sink.hold()
        self._writer.close()
        self._sink.release(self._with_types)

    def _with_types(self, end: bytes) -> bytes:
        """The end of the file with Paimon's types. `end`: all that was written on closing, maybe stripes among it."""
        tail = OrcTail.parse(end, len(end))
        changes = [(None, None, None), *type_changes(self._fields)]
        types = []
        for message, (kind, length, field_id) in zip(tail.type_messages(), changes, strict=True):
            changed = message if kind is None else with_kind(message, kind, length)
            types.append(changed if field_id is None else with_attribute(changed, _FIELD_ID, str(field_id)))
        return end[: tail.start] + tail.serialized(types, row_index=self._row_index)


def _stored_leaf(array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
    """A column, or a part of one, as Arrow writes it.

    Before 1970 Arrow counts both seconds and nanoseconds downwards. Java reads these, but for parts of a millisecond.
    """
    if pa.types.is_timestamp(target) and target.unit in _PER_MILLI and len(array) > array.null_count:
        numbers = array.cast(pa.int64()).drop_null().to_numpy()
        if np.any((numbers < 0) & (numbers % _PER_MILLI[target.unit] != 0)):
            raise DataError(
                "a time before 1970 with parts of a millisecond, which Java cannot read from ORC",
                "column " + (".".join(path) or "of timestamps"),
                "Cut the times off at milliseconds, or set file.format = parquet.",
            )
    return array.cast(target)


_STORED = Rebuild(_stored_leaf)


def _misleads(column: pa.ChunkedArray) -> bool:
    """Whether Java would not find all of a column's values by the bounds in row indexes.

    It takes -0.0 for smaller than 0.0, which the writer does not, has no place for NaN, and looks for days before the
    Gregorian calendar by another one.
    """
    if pa.types.is_floating(column.type):
        values = column.drop_null().to_numpy()
        return bool(np.any(np.isnan(values) | ((values == 0) & np.signbit(values))))
    # Nanoseconds begin in 1677.
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
