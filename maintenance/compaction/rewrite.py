"""Carry out the compaction of one bucket: merge, write, and produce its changelog. Runs in a task."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.compaction.lookup_levels import LookupLevels
from maintenance.compaction.merging import Merging
from maintenance.compaction.plan import BucketCompaction, RewriteStep
from maintenance.compaction.proof.bucket import BucketProof
from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.quarantine import refuse
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.compaction.record_expiry import LivingRows, RecordExpiry
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.rows.system_fields import ROW_ID, SEQUENCE_NUMBER, VALUE_KIND
from maintenance.merge.engine import MergeEngine, newest_is_the_row
from maintenance.merge.sections import Section, levels_apart, oldest_first
from maintenance.options import table as table_options
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.read.windows import Window, rows_at_a_time, windows
from maintenance.types.row_kind import KIND_TEXTS, is_retract
from maintenance.write.context import FileNames, WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.rolling import FilePlace, RollingFileWriter


@dataclass(frozen=True, slots=True)
class CompactionTask:
    """One bucket to compact.

    Attributes:
        memory: bytes of records to hold while merging.
        proof: how what is written is proved before anybody commits it.
        snapshot_id: of the snapshot that it was planned on.
        expiry: rows that are left out because they are past their time; None = none.
    """

    write: WriteContext
    read: ReadContext
    compaction: BucketCompaction
    memory: int = 48 << 20
    proof: ProofSettings = field(default_factory=ProofSettings)
    snapshot_id: int | None = None
    expiry: RecordExpiry | None = None

    def reader(self, file: DataFileMeta, context: ReadContext | None = None) -> DataFileReader:
        """A reader of a file of the bucket. `context`: in the place of the task's own."""
        partition, bucket = self.compaction.partition, self.compaction.bucket
        path = self.write.paths.data_file(partition, bucket, file)
        values = partition_values(self.write.schema, partition)
        deletion = self.compaction.deletions.get(file.file_name)
        return DataFileReader(context or self.read, path, file, values, deletion=deletion)


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a task did.

    Attributes: `changelog_rows`: by kind text, in the order of the kinds; `deleted`: rows that deletion vectors are to
        delete, row numbers by data file.
    """

    message: CommitMessage
    input_rows: int
    output_rows: int
    changelog_rows: tuple[int, ...] = (0, 0, 0, 0)
    deleted: Mapping[str, BitMap] = field(default_factory=dict)
    proof: ProofResult = field(default_factory=ProofResult)


def rewrite_bucket(task: CompactionTask) -> CompactionResult:
    """Compact one bucket. On an error nothing of what was written stays in the bucket.

    Raises: ProofError: what was written is not what it must be; it is in quarantine.
    """
    return _BucketRewrite(task).run()


class _BucketRewrite:
    def __init__(self, task: CompactionTask) -> None:
        self._task = task
        self._plan = task.compaction
        self._engine = MergeEngine.of(task.write.schema, task.write.options)
        names = FileNames.of(task.write)
        place = FilePlace(self._plan.partition, self._plan.bucket, self._plan.output_level, FileSource.COMPACT)
        self._proof = _proof(task)
        self._output = RollingFileWriter(
            task.write, place, names, witness=None if self._proof is None else self._proof.output
        )
        # The level of a changelog file says nothing; Java leaves the output level in it.
        changelog = replace(place, changelog=True, source=FileSource.APPEND)
        witness = None if self._proof is None else self._proof.changes
        self._changelog = (
            RollingFileWriter(task.write, changelog, names, witness=witness) if self._plan.changelog else None
        )
        self._kinds = np.zeros(len(KIND_TEXTS), np.int64)
        self._merging = _merging(task, self._engine)
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
        return CompactionResult(message, *counts, self._deleted, self._proved(message))

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
        readers = [[self._task.reader(file) for file in run] for run in runs]
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
    newest_wins = _newest_wins(task)
    return BucketProof(task.proof, task.write, task.compaction, compared=_compared(task), newest_wins=newest_wins)


def _newest_wins(task: CompactionTask) -> bool:
    """Whether of older records that are found nothing is wanted but that they are there."""
    plan = task.compaction
    return plan.marks and not plan.changelog and newest_is_the_row(task.write.options)


def _merging(task: CompactionTask, engine: MergeEngine) -> Merging:
    plan, schema, options = task.compaction, task.write.schema, task.write.options
    first_row = table_options.MERGE_ENGINE.of(options) == "first-row"
    newest_wins = _newest_wins(task)
    # Whether a key is there is all that first-row asks, and where it is all that deleting it does.
    only_keys = first_row or newest_wins
    fields = (SEQUENCE_NUMBER, VALUE_KIND, *schema.key_fields) if only_keys else task.read.fields
    context = replace(task.read, fields=(*fields, ROW_ID) if plan.marks else tuple(fields))
    readers = tuple(_numbered(task.reader(file, context)) for file in plan.older)
    return Merging(
        engine,
        plan.max_level,
        produces=plan.changelog,
        looks_up=plan.looks_up,
        compared=_compared(task),
        first_row=first_row,
        # Where only keys are asked for, a row that is past its time still counts.
        above=LookupLevels(readers, tuple(schema.key_fields), None if only_keys else task.expiry),
        newest_wins=newest_wins,
    )


def _numbered(reader: DataFileReader) -> DataFileReader:
    """The reader, whose row ids are row numbers."""
    return replace(reader, file=replace(reader.file, first_row_id=0))


def _compared(task: CompactionTask) -> tuple[str, ...] | None:
    """The columns of a pair that makes no changelog if they are the same; None = every pair does."""
    if not table_options.CHANGELOG_ROW_DEDUPLICATE.of(task.write.options):
        return None
    ignored = table_options.CHANGELOG_ROW_DEDUPLICATE_IGNORE_FIELDS.of(task.write.options)
    return tuple(name for name in task.write.schema.field_names if name not in ignored)
