"""Merge the runs of a section in key-range windows, so that memory does not grow with the section.

Each run is read some rows ahead. The window is everything up to the *bound*: the smallest last key among the runs that
have more to read, since beyond it a run may still have older or newer records of a key. Rows from the bound's key on
wait for the next window. Steps are proportional to the runs' lengths, so runs advance through the keys together. They
are also read on together, since waiting rows are sorted again with the next ones. A section that fits is one window,
read and sorted at once.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from maintenance.merge.ordered import RUN_COLUMN, KeyGroups, RecordOrder, group_by_key
from maintenance.read.run import ReadsFile, ReadsFileWhole, RunReader


@dataclass(frozen=True, slots=True)
class Window:
    """All records of a range of keys.

    Attributes:
        rows: the records, columns contiguous; the last column, `_RUN`, is the number of their run.
        groups: the keys in `rows`.
    """

    rows: pa.Table
    groups: KeyGroups


def windows(runs: Sequence[Sequence[ReadsFile]], order: RecordOrder, max_rows: int) -> Iterator[Window]:
    """Windows of a section in key order.

    Args: `runs`: oldest first; `max_rows`: rows to hold at a time, over all runs.
    """
    total = sum(reader.file.row_count for run in runs for reader in run)
    readers = []
    for run in runs:
        length = sum(reader.file.row_count for reader in run)
        whole = total <= max_rows
        readers.append(RunReader(run, length if whole else max(1024, max_rows * length // max(1, total))))
    return windows_of(readers, order)


_ALL = 1 << 62
# A run is read on before its end is reached where at most one in this many of its rows would wait.
_FEW = 8


class Stream(Protocol):
    """Records in the order of their keys."""

    def next(self) -> pa.Table | None:
        """The next records, at least one; None after the last."""


def windows_of(readers: Sequence[Stream], order: RecordOrder) -> Iterator[Window]:
    """Windows of streams in key order; `_RUN` is the number of the stream."""
    reading = dict(enumerate(readers))
    waiting: list[pa.Table] = []
    refill = set(reading)
    while reading or waiting:
        for number in sorted(refill):
            table = reading[number].next()
            if table is None:
                del reading[number]
            else:
                waiting.append(
                    table.append_column(RUN_COLUMN, pa.repeat(pa.scalar(number, pa.int32()), table.num_rows))
                )
            # What is joined below must not be kept.
            del table
        if not waiting:
            return
        rows = _contiguous(waiting)
        groups = group_by_key(rows, order, RUN_COLUMN)
        cut, refill = _bound(rows, groups, set(reading))
        if cut == len(groups.starts):
            yield Window(rows, groups)
        else:
            position = int(groups.starts[cut])
            waiting = [rows.take(pa.array(groups.order[position:]))]
            if cut:
                yield Window(rows, KeyGroups(groups.order[:position], groups.starts[:cut]))
            del rows


def _contiguous(tables: list[pa.Table]) -> pa.Table:
    """The rows of the tables with one chunk for each column. Empties the list, to hold each column twice at most."""
    joined = pa.concat_tables(tables)
    tables.clear()
    names, columns = joined.column_names, joined.columns
    del joined
    for number, column in enumerate(columns):
        columns[number] = column.combine_chunks()
    return pa.Table.from_arrays(columns, names=names)


def _bound(rows: pa.Table, groups: KeyGroups, reading: set[int]) -> tuple[int, set[int]]:
    """Number of keys that are complete, and the runs to read on."""
    if not reading:
        return len(groups.starts), set()
    run = rows.column(RUN_COLUMN).to_numpy()[groups.order]
    last = {number: np.flatnonzero(run == number) for number in reading}
    if any(not len(positions) for positions in last.values()):
        # A run that is still being read has no row here: nothing is known to be complete.
        return 0, {number for number, positions in last.items() if not len(positions)}
    key_of_last = {
        number: int(np.searchsorted(groups.starts, positions[-1], side="right")) - 1
        for number, positions in last.items()
    }
    cut = min(key_of_last.values())
    position = groups.starts[cut]
    few = {
        number
        for number, positions in last.items()
        if _FEW * (len(positions) - np.searchsorted(positions, position)) <= len(positions)
    }
    return cut, few | {number for number, key in key_of_last.items() if key == cut}


def rows_at_a_time(runs: Sequence[Sequence[ReadsFileWhole]], memory: int) -> int:
    """Rows to hold at a time, judged by the first rows of the largest file: about `memory` bytes.

    What fits into twice of that is held whole: merging it in windows would read it no faster and sort it more often.
    """
    files = [reader for run in runs for reader in run]
    if sum(reader.file.file_size for reader in files) * 40 < memory:
        return _ALL
    largest = max(files, key=lambda reader: reader.file.file_size)
    sample = next(largest.unfiltered().batches(4096), None)
    if sample is None or not sample.num_rows:
        return _ALL
    width = max(1, sample.nbytes // sample.num_rows)
    total = width * sum(reader.file.row_count for reader in files)
    return _ALL if total <= 2 * memory else max(4096, memory // width)
