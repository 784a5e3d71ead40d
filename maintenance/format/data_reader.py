"""Readers of data files, by file format. A new format is a class here or in its own module, and a line in `_READERS`.

Each takes columns as the file's own schema declares them and returns natural Arrow types.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format import parquet
from maintenance.format.avro_file import read_records
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import DataField

T = TypeVar("T")

_READ_AHEAD = 256 << 10


class DataReader(Protocol):
    """An open data file."""

    def read(self, fields: Sequence[DataField], filter_: pc.Expression | None) -> pa.Table:
        """All rows, without those parts of the file whose statistics rule `filter_` out."""

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, filter_: pc.Expression | None
    ) -> Iterator[pa.Table]:
        """The same in tables of at most `batch_rows` rows, decoded as they are asked for where the format allows."""


def open_data_file(source: pa.NativeFile, path: str) -> DataReader:
    """The reader for a file, by its extension. Raises: UnsupportedError, CorruptFileError."""
    extension = path.rsplit(".", 1)[-1]
    if extension not in _READERS:
        raise UnsupportedError(
            f"data files of format '{extension}' are not supported yet", path, f"There are: {', '.join(_READERS)}."
        )
    return _READERS[extension](source, path)


class _ParquetReader:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._source = source
        self._path = path

    def read(self, fields: Sequence[DataField], filter_: pc.Expression | None) -> pa.Table:
        # Gathering reads helps where each costs a round trip; on a local disk it only takes memory.
        remote = not isinstance(self._source, pa.OSFile)
        reader = parquet.open_reader(self._source, self._path, pre_buffer=remote)
        groups = self._groups(reader.num_row_groups, filter_)
        tables = [
            view.read_row_groups(groups, columns=names, use_threads=False)
            for view, names in self._views(reader, fields)
        ]
        return _natural(self._joined(tables), fields, self._path)

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, filter_: pc.Expression | None
    ) -> Iterator[pa.Table]:
        reader = parquet.open_reader(self._source, self._path, buffer_size=_READ_AHEAD)
        groups = self._groups(reader.num_row_groups, filter_)
        if not groups:
            return
        streams = [
            view.iter_batches(batch_rows, groups, columns=names, use_threads=False)
            for view, names in self._views(reader, fields)
        ]
        for batches in zip(*streams, strict=True):
            yield _natural(self._joined([pa.Table.from_batches([b]) for b in batches]), fields, self._path)

    def _views(self, reader: pq.ParquetFile, fields: Sequence[DataField]) -> list[tuple[pq.ParquetFile, list[str]]]:
        """Readers and what to read with each: all but INT96 in nanoseconds, then INT96 in microseconds.

        INT96 columns up to TIMESTAMP(6) need no nanoseconds and may be out of their range; finer ones are read in both.
        """
        int96 = parquet.int96_columns(reader)
        in_micros = [field.name for field in fields if field.name in int96]
        in_nanos = [f.name for f in fields if f.name not in int96 or (f.type.precision or 0) > 6]
        views = [(reader, in_nanos)] if in_nanos or not in_micros else []
        if in_micros:
            views.append((parquet.open_reader(self._source, self._path, int96_unit="us"), in_micros))
        return views

    def _joined(self, tables: Sequence[pa.Table]) -> pa.Table:
        """What the views read, as one table."""
        first, *in_micros = tables
        for name in in_micros[0].column_names if in_micros else ():
            column = in_micros[0].column(name)
            if name not in first.column_names:
                first = first.append_column(name, column)
            elif parquet.wraps_around(first.column(name), column):
                raise UnsupportedError(
                    f"column '{name}' holds timestamps before 1677-09-21 or after 2262-04-11 in nanoseconds",
                    self._path,
                    "Leave the column out of the read.",
                )
        return first

    def _groups(self, count: int, filter_: pc.Expression | None) -> list[int]:
        if filter_ is None or count <= 1:
            return list(range(count))
        return parquet.matching_row_groups(self._source, filter_)


class _OrcReader:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._path = path
        try:
            self._file = orc.ORCFile(source)
        except pa.ArrowInvalid as error:
            raise CorruptFileError(f"the file is not ORC: {error}", path, "Restore it, or roll back.") from error

    def read(self, fields: Sequence[DataField], filter_: pc.Expression | None) -> pa.Table:
        names = [field.name for field in fields]
        return _without_padding(_natural(self._decoded(partial(self._file.read, names)), fields, self._path), fields)

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, filter_: pc.Expression | None
    ) -> Iterator[pa.Table]:
        names = [field.name for field in fields]
        for stripe in range(self._file.nstripes):
            batch = self._decoded(partial(self._file.read_stripe, stripe, names))
            table = _without_padding(_natural(pa.Table.from_batches([batch]), fields, self._path), fields)
            for start in range(0, table.num_rows, batch_rows):
                yield table.slice(start, batch_rows)

    def _decoded(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except pa.ArrowInvalid as error:
            if "out of range for nanosecond" not in str(error):
                raise CorruptFileError(
                    f"the file is damaged: {error}", self._path, "Restore it, or roll back."
                ) from error
            raise UnsupportedError(
                f"ORC timestamps before 1677-09-21 or after 2262-04-11 are not supported yet: {error}",
                self._path,
                "Leave the column out of the read, or store the table as parquet.",
            ) from error


class _AvroReader:
    """Avro holds rows, and no reader of columns exists: records are decoded whole and then put into columns."""

    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._records: list[dict[str, Any]] = read_records(source.read(), path, dict)
        self._path = path

    def read(self, fields: Sequence[DataField], filter_: pc.Expression | None) -> pa.Table:
        columns = [_avro_column([record.get(field.name) for record in self._records], field) for field in fields]
        return pa.Table.from_arrays(columns, names=[field.name for field in fields])

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, filter_: pc.Expression | None
    ) -> Iterator[pa.Table]:
        table = self.read(fields, None)
        for start in range(0, table.num_rows, batch_rows):
            yield table.slice(start, batch_rows)


_READERS: Mapping[str, Callable[[pa.NativeFile, str], DataReader]] = {
    "parquet": _ParquetReader,
    "orc": _OrcReader,
    "avro": _AvroReader,
}


def _natural(table: pa.Table, fields: Sequence[DataField], path: str) -> pa.Table:
    """The columns in the order wanted, in natural types."""
    for field in fields:
        if field.name not in table.column_names:
            raise CorruptFileError(
                f"the file has no column '{field.name}'", path, "Restore it, or roll back to a whole snapshot."
            )
    try:
        columns = [parquet.natural(table.column(field.name), field) for field in fields]
    except pa.ArrowInvalid as error:
        raise CorruptFileError(
            f"the file holds values that its columns cannot: {error}", path, "Leave these columns out of the read."
        ) from error
    if not fields:
        return table
    return pa.Table.from_arrays(columns, names=[field.name for field in fields])


def _without_padding(table: pa.Table, fields: Sequence[DataField]) -> pa.Table:
    """ORC pads a CHAR(n) with blanks up to its length, and Java's reader takes them off."""
    for number, field in enumerate(fields):
        if field.type.root == "CHAR":
            table = table.set_column(number, field.name, pc.utf8_rtrim(table.column(number), " "))
    return table


def _avro_column(values: list[Any], field: DataField) -> pa.Array:
    """Stored numbers and bytes of an Avro file as a column. Paimon has millis up to TIMESTAMP(3), else micros."""
    wanted = arrow_type(field.type, f"column {field.name}")
    if field.type.is_nested:
        raise UnsupportedError(
            f"type {field.type} in an Avro data file is not supported yet",
            f"column {field.name}",
            "Leave the column out of the read.",
        )
    if field.type.is_timestamp:
        unit = "ms" if (field.type.precision or 0) <= 3 else "us"
        stored = pa.array(values, pa.int64()).cast(pa.timestamp(unit, tz=wanted.tz))
        return stored.cast(wanted)
    if field.type.root in ("DATE", "TIME"):
        return pa.array(values, pa.int32()).cast(wanted)
    if field.type.root == "DECIMAL":
        words = (
            None if v is None else int.from_bytes(v, "big", signed=True).to_bytes(16, "little", signed=True)
            for v in values
        )
        return pa.array(words, pa.binary(16)).view(wanted)
    return pa.array(values, wanted)
