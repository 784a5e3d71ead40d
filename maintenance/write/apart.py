"""Columns of new rows that go to files of their own: blobs, and vectors where `vector.file.format` is set.

The files end where the data file ends, so that they never hold rows of two. Blobs have files for each column; all
vectors share theirs. Source: Java `DedicatedFormatRollingFileWriter`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from maintenance.errors import DataError
from maintenance.format.blob_descriptor import are_descriptors, are_views
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.options import table as table_options
from maintenance.options.blob import BLOB_DESCRIPTOR_FIELD, BLOB_VIEW_FIELD
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField
from maintenance.write import settings
from maintenance.write.blobs import BlobFiles
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.placement import FilePlacement


class Writer(Protocol):
    """Writes files of rows."""

    def write(self, rows: pa.Table) -> None:
        """Take rows."""

    def close(self) -> tuple[DataFileMeta, ...]:
        """Finish the last file. Returns all files, in the order of their rows."""

    def abort(self) -> None:
        """Delete everything written so far."""


NewWriter = Callable[[WriteContext, str], Writer]
"""Makes the writer for a context; its second argument comes between the names of files and their extension."""


def blobs_apart(context: WriteContext) -> tuple[DataField, ...]:
    """The columns written whose values go to files of blobs."""
    inline = context.model.inline_blobs
    return tuple(field for field in context.columns if field.type.is_blobs and field.name not in inline)


def vectors_apart(context: WriteContext) -> tuple[DataField, ...]:
    """The columns written that go to files of vectors."""
    return settings.vectors_apart(context.columns, context.model)


def check_inline_blobs(rows: pa.Table, context: WriteContext) -> None:
    """Data files hold where the blobs of some columns are. Raises: DataError: a value is something else."""
    kinds = ((BLOB_DESCRIPTOR_FIELD, are_descriptors), (BLOB_VIEW_FIELD, are_views))
    for option, are_of_kind in kinds:
        for name in option.of(context.options):
            if name not in rows.column_names:
                continue
            column = rows.column(name)
            if column.null_count + int(are_of_kind(column).sum()) < len(column):
                raise DataError(
                    f"a value of column '{name}', which is in '{option.key}', does not say where its blob is",
                    f"table {context.name}",
                    "Write serialized descriptors, or views, as Paimon's BlobDescriptor and BlobViewStruct make them.",
                )


def of_rows(context: WriteContext) -> WriteContext:
    """The context for the files of the other columns."""
    apart = (*blobs_apart(context), *vectors_apart(context))
    return replace(context, write_cols=tuple(f.name for f in context.columns if f not in apart)) if apart else context


def without_vector_files(context: WriteContext) -> WriteContext:
    """The context that has vectors among the other columns."""
    options = {key: text for key, text in context.options.items() if key != table_options.VECTOR_FILE_FORMAT.key}
    return replace(context, options=options)


def of_vectors(context: WriteContext, fields: Sequence[DataField]) -> WriteContext:
    """The context for files of vectors, which have no file index."""
    model = TableModel.of(settings.of_vector_files(context.model))
    options = {key: text for key, text in model.items() if not key.startswith("file-index.")}
    options[table_options.TARGET_FILE_SIZE.key] = str(model.vector_target_file_size)
    options.pop(table_options.TARGET_FILE_ROW_NUM.key, None)
    return replace(context, options=options, write_cols=tuple(field.name for field in fields))


class FilesApart:
    """Writes the files beside one data file. `placement`: where they go; `whole`: the context of all columns."""

    def __init__(self, whole: WriteContext, placement: FilePlacement, names: FileNames, new_writer: NewWriter) -> None:
        self._vectors = vectors_apart(whole)
        self._blobs = [(f.name, BlobFiles(whole, placement, names, f)) for f in blobs_apart(whole)]
        self._vector_writer = new_writer(of_vectors(whole, self._vectors), "vector.") if self._vectors else None

    def write(self, rows: pa.Table) -> None:
        """Take rows with all columns."""
        for name, files in self._blobs:
            files.write(rows.column(name))
        if self._vector_writer is not None:
            self._vector_writer.write(rows.select([field.name for field in self._vectors]))

    def finish(self) -> list[DataFileMeta]:
        """Close the last files. Returns those of each column in the order of their rows."""
        files = [file for _, blobs in self._blobs for file in blobs.finish()]
        return files if self._vector_writer is None else [*files, *self._vector_writer.close()]

    def abort(self) -> None:
        """Delete everything written so far."""
        for _, blobs in self._blobs:
            blobs.abort()
        if self._vector_writer is not None:
            self._vector_writer.abort()
