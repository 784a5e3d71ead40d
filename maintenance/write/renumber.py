"""Write data files again with other sequence numbers: the same amount is added to each.

A commit does so with its own files when another writer has used their numbers in the meantime, so that what is
committed later is newer. The order of the rows stays, so the new file is as sorted as the old one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import DEFAULT_BATCH_ROWS, partition_values
from maintenance.threads import map_in_threads
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.rolling import FileObserver, FilePlace, RollingFileWriter

P = TypeVar("P")
R = TypeVar("R")

_THREADS = 4


class Runner(Protocol):
    """Runs a function over payloads. An error comes back in the place of its result, so that the others are known."""

    def __call__(self, function: Callable[[P], R], payloads: Sequence[P], /) -> "list[R | Exception]": ...


@dataclass(frozen=True, slots=True)
class RenumberTask:
    """A file to write again.

    Attributes:
        write, read: of the table; the new file has the schema of `write`, the old one is among the schemas of `read`.
        shift: what is added to each number.
        source: of the new file.
        changelog: it is a changelog file.
    """

    write: WriteContext
    read: ReadContext
    partition: bytes
    bucket: int
    file: DataFileMeta
    shift: int
    source: FileSource = FileSource.APPEND
    changelog: bool = False


def renumber(
    task: RenumberTask, observer: FileObserver | None = None, reads: Callable[[pa.Table], None] = lambda _rows: None
) -> tuple[DataFileMeta, ...]:
    """Write the file again. Returns the new one, or several where its rows have outgrown the target size.

    On an error nothing of what was written stays. `observer`: sees the rows of the new files; `reads`: those of the
    old one.
    """
    write, file = task.write, task.file
    place = FilePlace(task.partition, task.bucket, file.level, task.source, task.changelog)
    path = write.paths.data_file(task.partition, task.bucket, file)
    reader = DataFileReader(task.read, path, file, partition_values(write.schema, task.partition))
    writer = RollingFileWriter(write, place, FileNames.of(write), observer=observer)
    try:
        for rows in reader.batches(DEFAULT_BATCH_ROWS):
            reads(rows)
            writer.write(shifted(rows, task.shift))
        return writer.close()
    except BaseException:
        writer.abort()
        raise


def shifted(rows: pa.Table, shift: int) -> pa.Table:
    """Rows with their sequence numbers raised."""
    at = rows.column_names.index(SEQUENCE_NUMBER.name)
    numbers = pc.add_checked(rows.column(at), pa.scalar(shift, pa.int64()))
    return rows.set_column(at, rows.schema.field(at), numbers)


def shifted_meta(file: DataFileMeta, shift: int) -> DataFileMeta:
    """A file whose rows do not hold their numbers: only what its manifest entry says changes."""
    low, high = file.min_sequence_number + shift, file.max_sequence_number + shift
    return replace(file, min_sequence_number=low, max_sequence_number=high)


def in_threads(function: Callable[[P], R], payloads: Sequence[P]) -> "list[R | Exception]":
    """A `Runner` that works in this process."""

    def guarded(payload: P) -> "R | Exception":
        try:
            return function(payload)
        except Exception as error:  # noqa: BLE001 - whoever asked clears up before raising it
            return error

    return map_in_threads(guarded, payloads, _THREADS)
