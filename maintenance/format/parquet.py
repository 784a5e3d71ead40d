"""Parquet data files with Paimon's columns, field ids and physical types.

Everything follows Paimon's own writer: TIMESTAMP(7..9) is INT96, which needs a writer of its own (`int96`), for Paimon
before 2.0 reads INT64 nanoseconds as microseconds. Source: seed 000 (parquet types), Java `ParquetSchemaConverter`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from maintenance.errors import CorruptFileError, OptionError
from maintenance.format.int96 import Int96Writer, int96_names
from maintenance.format.system_fields import element_field_id, map_key_field_id
from maintenance.options import table as table_options
from maintenance.types.arrow import arrow_type, element_of, in_unit, map_parts
from maintenance.types.data_type import DataField, DataType

EXTENSION = "parquet"

_CODECS = {"zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "lz4": "lz4", "none": "none", "uncompressed": "none"}


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """How parquet files are written. `row_group_bytes`: of a row group in memory."""

    codec: str = "zstd"
    level: int | None = 1
    row_group_bytes: int = 128 << 20

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "ParquetOptions":
        """The options of a table. Raises: OptionError: a codec that parquet lacks."""
        name = table_options.FILE_COMPRESSION.of(options).lower()
        if name not in _CODECS:
            raise OptionError(
                f"'file.compression' = '{name}' is no codec of parquet", "options", f"Use one of {', '.join(_CODECS)}."
            )
        level = table_options.FILE_COMPRESSION_ZSTD_LEVEL.of(options) if name == "zstd" else None
        return cls(_CODECS[name], level, table_options.FILE_BLOCK_SIZE.of(options) or 128 << 20)


def physical_schema(fields: Sequence[DataField]) -> pa.Schema:
    """The Arrow schema that becomes the file's schema: natural types, NOT NULL as REQUIRED, Paimon's field ids."""
    return pa.schema([_physical_field(field.name, field.type, field.id, field.id, 0) for field in fields])


def _physical_field(name: str, data_type: DataType, own_id: int, of_field: int, depth: int) -> pa.Field:
    """A column or a part of one. `of_field`: id of the named field around it, `depth`: levels below that."""
    arrow = arrow_type(data_type, f"column {name}")
    match data_type.root:
        case "ARRAY":
            element = element_of(data_type)
            arrow = pa.list_(_element_field("element", element, of_field, depth + 1))
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            key_id = map_key_field_id(of_field, depth + 1)
            key_field = _physical_field("key", key.as_nullable(False), key_id, of_field, depth + 1)
            arrow = pa.map_(key_field, _element_field("value", value, of_field, depth + 1))
        case "ROW":
            arrow = pa.struct([_physical_field(f.name, f.type, f.id, f.id, 0) for f in data_type.fields])
    return pa.field(name, arrow, data_type.nullable, {"PARQUET:field_id": str(own_id)})


def _element_field(name: str, data_type: DataType, of_field: int, depth: int) -> pa.Field:
    return _physical_field(name, data_type, element_field_id(of_field, depth), of_field, depth)


def open_writer(
    sink: pa.NativeFile, schema: pa.Schema, options: ParquetOptions, dictionary_columns: Sequence[str]
) -> pq.ParquetWriter | Int96Writer:
    """A writer of one data file. `dictionary_columns`: those worth a dictionary; the others are written plain."""
    int96 = int96_names(schema)
    # Arrow leaves NaN out of the bounds, and Paimon's readers do not look for it beyond them.
    unbounded = {*int96, *(field.name for field in schema if pa.types.is_floating(field.type))}

    def open_(target: pa.NativeFile, stored: pa.Schema) -> pq.ParquetWriter:
        return pq.ParquetWriter(
            target,
            stored,
            compression=options.codec,
            compression_level=options.level,
            use_dictionary=list(dictionary_columns),
            version="2.6",
            data_page_version="1.0",
            store_schema=False,
            store_decimal_as_integer=True,
            write_time_adjusted_to_utc=True,
            write_statistics=[name for name in schema.names if name not in unbounded],
        )

    return Int96Writer(sink, schema, int96, open_) if int96 else open_(sink, schema)


def open_reader(
    source: pa.NativeFile, where: str, *, pre_buffer: bool = False, buffer_size: int = 0, int96_unit: str = "ns"
) -> pq.ParquetFile:
    """A data file opened for reading.

    Args: `pre_buffer`: fetch whole column chunks together; `buffer_size`: bytes to read ahead of each column instead of
        holding whole column chunks, 0 = hold them; `int96_unit`: of INT96 timestamps, those it cannot hold wrap around.
    Raises: CorruptFileError: it is no parquet file.
    """
    try:
        return pq.ParquetFile(
            source, pre_buffer=pre_buffer, buffer_size=buffer_size, coerce_int96_timestamp_unit=int96_unit
        )
    except pa.ArrowInvalid as error:
        raise CorruptFileError(
            f"the file is not parquet: {error}", where, "Restore the file, or roll back to a snapshot without it."
        ) from error


def matching_row_groups(source: pa.NativeFile, filter_: pc.Expression) -> list[int]:
    """Numbers of the row groups whose statistics do not rule the filter out."""
    fragment = pads.ParquetFileFormat().make_fragment(source)
    return [group.id for group in fragment.subset(filter_).row_groups]


def int96_columns(reader: pq.ParquetFile) -> set[str]:
    """Columns that a file holds as INT96."""
    columns = map(reader.schema.column, range(len(reader.schema)))
    return {column.path for column in columns if column.physical_type == "INT96"}


def wraps_around(nanos: pa.ChunkedArray, micros: pa.ChunkedArray) -> bool:
    """Whether an INT96 column has values out of the range of nanoseconds. `nanos`, `micros`: the column in both units.

    Java stores a time before 1970 with a negative time of day, which Arrow takes for an unsigned number: it is right in
    nanoseconds, but off by 2^64 / 1000 in microseconds. Thus the years 2262 to 2554 look like those from 1677 to 1970,
    and 1385 to 1677 like 1970 to 2262: these are not found.
    """
    exact = _numbers(nanos)
    off = _numbers(micros) - exact // 1000
    return not bool(np.all((np.abs(off) <= 1) | ((exact < 0) & (np.abs(off - 2**64 // 1000) <= 1))))


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.cast(pa.int64()).fill_null(0).to_numpy())


def natural(column: pa.ChunkedArray, field: DataField) -> pa.ChunkedArray:
    """A column as read, cast to the natural Arrow type of its Paimon type where the file holds another form."""
    wanted = arrow_type(field.type, f"column {field.name}")
    if column.type == wanted:
        return column
    if pa.types.is_timestamp(column.type) and pa.types.is_timestamp(wanted):
        # Units differ, or the zone: Paimon's readers take the number as it stands.
        return in_unit(column.cast(pa.timestamp(column.type.unit)), wanted.unit).cast(wanted)
    return column.cast(wanted)
