"""Carry out the compaction of a bucket that `clustered_keys` planned. Runs in a task.

New rows gather until the memory for them is full, and are sorted: each such part becomes a sorted run of files. The
last part, or the only one, is merged with the sorted files that are rewritten. What is written is not proved here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyroaring import BitMap, FrozenBitMap

from maintenance.compaction.clustered_keys import columns_in_order
from maintenance.compaction.plan import RewriteStep
from maintenance.compaction.rewriting import CompactionResult, CompactionTask, merging_of
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.metadata.deletion_vector import DeletionVector
from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.merge.engine import MergeEngine
from maintenance.merge.ordered import RUN_COLUMN, RecordOrder
from maintenance.merge.sections import oldest_first
from maintenance.merge.sort_words import sort_order, sort_words
from maintenance.read.data_file import DataFileReader
from maintenance.read.row_selection import RowSelection
from maintenance.read.run import RunReader
from maintenance.read.windows import Stream, rows_at_a_time, windows, windows_of
from maintenance.types.row_kind import is_retract
from maintenance.write.context import FileNames
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter

_BATCH_ROWS = 1 << 16


def rewrite_clustered(task: CompactionTask) -> CompactionResult:
    """Compact one bucket. On an error nothing of what was written stays in the bucket."""
    return _ClusteredRewrite(task).run()


class _ClusteredRewrite:
    def __init__(self, task: CompactionTask) -> None:
        self._task, self._plan = task, task.compaction
        self._engine = MergeEngine.of(task.write.schema, task.write.model)
        self._merging = merging_of(task, self._engine)
        files = self._plan.input_files
        self._placed = [file for file in files if file.level > 0]
        place = FilePlace(self._plan.partition, self._plan.bucket, self._plan.output_level, FileSource.COMPACT)
        self._output = RollingFileWriter(task.write, place, FileNames.of(task.write), ordered_by=self._plan.clustering)
        self._sorted = _SortedParts(self._plan.clustering, task.memory // 2)
        self._deleted: dict[str, BitMap] = {}
        self._input_rows = self._output_rows = 0

    def run(self) -> CompactionResult:
        try:
            for part in self._fresh_rows():
                self._write(part)
                # What follows overlaps it.
                self._output.end_run()
            for rows in self._in_order():
                self._write(rows)
            written = self._output.close()
        except BaseException:
            self._output.abort()
            raise
        plan = self._plan
        message = CommitMessage(
            plan.partition, plan.bucket, plan.total_buckets, compact_before=plan.input_files, compact_after=written
        )
        gone = {file.file_name for file in self._placed}
        deleted = {name: rows for name, rows in self._deleted.items() if name not in gone}
        return CompactionResult(message, self._input_rows, self._output_rows, deleted=deleted)

    def _write(self, rows: pa.Table) -> None:
        self._output_rows += rows.num_rows
        self._output.write(rows)

    def _fresh_rows(self) -> Iterator[pa.Table]:
        """Full sorted parts of the new rows. What is left of them stays in `_sorted`."""
        fresh = [step for step in self._plan.steps if isinstance(step, RewriteStep) and step.files[0].level == 0]
        for step in fresh:
            for section in step.sections:
                runs = oldest_first(section)
                readers = [[self._task.reader(file) for file in run] for run in runs]
                levels = np.zeros(len(runs), np.int64)
                for window in windows(readers, self._engine.order, rows_at_a_time(readers, self._task.memory // 2)):
                    self._input_rows += len(window.groups.order)
                    merged = self._merging.looked_up(window, levels)
                    for name, places in merged.outdated.items():
                        self._deleted.setdefault(name, BitMap()).update(places)
                    yield from self._sorted.add(_without_retractions(merged.results))
        for file in self._placed:
            if not self._is_in_order(file):
                for rows in self._reader(file).batches(_BATCH_ROWS):
                    self._input_rows += rows.num_rows
                    yield from self._sorted.add(_without_retractions(rows))

    def _in_order(self) -> Iterator[pa.Table]:
        """The rest of the new rows and the rows of sorted files, all in one order."""
        readers = [[self._reader(file)] for file in self._placed if self._is_in_order(file)]
        rest = self._sorted.rest()
        streams: list[Stream] = [] if rest is None else [_Once(rest)]
        if not readers:
            if rest is not None:
                yield rest
            return
        most = rows_at_a_time(readers, self._task.memory // 2)
        total = sum(reader.file.row_count for (reader,) in readers)
        for run in readers:
            length = run[0].file.row_count
            streams.append(RunReader(run, length if total <= most else max(1024, most * length // max(1, total))))
        for window in windows_of(streams, RecordOrder(self._plan.clustering)):
            rows = window.rows.take(pa.array(window.groups.order))
            self._input_rows += rows.num_rows
            yield _without_retractions(rows.drop_columns([RUN_COLUMN]))
        self._input_rows -= 0 if rest is None else rest.num_rows

    def _is_in_order(self, file: DataFileMeta) -> bool:
        """Whether a sorted file has the order that the table has now."""
        return columns_in_order(self._task.read.schemas[file.schema_id]) == self._plan.clustering

    def _reader(self, file: DataFileMeta) -> DataFileReader:
        """A reader of the rows of a sorted file that live on."""
        reader = self._task.reader(file)
        outdated = self._deleted.get(file.file_name)
        if not outdated:
            return reader
        before = BitMap()
        stored = reader.rows.loaded(reader.context.file_io, file.row_count).vector
        if stored is not None:
            before = BitMap(np.asarray(stored.positions.to_array(), np.uint32))
        return replace(reader, rows=RowSelection(vector=DeletionVector(FrozenBitMap(before | outdated))))


def _without_retractions(rows: pa.Table) -> pa.Table:
    """Rows that stand for themselves: what a retraction meant has been deleted."""
    retract = is_retract(rows.column(VALUE_KIND.name).to_numpy())
    return rows.filter(pa.array(~retract)) if retract.any() else rows


class _Once:
    """One table as a stream."""

    def __init__(self, rows: pa.Table) -> None:
        self._rows: pa.Table | None = rows

    def next(self) -> pa.Table | None:
        rows, self._rows = self._rows, None
        return rows


class _SortedParts:
    """Gathers rows, and gives them sorted. `memory`: bytes to hold."""

    def __init__(self, columns: Sequence[str], memory: int) -> None:
        self._columns, self._memory = columns, memory
        self._held: list[pa.Table] = []
        self._bytes = 0

    def add(self, rows: pa.Table) -> Iterator[pa.Table]:
        """Take rows. Yields the part that is full, if one is."""
        if rows.num_rows:
            self._held.append(rows)
            self._bytes += rows.nbytes
        if self._bytes > self._memory:
            part = self.rest()
            assert part is not None
            yield part

    def rest(self) -> pa.Table | None:
        """What is held, sorted; None for nothing."""
        if not self._held:
            return None
        rows = pa.concat_tables(self._held).combine_chunks()
        self._held, self._bytes = [], 0
        columns = [pa.concat_arrays(rows.column(name).chunks) for name in self._columns]
        return rows.take(pa.array(sort_order(sort_words(columns))))
