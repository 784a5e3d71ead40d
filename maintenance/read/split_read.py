"""Read a split: raw where files cannot overlap, merged by key where they can; then filter and project.

Filters inside overlapping sections may only look at the key; the whole filter always runs on the merged rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import numpy as np
import pyarrow as pa

from maintenance.errors import MissingFileError, UnsupportedError
from maintenance.format.avro.data_format import AVRO
from maintenance.format.data_format import RowFilter
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.binary_row import parse_row
from maintenance.format.rows.key import key_reader
from maintenance.format.rows.system_fields import ROW_ID, SEQUENCE_NUMBER, VALUE_KIND, is_system_id
from maintenance.fs.file_io import FileIO
from maintenance.merge.difference import difference
from maintenance.merge.engine import MergeEngine
from maintenance.merge.ordered import RecordOrder
from maintenance.merge.sections import Section, levels_apart, oldest_first, partition_into_sections
from maintenance.metadata.expired import unless_expired
from maintenance.metadata.paths import TablePaths
from maintenance.options import table as table_options
from maintenance.options.blob import BLOB_VIEW_FIELD, BLOB_VIEW_RESOLVE_ENABLED
from maintenance.options.model import TableModel
from maintenance.predicate.arrow import selected
from maintenance.predicate.tree import Predicate, columns_of, restrict
from maintenance.read.blob_views import Views, viewed_columns, viewed_places
from maintenance.read.blobs import BlobPlace, described_places, fetched_columns, with_blobs, with_descriptors
from maintenance.read.data_evolution import anchor, joined
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.defaults import read_defaults, stored_predicate, with_defaults
from maintenance.read.retractions import RetractingReader
from maintenance.read.row_selection import ALL_ROWS, RowSelection
from maintenance.read.run import ReadsFileWhole, RunReader
from maintenance.read.sidecar import SidecarLimits
from maintenance.read.waiting import runs_by_level, sorted_runs
from maintenance.read.windows import rows_at_a_time, windows, windows_of
from maintenance.scan.data_evolution import row_groups
from maintenance.scan.split import AnySplit, DiffSplit, Split
from maintenance.types.chosen_rows import chosen_rows
from maintenance.types.data_type import DataField
from maintenance.types.row_kind import is_retract, opposite_kinds
from maintenance.types.values import Value

DEFAULT_BATCH_ROWS = 1 << 17
_AVRO_SUFFIX = f".{AVRO.name}"


class ReadsSplits(Protocol):
    """How to read splits; travels to Spark's tasks."""

    @property
    def columns(self) -> tuple[DataField, ...]:
        """Columns of the rows."""

    def tables(self, split: AnySplit) -> Iterator[pa.Table]:
        """Rows of a split."""


