"""Carry out the compaction of one bucket: merge, write, and produce its changelog. Runs in a task."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.compaction.plan import BucketCompaction, RewriteStep
from maintenance.format.data_file import DataFileMeta, FileSource
from maintenance.format.system_fields import VALUE_KIND
from maintenance.merge.engine import MergeEngine
from maintenance.merge.full_compaction_changelog import full_compaction_changelog
from maintenance.merge.ordered import RUN_COLUMN
from maintenance.merge.sections import Section
from maintenance.options import table as table_options
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import max_rows, oldest_first, partition_values
from maintenance.read.windows import Window, windows
from maintenance.types.row_kind import KIND_TEXTS, is_retract
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter


@dataclass(frozen=True, slots=True)
class CompactionTask:
    """One bucket to compact. `memory`: bytes of records to hold while merging."""

    write: WriteContext
    read: ReadContext
    compaction: BucketCompaction
    memory: int = 64 << 20


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a task did. `changelog_rows`: by kind text, in the order of the kinds."""

    message: CommitMessage
    input_rows: int
    output_rows: int
    changelog_rows: tuple[int, ...] = (0, 0, 0, 0)


def rewrite_bucket(task: CompactionTask) -> CompactionResult:
    """Compact one bucket. On an error nothing of what was written stays."""
    return _BucketRewrite(task).run()


class _BucketRewrite:
    def __init__(self, task: CompactionTask) -> None:
        self._task = task
        self._plan = task.compaction
        self._engine = MergeEngine.of(task.write.schema, task.write.options)
        names = FileNames.of(task.write.options)
        place = FilePlace(self._plan.partition, self._plan.bucket, self._plan.output_level, FileSource.COMPACT)
        self._output = RollingFileWriter(task.write, place, names)
        # The level of a changelog file says nothing; Java leaves the output level in it.
        changelog = replace(place, changelog=True, source=FileSource.APPEND)
        self._changelog = RollingFileWriter(task.write, changelog, names) if self._plan.changelog else None
        self._kinds = np.zeros(len(KIND_TEXTS), np.int64)
        dedupe = table_options.CHANGELOG_ROW_DEDUPLICATE.of(task.write.options)
        self._compare = task.write.schema.field_names if dedupe else ()
        self._input_rows = 0
        self._output_rows = 0

    def run(self) -> CompactionResult:
        before: list[DataFileMeta] = []
        after: list[DataFileMeta] = []
        try:
            for step in self._plan.steps:
                if isinstance(step, RewriteStep):
                    before.extend(file for section in step.sections for run in section for file in run)
                    for section in step.sections:
                        self._merge(section, write=True)
                    # A file that is only lifted may lie between this step's keys and the next one's.
                    self._output.end_run()
                else:
                    before.append(step.file)
                    after.append(replace(step.file, level=self._plan.output_level))
                    if self._changelog is not None:
                        self._merge(((step.file,),), write=False)
            written = self._output.close()
            changelog = () if self._changelog is None else self._changelog.close()
        except BaseException:
            self._output.abort()
            if self._changelog is not None:
                self._changelog.abort()
            raise
        message = CommitMessage(
            self._plan.partition,
            self._plan.bucket,
            self._plan.total_buckets,
            compact_before=tuple(before),
            compact_after=(*after, *written),
            compact_changelog=changelog,
        )
        return CompactionResult(message, self._input_rows, self._output_rows, tuple(self._kinds.tolist()))

    def _merge(self, section: Section, *, write: bool) -> None:
        top = self._plan.max_level
        runs = oldest_first(section if self._changelog is None else top_apart(section, top))
        run_is_top = np.array([run[0].level == top for run in runs])
        for window in self._windows(runs):
            self._input_rows += len(window.groups.order)
            results = self._engine.merge(window.rows, window.groups)
            if self._changelog is not None:
                at_top = run_is_top[window.rows.column(RUN_COLUMN).to_numpy()]
                emitted = full_compaction_changelog(
                    window.rows, window.groups, results, at_top, same_is_no_change=self._compare
                )
                self._kinds += np.bincount(emitted.column(VALUE_KIND.name).to_numpy(), minlength=len(KIND_TEXTS))
                self._changelog.write(emitted)
            if write:
                self._write(results)

    def _write(self, results: pa.Table) -> None:
        if self._plan.drop_deletes:
            retract = is_retract(results.column(VALUE_KIND.name).to_numpy())
            if retract.any():
                results = results.filter(pa.array(~retract))
        self._output_rows += results.num_rows
        self._output.write(results)

    def _windows(self, runs: list[tuple[DataFileMeta, ...]]) -> Iterator[Window]:
        task, plan = self._task, self._plan
        partition = partition_values(task.write.schema, plan.partition)
        readers = [
            [
                DataFileReader(
                    task.read, task.write.paths.data_file(plan.partition, plan.bucket, file), file, partition
                )
                for file in run
            ]
            for run in runs
        ]
        return windows(readers, self._engine.order, max_rows(readers, task.memory))


def top_apart(section: Section, top: int) -> Section:
    """The runs of a section, those files of the highest level in runs of their own: sections do not look at levels."""
    runs: list[tuple[DataFileMeta, ...]] = []
    for run in section:
        of_top = tuple(file for file in run if file.level == top)
        others = tuple(file for file in run if file.level != top)
        runs.extend(part for part in (of_top, others) if part)
    return tuple(runs)
