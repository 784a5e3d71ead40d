"""Reading parquet data files. Source: seed 000 (parquet types), Java `ParquetReaderFactory`."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.data_format import DataFormat, natural_table
from maintenance.format.parquet_writer import prepare_writer
from maintenance.types.data_type import DataField

_READ_AHEAD = 256 << 10


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


class _ParquetReader:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._source = source
        self._path = path

    def read(self, fields: Sequence[DataField], filter_: pc.Expression | None) -> pa.Table:
        # Gathering reads helps where each costs a round trip; on a local disk it only takes memory.
        remote = not isinstance(self._source, pa.OSFile)
        reader = open_reader(self._source, self._path, pre_buffer=remote)
        groups = self._groups(reader.num_row_groups, filter_)
        tables = [
            view.read_row_groups(groups, columns=names, use_threads=False)
            for view, names in self._views(reader, fields)
        ]
        return natural_table(self._joined(tables), fields, self._path)

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, filter_: pc.Expression | None
    ) -> Iterator[pa.Table]:
        reader = open_reader(self._source, self._path, buffer_size=_READ_AHEAD)
        groups = self._groups(reader.num_row_groups, filter_)
        if not groups:
            return
        streams = [
            view.iter_batches(batch_rows, groups, columns=names, use_threads=False)
            for view, names in self._views(reader, fields)
        ]
        for batches in zip(*streams, strict=True):
            yield natural_table(self._joined([pa.Table.from_batches([b]) for b in batches]), fields, self._path)

    def positions(self, filter_: pc.Expression | None) -> np.ndarray | None:
        if filter_ is None:
            return None
        metadata = open_reader(self._source, self._path).metadata
        counts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        starts = np.cumsum([0, *counts])
        groups = self._groups(metadata.num_row_groups, filter_)
        return np.concatenate([np.arange(0), *(np.arange(starts[n], starts[n + 1]) for n in groups)])

    def _views(self, reader: pq.ParquetFile, fields: Sequence[DataField]) -> list[tuple[pq.ParquetFile, list[str]]]:
        """Readers and what to read with each: all but INT96 in nanoseconds, then INT96 in microseconds.

        INT96 columns up to TIMESTAMP(6) need no nanoseconds and may be out of their range; finer ones are read in both.
        """
        int96 = int96_columns(reader)
        in_micros = [field.name for field in fields if field.name in int96]
        in_nanos = [f.name for f in fields if f.name not in int96 or (f.type.precision or 0) > 6]
        views = [(reader, in_nanos)] if in_nanos or not in_micros else []
        if in_micros:
            views.append((open_reader(self._source, self._path, int96_unit="us"), in_micros))
        return views

    def _joined(self, tables: Sequence[pa.Table]) -> pa.Table:
        """What the views read, as one table."""
        first, *in_micros = tables
        for name in in_micros[0].column_names if in_micros else ():
            column = in_micros[0].column(name)
            if name not in first.column_names:
                first = first.append_column(name, column)
            elif wraps_around(first.column(name), column):
                raise UnsupportedError(
                    f"column '{name}' holds timestamps before 1677-09-21 or after 2262-04-11 in nanoseconds",
                    self._path,
                    "Leave the column out of the read.",
                )
        return first

    def _groups(self, count: int, filter_: pc.Expression | None) -> list[int]:
        if filter_ is None or count <= 1:
            return list(range(count))
        return matching_row_groups(self._source, filter_)


def _open_reader(source: pa.NativeFile, path: str, _: Mapping[str, str]) -> _ParquetReader:
    return _ParquetReader(source, path)


PARQUET = DataFormat("parquet", _open_reader, prepare_writer)
