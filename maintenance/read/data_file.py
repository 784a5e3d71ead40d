"""Read one data file under a newer schema.

Columns are found by name in the schema the file was written with and mapped to the requested columns by field id; a
column that the file lacks is null. Partition columns are filled from the manifest's partition, not from the file. Rows
that a deletion vector names are left out, and those that a file index rules out: their positions are row numbers in the
file, whatever parts of it are read.
Source: seed 000 (schema evolution), Java `SchemaEvolutionUtil`, `ApplyDeletionVectorReader`, `DataFileRecordReader`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import RESTORE, ROLL_BACK, CorruptFileError, DataError, MissingFileError, UnsupportedError
from maintenance.format.blob import DescriptorReader, open_blobs
from maintenance.format.data_format import DataReader, FileSelection, RowFilter
from maintenance.format.data_formats import open_data_file
from maintenance.format.metadata.data_file import DataFileMeta, FileSource, is_of_blobs, written_fields
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.row_file.data_format import SIDECAR_SUFFIX, open_row_file
from maintenance.format.rows.system_fields import (
    POSITION,
    ROW_ID,
    SEQUENCE_NUMBER,
    SYSTEM_FIELDS,
    VALUE_KIND,
    key_value_fields,
)
from maintenance.fs.file_io import FileIO
from maintenance.metadata.identity import check_size
from maintenance.metadata.zone import local_zone
from maintenance.predicate.arrow import expression, selected
from maintenance.predicate.evolution import devolved
from maintenance.predicate.tree import Predicate, columns_of
from maintenance.read.row_selection import ALL_ROWS, RowSelection
from maintenance.read.sidecar import SidecarLimits
from maintenance.scan.file_index import index_selection, open_container
from maintenance.types.arrow import arrow_type
from maintenance.types.casts.cast import cast
from maintenance.types.chosen_rows import chosen_rows
from maintenance.types.data_type import DataField
from maintenance.types.values import Value, arrow_of_values

# So many deleted rows one after the other may be a part of the file that need not be read.
_DEAD_ROWS = 4096


@dataclass(frozen=True, slots=True)
class ReadContext:
    """What reading any file of a table needs.

    Attributes:
        schemas: the schemas that the files were written with, by id.
        fields: the columns wanted, in order; may hold the system columns of sequence number and row kind.
        partition_keys: names of partition columns.
        keyed: files of a table with a primary key, each record with its sequence number and kind. Else these are
            columns of row tracking, in the file or following from the manifest.
        snapshot_ordering: records of files that no compaction wrote are as new as the file's snapshot. Source: option
            `sequence.snapshot-ordering`.
        describes_blobs: files of blobs give where each blob is, see `DescriptorReader`.
        sidecars: which reads of single rows are of sidecars.
        zone: time zone of casts between instants and wall clock times.
    """

    file_io: FileIO
    schemas: Mapping[int, TableSchema]
    fields: tuple[DataField, ...]
    partition_keys: tuple[str, ...] = ()
    keyed: bool = True
    snapshot_ordering: bool = False
    describes_blobs: bool = False
    sidecars: SidecarLimits = field(default_factory=SidecarLimits)
    zone: str = field(default_factory=local_zone)

    @property
    def arrow_schema(self) -> pa.Schema:
        """Schema of what is read: natural types; all nullable, for a missing column reads null."""
        return pa.schema([pa.field(f.name, arrow_type(f.type, f"column {f.name}")) for f in self.fields])


@dataclass(frozen=True, slots=True)
class DataFileReader:
    """One data file, opened again for each reading.

    Attributes:
        partition: partition columns and their values, from the manifest.
        predicate: over wanted columns; leaves out row groups.
        by_row: the predicate may leave out single rows, too; whoever reads does not count them.
        rows: which rows are read. Parts of the file without any are left out.
        indexed: leave out rows that the file index rules out, and do not open a file in which none is left. Not for
            files that are merged: an older version of a row would come back.
    """

    context: ReadContext
    path: str
    file: DataFileMeta
    partition: Mapping[str, Value]
    predicate: Predicate | None = None
    rows: RowSelection = ALL_ROWS
    indexed: bool = False
    by_row: bool = False

    def unfiltered(self) -> "DataFileReader":
        return replace(self, predicate=None)

    def positions(self) -> np.ndarray:
        """Row numbers in the file of the rows that `read` and `batches` yield."""
        rows = self._rows(self._selection())
        if rows is not None and not len(rows):
            return rows
        with self._decoder(rows) as reader:
            positions = reader.positions(FileSelection(self._filter(), rows))
        positions = np.arange(self.file.row_count) if positions is None else positions
        return positions if rows is None else np.intersect1d(positions, rows, assume_unique=True)

    def read(self) -> pa.Table:
        """The whole file, without the parts that the predicate rules out."""
        chosen = self._selection()
        live = self._live(chosen)
        if live is not None:
            with self._decoder(None) as reader:
                table = reader.read(self.file_fields())
            self._check_rows(table.num_rows, None)
            return self._live_rows(table, live, 0)
        rows = self._rows(chosen)
        if rows is not None and not len(rows):
            return self.context.arrow_schema.empty_table()
        selection = FileSelection(self._filter(), rows)
        with self._decoder(rows) as reader:
            positions, table = self._positions(reader, selection), reader.read(self.file_fields(), selection)
            self._check_rows(table.num_rows, positions)
            return self._rows_of(table, positions, rows)

    def batches(self, batch_rows: int) -> Iterator[pa.Table]:
        """The file in tables of at most `batch_rows` rows, decoded as they are asked for."""
        chosen = self._selection()
        live = self._live(chosen)
        if live is not None:
            yield from self._live_batches(batch_rows, live)
            return
        rows = self._rows(chosen)
        if rows is not None and not len(rows):
            return
        selection = FileSelection(self._filter(), rows, self._matching(rows))
        with self._decoder(rows) as reader:
            positions, start = self._positions(reader, selection), 0
            for table in reader.batches(self.file_fields(), batch_rows, selection):
                end = start + table.num_rows
                yield self._rows_of(table, None if positions is None else positions[start:end], rows)
                start = end
            self._check_rows(start, positions)

    @contextmanager
    def _decoder(self, rows: np.ndarray | None) -> Iterator[DataReader]:
        """What decodes the file, or its sidecar where that is faster. `rows`: numbers of those wanted, None = all."""
        sidecar = self._open_sidecar(rows)
        if sidecar is not None:
            with sidecar as source:
                yield open_row_file(source, self.path + SIDECAR_SUFFIX, self._options, self._stored_fields())
            return
        with self._opened() as source:
            if self.context.describes_blobs and is_of_blobs(self.file):
                yield DescriptorReader(source, self.path)
            else:
                yield open_data_file(source, self.path, self._options, self._stored_fields())

    def _open_sidecar(self, rows: np.ndarray | None) -> "pa.NativeFile | None":
        name = None if rows is None else self.context.sidecars.sidecar_of(self.file, len(rows))
        if name is None:
            return None
        try:
            return self.context.file_io.open_input(f"{self.path.rsplit('/', 1)[0]}/{name}")
        except MissingFileError:  # the file itself has the same rows
            return None

    def blob_sizes(self) -> np.ndarray:
        """Of a file of blobs, the bytes of each value, see `BlobReader.sizes`."""
        with self._opened() as source:
            sizes = open_blobs(source, self.path).sizes
        self._check_rows(len(sizes), None)
        return sizes

    @contextmanager
    def _opened(self) -> Iterator[pa.NativeFile]:
        """The file. Raises: CorruptFileError: it has another size than its manifest says; NotFoundError."""
        with self.context.file_io.open_input(self.path, self.file.file_size) as source:
            check_size(self.file.file_size, source.size(), self.path)
            yield source

    def _live(self, chosen: RowSelection) -> np.ndarray | None:
        """Which rows of the file live, where a deletion vector is all there is to ask, and leaves some everywhere.

        Then the whole file is read, and row numbers need not be made and compared.
        """
        if not chosen.only_deletes or self.predicate is not None:
            return None
        live = chosen.live(self.file.row_count)
        blocks = live[: len(live) - len(live) % _DEAD_ROWS].reshape(-1, _DEAD_ROWS)
        return live if blocks.any(axis=1).all() else None

    def _live_batches(self, batch_rows: int, live: np.ndarray) -> Iterator[pa.Table]:
        start = 0
        with self._decoder(None) as reader:
            for table in reader.batches(self.file_fields(), batch_rows):
                self._check_more(start + table.num_rows)
                yield self._live_rows(table, live, start)
                start += table.num_rows
            self._check_rows(start, None)

    def _live_rows(self, table: pa.Table, live: np.ndarray, start: int) -> pa.Table:
        """The rows that live. `table`: the rows of the file from the number `start` on."""
        kept = live[start : start + table.num_rows]
        positions = None
        if self._counts_rows:
            positions = start + np.flatnonzero(kept)
        return self.conform(chosen_rows(table, kept), positions)

    @property
    def _counts_rows(self) -> bool:
        """Whether a column wanted depends on the number of a row."""
        return any(field.id in (ROW_ID.id, POSITION.id) for field in self.context.fields)

    def _positions(self, reader: DataReader, selection: FileSelection) -> np.ndarray | None:
        """Row numbers in the file of what is read, None where nothing depends on them."""
        if selection.rows is None and not self._counts_rows:
            return None
        positions = reader.positions(selection)
        return np.arange(self.file.row_count) if positions is None else positions

    def _selection(self) -> RowSelection:
        """The rows to read, with the deletion vector at hand. Raises: CorruptFileError: it is damaged."""
        return self.rows.loaded(self.context.file_io, self.file.row_count)

    def _rows(self, chosen: RowSelection) -> np.ndarray | None:
        """Numbers of the rows that are not deleted and that indexes leave over, ascending; None for all."""
        if chosen.exactly is None and self.indexed and self.predicate is not None:
            own = list(self._own().values())
            load = partial(open_container, self.context.file_io, self.path, self.file)
            chosen = chosen.narrowed(index_selection(self._over_own(self.predicate), self.file, own, load).rows)
        return chosen.numbers(self.file.row_count)

    def _rows_of(self, table: pa.Table, positions: np.ndarray | None, rows: np.ndarray | None) -> pa.Table:
        """Rows of the file with the requested columns. `positions`: of the rows; `rows`: of the requested ones."""
        if positions is not None and (
            len(positions) != table.num_rows or positions.max(initial=-1) >= self.file.row_count
        ):
            raise self._other_rows(table.num_rows)
        if positions is None or rows is None:
            return self.conform(table, positions)
        kept = _among(rows, positions)
        if kept.all():
            return self.conform(table, positions)
        return self.conform(chosen_rows(table, kept), positions[kept])

    def _check_rows(self, rows_read: int, positions: np.ndarray | None) -> None:
        """Raise where the file is not the one its manifest speaks of: Avro files can be cut unnoticed."""
        whole = positions is None and self._filter() is None and self._matching(positions) is None
        if positions is not None and rows_read != len(positions):
            raise self._other_rows(rows_read)
        self._check_more(rows_read)
        if rows_read < self.file.row_count and whole:
            raise self._other_rows(rows_read)

    def _check_more(self, rows_read: int) -> None:
        if rows_read > self.file.row_count:
            raise self._other_rows(rows_read)

    def _other_rows(self, rows_read: int) -> CorruptFileError:
        return CorruptFileError(
            f"the file has {rows_read} rows where its manifest says {self.file.row_count}",
            self.path,
            RESTORE,
        )

    @property
    def _options(self) -> Mapping[str, str]:
        return self.context.schemas[self.file.schema_id].options

    def _filter(self) -> pc.Expression | None:
        """The predicate over the file's own columns; None if it says nothing about them."""
        if self.predicate is None:
            return None
        return expression(self._over_own(self.predicate), list(self._own().values()))

    def _matching(self, rows: np.ndarray | None) -> RowFilter | None:
        """The predicate for single rows; None where their numbers are needed. `rows`: that are read, if not all."""
        if self.predicate is None or not self.by_row or rows is not None or self._counts_rows:
            return None
        own = self._over_own(self.predicate)
        columns = frozenset(columns_of(own))
        return RowFilter(columns, partial(selected, own)) if columns else None

    def _over_own(self, predicate: Predicate) -> Predicate:
        """The predicate over the file's own columns, weaker where it must be."""
        own = self._own()
        # Columns that the file's schema has and the file has not are in another file of the same rows.
        elsewhere = {f.id for f in self.context.schemas[self.file.schema_id].fields} - set(own)
        elsewhere |= {f.id for f in SYSTEM_FIELDS}
        fields = [f for f in self.context.fields if f.name not in self.partition and f.id not in elsewhere]
        return devolved(predicate, fields, own)

    def _own(self) -> dict[int, DataField]:
        """The columns of the file by id."""
        return {f.id: f for f in written_fields(self.file, self.context.schemas[self.file.schema_id])}

    def _stored_fields(self) -> Sequence[DataField]:
        """All columns of the file, those of the system among them, in its order."""
        schema = self.context.schemas[self.file.schema_id]
        if not schema.primary_keys:
            return written_fields(self.file, schema)
        return key_value_fields(() if schema.model.data_file_thin_mode else schema.key_fields, schema.fields)

    def _sources(self) -> list[DataField | None]:
        """For each wanted column the file's own column of that id, None if it has none."""
        own = self._own()
        if self.context.keyed:
            own = own | {f.id: f for f in (SEQUENCE_NUMBER, VALUE_KIND)}
        return [None if f.name in self.partition else own.get(f.id) for f in self.context.fields]

    def file_fields(self) -> list[DataField]:
        """The file's own columns to read; one even if none is requested, for the number of rows."""
        fields = [source for source in self._sources() if source is not None]
        return fields or sorted(self._own().values(), key=lambda own: own.type.is_nested)[:1]

    def conform(self, table: pa.Table, positions: np.ndarray | None = None) -> pa.Table:
        """The file's columns, in natural types, as the requested ones. `positions`: of the rows in it, where known."""
        columns: list[pa.ChunkedArray | pa.Array] = []
        for target, source in zip(self.context.fields, self._sources(), strict=True):
            if source is None:
                column = _constant(self.partition.get(target.name), target, table.num_rows)
            else:
                column = self._converted(table.column(source.name), source, target)
            columns.append(self._tracked(target, column, positions))
        return pa.Table.from_arrays(columns, schema=self.context.arrow_schema)

    def _tracked(
        self, field: DataField, column: pa.ChunkedArray | pa.Array, positions: np.ndarray | None
    ) -> pa.ChunkedArray | pa.Array:
        """A column of the system as the manifest says; every other as it is."""
        if field.id == POSITION.id:
            assert positions is not None, "a row's number is wanted"
            return pa.array(positions, pa.int64())
        if field.id == ROW_ID.id and positions is not None:
            if self.file.first_row_id is None:
                return self._complete(column, field)
            return pc.coalesce(column, pa.array(self.file.first_row_id + positions))
        if field.id != SEQUENCE_NUMBER.id:
            return column
        if not self.context.keyed:
            return pc.fill_null(column, self.file.max_sequence_number)
        if not self.context.snapshot_ordering:
            return column
        if self.file.file_source is None:
            raise UnsupportedError(
                "the file does not say what wrote it, which 'sequence.snapshot-ordering' needs",
                self.path,
                "Unset the option: it is for tables that had it from the beginning.",
            )
        if self.file.file_source == FileSource.APPEND:
            return pa.repeat(pa.scalar(self.file.min_sequence_number, pa.int64()), len(column))
        return column

    def _complete(self, column: pa.ChunkedArray | pa.Array, field: DataField) -> pa.ChunkedArray | pa.Array:
        if column.null_count:
            raise CorruptFileError(
                f"the file has rows without '{field.name}', and no first row id", self.path, ROLL_BACK
            )
        return column

    def _converted(self, column: pa.ChunkedArray, source: DataField, target: DataField) -> pa.ChunkedArray:
        """A column of the file as the type it has now."""
        try:
            return cast(column, source.type, target.type, self.context.zone)
        except (DataError, UnsupportedError) as error:
            raise error.at(f"{self.path}, column '{target.name}', which was {source.type}") from error


