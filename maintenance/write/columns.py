"""New values for columns of rows that are there: a file with these columns alone, beside the files of the same rows.

Option `data-evolution.enabled`. The file has all rows of the others, in their order; rows that do not change get the
values they have. Blobs go to files of their own, in which placeholders stand for those that do not change, and vectors
to such files where those of the same rows are. Source: Java `DataEvolutionPartialWriteOperator`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from maintenance.errors import ROLL_BACK, CorruptFileError, DataError
from maintenance.format.metadata.data_file import DataFileMeta, is_apart_from_rows, written_fields
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.options import table as table_options
from maintenance.read.split_read import SplitRead
from maintenance.scan.data_evolution import row_id_range
from maintenance.scan.split import Split
from maintenance.types.data_type import DataField
from maintenance.write.apart import blobs_apart, of_vectors, vectors_apart, without_vector_files
from maintenance.write.blobs import BlobFiles
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.placement import FilePlacement
from maintenance.write.rolling import FilePlace, RollingFileWriter
from maintenance.write.rows import fitting

_ONE_FILE = str(1 << 62)


@dataclass(frozen=True, slots=True)
class ColumnsTask:
    """The files of the same rows that get new values in some columns.

    Attributes:
        write: with `write_cols`, the columns.
        read: of these columns.
        split: the files, without their deletion vectors: deleted rows keep their place.
    """

    write: WriteContext
    read: SplitRead
    split: Split
    total_buckets: int

    @property
    def place(self) -> FilePlace:
        return FilePlace(self.split.partition, self.split.bucket)

    @property
    def placement(self) -> FilePlacement:
        """Where the files go."""
        return FilePlacement(self.write.paths, self.split.partition, self.split.bucket)

    @property
    def rows(self) -> range:
        """The row ids of the files."""
        return row_id_range(self.split.files[0])


class Abortable(Protocol):
    """Writes files."""

    def abort(self) -> None:
        """Delete everything written so far."""


def in_one_file(context: WriteContext) -> WriteContext:
    """The context for files that must not be cut, since others have the same rows."""
    options = {**context.options, table_options.TARGET_FILE_SIZE.key: _ONE_FILE}
    options.pop(table_options.TARGET_FILE_ROW_NUM.key, None)
    return replace(context, options=options)


def write_columns(task: ColumnsTask, new: pa.Table) -> CommitMessage:
    """Write the files. On an error nothing of them stays.

    Args: `new`: `_ROW_ID` of some of the rows, and the columns.
    Raises: DataError: a row is there twice, or a value does not fit its column.
    """
    ids = new.column(ROW_ID.name).to_numpy()
    order = np.argsort(ids, kind="stable")
    places = ids[order] - task.rows.start
    if (np.diff(places) == 0).any():
        problem = f"row {ids[order][np.flatnonzero(np.diff(places) == 0)[0]]} gets two new values"
        raise DataError(problem, f"table {task.write.name}", "Give each row id once.")
    where = f"table {task.write.name}"
    columns = {field.name: fitting(new.column(field.name), field, where) for field in task.write.columns}
    changes = _Changes(places, pa.table(columns).take(pa.array(order)))
    names = FileNames.of(task.write)
    files: list[DataFileMeta] = []
    writers: list[Abortable] = []
    try:
        for context, kind in _contexts(task):
            writer = RollingFileWriter(context, task.place, names, kind=kind)
            writers.append(writer)
            files += _numbered(_written(task, writer, context, changes), task)
        for field in blobs_apart(task.write):
            blobs = BlobFiles(task.write, task.placement, names, field)
            writers.append(blobs)
            files += _numbered(_written_blobs(task, blobs, field, changes), task)
    except BaseException:
        for each in writers:
            each.abort()
        raise
    return CommitMessage(task.split.partition, task.split.bucket, task.total_buckets, new_files=tuple(files))


def _contexts(task: ColumnsTask) -> Iterator[tuple[WriteContext, str]]:
    """What files of rows and of vectors hold, and what their names have before the extension."""
    row_files = [file for file in task.split.files if not is_apart_from_rows(file)]
    own = {f.id for file in row_files for f in written_fields(file, task.read.schemas[file.schema_id])}
    apart = [field for field in vectors_apart(task.write) if field.id not in own]
    names = [f.name for f in task.write.columns if f not in apart and f not in blobs_apart(task.write)]
    if names:
        whole = without_vector_files(task.write)
        yield in_one_file(replace(whole, write_cols=tuple(names))), ""
    if apart:
        yield of_vectors(task.write, apart), "vector."


def _written(
    task: ColumnsTask, writer: RollingFileWriter, context: WriteContext, changes: "_Changes"
) -> tuple[DataFileMeta, ...]:
    """The files of some columns."""
    names = [field.name for field in context.columns]
    read = replace(task.read, columns=context.columns)
    start = 0
    for rows in read.tables(task.split):
        writer.write(changes.among(rows, names, start))
        start += rows.num_rows
    return writer.close()


def _written_blobs(
    task: ColumnsTask, blobs: BlobFiles, field: DataField, changes: "_Changes"
) -> tuple[DataFileMeta, ...]:
    """The files of one column of blobs. The blobs that stay are not read; where there are none yet, they are null."""
    has_older = any(
        field.id in {own.id for own in written_fields(file, task.read.schemas[file.schema_id])}
        for file in task.split.files
        if is_apart_from_rows(file)
    )

    def stay(rows: int) -> None:
        if has_older:
            blobs.skip(rows)
        else:
            blobs.write(pa.chunked_array([pa.nulls(rows, pa.large_binary())]))

    column, start = changes.rows.column(field.name), 0
    breaks = np.flatnonzero(np.diff(changes.places) != 1) + 1
    for first, end in zip([0, *breaks.tolist()], [*breaks.tolist(), len(column)], strict=True):
        stay(int(changes.places[first]) - start)
        blobs.write(column.slice(first, end - first))
        start = int(changes.places[end - 1]) + 1
    stay(len(task.rows) - start)
    return blobs.finish()


def _numbered(files: Sequence[DataFileMeta], task: ColumnsTask) -> list[DataFileMeta]:
    """Files of all rows with their first row ids. Raises: CorruptFileError: the files read had other rows."""
    ends = np.cumsum([0, *(file.row_count for file in files)]).tolist()
    if ends[-1] != len(task.rows):
        raise CorruptFileError(
            f"the files have {ends[-1]} rows where their entries say {len(task.rows)}",
            task.split.files[0].file_name,
            ROLL_BACK,
        )
    starts = [task.rows.start + end for end in ends[:-1]]
    return [_newest(replace(file, first_row_id=start), task) for file, start in zip(files, starts, strict=True)]


def _newest(file: DataFileMeta, task: ColumnsTask) -> DataFileMeta:
    """The file with a sequence number above those of the files whose values it replaces.

    The id of its snapshot is that, unless pypaimon wrote the others: it counts on from there.
    """
    above = max(
        (old.max_sequence_number for old in task.split.files if is_apart_from_rows(old) == is_apart_from_rows(file)),
        default=0,
    )
    if above <= task.split.snapshot_id:
        return file
    return replace(file, min_sequence_number=above + 1, max_sequence_number=above + 1)


@dataclass(frozen=True, slots=True)
class _Changes:
    """New values. `places`: int64, shape (n,), ascending, which of the group's rows get them; `rows`: the values."""

    places: np.ndarray
    rows: pa.Table

    def among(self, rows: pa.Table, names: Sequence[str], start: int) -> pa.Table:
        """Rows of the group, from the number `start` on, with the new values in these columns."""
        low, high = np.searchsorted(self.places, (start, start + rows.num_rows))
        new = self.rows.select(names).slice(low, high - low)
        return _changed(rows.select(names), self.places[low:high] - start, new)


def _changed(rows: pa.Table, places: np.ndarray, new: pa.Table) -> pa.Table:
    """Rows, of which some have other values. `places`: of `new` among them."""
    if not len(places):
        return rows
    chosen = np.arange(rows.num_rows)
    chosen[places] = rows.num_rows + np.arange(len(places))
    return pa.concat_tables([rows, new.cast(rows.schema)]).take(pa.array(chosen))
