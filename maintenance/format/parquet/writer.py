"""Writing parquet data files with Paimon's columns, field ids and physical types.

Everything follows Paimon's own writer: TIMESTAMP(7..9) is INT96, which needs a writer of its own (`int96`), for Paimon
before 2.0 reads INT64 nanoseconds as microseconds. Source: seed 000 (parquet types), Java `ParquetSchemaConverter`.
"""

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from maintenance.errors import OptionError
from maintenance.format.data_format import FileSettings, OpenWriter, format_options, number_of_option
from maintenance.format.parquet.column_writer import ColumnWriter, needs_column_writer
from maintenance.format.parquet.row_groups import RowGroupsWriter
from maintenance.format.rows.system_fields import element_field_id, map_key_field_id
from maintenance.format.variant.inference import InferenceOptions, inferred
from maintenance.format.variant.shredding import Shredding, shreddings
from maintenance.options.formats import PARQUET_ENABLE_DICTIONARY, PARQUET_HARMLESS, PARQUET_HONOURED
from maintenance.types.arrow import VARIANT, arrow_type, element_of, map_parts
from maintenance.types.data_type import DataField, DataType
from maintenance.types.nanos import NANOS

_CODECS = {"zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "lz4": "lz4", "none": "none", "uncompressed": "none"}
_PAGE_VERSIONS = {"PARQUET_1_0": "1.0", "V1": "1.0", "PARQUET_2_0": "2.0", "V2": "2.0"}
VariantPath = tuple[str, ...]
"""Where variants stand: a column, or a field of a ROW that is one."""
_UNSHREDDED: Mapping[VariantPath, Shredding] = {}
_SAMPLE_ROWS = 1 << 15
_FIRST_ROWS = 1 << 11
_DICTIONARY_BYTES = 1 << 20
_REPEATS = 4
# A file whose first row group has fewer has no others that would be worth a thread.
_GROUP_ROWS = 1 << 13


@dataclass(frozen=True, slots=True)
class ParquetOptions:
    """How parquet files are written. `dictionary`: whether columns that repeat get one; None = plain pages of 1 MB."""

    codec: str = "zstd"
    level: int | None = 1
    dictionary: bool = True
    page_bytes: int | None = None
    dictionary_bytes: int | None = None
    page_version: str = "1.0"

    @classmethod
    def of(cls, settings: FileSettings) -> "ParquetOptions":
        """The options of files. Raises: OptionError: a codec that parquet lacks; UnsupportedError: another key."""
        options = format_options(settings, PARQUET_HONOURED, PARQUET_HARMLESS)

        def number(key: str, default: int | None) -> int | None:
            return number_of_option(settings, options, key, default, int)

        name = options.get("compression", settings.compression).lower()
        if name not in _CODECS:
            raise OptionError(
                f"'file.compression' = '{name}' is not a codec of parquet",
                "options",
                f"Use one of {', '.join(_CODECS)}.",
            )
        level = number("compression.codec.zstd.level", settings.zstd_level) if name == "zstd" else None
        version = options.get("writer.version", "PARQUET_1_0").upper()
        if version not in _PAGE_VERSIONS:
            raise OptionError(
                f"'parquet.writer.version' = '{version}'", "options", f"Use one of {', '.join(_PAGE_VERSIONS)}."
            )
        return cls(
            _CODECS[name],
            level,
            PARQUET_ENABLE_DICTIONARY.of(settings.options),
            number("page.size", None),
            number("dictionary.page.size", None),
            _PAGE_VERSIONS[version],
        )


def physical_schema(fields: Sequence[DataField], shredded: Mapping[VariantPath, Shredding] = _UNSHREDDED) -> pa.Schema:
    """The Arrow schema that becomes the file's schema: natural types, NOT NULL as REQUIRED, Paimon's field ids.

    Args: `shredded`: variants that are stored in parts.
    """
    plain = [_physical_field(field.name, field.type, field.id, field.id, 0) for field in fields]
    return pa.schema([_with_parts(field, (field.name,), shredded) for field in plain])


def _with_parts(field: pa.Field, path: VariantPath, shredded: Mapping[VariantPath, Shredding]) -> pa.Field:
    if path in shredded:
        return field.with_type(shredded[path].stored)
    if not any(other[: len(path)] == path for other in shredded):
        return field
    return field.with_type(pa.struct([_with_parts(inner, (*path, inner.name), shredded) for inner in field.type]))


def _physical_field(name: str, data_type: DataType, own_id: int, of_field: int, depth: int) -> pa.Field:
    """A column or a part of one. `of_field`: id of the named field around it, `depth`: levels below that."""
    arrow = arrow_type(data_type, f"column {name}")
    match data_type.root:
        case "ARRAY" | "VECTOR":
            element = element_of(data_type)
            arrow = pa.list_(_element_field("element", element, of_field, depth + 1))
        case "MAP" | "MULTISET":
            key, value = map_parts(data_type)
            key_id = map_key_field_id(of_field, depth + 1)
            key_field = _physical_field("key", key.as_nullable(False), key_id, of_field, depth + 1)
            arrow = pa.map_(key_field, _element_field("value", value, of_field, depth + 1))
        case "VARIANT":
            parts = [part.with_metadata({"PARQUET:field_id": str(n)}) for n, part in enumerate(VARIANT)]
            arrow = pa.struct(parts)
        case "ROW":
            arrow = pa.struct([_physical_field(f.name, f.type, f.id, f.id, 0) for f in data_type.fields])
    return pa.field(name, arrow, data_type.nullable, {"PARQUET:field_id": str(own_id)})


def _element_field(name: str, data_type: DataType, of_field: int, depth: int) -> pa.Field:
    return _physical_field(name, data_type, element_field_id(of_field, depth), of_field, depth)


def open_writer(
    sink: pa.NativeFile, schema: pa.Schema, options: ParquetOptions, dictionary_columns: Sequence[str]
) -> pq.ParquetWriter | ColumnWriter:
    """A writer of one data file. `dictionary_columns`: those worth a dictionary; the others are written plain."""
    # Arrow leaves NaN out of the bounds, and Paimon's readers do not look for it beyond them.
    bounded = [field.name for field in schema if not (pa.types.is_floating(field.type) or _is_nanos(field.type))]

    def open_(target: pa.NativeFile | io.RawIOBase, stored: pa.Schema) -> pq.ParquetWriter:
        return pq.ParquetWriter(
            target,
            stored,
            compression=options.codec,
            compression_level=options.level,
            use_dictionary=list(dictionary_columns),
            data_page_size=options.page_bytes,
            dictionary_pagesize_limit=options.dictionary_bytes,
            version="2.6",
            data_page_version=options.page_version,
            store_schema=False,
            store_decimal_as_integer=True,
            write_time_adjusted_to_utc=True,
            write_statistics=bounded,
        )

    return ColumnWriter(sink, schema, open_) if needs_column_writer(schema) else open_(sink, schema)


def _is_nanos(arrow: pa.DataType) -> bool:
    return bool(arrow == NANOS)


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns of a file. `shredded`: how variants are; `inference`: by the first rows, None = as said."""

    fields: tuple[DataField, ...]
    schema: pa.Schema
    shredded: Mapping[VariantPath, Shredding]
    inference: InferenceOptions | None = None

    @classmethod
    def of(cls, fields: Sequence[DataField], settings: FileSettings) -> "_Columns":
        variants = {field.name for field in fields if field.type.root == "VARIANT"}
        said = shreddings(settings.options)
        shredded: dict[VariantPath, Shredding] = {(name,): how for name, how in said.items() if name in variants}
        inference = InferenceOptions.of(settings.options) if _variant_paths(fields) and not said else None
        return cls(tuple(fields), physical_schema(fields, shredded), shredded, inference)

    def inferred(self, rows: pa.Table) -> "_Columns":
        """The same once there are rows."""
        if self.inference is None or not rows.num_rows:
            return self
        first = rows.slice(0, self.inference.rows)
        columns = {field.name: column for field, column in zip(self.fields, first.columns, strict=True)}
        variants = {path: _at(columns[path[0]], path[1:]) for path in _variant_paths(self.fields)}
        shredded = inferred(variants, self.inference)
        return _Columns(self.fields, physical_schema(self.fields, shredded), shredded)


def _variant_paths(fields: Sequence[DataField], around: VariantPath = ()) -> list[VariantPath]:
    """The variants that may be stored in parts, in the order of the columns. Source: Java `getPathsToVariant`.

    One that is NOT NULL inside a ROW stays whole, unlike in Java: a ROW that is null would have a null in it.
    """
    paths = list[VariantPath]()
    for field in fields:
        path = (*around, field.name)
        if field.type.root == "VARIANT" and (field.type.nullable or not around):
            paths.append(path)
        elif field.type.root == "ROW":
            paths += _variant_paths(field.type.fields, path)
    return paths


def _at(column: pa.ChunkedArray, path: VariantPath) -> pa.ChunkedArray:
    """The field of rows that a path leads to; null where a row around it is."""
    for name in path:
        chunks = [chunk.flatten()[chunk.type.get_field_index(name)] for chunk in column.chunks]
        column = pa.chunked_array(chunks, column.type.field(name).type)
    return column


class _ParquetWriter:
    """Every table written is a row group. Which columns get a dictionary, and which parts of variants a column, the
    first of them decides."""

    def __init__(self, sink: pa.NativeFile, columns: _Columns, options: ParquetOptions, settings: FileSettings) -> None:
        self._sink = sink
        self._columns = columns
        self._options = options
        self._settings = settings
        self._writer: pq.ParquetWriter | ColumnWriter | RowGroupsWriter | None = None

    @property
    def size(self) -> int:
        if isinstance(self._writer, RowGroupsWriter):
            self._writer.settle(self._settings.target_bytes)
        return int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        if self._writer is None:
            self._columns = self._columns.inferred(rows)
            self._writer = self._opened(rows)
        schema, shredded = self._columns.schema, self._columns.shredded
        columns = [
            pa.chunked_array(
                [_in_parts(chunk, (field.name,), shredded, field.type) for chunk in column.chunks], field.type
            )
            if any(path[0] == field.name for path in shredded)
            else column
            for field, column in zip(schema, rows.columns, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=max(1, rows.num_rows))

    def _opened(self, rows: pa.Table) -> pq.ParquetWriter | ColumnWriter | RowGroupsWriter:
        """A writer for a file that begins with these rows."""
        limit = self._options.dictionary_bytes or _DICTIONARY_BYTES
        repeating = _dictionary_columns(rows, limit) if self._options.dictionary else []
        schema, options = self._columns.schema, self._options
        if self._settings.threads > 1 and rows.num_rows >= _GROUP_ROWS:
            return RowGroupsWriter(
                self._sink, lambda sink: open_writer(sink, schema, options, repeating), self._settings.threads
            )
        return open_writer(self._sink, schema, options, repeating)

    def close(self) -> None:
        if self._writer is None:
            self.write(self._columns.schema.empty_table())
        assert self._writer is not None
        self._writer.close()


def _in_parts(
    array: pa.Array, path: VariantPath, shredded: Mapping[VariantPath, Shredding], stored: pa.DataType
) -> pa.Array:
    """Values as the file has them, of type `stored`."""
    if array.type == stored:  # of an empty file, or of another field
        return array
    if path in shredded:
        return shredded[path].shredded(array)
    inner = [
        _in_parts(field, (*path, part.name), shredded, part.type)
        for part, field in zip(stored, array.flatten(), strict=True)
    ]
    return pa.StructArray.from_arrays(inner, fields=list(stored), mask=array.is_null() if array.null_count else None)


def _dictionary_columns(rows: pa.Table, dictionary_bytes: int) -> list[str]:
    """Columns whose values repeat enough for a dictionary: building one for unique values costs most of encoding."""
    return [
        field.name
        for field in rows.schema
        if not (pa.types.is_boolean(field.type) or pa.types.is_nested(field.type))
        and _repeats(rows.column(field.name), dictionary_bytes)
    ]


def _repeats(column: pa.ChunkedArray, dictionary_bytes: int) -> bool:
    """Whether each value comes `_REPEATS` times on average, and all fit into a dictionary.

    The first values tell it of most columns. Of the others, values from everywhere do: how many of a sample are
    different grows with how many there are of all.
    """
    count = len(column)
    if count > _FIRST_ROWS:
        different = pc.count_distinct(column.slice(0, _FIRST_ROWS)).as_py()
        if different * _REPEATS <= _FIRST_ROWS:
            return True
        if different > _different_of_sample(_FIRST_ROWS, count):
            return False
    if count <= _SAMPLE_ROWS:
        return bool(pc.count_distinct(column).as_py() * _REPEATS <= count)
    sample = column.take(pa.array(np.linspace(0, count - 1, _SAMPLE_ROWS, dtype=np.int64)))
    fitting = dictionary_bytes * count / max(1, column.nbytes)
    return bool(pc.count_distinct(sample).as_py() <= _different_of_sample(_SAMPLE_ROWS, min(count / _REPEATS, fitting)))


def _different_of_sample(size: int, different: float) -> float:
    """How many values of a sample differ on average, if `different` values are all equally frequent."""
    return different * -math.expm1(-size / different)


def prepare_writer(fields: Sequence[DataField], settings: FileSettings) -> OpenWriter:
    options, columns = ParquetOptions.of(settings), _Columns.of(fields, settings)
    return lambda sink: _ParquetWriter(sink, columns, options, settings)
