"""Builds all indexes of one data file while its rows are written."""

import logging
from collections.abc import Sequence

import pyarrow as pa

from maintenance.errors import DataError
from maintenance.format.file_index.container import serialize_container
from maintenance.format.file_index.kinds import ColumnIndex

_LOG = logging.getLogger(__name__)


class FileIndexBuilder:
    """Builds the container of the `indexes` of one data file."""

    def __init__(self, indexes: Sequence[ColumnIndex]) -> None:
        self._builders = [(index, index.builder()) for index in indexes]

    def add(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Take the file's next rows; they have all indexed columns, in their natural Arrow types."""
        for index, builder in self._builders:
            builder.add(batch.column(index.field.name))

    def bodies(self) -> dict[str, dict[str, bytes | None]]:
        """Column, kind of index, body; None for a body that was given no rows.

        An index that cannot hold a value of the file is left out with a warning: the file can be read without.
        """
        bodies: dict[str, dict[str, bytes | None]] = {}
        for index, builder in self._builders:
            try:
                body = builder.finish()
            except DataError as error:
                _LOG.warning("no index '%s' of column '%s' for this file: %s", index.kind.name, index.name, error)
                continue
            bodies.setdefault(index.name, {})[index.kind.name] = body
        return bodies

    def finish(self) -> bytes | None:
        """The container, to be stored beside the data file or in its manifest entry; None without any index."""
        bodies = self.bodies()
        return serialize_container(bodies) if bodies else None