def _among(rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Which of the positions are among the rows. Both ascending; `rows`: n > 0."""
    if len(positions):
        first, last = int(positions[0]), int(positions[-1])
        if last - first < 8 * len(positions):
            flags = np.zeros(last - first + 1, bool)
            low, high = np.searchsorted(rows, first), np.searchsorted(rows, last, side="right")
            flags[rows[low:high] - first] = True
            return flags if len(flags) == len(positions) else flags[positions - first]
    place = np.searchsorted(rows, positions)
    return np.asarray(rows[np.minimum(place, len(rows) - 1)] == positions)


def _constant(value: Value, field: DataField, rows: int) -> pa.Array:
    single = arrow_of_values([value], field.type)
    return pa.repeat(single[0], rows) if value is not None else pa.nulls(rows, single.type)


def read_fields(
    names: Sequence[str] | None, schema: TableSchema, *, row_tracking: bool = False
) -> tuple[DataField, ...]:
    """The columns of these names in this order; all of the table's for None.

    Args: `row_tracking`: the names may be those of `_ROW_ID` and `_SEQUENCE_NUMBER` too.
    """
    if names is None:
        return tuple(schema.fields)
    tracked = {field.name: field for field in (ROW_ID, SEQUENCE_NUMBER)} if row_tracking else {}
    return tuple(tracked[name] if name in tracked else schema.field(name) for name in names)
