"""Builds all indexes of one data file while its rows are written."""

from collections.abc import Sequence

import pyarrow as pa

from maintenance.format.file_index.container import serialize_container
from maintenance.format.file_index.kinds import ColumnIndex


class FileIndexBuilder:
    """Builds the container of the `indexes` of one data file."""

    def __init__(self, indexes: Sequence[ColumnIndex]) -> None:
        self._builders = [(index.field.name, index.kind.name, index.builder()) for index in indexes]

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Take the file's next rows; they have all indexed columns, in their natural Arrow types."""
        for column, _, builder in self._builders:
            builder.add(batch.column(column))

    def bodies(self) -> dict[str, dict[str, bytes | None]]:
        """Column, kind of index, body; None for a body that was given no rows."""
        bodies: dict[str, dict[str, bytes | None]] = {}
        for column, kind, builder in self._builders:
            bodies.setdefault(column, {})[kind] = builder.finish()
        return bodies

    def finish(self) -> bytes:
        """The container, to be stored beside the data file or in its manifest entry."""
        return serialize_container(self.bodies())
