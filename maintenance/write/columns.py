"""New values for columns of rows that are there: a file with these columns alone, beside the files of the same rows.

Option `data-evolution.enabled`. The file has all rows of the others, in their order; rows that do not change get the
values they have. Source: Java `DataEvolutionPartialWriteOperator`.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.errors import CorruptFileError, DataError
from maintenance.format.rows.system_fields import ROW_ID
from maintenance.options import table as table_options
from maintenance.read.split_read import SplitRead
from maintenance.scan.data_evolution import row_id_range
from maintenance.scan.split import Split
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter

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
    def rows(self) -> range:
        """The row ids of the files."""
        return row_id_range(self.split.files[0])


def in_one_file(context: WriteContext) -> WriteContext:
    """The context for files that must not be cut, since others have the same rows."""
    options = {**context.options, table_options.TARGET_FILE_SIZE.key: _ONE_FILE}
    options.pop(table_options.TARGET_FILE_ROW_NUM.key, None)
    return replace(context, options=options)


def write_columns(task: ColumnsTask, new: pa.Table) -> CommitMessage:
    """Write the file. On an error nothing of it stays.

    Args: `new`: `_ROW_ID` of some of the rows, and the columns. Raises: DataError: a row is there twice.
    """
    ids = new.column(ROW_ID.name).to_numpy()
    order = np.argsort(ids, kind="stable")
    places = ids[order] - task.rows.start
    if (np.diff(places) == 0).any():
        raise DataError(
            f"row {ids[order][np.flatnonzero(np.diff(places) == 0)[0]]} gets two new values",
            f"table {task.write.name}",
            "Give each row once.",
        )
    columns = pa.Table.from_arrays(
        [new.column(field.name).take(pa.array(order)) for field in task.read.columns],
        names=[field.name for field in task.read.columns],
    )
    place = FilePlace(task.split.partition, task.split.bucket)
    writer = RollingFileWriter(in_one_file(task.write), place, FileNames.of(task.write))
    try:
        start = 0
        for rows in task.read.tables(task.split):
            end = start + rows.num_rows
            low, high = np.searchsorted(places, (start, end))
            writer.write(_changed(rows, places[low:high] - start, columns.slice(low, high - low)))
            start = end
        (file,) = writer.close()
        if file.row_count != len(task.rows):
            raise CorruptFileError(
                f"the files have {file.row_count} rows where their entries say {len(task.rows)}",
                task.split.files[0].file_name,
                "Roll back to a snapshot.",
            )
    except BaseException:
        writer.abort()
        raise
    file = replace(file, first_row_id=task.rows.start)
    return CommitMessage(task.split.partition, task.split.bucket, task.total_buckets, new_files=(file,))


def _changed(rows: pa.Table, places: np.ndarray, new: pa.Table) -> pa.Table:
    """Rows, of which some have other values. `places`: of `new` among them."""
    if not len(places):
        return rows
    chosen = np.arange(rows.num_rows)
    chosen[places] = rows.num_rows + np.arange(len(places))
    return pa.concat_tables([rows, new.cast(rows.schema)]).take(pa.array(chosen))
