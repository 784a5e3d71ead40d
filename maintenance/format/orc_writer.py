"""Writing ORC data files. Source: data section 1.5, Java `OrcTypeUtil`, `OrcWriterFactory`."""

from collections.abc import Sequence

import pyarrow as pa
from pyarrow import orc

from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.data_format import FileSettings, OpenWriter, format_options
from maintenance.types.arrow import arrow_type, element_of, map_parts
from maintenance.types.data_type import DataField, DataType

_CODECS = {"zstd": "zstd", "lz4": "lz4", "snappy": "snappy", "zlib": "zlib", "none": "uncompressed"}
# The levels of zstd that ORC's C++ writer has, and what it calls them.
_ZSTD_STRATEGIES = {1: "speed", 3: "compression"}
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
            return pa.struct([(field.name, orc_type(field.type, where)) for field in data_type.fields])
    return arrow_type(data_type, where)


def prepare_writer(fields: Sequence[DataField], settings: FileSettings) -> OpenWriter:
    """See `DataFormat`."""
    schema = pa.schema([(field.name, orc_type(field.type, f"column {field.name}")) for field in fields])
    arguments = _arguments(schema.names, settings)
    return lambda sink: _OrcWriter(sink, schema, arguments)


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
    def __init__(self, sink: pa.NativeFile, schema: pa.Schema, arguments: dict[str, object]) -> None:
        self._sink = sink
        self._schema = schema
        self._writer = orc.ORCWriter(sink, **arguments)
        self._empty = True

    @property
    def size(self) -> int:
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        self._writer.write(rows.cast(self._schema))
        self._empty = False

    def close(self) -> None:
        if self._empty:
            self._writer.write(self._schema.empty_table())
        self._writer.close()
