"""Join the files that hold columns of the same rows: table option `data-evolution.enabled`.

The files of a group have the same row ids, so row n of one continues row n of another. Each column comes from the
newest file that has it. Nothing is filtered before the join, and the deletion vector, whose positions are those of the
group's oldest file, is applied after it. Source: Java `DataEvolutionSplitRead`, `DataEvolutionUtils`.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from maintenance.errors import CorruptFileError, UnsupportedError
from maintenance.format.metadata.data_file import DataFileMeta, written_fields
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import ROW_ID, SEQUENCE_NUMBER
from maintenance.metadata.manifests import DeletionFile
from maintenance.read.data_file import DataFileReader
from maintenance.read.deletions import read_vector
from maintenance.types.chosen_rows import chosen_rows
from maintenance.types.data_type import DataField

_BESIDE_ROWS = (".blob", ".blobref")


def anchor(files: Sequence[DataFileMeta]) -> DataFileMeta:
    """The file of a group that its deletion vector is named after: the oldest."""
    return min(_of_rows(files), key=lambda file: (file.max_sequence_number, file.file_name))


def newest_columns(
    files: Sequence[DataFileMeta],
    fields_read: Sequence[DataField],
    schemas: Mapping[int, TableSchema],
    constant: Sequence[str],
) -> list[tuple[DataFileMeta, tuple[DataField, ...]]]:
    """The files to read, and which of the requested columns each one gives. Columns that no file has go with the first.

    Args: `files`: of one group, newest first; `schemas`: of the files, by id; `constant`: the partition's columns.
    Raises: CorruptFileError: the files do not have the same rows; UnsupportedError: blobs were written again.
    """
    rows = _of_rows(files)
    if len({(file.first_row_id, file.row_count) for file in rows}) > 1:
        raise CorruptFileError(
            "files of the same rows have other row ids",
            ", ".join(file.file_name for file in rows),
            "Roll back to a snapshot.",
        )
    missing = list(fields_read)
    chosen: list[tuple[DataFileMeta, tuple[DataField, ...]]] = []
    for file in rows:
        own = {field.id for field in written_fields(file, schemas[file.schema_id])} | {ROW_ID.id, SEQUENCE_NUMBER.id}
        of_file = tuple(field for field in missing if field.id in own or field.name in constant)
        missing = [field for field in missing if field not in of_file]
        if of_file:
            chosen.append((file, of_file))
    blobs = []
    for field in tuple(missing):
        holders = [
            file
            for file in files
            if file not in rows and field.id in {own.id for own in written_fields(file, schemas[file.schema_id])}
        ]
        if holders:
            missing.remove(field)
            blobs += [(file, (field,)) for file in _in_order(holders, rows[0], field)]
    if missing:
        first, fields = chosen[0] if chosen else (rows[0], ())
        chosen[:1] = [(first, (*fields, *missing))]
    return chosen + blobs


def _in_order(blobs: Sequence[DataFileMeta], rows: DataFileMeta, field: DataField) -> list[DataFileMeta]:
    """The files of one column of blobs in the order of their rows. `rows`: a file of the columns.

    Raises: UnsupportedError: they are not one after the other, because blobs were written again.
    """
    ordered = sorted(blobs, key=lambda file: file.first_row_id or 0)
    starts = np.cumsum([rows.first_row_id or 0, *(file.row_count for file in ordered)]).tolist()
    ends = (rows.first_row_id or 0) + rows.row_count
    if [file.first_row_id for file in ordered] != starts[:-1] or starts[-1] != ends:
        raise UnsupportedError(
            f"blobs of column '{field.name}' were written again, or not for all rows",
            ordered[0].file_name,
            "Leave the column out of the read.",
        )
    return ordered


def joined(
    readers: Sequence[DataFileReader], deletion: DeletionFile | None, fields: Sequence[DataField], batch_rows: int
) -> Iterator[pa.Table]:
    """The rows of a group in tables of bounded size, its columns in the order of `fields`."""
    first = readers[0]
    streams = _streams(readers, batch_rows)
    row_count = sum(r.file.row_count for r in readers if r.context.fields == first.context.fields)
    live = None
    if deletion is not None:
        live = read_vector(first.context.file_io, deletion, row_count).kept(row_count)
    names = [field.name for field in fields]
    start = 0
    for parts in _in_step(streams):
        columns = {name: part.column(name) for part in parts for name in part.column_names}
        table = pa.table([columns[name] for name in names], names=names)
        end = start + table.num_rows
        yield table if live is None else chosen_rows(table, live[start:end])
        start = end
    if start != row_count:
        raise CorruptFileError(
            f"files of the same rows end after {start} of {row_count} rows", first.path, "Roll back to a snapshot."
        )


def _streams(readers: Sequence[DataFileReader], batch_rows: int) -> list["_Stream"]:
    """A stream for each set of columns: those of rows are in one file, those of blobs in one behind the other."""
    by_columns: dict[tuple[DataField, ...], list[DataFileReader]] = {}
    for reader in readers:
        by_columns.setdefault(reader.context.fields, []).append(reader)
    return [_Stream(of_columns, batch_rows) for of_columns in by_columns.values()]


class _Stream:
    """Files of the same columns in tables, of which any number of rows can be taken."""

    def __init__(self, readers: Sequence[DataFileReader], batch_rows: int) -> None:
        self._tables = chain.from_iterable(reader.batches(batch_rows) for reader in readers)
        self._rest: pa.Table | None = next(self._tables, None)

    def __len__(self) -> int:
        """Rows at hand, 0 at the end of the file."""
        while self._rest is not None and not self._rest.num_rows:
            self._rest = next(self._tables, None)
        return 0 if self._rest is None else self._rest.num_rows

    def take(self, rows: int) -> pa.Table:
        assert self._rest is not None
        taken, self._rest = self._rest.slice(0, rows), self._rest.slice(rows)
        return taken


def _in_step(streams: Sequence[_Stream]) -> Iterator[list[pa.Table]]:
    """Tables of all streams with the same rows, until one ends: batches of files end where their row groups do."""
    while rows := int(np.min([len(stream) for stream in streams])):
        yield [stream.take(rows) for stream in streams]


def is_beside_rows(file: DataFileMeta) -> bool:
    """Whether a file holds values that are kept apart from the rows."""
    return file.file_name.endswith(_BESIDE_ROWS)


def _of_rows(files: Sequence[DataFileMeta]) -> list[DataFileMeta]:
    """The files of a group that hold columns: blobs are in files of another format."""
    row_files = [file for file in files if not is_beside_rows(file)]
    if not row_files:
        raise UnsupportedError(
            "files of blobs are not supported yet", files[0].file_name, "Read the table with Paimon."
        )
    return row_files
