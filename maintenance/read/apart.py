"""Columns whose values are kept apart from the rows, in files of blobs or of vectors, read in the order of the rows.

Such files have some of the rows of a group each. Where several have the same rows, the newest one counts: of vectors
as a whole, of blobs value by value, since a new file of blobs has placeholders for the values that did not change. A
blob that is a placeholder everywhere is null. Source: Java `DataEvolutionSplitRead`, `BlobFallbackRecordReader`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa

from maintenance.errors import ROLL_BACK, CorruptFileError
from maintenance.format.blob import PLACEHOLDER, bounded
from maintenance.format.metadata.data_file import DataFileMeta, is_of_blobs
from maintenance.read.data_file import DataFileReader
from maintenance.read.row_selection import ALL_ROWS, RowSelection
from maintenance.scan.data_evolution import row_id_range
from maintenance.types.arrow import arrow_type
from maintenance.types.chosen_rows import in_order
from maintenance.types.data_type import DataField

Open = Callable[[DataFileMeta, tuple[DataField, ...]], DataFileReader]
_NOWHERE = -1


def tables_apart(
    files: Sequence[DataFileMeta],
    fields: tuple[DataField, ...],
    rows: range,
    open_file: Open,
    batch_rows: int,
    chosen: RowSelection = ALL_ROWS,
) -> Iterator[pa.Table]:
    """The columns of rows, in tables of bounded size.

    Args: `files`: all that have the columns; `rows`: ids of the group's rows; `chosen`: which of them, by their numbers
        in the group. Raises: CorruptFileError: rows are in none of the files, or a file has others.
    """
    oldest_first = sorted(files, key=lambda file: file.max_sequence_number)
    readers = [open_file(file, fields) for file in oldest_first]
    starts = [row_id_range(file).start - rows.start for file in oldest_first]
    for reader, start in zip(readers, starts, strict=True):
        if start < 0 or start + reader.file.row_count > len(rows):
            raise _misplaced("has rows that the file of the other columns lacks", reader)
    only = chosen.numbers(len(rows))
    if not is_of_blobs(files[0]):
        owners = _owners(readers, starts, len(rows))
        if only is None:
            yield from _runs(readers, starts, owners, batch_rows)
        else:
            steps = range(0, len(only), batch_rows)
            yield from (_of_owners(readers, starts, owners, only[start : start + batch_rows]) for start in steps)
    elif only is None and _follow_each_other(readers, starts, len(rows)):
        ordered = [readers[n] for n in np.argsort(starts, kind="stable")]
        yield from chain.from_iterable(reader.batches(batch_rows) for reader in ordered)
    else:
        yield from _blobs(readers, starts, len(rows), batch_rows, only)


def _misplaced(problem: str, reader: DataFileReader) -> CorruptFileError:
    return CorruptFileError(f"a file apart from the rows {problem}", reader.path, ROLL_BACK)


def _follow_each_other(readers: Sequence[DataFileReader], starts: Sequence[int], count: int) -> bool:
    """Whether each row is in exactly one of the files."""
    end = 0
    for number in np.argsort(starts, kind="stable"):
        if starts[number] != end:
            return False
        end += readers[number].file.row_count
    return end == count


def _owners(readers: Sequence[DataFileReader], starts: Sequence[int], count: int) -> np.ndarray:
    """For each row the number of the newest file that has it. int64, shape (n,)."""
    owners = np.full(count, _NOWHERE)
    for number, (reader, start) in enumerate(zip(readers, starts, strict=True)):
        owners[start : start + reader.file.row_count] = number
    if (owners == _NOWHERE).any():
        raise _misplaced(f"or before it lacks row {int(np.argmin(owners))} of the group", readers[-1])
    return owners


def _runs(
    readers: Sequence[DataFileReader], starts: Sequence[int], owners: np.ndarray, batch_rows: int
) -> Iterator[pa.Table]:
    """Rows of which neighbours are in the same file, read as they follow each other."""
    cuts = [0, *(np.flatnonzero(np.diff(owners)) + 1).tolist(), len(owners)]
    for first, end in zip(cuts[:-1], cuts[1:], strict=True):
        number = int(owners[first])
        reader, start = readers[number], starts[number]
        whole = first == start and end - first == reader.file.row_count
        yield from replace(
            reader, rows=ALL_ROWS if whole else RowSelection(exactly=np.arange(first - start, end - start))
        ).batches(batch_rows)


def _blobs(
    readers: Sequence[DataFileReader], starts: Sequence[int], count: int, batch_rows: int, numbers: np.ndarray | None
) -> Iterator[pa.Table]:
    """One column of blobs: the newest value of each row that is not a placeholder. `numbers`: of the rows, or all."""
    owners, sizes = np.full(count, _NOWHERE), np.zeros(count, np.int64)
    for number, (reader, start) in enumerate(zip(readers, starts, strict=True)):
        stored = reader.blob_sizes()
        there = start + np.flatnonzero(stored != PLACEHOLDER)
        owners[there], sizes[there] = number, np.maximum(stored[there - start], 0)
    rows = np.arange(count) if numbers is None else numbers
    for first, end in bounded(np.cumsum(sizes[rows]), batch_rows):
        yield _of_owners(readers, starts, owners, rows[first:end])


def _of_owners(
    readers: Sequence[DataFileReader], starts: Sequence[int], owners: np.ndarray, rows: np.ndarray
) -> pa.Table:
    """Rows of these numbers, each out of its own file. `owners`: of all rows of the group."""
    parts, places = [], []
    for number in np.unique(owners[rows]).tolist():
        at = np.flatnonzero(owners[rows] == number)
        places.append(at)
        if number == _NOWHERE:
            parts.append(pa.table({f.name: pa.nulls(len(at), arrow_type(f.type)) for f in readers[0].context.fields}))
        else:
            parts.append(replace(readers[number], rows=RowSelection(exactly=rows[at] - starts[number])).read())
    return in_order(parts, places)
