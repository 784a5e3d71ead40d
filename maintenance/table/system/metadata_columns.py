"""A table with Spark's metadata columns, which say where each row lies. They are not columns of the table itself.

Source: Java `PaimonMetadataColumn` of Paimon's Spark connector.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import pyarrow as pa

from maintenance.errors import UnsupportedError
from maintenance.format.rows.system_fields import POSITION, ROW_ID, SEQUENCE_NUMBER
from maintenance.predicate.arrow import mask
from maintenance.predicate.tree import Predicate, restrict
from maintenance.read.positioned import FILE, PositionedRead
from maintenance.read.split_read import partition_values
from maintenance.scan.plan import ScanPlan
from maintenance.scan.split import AnySplit, Split
from maintenance.table.system.planned import PlannedView, ViewRead, selected_columns
from maintenance.table.system.row_tracking import as_they_are
from maintenance.table.table import Table
from maintenance.types.arrow import arrow_type
from maintenance.types.data_type import MAX_LENGTH, DataField, DataType
from maintenance.types.values import arrow_of_values

_FIRST_ID = 2**31 - 1
ROW_INDEX = DataField(_FIRST_ID - 100, "__paimon_row_index", DataType("BIGINT"))
FILE_PATH = DataField(_FIRST_ID - 101, "__paimon_file_path", DataType("VARCHAR", length=MAX_LENGTH))
PARTITION = "__paimon_partition"
BUCKET = DataField(_FIRST_ID - 103, "__paimon_bucket", DataType("INT"))
METADATA_COLUMNS = frozenset(
    {ROW_INDEX.name, FILE_PATH.name, PARTITION, BUCKET.name, ROW_ID.name, SEQUENCE_NUMBER.name}
)


def metadata_fields(table: Table) -> tuple[DataField, ...]:
    """The metadata columns that a table has. The partition of one without partitions is the text ``{}``."""
    keys = tuple(table.schema.partition_fields)
    kind = DataType("ROW", fields=keys) if keys else DataType("VARCHAR", length=MAX_LENGTH)
    tracked = (ROW_ID, SEQUENCE_NUMBER) if table.model.tracks_rows else ()
    return (*tracked, FILE_PATH, ROW_INDEX, DataField(_FIRST_ID - 102, PARTITION, kind), BUCKET)


@dataclass(frozen=True, slots=True)
class MetadataRead(ViewRead):
    """How to read the splits: rows of the table with what is known of their files."""

    def tables(self, split: AnySplit) -> Iterator[pa.Table]:
        """Rows of the split. Raises: UnsupportedError: they come from several files, and a place is asked for."""
        if not isinstance(split, Split):
            raise UnsupportedError("metadata columns of changes", "query", "Read the state of one snapshot.")
        for rows in self._placed(split) if self._asks_for_place else self.read.tables(split):
            whole = self._filled(rows, split)
            kept = whole if self.predicate is None else whole.filter(mask(self.predicate, whole))
            if kept.num_rows:
                yield kept.select([column.name for column in self.columns])

    @property
    def _asks_for_place(self) -> bool:
        return any(column.name in (FILE_PATH.name, ROW_INDEX.name) for column in self._added)

    @property
    def _added(self) -> list[DataField]:
        own = {column.name for column in self.read.columns}
        return [column for column in self.columns if column.name not in own]

    def _placed(self, split: Split) -> Iterator[pa.Table]:
        if not split.raw:
            raise UnsupportedError(
                f"{FILE_PATH.name} and {ROW_INDEX.name} of rows that are merged from several files",
                "query",
                "Compact the table fully first, or read others of the metadata columns.",
            )
        paths = {file.file_name: self.read.paths.data_file(split.partition, split.bucket, file) for file in split.files}
        for rows in PositionedRead(self.read).tables(split):  # each of one file
            path = paths[rows.column(FILE.name)[0].as_py()]
            yield rows.append_column(FILE_PATH.name, pa.repeat(pa.scalar(path), rows.num_rows)).append_column(
                ROW_INDEX.name, rows.column(POSITION.name)
            )

    def _filled(self, rows: pa.Table, split: Split) -> pa.Table:
        for column in self._added:
            if column.name == BUCKET.name:
                rows = rows.append_column(column.name, pa.repeat(pa.scalar(split.bucket, pa.int32()), rows.num_rows))
            elif column.name == PARTITION:
                rows = rows.append_column(column.name, self._partition(column, split, rows.num_rows))
        return rows

    def _partition(self, column: DataField, split: Split, count: int) -> pa.Array:
        if not column.type.fields:
            return pa.repeat(pa.scalar("{}"), count)
        values = partition_values(self.read.schema, split.partition)
        parts = [
            arrow_of_values([values[f.name]], f.type).take(pa.repeat(pa.scalar(0), count)) for f in column.type.fields
        ]
        return pa.StructArray.from_arrays(parts, fields=list(arrow_type(column.type, f"column {column.name}")))


@dataclass(frozen=True, slots=True)
class MetadataView(PlannedView):
    """The table with these columns behind its own."""

    table: Table

    @property
    def identifier(self) -> str:
        return self.table.identifier

    @property
    def fields(self) -> tuple[DataField, ...]:
        table, _ = self.table.target()
        return (*table.schema.fields, *metadata_fields(table))

    def copy(self, options: Mapping[str, str]) -> Self:
        """The same with further options for reading."""
        return replace(self, table=self.table.copy(options))

    def plan(
        self, columns: Sequence[str] | None = None, predicate: Predicate | None = None
    ) -> tuple[ScanPlan, MetadataRead]:
        """Splits of a read, and how to read them. Raises: PredicateError: a column does not exist."""
        selected, needed = selected_columns(self, columns, predicate)
        table, _ = self.table.target()
        tracked = (ROW_ID.name, SEQUENCE_NUMBER.name)
        own = [name for name in needed if name in (*table.schema.field_names, *tracked)]
        pushed = None if predicate is None else restrict(predicate, table.schema.field_names)
        plan, read = self.table.plan(own or table.schema.field_names[:1], pushed)
        return plan, MetadataRead(read, selected, predicate, as_they_are)
