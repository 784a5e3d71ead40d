"""Reading parquet data files. Source: seed 000 (parquet types), Java `ParquetReaderFactory`."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from maintenance.format.data_format import (
    EVERY_ROW,
    DataFormat,
    FileSelection,
    RowFilter,
    decoding,
    natural_table,
)
from maintenance.format.parquet.int96 import without_int96
from maintenance.format.parquet.prefiltered import is_prefiltered, matching_rows, stored_schema
from maintenance.format.parquet.writer import prepare_writer
from maintenance.types.chosen_rows import chosen_rows
from maintenance.types.data_type import DataField

_READ_AHEAD = 256 << 10
# Of fewer rows it does not matter how they are decoded.
_MANY_ROWS = 1 << 14


def open_reader(
    source: pa.NativeFile,
    where: str,
    *,
    pre_buffer: bool = False,
    buffer_size: int = 0,
    columns: Sequence[str] | None = None,
) -> pq.ParquetFile:
    """A data file opened for reading; INT96 columns read as byte strings, which `natural` understands.

    Args: `pre_buffer`: fetch whole column chunks together; `buffer_size`: bytes to read ahead of each column instead of
        holding whole column chunks, 0 = hold them; `columns`: the only ones that are read, texts among them perhaps as
        dictionaries, see `without_dictionaries`; None = any.
    Raises: CorruptFileError: it is not a parquet file.
    """
    with decoding(where, "the file is not parquet"):
        reader = pq.ParquetFile(source, pre_buffer=pre_buffer, buffer_size=buffer_size)
        metadata = without_int96(source) if has_int96(reader, columns) else None
        repeated = _repeated_texts(reader, columns or ())
        if metadata is None and not repeated:
            return reader
        return pq.ParquetFile(
            source,
            metadata=metadata or reader.metadata,
            pre_buffer=pre_buffer,
            buffer_size=buffer_size,
            read_dictionary=repeated,
        )


def without_dictionaries(table: pa.Table) -> pa.Table:
    """Columns that were read as dictionaries as plain ones. So texts that repeat are decoded in half the time."""
    for number, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(field.type.value_type))
    return table


def _repeated_texts(reader: pq.ParquetFile, names: Sequence[str]) -> list[str]:
    """Those of the columns that hold texts or bytes, numbers of a dictionary in all parts of the file.

    The metadata does not say whether a writer gave its dictionary up in the middle of a part. But a value that stands
    for itself takes four bytes and its own.
    """
    metadata = reader.metadata
    if metadata.num_rows < _MANY_ROWS or not names:
        return []
    places = {metadata.schema.column(number).path: number for number in range(metadata.num_columns)}
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    schema = reader.schema_arrow
    return [
        name
        for name in names
        if name in places
        and (pa.types.is_string(schema.field(name).type) or pa.types.is_binary(schema.field(name).type))
        and all(_is_repeated(group.column(places[name])) for group in groups)
    ]


def _is_repeated(part: pq.ColumnChunkMetaData) -> bool:
    if not part.has_dictionary_page or part.statistics is None or not part.statistics.has_null_count:
        return False
    return bool(part.total_uncompressed_size < 4 * (part.num_values - part.statistics.null_count))


def matching_row_groups(source: pa.NativeFile, filter_: pc.Expression) -> list[int]:
    """Numbers of the row groups whose statistics do not rule the filter out."""
    fragment = pads.ParquetFileFormat().make_fragment(source)
    return [group.id for group in fragment.subset(filter_).row_groups]


def has_int96(reader: pq.ParquetFile, columns: Collection[str] | None = None) -> bool:
    """Whether a file holds columns as INT96. `columns`: that are asked about; None = all."""
    leaves = (reader.schema.column(number) for number in range(len(reader.schema)))
    int96 = [leaf.path for leaf in leaves if leaf.physical_type == "INT96"]
    return any(columns is None or _is_of(path, columns) for path in int96)


def _is_of(path: str, columns: Collection[str]) -> bool:
    """Whether a leaf belongs to one of the columns, whose names may have dots themselves."""
    return any(path == name or path.startswith(f"{name}.") for name in columns)


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

    def read(self, fields: Sequence[DataField], selection: FileSelection = EVERY_ROW) -> pa.Table:
        # Gathering reads helps where each costs a round trip; on a local disk it only takes memory.
        remote = not isinstance(self._source, pa.OSFile)
        names = [field.name for field in fields]
        reader = open_reader(self._source, self._path, pre_buffer=remote, columns=names)
        groups = self._groups(_starts(reader.metadata), selection)
        with decoding(self._path):
            table = reader.read_row_groups(groups, columns=names, use_threads=False)
        return natural_table(without_dictionaries(table), fields, self._path)

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, selection: FileSelection = EVERY_ROW
    ) -> Iterator[pa.Table]:
        names = [field.name for field in fields]
        reader = open_reader(self._source, self._path, buffer_size=_READ_AHEAD, columns=names)
        groups = self._groups(_starts(reader.metadata), selection)
        if not groups:
            return
        if selection.matching is not None and selection.matching.columns < set(names):
            every = len(groups) == reader.num_row_groups
            tables = self._prefiltered(reader, fields, batch_rows, selection.matching) if every else None
            if tables is not None:
                yield from tables
                return
            for group in groups:
                yield from self._matching(reader, group, fields, batch_rows, selection.matching)
            return
        with decoding(self._path):
            for batch in reader.iter_batches(batch_rows, groups, columns=names, use_threads=False):
                yield natural_table(without_dictionaries(pa.Table.from_batches([batch])), fields, self._path)

    def _prefiltered(
        self, reader: pq.ParquetFile, fields: Sequence[DataField], batch_rows: int, wanted: RowFilter
    ) -> Iterator[pa.Table] | None:
        """The wanted rows of the file; None where they are better decoded by `_matching`."""
        names = [field.name for field in fields]
        telling = [field for field in fields if field.name in wanted.columns]
        if not isinstance(self._source, pa.OSFile) or not is_prefiltered(reader, names, self._source.size()):
            return None

        def mask(rows: pa.Table) -> np.ndarray:
            return wanted.mask(natural_table(rows, telling, self._path))

        data = self._source.read_at(self._source.size(), 0)
        told_by = [field.name for field in telling]
        tables = matching_rows(data, stored_schema(reader), names, told_by, mask, batch_rows)
        return None if tables is None else (natural_table(rows, fields, self._path) for rows in tables)

    def _matching(
        self, reader: pq.ParquetFile, group: int, fields: Sequence[DataField], batch_rows: int, wanted: RowFilter
    ) -> Iterator[pa.Table]:
        """Rows of a row group: first the columns that tell which, then the others, if there is a row at all."""
        telling = [field for field in fields if field.name in wanted.columns]
        others = [field for field in fields if field.name not in wanted.columns]
        found: list[tuple[np.ndarray, pa.Table]] = []
        for batch in self._batches(reader, group, telling, batch_rows):
            rows = natural_table(without_dictionaries(batch), telling, self._path)
            chosen = wanted.mask(rows)
            found.append((chosen, chosen_rows(rows, chosen)))
        if not any(chosen.any() for chosen, _ in found):
            return
        for (chosen, told), batch in zip(found, self._batches(reader, group, others, batch_rows), strict=True):
            if told.num_rows:
                rows = natural_table(without_dictionaries(chosen_rows(batch, chosen)), others, self._path)
                columns = {
                    **dict(zip(told.column_names, told.columns, strict=True)),
                    **dict(zip(rows.column_names, rows.columns, strict=True)),
                }
                yield pa.table({field.name: columns[field.name] for field in fields})

    def _batches(
        self, reader: pq.ParquetFile, group: int, fields: Sequence[DataField], batch_rows: int
    ) -> Iterator[pa.Table]:
        names = [field.name for field in fields]
        with decoding(self._path):
            for batch in reader.iter_batches(batch_rows, [group], columns=names, use_threads=False):
                yield pa.Table.from_batches([batch])

    def positions(self, selection: FileSelection = EVERY_ROW) -> np.ndarray | None:
        if selection.filter is None and selection.rows is None:
            return None
        starts = _starts(open_reader(self._source, self._path, columns=()).metadata)
        groups = self._groups(starts, selection)
        return np.concatenate([np.arange(0), *(np.arange(starts[n], starts[n + 1]) for n in groups)])

    def _groups(self, starts: np.ndarray, selection: FileSelection) -> list[int]:
        """Numbers of the row groups that may hold wanted rows. `starts`: first row of each, and the number of rows."""
        groups: list[int] = np.flatnonzero(selection.within(starts)).tolist()
        if selection.filter is None or len(starts) <= 2 or not groups:
            return groups
        with decoding(self._path):
            matching = set(matching_row_groups(self._source, selection.filter))
        return [number for number in groups if number in matching]


def _starts(metadata: pq.FileMetaData) -> np.ndarray:
    return np.cumsum([0, *(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups))])


def _open_reader(
    source: pa.NativeFile, path: str, options: Mapping[str, str], columns: Sequence[DataField] = ()
) -> _ParquetReader:
    return _ParquetReader(source, path)


PARQUET = DataFormat("parquet", _open_reader, prepare_writer)
