"""What compacting one bucket does to each of its files: keep, lift to another level, or rewrite.

Files that overlap, and small files, are rewritten together; a large file that overlaps nothing only changes its level,
unless it goes to the highest level and holds retractions, which must not survive there. Where compactions look up older
records, most files of level 0 must be rewritten, for what they get is merged with the levels above. Source: Java
`MergeTreeCompactTask`, `LookupMergeTreeCompactRewriter`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from maintenance.compaction.universal import CompactUnit
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.merge.sections import Key, Section, partition_into_sections
from maintenance.metadata.manifests import DeletionFile


@dataclass(frozen=True, slots=True)
class RewriteStep:
    """Sections to merge into new files. `sections`: in key order."""

    sections: tuple[Section, ...]

    @property
    def files(self) -> tuple[DataFileMeta, ...]:
        return tuple(file for section in self.sections for run in section for file in run)


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    """A file that gets another level and stays as it is. `changelog`: it still makes changelog."""

    file: DataFileMeta
    changelog: bool = False


@dataclass(frozen=True, slots=True)
class BucketCompaction:
    """The compaction of one bucket.

    Attributes:
        partition: serialized partition row.
        steps: in key order.
        drop_deletes: retractions need not be kept: there are no older records below the output.
        max_level: highest level; its records are the state that a full-compaction changelog compares with.
        changelog: produce a changelog.
        looks_up: records of level 0 are merged with the older ones above, in `older` too.
        older: files of the levels above the output.
        deletions: locations of the deletion vectors of input files and of those in `older`, by name.
        marks: with `looks_up`, older records found above are deleted by deletion vectors.
        staying: files of the output level that stay as they are.
        clustering: what the output is sorted by in the place of the key, see `clustered_keys`; empty = the key.
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
    looks_up: bool = False
    older: tuple[DataFileMeta, ...] = ()
    deletions: Mapping[str, DeletionFile] = field(default_factory=dict)
    marks: bool = False
    staying: tuple[DataFileMeta, ...] = ()
    clustering: tuple[str, ...] = ()

    @property
    def input_files(self) -> tuple[DataFileMeta, ...]:
        files: list[DataFileMeta] = []
        for step in self.steps:
            if isinstance(step, UpgradeStep):
                files.append(step.file)
            else:
                files.extend(step.files)
        return tuple(files)


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """What the steps depend on.

    Attributes:
        small_size: bytes below which a file is worth rewriting with its neighbours.
        changelog: files that get another level make changelog: all with producer full-compaction, else those of level
            0.
        looks_up: older records of keys are looked up above.
        lifts_level_0: though they are, merging changes no record of level 0: the newest one is the row, whole.
        new_form: files of level 0 cannot be lifted as they are: those above have another format, or indexes.
        marks: older records are deleted by deletion vectors, so that no retraction need stay above level 0.
        expires: whether a file has rows past their time, which a rewrite leaves out; None = rows do not expire.
    """

    max_level: int
    small_size: int
    changelog: bool = False
    force_rewrite: bool = False
    looks_up: bool = False
    lifts_level_0: bool = False
    new_form: bool = False
    marks: bool = False
    expires: Callable[[DataFileMeta], bool] | None = None


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
    expires = rules.expires is not None and rules.expires(file)
    if rules.force_rewrite or (output_level == rules.max_level and holds_deletes) or expires:
        return [RewriteStep((((file,),),))]
    if file.level == output_level:
        return []
    if not rules.looks_up:
        return [UpgradeStep(file, rules.changelog)]
    if file.level == 0 and (
        rules.new_form
        or (rules.marks and holds_deletes)
        or not (output_level == rules.max_level or rules.lifts_level_0)
    ):
        return [RewriteStep((((file,),),))]
    return [UpgradeStep(file, rules.changelog and file.level == 0)]


def drops_deletes(output_level: int, files: Sequence[DataFileMeta], *, marks: bool = False) -> bool:
    """Whether retractions may be dropped at that level.

    Args: `files`: all of the bucket; `marks`: what they retract is deleted by deletion vectors.

    Source: Java `MergeTreeCompactManager`.
    """
    return output_level != 0 and (marks or output_level >= max((file.level for file in files), default=0))
