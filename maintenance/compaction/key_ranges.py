"""A large bucket compacted by several tasks, each for the records of a range of keys.

Keys are cut where samples of the files say that about as many records lie on either side. A task opens the files that
reach into its range, and of these reads the parts whose statistics do not rule it out. What the tasks wrote is one
change of the bucket: together they have read each file once, and their new files do not overlap.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from maintenance.compaction.plan import BucketCompaction, RewriteStep, UpgradeStep
from maintenance.compaction.proof.bucket import wrong_counts
from maintenance.compaction.proof.files import overlaps
from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.quarantine import refuse
from maintenance.compaction.proof.settings import ProofMode, together
from maintenance.compaction.rewriting import CompactionResult, CompactionTask
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.binary_row import parse_row
from maintenance.merge.sections import Section
from maintenance.merge.sort_words import key_ranks, sort_order, sort_words
from maintenance.read.data_file import DataFileReader
from maintenance.read.key_range import KeyRange, is_below
from maintenance.read.row_selection import ALL_ROWS
from maintenance.types.data_type import DataField
from maintenance.types.values import arrow_of_values

# Input of a task that is worth cutting a bucket for: it decodes again what one row group of each file has before it.
_TASK_BYTES = 96 << 20
# Keys that are looked at for each task: its share is right to a few percent.
_SAMPLES = 512
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class KeySampling:
    """A file of which some keys are looked at, evenly over its rows. `every`: one row of so many."""

    reader: DataFileReader
    every: int

    def keys(self) -> pa.Table:
        """Runs in a task."""
        parts, start = [], 0
        for rows in self.reader.batches(_BATCH_ROWS):
            places = np.arange(-start % self.every, rows.num_rows, self.every)
            parts.append(rows.take(pa.array(places)))
            start += rows.num_rows
        return pa.concat_tables(parts) if parts else self.reader.context.arrow_schema.empty_table()


def tasks_of(plans: Sequence[BucketCompaction], slots: int) -> list[int]:
    """Into how many tasks each bucket is cut, so that none of them holds up the others.

    Where many buckets are compacted, they are the tasks. `slots`: tasks that run at a time.
    """
    share = max(_TASK_BYTES, sum(map(_size, plans)) // max(1, slots))
    return [_tasks(plan, share) for plan in plans]


def most_tasks(plan: BucketCompaction) -> int:
    """Into how many tasks a bucket is cut where as many run at a time."""
    return _tasks(plan, _TASK_BYTES)


def _tasks(plan: BucketCompaction, share: int) -> int:
    """Files that are sorted by other columns are not cut."""
    return 1 if plan.clustering else max(1, round(_size(plan) / share))


def _size(plan: BucketCompaction) -> int:
    return sum(file.file_size for file in _merged(plan))


def samplings(task: CompactionTask, parts: int) -> list[KeySampling]:
    """Of which files which keys are to be looked at before a bucket is cut."""
    files = _merged(task.compaction)
    fields = tuple(task.write.schema.key_fields)
    every = max(1, sum(file.row_count for file in files) // (parts * _SAMPLES))
    readers = (replace(task.reader(file, replace(task.read, fields=fields)), rows=ALL_ROWS) for file in files)
    return [KeySampling(reader, every) for reader in readers]


def cut(task: CompactionTask, samples: Sequence[pa.Table], parts: int) -> list[CompactionTask]:
    """The tasks of one bucket, at most so many. `samples`: the keys that `samplings` asked for."""
    keys = pa.concat_tables(samples).combine_chunks()
    if not keys.num_rows:
        return [task]
    order = sort_order(sort_words([column.combine_chunks() for column in keys.columns]))
    places = order[[keys.num_rows * number // parts for number in range(1, parts)]]
    ends = _different([keys.slice(int(place), 1) for place in places])
    reach = _reach(task.compaction.input_files, ends, task.write.schema.key_fields)
    ranges = [KeyRange(low, high) for low, high in zip([None, *ends], [*ends, None], strict=True)]
    made = []
    for number, keys_of_part in enumerate(ranges):
        steps = tuple(_steps_within(task.compaction.steps, reach, number))
        if steps:
            made.append(replace(task, compaction=replace(task.compaction, steps=steps), keys=keys_of_part))
    return made if len(made) > 1 else [task]


def _merged(plan: BucketCompaction) -> list[DataFileMeta]:
    return [file for step in plan.steps if isinstance(step, RewriteStep) for file in step.files]


def _different(keys: Sequence[pa.Table]) -> list[pa.Table]:
    """Ascending keys, each once."""
    return [key for number, key in enumerate(keys) if not number or is_below(keys[number - 1], 0, key)]


def _reach(
    files: Sequence[DataFileMeta], ends: Sequence[pa.Table], key_fields: Sequence[DataField]
) -> dict[str, tuple[int, int]]:
    """By file the first and the last of the ranges between `ends` that its keys reach into."""
    types = [field.type for field in key_fields]
    bounds = [parse_row(key, types) for file in files for key in (file.min_key, file.max_key)]
    columns = []
    for number, field in enumerate(key_fields):
        of_files = arrow_of_values([bound[number] for bound in bounds], field.type)
        columns.append(pa.concat_arrays([of_files, *(end.column(number).combine_chunks() for end in ends)]))
    ranks = key_ranks(columns)
    within = np.searchsorted(ranks[len(bounds) :], ranks[: len(bounds)], side="right").reshape(-1, 2)
    return {file.file_name: (int(low), int(high)) for file, (low, high) in zip(files, within, strict=True)}


def _steps_within(
    steps: Sequence[RewriteStep | UpgradeStep], reach: dict[str, tuple[int, int]], number: int
) -> Iterator[RewriteStep | UpgradeStep]:
    """The steps of the range of that number. A file that is only lifted belongs to the range that it begins in."""
    for step in steps:
        if isinstance(step, UpgradeStep):
            if reach[step.file.file_name][0] == number:
                yield step
            continue
        sections = (_section_within(section, reach, number) for section in step.sections)
        if kept := tuple(section for section in sections if section):
            yield RewriteStep(kept)


def _section_within(section: Section, reach: dict[str, tuple[int, int]], number: int) -> Section:
    runs = (tuple(f for f in run if reach[f.file_name][0] <= number <= reach[f.file_name][1]) for run in section)
    return tuple(run for run in runs if run)


def joined(task: CompactionTask, results: Sequence[CompactionResult]) -> CompactionResult:
    """What the tasks of one bucket did, as one rewrite. `task`: of the whole bucket.

    Raises: ProofError: they have not read each file once, or their new files overlap.
    """
    plan, messages = task.compaction, [result.message for result in results]
    before = {file.file_name: file for message in messages for file in message.compact_before}
    message = replace(
        messages[0],
        compact_before=tuple(before.values()),
        compact_after=tuple(file for each in messages for file in each.compact_after),
        compact_changelog=tuple(file for each in messages for file in each.compact_changelog),
    )
    proof = together([result.proof for result in results])
    if proof.mode != ProofMode.OFF:
        read: dict[str, int] = {}
        for result in results:
            for name, rows in result.rows_read.items():
                read[name] = read.get(name, 0) + rows
        deleted_rows = {name: deletion.range.cardinality for name, deletion in plan.deletions.items()}
        wrong = [
            *wrong_counts(_merged(plan), read, deleted_rows),
            *overlaps([*message.compact_after, *plan.staying], task.write.schema),
        ]
        if wrong:
            findings = Findings(wrong, proof.digest, proof.digest)
            raise refuse(task.write, message, findings, subject="compaction", snapshot_id=task.snapshot_id)
    deleted: dict[str, BitMap] = {}
    for result in results:
        for name, places in result.deleted.items():
            deleted.setdefault(name, BitMap()).update(places)
    kinds = tuple(sum(counts) for counts in zip(*(result.changelog_rows for result in results), strict=True))
    rows_in, rows_out = (sum(getattr(r, name) for r in results) for name in ("input_rows", "output_rows"))
    return CompactionResult(message, rows_in, rows_out, kinds, deleted, proof, tasks=len(results))
