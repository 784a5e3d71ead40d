"""Carry out the compaction of one bucket: merge, write, and produce its changelog. Runs in a task."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.compaction.clustered_rewrite import rewrite_clustered
from maintenance.compaction.plan import RewriteStep
from maintenance.compaction.proof.bucket import BucketProof
from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.quarantine import refuse
from maintenance.compaction.proof.settings import ProofMode, ProofResult
from maintenance.compaction.record_expiry import LivingRows
from maintenance.compaction.rewriting import (
    CompactionResult,
    CompactionTask,
    compared_columns,
    merging_of,
    newest_wins_in,
)
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.rows.system_fields import VALUE_KIND
from maintenance.merge.engine import MergeEngine
from maintenance.merge.sections import Section, levels_apart, oldest_first
from maintenance.read.key_range import ALL_KEYS, within
from maintenance.read.windows import Window, rows_at_a_time, windows
from maintenance.types.row_kind import KIND_TEXTS, is_retract
from maintenance.write.context import FileNames
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter


def rewrite_bucket(task: CompactionTask) -> CompactionResult:
    """Compact one bucket. On an error nothing of what was written stays in the bucket.

    Raises: ProofError: what was written is not what it must be; it is in quarantine.
    """
    return rewrite_clustered(task) if task.compaction.clustering else _BucketRewrite(task).run()


class _BucketRewrite:
    def __init__(self, task: CompactionTask) -> None:
        self._task = task
        self._plan = task.compaction
        self._engine = MergeEngine.of(task.write.schema, task.write.model)
        names = FileNames.of(task.write)
        place = FilePlace(self._plan.partition, self._plan.bucket, self._plan.output_level, FileSource.COMPACT)
        self._proof = _proof(task)
        self._output = RollingFileWriter(
            task.write, place, names, observer=None if self._proof is None else self._proof.output
        )
        # The level of a changelog file says nothing; Java leaves the output level in it.
        changelog = replace(place, changelog=True, source=FileSource.APPEND)
        observer = None if self._proof is None else self._proof.changes
        self._changelog = (
            RollingFileWriter(task.write, changelog, names, observer=observer) if self._plan.changelog else None
        )
        self._kinds = np.zeros(len(KIND_TEXTS), np.int64)
        self._merging = merging_of(task, self._engine)
        if self._proof is not None:
            self._merging = replace(self._merging, above=self._proof.watched_levels(self._merging.above))
        self._input_rows = 0
        self._output_rows = 0
        self._deleted: dict[str, BitMap] = {}

    def run(self) -> CompactionResult:
        before: list[DataFileMeta] = []
        after: list[DataFileMeta] = []
        try:
            for step in self._plan.steps:
                if isinstance(step, RewriteStep):
                    before.extend(step.files)
                    looks_up = self._plan.looks_up and any(file.level == 0 for file in step.files)
                    for section in step.sections:
                        self._merge(section, write=True, looks_up=looks_up)
                    # A file that is only lifted may be between this step's keys and the next one's.
                    self._output.end_run()
                else:
                    before.append(step.file)
                    after.append(replace(step.file, level=self._plan.output_level))
                    if step.changelog or (self._plan.marks and step.file.level == 0):
                        self._merge(((step.file,),), write=False, looks_up=self._plan.looks_up)
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
        counts = self._input_rows, self._output_rows, tuple(self._kinds.tolist())
        proved = self._proved(message)
        rows_read = {} if self._proof is None else self._proof.rows_read
        return CompactionResult(message, *counts, self._deleted, proved, rows_read)

    def _proved(self, message: CommitMessage) -> ProofResult:
        if self._proof is None:
            return ProofResult()
        try:
            return self._proof.check(message, self._deleted, self._task.reader)
        except Findings as findings:
            snapshot = self._task.snapshot_id
            raise refuse(self._task.write, message, findings, subject="compaction", snapshot_id=snapshot) from None
        except BaseException:
            self._output.abort()
            if self._changelog is not None:
                self._changelog.abort()
            raise

    def _merge(self, section: Section, *, write: bool, looks_up: bool) -> None:
        runs = oldest_first(levels_apart(section) if self._plan.looks_up or self._changelog is not None else section)
        levels = np.array([run[0].level for run in runs])
        for window in self._windows(runs, write=write, looks_up=looks_up):
            self._input_rows += len(window.groups.order)
            merge = self._merging.looked_up if looks_up else self._merging.merged
            merged = merge(window, levels)
            for name, places in merged.outdated.items():
                self._deleted.setdefault(name, BitMap()).update(places)
            if self._changelog is not None and merged.changelog is not None:
                kinds = merged.changelog.column(VALUE_KIND.name).to_numpy()
                self._kinds += np.bincount(kinds, minlength=len(KIND_TEXTS))
                self._changelog.write(merged.changelog)
            if write:
                self._write(merged.results)
            # Not to be kept while the next window is put together.
            del window, merged

    def _write(self, results: pa.Table) -> None:
        if self._plan.drop_deletes:
            retract = is_retract(results.column(VALUE_KIND.name).to_numpy())
            if retract.any():
                results = results.filter(pa.array(~retract))
        self._output_rows += results.num_rows
        self._output.write(results)

    def _windows(self, runs: list[tuple[DataFileMeta, ...]], *, write: bool, looks_up: bool) -> Iterator[Window]:
        keys = self._task.keys if write else ALL_KEYS
        readers = [[within(self._task.reader(file), keys) for file in run] for run in runs]
        most = rows_at_a_time(readers, self._task.memory)
        # A file that is only lifted keeps its rows. Where vectors mark what they replace, all of them count.
        expiry = self._task.expiry if write or not self._plan.marks else None
        if self._proof is None:
            living = readers if expiry is None else [[LivingRows(r, expiry) for r in run] for run in readers]
            return windows(living, self._engine.order, most)
        watched = [
            [self._proof.watched(reader, number, expiry, written=write, merged=looks_up) for reader in run]
            for number, run in enumerate(readers)
        ]
        return windows(watched, self._engine.order, most)


def _proof(task: CompactionTask) -> BucketProof | None:
    if task.proof.mode == ProofMode.OFF:
        return None
    newest_wins = newest_wins_in(task)
    return BucketProof(
        task.proof,
        task.write,
        task.compaction,
        compared=compared_columns(task),
        newest_wins=newest_wins,
        whole=task.keys.is_all,
    )
