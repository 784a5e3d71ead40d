"""Reading parquet data files. Source: seed 000 (parquet types), Java `ParquetReaderFactory`."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from maintenance.format.data_format import EVERY_ROW, DataFormat, Wanted, decoding, natural_table
from maintenance.format.int96 import without_int96
from maintenance.format.parquet_writer import prepare_writer
from maintenance.types.data_type import DataField

_READ_AHEAD = 256 << 10


def open_reader(source: pa.NativeFile, where: str, *, pre_buffer: bool = False, buffer_size: int = 0) -> pq.ParquetFile:
    """A data file opened for reading; INT96 columns read as byte strings, which `natural` understands.

    Args: `pre_buffer`: fetch whole column chunks together; `buffer_size`: bytes to read ahead of each column instead of
        holding whole column chunks, 0 = hold them.
    Raises: CorruptFileError: it is no parquet file.
    """
    with decoding(where, "the file is not parquet"):
        reader = pq.ParquetFile(source, pre_buffer=pre_buffer, buffer_size=buffer_size)
        if not has_int96(reader):
            return reader
        metadata = without_int96(source)
        return pq.ParquetFile(source, metadata=metadata, pre_buffer=pre_buffer, buffer_size=buffer_size)


def matching_row_groups(source: pa.NativeFile, filter_: pc.Expression) -> list[int]:
    """Numbers of the row groups whose statistics do not rule the filter out."""
    fragment = pads.ParquetFileFormat().make_fragment(source)
    return [group.id for group in fragment.subset(filter_).row_groups]


def has_int96(reader: pq.ParquetFile) -> bool:
    """Whether a file holds columns as INT96."""
    return any(reader.schema.column(number).physical_type == "INT96" for number in range(len(reader.schema)))


def read_stored(source: pa.NativeFile, names: Sequence[str], where: str) -> pa.Table:
    """Columns of a small file as they are stored, all rows. Raises: CorruptFileError: it cannot be decoded."""
    with decoding(where):
        reader = pq.ParquetFile(source)
        groups = list(range(reader.metadata.num_row_groups))
        table = reader.read_row_groups(groups, columns=list(names), use_threads=False)
    # Arrow makes nanoseconds of INT96; to look for it in every file would take longer than to look at the types.
    if not any("[ns" in str(data_type) for data_type in table.schema.types) or not has_int96(reader):
        return table
    with decoding(where):
        return open_reader(source, where).read_row_groups(groups, columns=list(names), use_threads=False)


class _ParquetReader:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._source = source
        self._path = path

    def read(self, fields: Sequence[DataField], wanted: Wanted = EVERY_ROW) -> pa.Table:
        # Gathering reads helps where each costs a round trip; on a local disk it only takes memory.
        remote = not isinstance(self._source, pa.OSFile)
        reader = open_reader(self._source, self._path, pre_buffer=remote)
        groups = self._groups(_starts(reader.metadata), wanted)
        with decoding(self._path):
            table = reader.read_row_groups(groups, columns=[field.name for field in fields], use_threads=False)
        return natural_table(table, fields, self._path)

    def batches(self, fields: Sequence[DataField], batch_rows: int, wanted: Wanted = EVERY_ROW) -> Iterator[pa.Table]:
        reader = open_reader(self._source, self._path, buffer_size=_READ_AHEAD)
        groups = self._groups(_starts(reader.metadata), wanted)
        if not groups:
            return
        names = [field.name for field in fields]
        with decoding(self._path):
            for batch in reader.iter_batches(batch_rows, groups, columns=names, use_threads=False):
                yield natural_table(pa.Table.from_batches([batch]), fields, self._path)

    def positions(self, wanted: Wanted = EVERY_ROW) -> np.ndarray | None:
        if wanted.filter is None and wanted.rows is None:
            return None
        starts = _starts(open_reader(self._source, self._path).metadata)
        groups = self._groups(starts, wanted)
        return np.concatenate([np.arange(0), *(np.arange(starts[n], starts[n + 1]) for n in groups)])

    def _groups(self, starts: np.ndarray, wanted: Wanted) -> list[int]:
        """Numbers of the row groups that may hold wanted rows. `starts`: first row of each, and the number of rows."""
        groups: list[int] = np.flatnonzero(wanted.within(starts)).tolist()
        if wanted.filter is None or len(starts) <= 2 or not groups:
            return groups
        with decoding(self._path):
            matching = set(matching_row_groups(self._source, wanted.filter))
        return [number for number in groups if number in matching]


def _starts(metadata: pq.FileMetaData) -> np.ndarray:
    return np.cumsum([0, *(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))])


def _open_reader(source: pa.NativeFile, path: str, _: Mapping[str, str]) -> _ParquetReader:
    return _ParquetReader(source, path)


PARQUET = DataFormat("parquet", _open_reader, prepare_writer)
