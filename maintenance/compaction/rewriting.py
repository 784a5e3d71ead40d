"""The compaction of one bucket as a task: what is to be done, how records merge in it, and what it did."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyroaring import BitMap

from maintenance.compaction.lookup_levels import LookupLevels
from maintenance.compaction.merging import Merging
from maintenance.compaction.plan import BucketCompaction
from maintenance.compaction.proof.settings import ProofResult, ProofSettings
from maintenance.compaction.record_expiry import RecordExpiry
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.rows.system_fields import ROW_ID, SEQUENCE_NUMBER, VALUE_KIND
from maintenance.merge.engine import MergeEngine, newest_is_the_row
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.key_range import ALL_KEYS, KeyRange
from maintenance.read.row_selection import RowSelection
from maintenance.read.split_read import partition_values
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage


@dataclass(frozen=True, slots=True)
class CompactionTask:
    """One bucket to compact.

    Attributes:
        memory: bytes of records to hold while merging.
        proof: how what is written is proved before anybody commits it.
        snapshot_id: of the snapshot that it was planned on.
        expiry: rows that are left out because they are past their time; None = none.
        keys: whose records the task merges; other tasks merge the rest of these files.
    """

    write: WriteContext
    read: ReadContext
    compaction: BucketCompaction
    memory: int = 48 << 20
    proof: ProofSettings = field(default_factory=ProofSettings)
    snapshot_id: int | None = None
    expiry: RecordExpiry | None = None
    keys: KeyRange = ALL_KEYS

    def reader(self, file: DataFileMeta, context: ReadContext | None = None) -> DataFileReader:
        """A reader of a file of the bucket. `context`: in the place of the task's own."""
        partition, bucket = self.compaction.partition, self.compaction.bucket
        path = self.write.paths.data_file(partition, bucket, file)
        values = partition_values(self.write.schema, partition)
        rows = RowSelection(self.compaction.deletions.get(file.file_name))
        return DataFileReader(context or self.read, path, file, values, rows=rows)


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a task did.

    Attributes:
        changelog_rows: by kind text, in the order of the kinds.
        deleted: rows that deletion vectors are to delete, row numbers by data file.
        rows_read: of each file, by name; empty where nothing was proved.
        tasks: how many did it together.
    """

    message: CommitMessage
    input_rows: int
    output_rows: int
    changelog_rows: tuple[int, ...] = (0, 0, 0, 0)
    deleted: Mapping[str, BitMap] = field(default_factory=dict)
    proof: ProofResult = field(default_factory=ProofResult)
    rows_read: Mapping[str, int] = field(default_factory=dict)
    tasks: int = 1


def newest_wins_in(task: CompactionTask) -> bool:
    """Whether of older records that are found nothing is wanted but that they are there."""
    plan = task.compaction
    return plan.marks and not plan.changelog and newest_is_the_row(task.write.model)


def merging_of(task: CompactionTask, engine: MergeEngine) -> Merging:
    plan, schema, options = task.compaction, task.write.schema, task.write.model
    first_row = options.merge_engine == "first-row"
    newest_wins = newest_wins_in(task)
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
        compared=compared_columns(task),
        first_row=first_row,
        # Where only keys are asked for, a row that is past its time still counts.
        above=LookupLevels(
            readers, tuple(schema.key_fields), None if only_keys else task.expiry, by_key=not plan.clustering
        ),
        newest_wins=newest_wins,
    )


def _numbered(reader: DataFileReader) -> DataFileReader:
    """The reader, whose row ids are row numbers."""
    return replace(reader, file=replace(reader.file, first_row_id=0))


def compared_columns(task: CompactionTask) -> tuple[str, ...] | None:
    """The columns of a pair that makes no changelog if they are the same; None = every pair does."""
    if not task.write.model.changelog_row_deduplicate:
        return None
    ignored = task.write.model.changelog_row_deduplicate_ignore_fields
    return tuple(name for name in task.write.schema.field_names if name not in ignored)
