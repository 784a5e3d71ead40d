"""Merge rows that wait in the postpone bucket into what a partition's real buckets hold: `postpone.merge-on-read`.

Keys are in one bucket each, so all buckets of a partition are merged together, and no row needs a bucket. Rows that
wait are in the order in which they came, not of their keys: they are sorted in steps of bounded memory, and wait in a
temporary file where one step does not hold them all. They count as newer than all others, in the order of their files,
as in Paimon's reads. Source: Java `MergeFileSplitRead.createPostponeMergeReader`.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from typing import IO

import numpy as np
import pyarrow as pa

from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.key import key_reader
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER
from maintenance.merge.ordered import RecordOrder, group_by_key
from maintenance.merge.sections import Run, partition_into_sections
from maintenance.read.data_file import DataFileReader
from maintenance.read.windows import Stream
from maintenance.types.data_type import DataType

_STEP_ROWS = 1 << 16


def runs_by_level(files: Sequence[DataFileMeta], key_types: Sequence[DataType]) -> list[Run]:
    """Sorted runs of files of several buckets, the highest level first, each of one level."""
    runs: list[Run] = []
    for level in sorted({file.level for file in files}, reverse=True):
        sections = partition_into_sections([file for file in files if file.level == level], key_reader(key_types))
        runs += [tuple(file for part in parts for file in part) for parts in zip_longest(*sections, fillvalue=())]
    return runs


def sorted_runs(
    readers: Iterable[DataFileReader], order: RecordOrder, first_number: int, memory: int, stack: ExitStack
) -> list[Stream]:
    """Rows that wait as runs in the order of their keys.

    Args: `readers`: of their files, in the order of the rows; `first_number`: sequence number of the first row;
        `memory`: bytes of rows to sort at a time; `stack`: closes the temporary files.
    """
    steps = _numbered(readers, first_number, memory)
    first, second = next(steps, None), next(steps, None)
    if first is None:
        return []
    runs: list[Stream] = []
    if second is None:
        return [_Held(_sorted(first, order))]
    for step in (first, second, *steps):
        file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        runs.append(_Spilled(_sorted(step, order), file))
    return runs


def _numbered(readers: Iterable[DataFileReader], number: int, memory: int) -> Iterator[pa.Table]:
    """The rows with sequence numbers, about `memory` bytes at a time."""
    parts: list[pa.Table] = []
    size = 0
    for reader in readers:
        for rows in reader.batches(_STEP_ROWS):
            numbers = pa.array(np.arange(number, number + rows.num_rows))
            number += rows.num_rows
            parts.append(rows.set_column(rows.column_names.index(SEQUENCE_NUMBER.name), SEQUENCE_NUMBER.name, numbers))
            size += rows.nbytes
            if size >= memory:
                yield pa.concat_tables(parts)
                parts, size = [], 0
    if any(part.num_rows for part in parts):
        yield pa.concat_tables(parts)


def _sorted(rows: pa.Table, order: RecordOrder) -> pa.Table:
    rows = rows.combine_chunks()
    return rows.take(pa.array(group_by_key(rows, order).order))


class _Held:
    """A run in memory."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows: pa.Table | None = rows

    def next(self) -> pa.Table | None:
        rows, self._rows = self._rows, None
        return rows


class _Spilled:
    """A run in a temporary file."""

    def __init__(self, rows: pa.Table, file: IO[bytes]) -> None:
        with pa.ipc.new_stream(file, rows.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(rows, max_chunksize=_STEP_ROWS)
        file.seek(0)
        self._batches = iter(pa.ipc.open_stream(file))

    def next(self) -> pa.Table | None:
        batch = next(self._batches, None)
        return None if batch is None else pa.Table.from_batches([batch])