@dataclass(frozen=True, slots=True)
class SplitRead:
    """How to read the splits of one table; travels to Spark's tasks.

    Attributes:
        schema: of the read.
        schemas: of the files, by id.
        options: table options, dynamic ones included.
        columns: wanted columns, in order; `_SEQUENCE_NUMBER` and `_VALUE_KIND` may be among them.
        predicate: rows to return; None = all.
        memory: bytes of records to hold while merging, see `windows`.
        keep_retractions: merged states show the deletions that they still hold. Source: Java `forceKeepDelete`.
        fallback: how to read the splits of another branch, see `Split.fallback`.
        anchor_schemas: of the files of a chain table's snapshot branch, by id, see `Split.anchored`.
        views: looks up references to blobs of other tables; None = they cannot be.
    """

    file_io: FileIO
    paths: TablePaths
    schema: TableSchema
    schemas: Mapping[int, TableSchema]
    options: Mapping[str, str]
    columns: tuple[DataField, ...]
    predicate: Predicate | None = None
    memory: int = 64 << 20
    keep_retractions: bool = False
    fallback: "SplitRead | None" = None
    anchor_schemas: Mapping[int, TableSchema] = field(default_factory=dict)
    views: Views | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", TableModel.of(self.options))

    @property
    def model(self) -> TableModel:
        """What the options say."""
        return TableModel.of(self.options)

    def tables(self, split: AnySplit) -> Iterator[pa.Table]:
        """Rows of the split with the requested columns, in tables of bounded size.

        Raises: CorruptFileError, MissingFileError; ExpiredError: a file is missing as the split's snapshot is gone.
        """
        if isinstance(split, Split) and split.fallback:
            assert self.fallback is not None
            yield from self.fallback.tables(replace(split, fallback=False))
            return
        try:
            yield from self._tables(split)
        except MissingFileError as error:
            raise self._named_otherwise(split, error) or error from error.__cause__

    def _named_otherwise(self, split: AnySplit, error: MissingFileError) -> MissingFileError | None:
        """A hint for a missing file that exists in a folder named by the other rule; None if it does not."""
        if not isinstance(split, Split):
            return None
        legacy = self.paths.legacy_partition_name
        other = replace(self.paths, legacy_partition_name=not legacy)
        folders = [paths.bucket_folder(split.partition, split.bucket) for paths in (self.paths, other)]
        moved = error.where.replace(folders[0], folders[1])
        if moved == error.where or not self.file_io.exists(moved):
            return None
        key, value = table_options.PARTITION_LEGACY_NAME.key, str(not legacy).lower()
        return MissingFileError(
            f"a data file is not where '{key}' = '{str(legacy).lower()}' expects it, but at {moved}",
            error.where,
            f"Set '{key}' = '{value}', as its writer had it.",
        )

    def _tables(self, split: AnySplit) -> Iterator[pa.Table]:
        if isinstance(split, DiffSplit):
            # Each side is read as a split of its own.
            yield from self._selected(self._difference(split))
            return
        with self.reading(split):
            rows = self._selected(self._rows(split))
            yield from map(_taken_back, rows) if split.taken_back and VALUE_KIND in self.columns else rows

    def reading(self, split: Split) -> AbstractContextManager[None]:
        """Errors inside are `ExpiredError` if the split's snapshot is gone by then."""
        return unless_expired(self.file_io, self.paths, split.snapshot_id, changes=split.changes)

    def _selected(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """The wanted rows and columns."""
        defaults = read_defaults(self.schema, self.model)
        described = fetched_columns(self.columns, self.model)
        viewed = viewed_columns(self.columns, self.model)
        for table in tables:
            rows = with_defaults(table, defaults)
            kept = rows if self.predicate is None else chosen_rows(rows, selected(self.predicate, rows))
            if VALUE_KIND in self.columns and not self.schema.primary_keys:
                kept = _inserted(kept)
            if kept.num_rows:
                chosen = kept.select([field.name for field in self.columns])
                places = described_places(chosen, described, self.file_io, self.paths.root)
                if viewed:
                    chosen, looked_up = self._looked_up(chosen, viewed)
                    places |= looked_up
                yield from with_blobs(chosen, places)

    def _looked_up(self, rows: pa.Table, names: Sequence[str]) -> tuple[pa.Table, dict[str, list[BlobPlace | None]]]:
        """Rows after references became descriptors, if these are wanted, and otherwise the places of the blobs."""
        if self.views is None:
            raise UnsupportedError(
                f"column '{names[0]}' of '{BLOB_VIEW_FIELD.key}' refers to blobs of other tables",
                self.paths.root,
                f"Open the table in its catalog, or set '{BLOB_VIEW_RESOLVE_ENABLED.key}' = 'false'.",
            )
        places = viewed_places(rows, names, self.views, self.paths.root)
        return (with_descriptors(rows, places), {}) if self.model.blob_as_descriptor else (rows, places)

    @property
    def _pushed(self) -> Predicate | None:
        """What files may leave out rows by."""
        return stored_predicate(self.predicate, self.schema, self.model)

    @property
    def _matching(self) -> RowFilter | None:
        """What merging may leave out rows by."""
        columns = frozenset() if self._pushed is None else frozenset(columns_of(self._pushed))
        return RowFilter(columns, partial(selected, self._pushed)) if columns and self._pushed is not None else None

    def _rows(self, split: Split) -> Iterator[pa.Table]:
        if split.raw:
            context = self._context((*self._record_fields(), *self._needed()))
            indexed = self.model.file_index_read_enabled
            for file in split.files:
                reader = self.reader(context, split, file, self._pushed)
                yield from _stream(replace(reader, indexed=indexed, by_row=True))
            return
        if not self.schema.primary_keys:
            yield from self._joined(split)
            return
        if self.model.clusters_keys:
            # Not in the order of keys, so these cannot be merged; nor need they be, for older versions are deleted.
            context = self._context((SEQUENCE_NUMBER, VALUE_KIND, *self._needed()))
            for file in split.files:
                yield from map(self._shown, _stream(self.reader(context, split, file, self._pushed)))
            return
        engine = MergeEngine.of(self.schema, self.model)
        if split.is_chained:
            # A level says nothing about the age of records in other partitions.
            engine = replace(engine, levels_cover=False)
        needed = self._needed(engine.needs([field.name for field in self._needed()]))
        context = self._context((SEQUENCE_NUMBER, VALUE_KIND, *needed))
        if split.waiting:
            yield from self._merged_with_waiting(context, split, engine)
            return
        read_key = key_reader([field.type for field in self.schema.key_fields])
        for section in partition_into_sections(split.files, read_key):
            yield from self._merged(context, split, section, engine)

    def _merged(self, context: ReadContext, split: Split, section: Section, engine: MergeEngine) -> Iterator[pa.Table]:
        if len(section) == 1:
            for file in section[0]:
                for rows in _stream(replace(self.reader(context, split, file, self._pushed), by_row=True)):
                    yield self._shown(rows)
            return
        over_key = None
        if self._pushed is not None:
            over_key = restrict(self._pushed, frozenset(self.schema.trimmed_primary_keys))
        files = oldest_first(levels_apart(section) if engine.levels_cover else section)
        runs: list[list[ReadsFileWhole]] = [
            [self._record_reader(context, split, file, over_key) for file in run] for run in files
        ]
        levels = np.array([run[0].level for run in files])
        for window in windows(runs, engine.order, rows_at_a_time(runs, self.memory)):
            yield self._shown(engine.merge(window.rows, window.groups, levels, matching=self._matching))

    def _merged_with_waiting(self, context: ReadContext, split: Split, engine: MergeEngine) -> Iterator[pa.Table]:
        """Rows of a partition of which some wait for a bucket."""
        over_key = None
        if self._pushed is not None:
            over_key = restrict(self._pushed, frozenset(self.schema.trimmed_primary_keys))
        files = runs_by_level(split.files, [field.type for field in self.schema.key_fields])
        runs = [[self.reader(context, split, file, over_key) for file in run] for run in files]
        number = max((file.max_sequence_number for file in split.files), default=-1) + 1
        with ExitStack() as stack:
            readers = (self.reader(context, split, file, None) for file in split.waiting)
            late = sorted_runs(readers, engine.order, number, self.memory, stack)
            step = rows_at_a_time(runs, self.memory) // len(runs) if runs else 0
            streams = [*(RunReader(run, step) for run in runs), *late]
            levels = np.array([*(run[0].level for run in files), *(0 for _ in late)])
            for window in windows_of(streams, engine.order):
                yield self._shown(engine.merge(window.rows, window.groups, levels, matching=self._matching))

    def _difference(self, split: DiffSplit) -> Iterator[pa.Table]:
        """All that differs in a bucket, key range by key range."""
        whole = replace(self, columns=(SEQUENCE_NUMBER, VALUE_KIND, *self.schema.fields), predicate=None)
        sides = [_Tables(whole.tables(side)) for side in (split.before, split.after)]
        # Each side has one record for a key: which is older does not matter.
        order = RecordOrder(tuple(self.schema.trimmed_primary_keys))
        # Paimon reads the maps of Avro files without their order, so its compactions of them change it.
        in_order = not any(file.file_name.endswith(_AVRO_SUFFIX) for file in (*split.before.files, *split.after.files))
        for window in windows_of(sides, order):
            found = difference(window.rows, window.groups, self.schema.field_names, maps_in_order=in_order)
            yield self._shown(found)

    def _shown(self, rows: pa.Table) -> pa.Table:
        return rows if self.keep_retractions else _without_retractions(rows)

    def _joined(self, split: Split) -> Iterator[pa.Table]:
        """Rows of a split of data evolution."""
        needed = self._needed()

        def opened(file: DataFileMeta, fields: tuple[DataField, ...]) -> DataFileReader:
            return replace(self.reader(self._context(fields), split, file, None), rows=ALL_ROWS)

        for files in row_groups(split.files):
            if len(files) == 1:
                yield from _stream(self.reader(self._context(needed), split, files[0], self._pushed))
                continue
            deletion, candidates = (
                split.deletions.get(anchor(files).file_name),
                split.candidates.get(files[0].file_name),
            )
            chosen = RowSelection(deletion, candidates=candidates)
            yield from joined(files, self._context(needed), opened, DEFAULT_BATCH_ROWS, chosen)

    def _record_reader(
        self, context: ReadContext, split: Split, file: DataFileMeta, predicate: Predicate | None
    ) -> ReadsFileWhole:
        """As `reader`, of a file whose records are merged."""
        reader = self.reader(context, split, file, predicate)
        # What a vector deletes in one partition of a chain may be in an earlier one, too.
        return RetractingReader(reader) if split.is_chained and reader.rows.deletion is not None else reader

    def reader(
        self, context: ReadContext, split: Split, file: DataFileMeta, predicate: Predicate | None
    ) -> DataFileReader:
        """A reader of one file of a split."""
        path = self.paths.data_file(*split.home.get(file.file_name, (split.partition, split.bucket)), file)
        if file.file_name in split.anchored:
            context = replace(context, schemas=self.anchor_schemas)
        partition = partition_values(self.schema, split.partition)
        return DataFileReader(
            context,
            path,
            file,
            partition,
            predicate,
            RowSelection(split.deletions.get(file.file_name), candidates=split.candidates.get(file.file_name)),
        )

    def _context(self, fields: Sequence[DataField]) -> ReadContext:
        return ReadContext(
            self.file_io,
            self.schemas,
            tuple(fields),
            self.schema.partition_keys,
            keyed=bool(self.schema.primary_keys),
            snapshot_ordering=self.model.sequence_snapshot_ordering,
            describes_blobs=self.model.blob_as_descriptor,
            sidecars=SidecarLimits.of(self.model),
        )

    def _record_fields(self) -> tuple[DataField, ...]:
        """The columns wanted of those that only records of a primary key table have."""
        if not self.schema.primary_keys:
            return ()
        return tuple(field for field in (SEQUENCE_NUMBER, VALUE_KIND) if field in self.columns)

    def _needed(self, further: Sequence[str] = ()) -> tuple[DataField, ...]:
        """Wanted columns, those of the filter, and `further`, in the order of the schema."""
        names = {field.name for field in self.columns} | set(further)
        if self.predicate is not None:
            names |= columns_of(self.predicate)
        fields = tuple(field for field in self.schema.fields if field.name in names)
        always = (VALUE_KIND, SEQUENCE_NUMBER) if self.schema.primary_keys else (VALUE_KIND,)
        # A filter may be about columns of row tracking that are not wanted themselves.
        filtered = tuple(f for f in (ROW_ID, SEQUENCE_NUMBER) if f.name in names and f not in self.columns)
        tracked = tuple(f for f in (*self.columns, *filtered) if is_system_id(f.id) and f not in always)
        return (*fields, *tracked) or self.schema.fields[:1]


def partition_values(schema: TableSchema, partition: bytes) -> dict[str, Value]:
    """Partition columns and their values."""
    values = parse_row(partition, [field.type for field in schema.partition_fields])
    return dict(zip(schema.partition_keys, values, strict=True))


def _stream(reader: DataFileReader) -> Iterator[pa.Table]:
    if reader.file.row_count <= DEFAULT_BATCH_ROWS:
        yield reader.read()
    else:
        yield from reader.batches(DEFAULT_BATCH_ROWS)


def _taken_back(rows: pa.Table) -> pa.Table:
    """Rows with the opposite kinds: +I and -D, +U and -U."""
    at = rows.column_names.index(VALUE_KIND.name)
    return rows.set_column(at, rows.schema.field(at), opposite_kinds(rows.column(at)))


class _Tables:
    """Tables of an iterator as a stream."""

    def __init__(self, tables: Iterator[pa.Table]) -> None:
        self._tables = tables

    def next(self) -> pa.Table | None:
        return next(self._tables, None)


def _inserted(rows: pa.Table) -> pa.Table:
    """Rows of an append table with their kind."""
    return rows.append_column(VALUE_KIND.name, pa.array(np.zeros(rows.num_rows, np.int8)))


def _without_retractions(rows: pa.Table) -> pa.Table:
    kinds = rows.column(VALUE_KIND.name).to_numpy()
    retract = is_retract(kinds)
    return rows.filter(pa.array(~retract)) if retract.any() else rows
