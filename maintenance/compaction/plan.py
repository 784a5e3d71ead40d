"""What compacting one bucket does to each of its files: keep, lift to another level, or rewrite.

Files that overlap, and small files, are rewritten together; a large file that overlaps nothing only changes its level,
unless it goes to the highest level and holds retractions, which must not survive there. Source: Java
`MergeTreeCompactTask`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maintenance.compaction.universal import CompactUnit
from maintenance.format.data_file import DataFileMeta
from maintenance.merge.sections import Key, Section, partition_into_sections


@dataclass(frozen=True, slots=True)
class RewriteStep:
    """Sections to merge into new files. `sections`: in key order."""

    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    """A file that gets another level and stays as it is."""

    file: DataFileMeta


@dataclass(frozen=True, slots=True)
class BucketCompaction:
    """The compaction of one bucket.

    Attributes:
        partition: serialized partition row.
        steps: in key order.
        drop_deletes: retractions need not be kept: no older record lies below the output.
        max_level: highest level; its records are the state that a full-compaction changelog compares with.
        changelog: produce a changelog.
    """

    partition: bytes
    bucket: int
    total_buckets: int
    output_level: int
    max_level: int
    drop_deletes: bool
    changelog: bool
    steps: tuple[RewriteStep | UpgradeStep, ...]
    reason: str

    @property
    def input_files(self) -> tuple[DataFileMeta, ...]:
        files: list[DataFileMeta] = []
        for step in self.steps:
            if isinstance(step, UpgradeStep):
                files.append(step.file)
            else:
                files.extend(file for section in step.sections for run in section for file in run)
        return tuple(files)


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """What the steps depend on. `small_size`: bytes below which a file is worth rewriting with its neighbours."""

    max_level: int
    small_size: int
    full_compaction_changelog: bool = False
    force_rewrite: bool = False


def plan_steps(
    unit: CompactUnit, rules: CompactionRules, key_of: Callable[[bytes], Key]
) -> tuple[RewriteStep | UpgradeStep, ...]:
    """The steps for a unit of files."""
    steps: list[RewriteStep | UpgradeStep] = []
    pending: list[Section] = []

    def flush() -> None:
        if len(pending) == 1 and len(pending[0]) == 1:
            steps.extend(step for file in pending[0][0] for step in _upgrade(file, unit.output_level, rules))
        elif pending:
            steps.append(RewriteStep(tuple(pending)))
        pending.clear()

    for section in partition_into_sections(unit.files, key_of):
        if len(section) > 1:
            pending.append(section)
            continue
        for file in section[0]:
            if file.file_size < rules.small_size:
                pending.append(((file,),))
            else:
                flush()
                steps.extend(_upgrade(file, unit.output_level, rules))
    flush()
    return tuple(steps)


def _upgrade(file: DataFileMeta, output_level: int, rules: CompactionRules) -> Sequence[RewriteStep | UpgradeStep]:
    holds_deletes = file.delete_row_count is None or file.delete_row_count > 0
    if rules.force_rewrite or (output_level == rules.max_level and holds_deletes):
        return [RewriteStep((((file,),),))]
    return [UpgradeStep(file)] if file.level != output_level else []


def drops_deletes(output_level: int, files: Sequence[DataFileMeta]) -> bool:
    """Whether retractions may be dropped at that level. `files`: all of the bucket.

    Source: Java `MergeTreeCompactManager`.
    """
    return output_level != 0 and output_level >= max((file.level for file in files), default=0)
