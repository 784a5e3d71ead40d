"""What readers of these formats share: natural types, batches of bounded size, and errors that name the file."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from maintenance.format.data_format import EVERY_ROW, FileSelection, in_batches, natural_table
from maintenance.format.native.library import Source, reading_by
from maintenance.types.arrow import arrow_schema
from maintenance.types.data_type import DataField

_READ_ROWS = 1 << 16


class NativeFile(Protocol):
    """An open file of a format. Filters leave nothing out of it."""

    @property
    def names(self) -> Sequence[str]:
        """Of its columns."""

    @property
    def source(self) -> Source | None:
        """Where its bytes come from; None if they are on the local disk."""

    def tables(self, names: Sequence[str], batch_rows: int, rows: np.ndarray | None) -> Iterator[pa.Table]:
        """Columns as stored, of those parts of the file that have the rows. `rows`: numbers, ascending; None = all."""

    def positions(self, rows: np.ndarray) -> np.ndarray:
        """Numbers of the rows that `tables` gives for these."""


class NativeReader:
    """Reads an open file. `path`: for messages."""

    def __init__(self, file: NativeFile, path: str) -> None:
        self._file = file
        self._path = path

    def read(self, fields: Sequence[DataField], selection: FileSelection = EVERY_ROW) -> pa.Table:
        tables = list(self._tables(fields, _READ_ROWS, selection))
        if tables:
            return pa.concat_tables(tables)
        return pa.schema([field.with_nullable(True) for field in arrow_schema(fields)]).empty_table()

    def batches(
        self, fields: Sequence[DataField], batch_rows: int, selection: FileSelection = EVERY_ROW
    ) -> Iterator[pa.Table]:
        return in_batches(self._tables(fields, batch_rows, selection), batch_rows)

    def positions(self, selection: FileSelection = EVERY_ROW) -> np.ndarray | None:
        return None if selection.rows is None else self._file.positions(selection.rows)

    def _tables(self, fields: Sequence[DataField], batch_rows: int, selection: FileSelection) -> Iterator[pa.Table]:
        there = [field.name for field in fields if field.name in self._file.names]
        if len(there) < len(fields):
            natural_table(pa.table({name: pa.nulls(0) for name in there}), fields, self._path)  # names the missing one
        if selection.rows is not None and not len(selection.rows):
            return
        stored = self._file.tables(there, batch_rows, selection.rows)
        while True:
            with reading_by(self._path, self._file.source):
                table = next(stored, None)
            if table is None:
                return
            if table.num_rows:
                yield natural_table(table.select(there), fields, self._path)
