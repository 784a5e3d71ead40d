"""Writes what Arrow's parquet writer does not support: INT96, and NOT NULL fields in a ROW that may be null.

A column that is to be INT96 is written as byte strings, and the footer held back until it says otherwise (`int96`).
Columns in which a null hides nulls of NOT NULL fields are rebuilt without them (`types/nested`).
"""

import io
from collections.abc import Callable

import pyarrow as pa
import pyarrow.parquet as pq

from maintenance.format.bytes.held_sink import HeldSink
from maintenance.format.parquet.int96 import STORED, packed, with_int96
from maintenance.types.nanos import NANOS
from maintenance.types.nested import Path, Rebuild, hides_not_null, leaf_types, retyped

Open = Callable[[pa.NativeFile | io.RawIOBase, pa.Schema], pq.ParquetWriter]


class ColumnWriter:
    """A parquet writer whose timestamps of seven to nine digits become INT96.

    Args: `sink`: gets the file; `schema`: of the tables to write; `open_`: opens a writer on a sink for a schema.
    """

    def __init__(self, sink: pa.NativeFile, schema: pa.Schema, open_: Open) -> None:
        leaves = leaf_types(pa.struct(list(schema))).values()
        self._int96 = {number for number, leaf in enumerate(leaves) if _is_int96(leaf)}
        self._sink = HeldSink(sink) if self._int96 else sink
        self._schema = pa.schema([field.with_type(_stored(field.type)) for field in schema])
        self._changed = {
            stored.name
            for field, stored in zip(schema, self._schema, strict=True)
            if field.type != stored.type or hides_not_null(field.type)
        }
        self._writer = open_(self._sink, self._schema)

    def write_table(self, table: pa.Table, row_group_size: int) -> None:
        """Write a table as row groups of at most that many rows."""
        columns = [
            _REBUILD.column(column, field.type) if field.name in self._changed else column
            for field, column in zip(self._schema, table.columns, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema), row_group_size=row_group_size)

    def close(self) -> None:
        """Write the footer. The sink stays open."""
        if not isinstance(self._sink, HeldSink):
            self._writer.close()
            return
        self._sink.hold()
        self._writer.close()
        self._sink.release(lambda end: with_int96(end, self._int96))


def needs_column_writer(schema: pa.Schema) -> bool:
    """Whether Arrow's own writer does not do for tables of this schema."""
    return any(_is_int96(leaf) for leaf in leaf_types(pa.struct(list(schema))).values()) or any(
        hides_not_null(field.type) for field in schema
    )


def _is_int96(arrow: pa.DataType) -> bool:
    return bool(arrow == NANOS)


def _stored(arrow: pa.DataType) -> pa.DataType:
    """The type with byte strings in place of INT96; names, nullability and field ids stay."""
    return retyped(arrow, lambda leaf: STORED if _is_int96(leaf) else None)


def _leaf(array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
    return packed(array) if _is_int96(array.type) else array


_REBUILD = Rebuild(_leaf)
