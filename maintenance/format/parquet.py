"""Reading parquet data files. Source: seed 000 (parquet types), Java `ParquetReaderFactory`."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from maintenance.format.data_format import DataFormat, decoding, natural_table
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


class _ParquetReader:
    def __init__(self, source: pa.NativeFile, path: str) -> None:
        self._source = source
        self._path = path

    def read(self, fields: Sequence[DataField], filter_: pc.Expression | None) -> pa.Table:
        # Gathering reads helps where each costs a round trip; on a local disk it only takes memory.
        remote = not isinstance(self._source, pa.OSFile)
        reader = open_reader(self._source, self._path, pre_buffer=remote)
        groups = self._groups(reader.num_row_groups, filter_)
        with decoding(self._path):
            table = reader.read_row_groups(groups, columns=[field.name for field in fields], use_threads=False)
        return natural_table(table, fields, self._path)

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, filter_: pc.Expression | None
    ) -> Iterator[pa.Table]:
        reader = open_reader(self._source, self._path, buffer_size=_READ_AHEAD)
        groups = self._groups(reader.num_row_groups, filter_)
        if not groups:
            return
        names = [field.name for field in fields]
        with decoding(self._path):
            for batch in reader.iter_batches(batch_rows, groups, columns=names, use_threads=False):
                yield natural_table(pa.Table.from_batches([batch]), fields, self._path)

    def positions(self, filter_: pc.Expression | None) -> np.ndarray | None:
        if filter_ is None:
            return None
        metadata = open_reader(self._source, self._path).metadata
        counts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        starts = np.cumsum([0, *counts])
        groups = self._groups(metadata.num_row_groups, filter_)
        return np.concatenate([np.arange(0), *(np.arange(starts[n], starts[n + 1]) for n in groups)])

    def _groups(self, count: int, filter_: pc.Expression | None) -> list[int]:
        if filter_ is None or count <= 1:
            return list(range(count))
        with decoding(self._path):
            return matching_row_groups(self._source, filter_)


def _open_reader(source: pa.NativeFile, path: str, _: Mapping[str, str]) -> _ParquetReader:
    return _ParquetReader(source, path)


PARQUET = DataFormat("parquet", _open_reader, prepare_writer)
