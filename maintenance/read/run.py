"""A sorted run as a stream of tables: its files one after the other, a few rows at a time."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from maintenance.format.metadata.data_file import DataFileMeta

WHOLE_FILE_ROWS = 1 << 16
# Each reader holds a batch or two of its own besides the rows that it has handed on.
_BATCH_ROWS = 1 << 14


class ReadsFile(Protocol):
    """A reader of one data file, see `DataFileReader`."""

    @property
    def file(self) -> DataFileMeta: ...

    def read(self) -> pa.Table: ...

    def batches(self, batch_rows: int) -> Iterator[pa.Table]: ...


class ReadsFileWhole(ReadsFile, Protocol):
    """A reader that can be asked for all rows, whatever it leaves out."""

    def unfiltered(self) -> ReadsFile: ...


class RunReader:
    """Reads a run in steps. `readers`: of its files, in key order."""

    def __init__(self, readers: Sequence[ReadsFile], step_rows: int) -> None:
        self._readers = readers
        self._step = max(1, step_rows)
        self._stream = self._tables()

    @property
    def row_count(self) -> int:
        return sum(reader.file.row_count for reader in self._readers)

    def next(self) -> pa.Table | None:
        """The next rows, None after the last."""
        return next(self._stream, None)

    def _tables(self) -> Iterator[pa.Table]:
        for reader in self._readers:
            if reader.file.row_count <= max(self._step, WHOLE_FILE_ROWS):
                table = reader.read()
                if table.num_rows:
                    yield table
            else:
                yield from self._gathered(reader)

    def _gathered(self, reader: ReadsFile) -> Iterator[pa.Table]:
        """Batches put together to full steps: a batch ends where a row group does."""
        parts: list[pa.Table] = []
        rows = 0
        for part in reader.batches(min(self._step, _BATCH_ROWS)):
            parts.append(part)
            rows += part.num_rows
            if rows >= self._step:
                rows = 0
                yield _joined(parts)
        if parts:
            yield _joined(parts)


def _joined(parts: list[pa.Table]) -> pa.Table:
    """Tables as one. Empties the list: its owner waits while the rows are merged, and must not keep them."""
    table = pa.concat_tables(parts)
    parts.clear()
    return table
