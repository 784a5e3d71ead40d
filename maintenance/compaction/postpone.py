"""Give rows that wait in the postpone bucket of a partition their real buckets.

The rows are taken writer by writer in the order they came and written as any writer of a table with fixed buckets does
it: numbered on from what each bucket holds, sorted, merged, as new files of level 0. Commits decide what is newer: rows
of an earlier one come first. Source: data section 8.4, Java `PostponeUtils`, whose compactions keep the order within a
writer and leave that of writers to chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from maintenance.bucket.postpone import POSTPONE_BUCKET, writer_of
from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.postponed import Moved, PostponeProof
from maintenance.compaction.proof.quarantine import refuse
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings
from maintenance.errors import ProofError
from maintenance.format.data_file import DataFileMeta
from maintenance.format.system_fields import SEQUENCE_NUMBER
from maintenance.options import table as table_options
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.types.row_hash import Digest, total
from maintenance.write.buckets import buckets_of
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.postpone import with_buckets
from maintenance.write.state import WriteState
from maintenance.write.table_write import TableWrite

_BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class PostponeCompaction:
    """The waiting files of one partition.

    Attributes:
        total_buckets: real ones that the partition has, or gets now.
        files: in the order of their rows.
        sequences: largest sequence number in each real bucket.
        share, shares: this unit takes the buckets whose number, divided by `shares`, leaves `share`.
    """

    partition: bytes
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    sequences: Mapping[int, int]
    share: int = 0
    shares: int = 1


@dataclass(frozen=True, slots=True)
class PostponeTask:
    """One such unit with what reading and writing it needs.

    Attributes:
        proof: how the move is proved before anybody commits it.
        snapshot_id: of the snapshot that it was planned on.
    """

    write: WriteContext
    read: ReadContext
    compaction: PostponeCompaction
    proof: ProofSettings = field(default_factory=ProofSettings)
    snapshot_id: int | None = None

    def reader(self, bucket: int, file: DataFileMeta) -> DataFileReader:
        """A reader of a file of one of the partition's buckets."""
        partition = self.compaction.partition
        path = self.write.paths.data_file(partition, bucket, file)
        return DataFileReader(self.read, path, file, partition_values(self.write.schema, partition))


@dataclass(frozen=True, slots=True)
class Distributed:
    """What a unit wrote. `messages`: of the real buckets alone: that the waiting files go is said once."""

    messages: list[CommitMessage]
    proof: ProofResult


def leaving(unit: PostponeCompaction) -> CommitMessage:
    """That the waiting files of a partition go."""
    return CommitMessage(unit.partition, POSTPONE_BUCKET, POSTPONE_BUCKET, compact_before=unit.files)


def in_order(files: Sequence[DataFileMeta], commits: Mapping[str, int]) -> tuple[DataFileMeta, ...]:
    """Files as their rows came. `commits`: id of the snapshot that added a file, by name; unknown ones are older."""

    def age(file: DataFileMeta) -> tuple[int, int, str, int, int, str]:
        commit = commits.get(file.file_name, 0)
        made = file.creation_time or 0
        number = file.file_name.rpartition(".")[0].rpartition("-")[2]
        count = int(number) if number.isdecimal() else 0
        # Writers of one commit hold different keys; files that no commit tells apart are told apart by their time.
        return commit, 0 if commit else made, writer_of(file.file_name), made, count, file.file_name

    return tuple(sorted(files, key=age))


def distribute(task: PostponeTask) -> Distributed:
    """Write the rows to their buckets. On an error nothing of what was written stays.

    Raises: ProofError: what was written is not what waited; it is in quarantine.
    """
    plan = task.compaction
    context = _at_one_moment(with_buckets(task.write, plan.total_buckets))
    state = WriteState({(plan.partition, bucket): last for bucket, last in plan.sequences.items()})
    proof = None
    if task.proof.mode != ProofMode.OFF:
        moved = Moved(plan.partition, plan.files, plan.sequences, plan.share, plan.shares)
        proof = PostponeProof(task.proof, context, moved)
    writer = TableWrite(context, state, None if proof is None else proof.bucket)
    messages: list[CommitMessage] = []
    try:
        for file in plan.files:
            for records in task.reader(POSTPONE_BUCKET, file).batches(_BATCH_ROWS):
                buckets = buckets_of(records, context)
                if proof is not None:
                    proof.reads(file, records, buckets)
                _write(writer, records.drop_columns([SEQUENCE_NUMBER.name]), buckets, plan)
        messages = [_as_compaction(message) for message in writer.finish()]
        return Distributed(messages, ProofResult() if proof is None else proof.check(messages, task.reader))
    except Findings as findings:
        error = refused(task, messages, findings)
        # What no message names.
        writer.abort()
        raise error from None
    except BaseException:
        writer.abort()
        raise


def check_shares(tasks: Sequence[PostponeTask], done: Sequence[Distributed]) -> None:
    """Check that all rows that wait in a partition were taken by its units, once. `done`: of all of them.

    Raises: ProofError: they were not; what all of them wrote is in quarantine.
    """
    if any(found.proof.mode == ProofMode.OFF for found in done):
        return
    due = sum(file.row_count for file in tasks[0].compaction.files)
    taken = sum(found.proof.rows_in for found in done)
    if taken != due:
        digest = total(found.proof.digest for found in done)
        wrong = [f"{taken} rows were given a bucket, and {due} wait"]
        findings = Findings(wrong, Digest(due), replace(digest, rows=taken))
        raise refused(tasks[0], [message for found in done for message in found.messages], findings)


def refused(task: PostponeTask, messages: Sequence[CommitMessage], findings: Findings) -> ProofError:
    """Put what was written into quarantine. Returns the error to raise."""
    what, place = "the move out of the postpone bucket", leaving(task.compaction)
    return refuse(task.write, place, findings, what=what, snapshot_id=task.snapshot_id, others=messages)


def _at_one_moment(context: WriteContext) -> WriteContext:
    """The context, by whose clock rows of one sequence are padded alike: the last one read stays the newest."""
    if not table_options.SEQUENCE_AUTO_PADDING.of(context.options):
        return context
    now = context.clock()
    return replace(context, clock=lambda: now)


def _write(writer: TableWrite, rows: pa.Table, buckets: np.ndarray, plan: PostponeCompaction) -> None:
    mine = np.flatnonzero(buckets % plan.shares == plan.share)
    if len(mine) < rows.num_rows:
        rows, buckets = rows.take(pa.array(mine)), buckets[mine]
    if rows.num_rows:
        writer.write(rows, buckets)


def _as_compaction(message: CommitMessage) -> CommitMessage:
    """What was written, as part of a COMPACT snapshot."""
    return replace(
        message,
        new_files=(),
        changelog_files=(),
        compact_after=message.new_files,
        compact_changelog=message.changelog_files,
    )
