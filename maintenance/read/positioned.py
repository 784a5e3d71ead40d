"""Read rows that need no merging, with their location: the data file and the row's number in it.

Deleting rows in files needs this.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from maintenance.format.rows.system_fields import POSITION, ROW_ID, SEQUENCE_NUMBER
from maintenance.predicate.arrow import mask
from maintenance.predicate.tree import columns_of
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.defaults import read_defaults, stored_predicate, with_defaults
from maintenance.read.row_selection import RowSelection
from maintenance.read.split_read import DEFAULT_BATCH_ROWS, SplitRead, partition_values
from maintenance.scan.split import AnySplit, Split
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType

FILE = DataField(ROW_ID.id - 1, "_paimon_file", DataType("VARCHAR", nullable=False, length=MAX_LENGTH))


@dataclass(frozen=True, slots=True)
class PositionedRead:
    """How to read such rows; travels to Spark's tasks. `read`: which columns and rows, of the table's own columns."""

    read: SplitRead

    @property
    def columns(self) -> tuple[DataField, ...]:
        return (*self.read.columns, FILE, POSITION)

    def tables(self, split: AnySplit) -> Iterator[pa.Table]:
        """Rows of the split, in tables of bounded size."""
        assert isinstance(split, Split)
        for file in split.files:
            partition = partition_values(self.read.schema, split.partition)
            reader = DataFileReader(
                self._context(),
                self.read.paths.data_file(split.partition, split.bucket, file),
                file,
                partition,
                stored_predicate(self.read.predicate, self.read.schema, self.read.model),
                RowSelection(split.deletions.get(file.file_name)),
                indexed=self.read.model.file_index_read_enabled,
            )
            with self.read.reading(split):
                for rows in reader.batches(DEFAULT_BATCH_ROWS):
                    yield from self._selected(rows, file.file_name)

    def _context(self) -> ReadContext:
        names = {field.name for field in self.read.columns}
        if self.read.predicate is not None:
            names |= columns_of(self.read.predicate)
        fields = [field for field in (*self.read.schema.fields, ROW_ID, SEQUENCE_NUMBER) if field.name in names]
        keyed = bool(self.read.schema.primary_keys)
        return ReadContext(
            self.read.file_io, self.read.schemas, (*fields, POSITION), self.read.schema.partition_keys, keyed=keyed
        )

    def _selected(self, rows: pa.Table, file_name: str) -> Iterator[pa.Table]:
        rows = with_defaults(rows, read_defaults(self.read.schema, self.read.model))
        if self.read.predicate is not None:
            rows = rows.filter(mask(self.read.predicate, rows))
        if not rows.num_rows:
            return
        names = pa.repeat(pa.scalar(file_name), rows.num_rows)
        kept = rows.select([field.name for field in self.read.columns])
        yield kept.append_column(FILE.name, names).append_column(POSITION.name, rows.column(POSITION.name))
