"""Read a data file whose deleted rows come as retractions, for merging with records that these have to delete.

Source: Java `ExposeDeletionKeyValueReader`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.system_fields import POSITION, VALUE_KIND
from maintenance.read.data_file import DataFileReader
from maintenance.read.row_selection import ALL_ROWS
from maintenance.types.row_kind import RowKind


@dataclass(frozen=True, slots=True)
class RetractingReader:
    """`reader`: of a file with a deletion vector, of records with their kind."""

    reader: DataFileReader

    @property
    def file(self) -> DataFileMeta:
        return self.reader.file

    def unfiltered(self) -> "RetractingReader":
        return RetractingReader(self.reader.unfiltered())

    def read(self) -> pa.Table:
        return self._retracted(self._whole.read(), self._live)

    def batches(self, batch_rows: int) -> Iterator[pa.Table]:
        live = self._live
        for rows in self._whole.batches(batch_rows):
            yield self._retracted(rows, live)

    @property
    def _whole(self) -> DataFileReader:
        context = self.reader.context
        return replace(self.reader, rows=ALL_ROWS, context=replace(context, fields=(*context.fields, POSITION)))

    @property
    def _live(self) -> np.ndarray:
        count = self.file.row_count
        return self.reader.rows.loaded(self.reader.context.file_io, count).live(count)

    @staticmethod
    def _retracted(rows: pa.Table, live: np.ndarray) -> pa.Table:
        deleted = ~live[rows.column(POSITION.name).to_numpy()]
        kinds = rows.column(VALUE_KIND.name).to_numpy().copy()
        kinds[deleted] = RowKind.DELETE
        at = rows.column_names.index(VALUE_KIND.name)
        rows = rows.set_column(at, rows.schema.field(at), pa.array(kinds, rows.schema.field(at).type))
        return rows.drop_columns([POSITION.name])
