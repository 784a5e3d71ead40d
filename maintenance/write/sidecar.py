"""The rows of a data file once more, in a file of format `row` beside it, which finds single rows faster.

Option `data-evolution.row-sidecar.enabled`. Files of tables or writes that keep blobs or vectors apart have none.
Source: Java `RowDataFileWriter`, `DedicatedFormatRollingFileWriter`.
"""

from contextlib import suppress

import pyarrow as pa

from maintenance.format.data_format import FileSettings
from maintenance.format.row_file.data_format import ROW, SIDECAR_SUFFIX
from maintenance.options import table as table_options
from maintenance.write.context import WriteContext


def has_sidecars(context: WriteContext) -> bool:
    """Whether the files of rows that a table's options are for have sidecars."""
    options = context.model
    return options.evolves and (table_options.DATA_EVOLUTION_ROW_SIDECAR_ENABLED.of(options))


class RowSidecar:
    """The sidecar of a data file that is being written. `path`: of the data file."""

    def __init__(self, context: WriteContext, path: str) -> None:
        self._file_io = context.file_io
        self._path = path + SIDECAR_SUFFIX
        level = context.model.file_compression_zstd_level
        settings = FileSettings(ROW.name, zstd_level=level, options=context.model)
        open_writer = ROW.prepare_writer(context.file_fields, settings)
        self._sink = self._file_io.open_output(self._path)
        self._writer = open_writer(self._sink)

    def write(self, rows: pa.Table) -> None:
        """Take the rows of the data file, with its columns."""
        self._writer.write(rows)

    def finish(self) -> str:
        """Close the file. Returns its name."""
        self._writer.close()
        self._sink.close()
        return self._path.rsplit("/", 1)[1]

    def abandon(self) -> None:
        """Delete the file."""
        with suppress(Exception):
            self._writer.close()
        self._sink.close()
        self._file_io.delete_quietly([self._path])
