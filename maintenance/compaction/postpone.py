"""Give rows that wait in the postpone bucket of a partition their real buckets.

The rows are taken in the order in which they were committed and written as any writer of a table with fixed buckets
does it: numbered on from what each bucket holds, sorted, merged, as new files of level 0.

Some rows may have been written straight into the buckets after rows that wait (`DirectFiles`). Then the order of the
commits is kept: rows that wait are numbered on from what is older than they are. Where the last record of a key is all
that counts, those whose key came again later are left out; else the files that are newer are written again with higher
numbers, unless theirs are high enough. So what waited never comes back over what was written after it, and deletes
nothing of it. All this is one commit. Rows are buffered and merged only up to the next file that is written again, and
up to the end of a file with deletions where these remove what rows before them have set.

Source: data section 8.4, Java `PostponeUtils`, whose compactions keep the order within a writer, and number rows that
waited behind all others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from maintenance.bucket.postpone import writer_of
from maintenance.compaction.proof.findings import Findings
from maintenance.compaction.proof.postponed import LaterKeys, Moved, PostponeProof
from maintenance.compaction.proof.quarantine import refuse
from maintenance.compaction.proof.renumbered import RenumberProof, not_ascending
from maintenance.compaction.proof.settings import ProofMode, ProofResult, ProofSettings, together
from maintenance.compaction.superseded import DirectFiles, NewerKeys, may_pass_over, newer_keys
from maintenance.errors import ProofError
from maintenance.format.metadata.data_file import DataFileMeta, FileSource
from maintenance.format.rows.system_fields import SEQUENCE_NUMBER
from maintenance.options import table as table_options
from maintenance.read.data_file import DataFileReader, ReadContext
from maintenance.read.split_read import partition_values
from maintenance.types.row_hash import Digest, total
from maintenance.write.buckets import buckets_of
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage
from maintenance.write.postpone import with_buckets
from maintenance.write.renumber import RenumberTask, renumber
from maintenance.write.state import WriteState
from maintenance.write.table_write import TableWrite

_BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class PostponeCompaction:
    """The waiting files of one partition.

    Attributes:
        total_buckets: real ones that the partition has, or gets now.
        files: in the order of their rows.
        sequences: largest sequence number in each real bucket, of what is older than all these files.
        direct: what is newer than some of them, in the order of its commits.
        highest: largest sequence number in each real bucket.
        share, shares: this unit takes the buckets whose number, divided by `shares`, leaves `share`.
    """

    partition: bytes
    total_buckets: int
    files: tuple[DataFileMeta, ...]
    sequences: Mapping[int, int]
    direct: tuple[DirectFiles, ...] = ()
    highest: Mapping[int, int] = field(default_factory=dict)
    share: int = 0
    shares: int = 1

    @property
    def input_files(self) -> tuple[DataFileMeta, ...]:
        """All files that may be read."""
        return (*self.files, *(file for direct in self.direct for file in direct.files))


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
    """What a unit wrote.

    Attributes: `messages`: of the real buckets alone: that the waiting files go is said once; `rows`: of the waiting
        files that were given a bucket.
    """

    messages: list[CommitMessage]
    proof: ProofResult
    rows: int


def leaving(unit: PostponeCompaction) -> CommitMessage:
    """That the waiting files of a partition go."""
    return CommitMessage(
        unit.partition, table_options.POSTPONE_BUCKET, table_options.POSTPONE_BUCKET, compact_before=unit.files
    )


def in_order(files: Sequence[DataFileMeta], commits: Mapping[str, int]) -> tuple[DataFileMeta, ...]:
    """Files as their rows came. `commits`: id of the snapshot that added a file, by name; unknown ones are older."""

    def age(file: DataFileMeta) -> tuple[int, int, str, int, int, str]:
        commit = commits.get(file.file_name, 0)
        made = file.creation_time or 0
        number = file.file_name.rpartition(".")[0].rpartition("-")[2]
        count = int(number) if number.isdecimal() else 0
        # Writers of one commit hold different keys; files of the same commit are ordered by their time.
        return commit, 0 if commit else made, writer_of(file.file_name), made, count, file.file_name

    return tuple(sorted(files, key=age))


def distribute(task: PostponeTask) -> Distributed:
    """Write the rows to their buckets. On an error nothing of what was written stays.

    Raises: ProofError: what was written is not what waited; it is in quarantine.
    """
    move = _Move(task)
    try:
        return move.run()
    except Findings as findings:
        error = refused(task, move.messages, findings)
        # What no message names.
        move.abort()
        raise error from None
    except BaseException:
        move.abort()
        raise


class _Move:
    """A unit at work."""

    def __init__(self, task: PostponeTask) -> None:
        self._task, self._plan = task, task.compaction
        self._context = _at_one_moment(with_buckets(task.write, self._plan.total_buckets))
        self._last = dict(self._plan.sequences)
        self._writers: list[TableWrite] = []
        self._proofs: list[ProofResult] = []
        self._rows = 0
        # What was written to each bucket, in the order in which it must be read.
        self._written: dict[int, list[Sequence[DataFileMeta]]] = {}
        self._changelog: dict[int, list[DataFileMeta]] = {}
        self._replaced: dict[int, list[DataFileMeta]] = {}
        self._renumbered: list[tuple[int, DataFileMeta]] = []
        # What makes rows that wait superfluous, and the same as the proof reads it.
        self._newer: NewerKeys | None = None
        self._later: LaterKeys | None = None

    def run(self) -> Distributed:
        start, mine = 0, self._mine()
        if mine and may_pass_over(self._context.model, mine):
            later = [(each.after, self._task.reader(each.bucket, file)) for each in mine for file in each.files]
            self._newer = newer_keys(later, self._context.schema)
            self._later = LaterKeys(later, self._context.schema)
        for direct in mine:
            self._advance(start, direct.after)
            start = max(start, direct.after)
            if self._newer is None:
                self._raise(direct)
            else:
                self._number_above(direct.bucket, direct.files)
        self._advance(start, len(self._plan.files))
        # Numbers that are the user's sequence say nothing of the order of commits.
        if self._proving and not self._context.model.sequence_auto_padding:
            wrong = [*not_ascending(self._written, self._plan.sequences)]
            if wrong:
                raise Findings(wrong, Digest(), Digest())
        return Distributed(self.messages, together(self._proofs), self._rows)

    @property
    def _proving(self) -> bool:
        return self._task.proof.mode != ProofMode.OFF

    def _mine(self) -> list[DirectFiles]:
        """Files to come after some of the rows of this unit, in the order of their commits."""
        plan = self._plan
        return sorted(
            (direct for direct in plan.direct if direct.bucket % plan.shares == plan.share), key=lambda d: d.after
        )

    def _advance(self, start: int, stop: int) -> None:
        """Write the rows of some of the waiting files; where deletions count, those of each deletion end a run.

        Merged with a later row of its key in one buffer, a deletion would be forgotten, and older rows come back.
        """
        for at in range(start, stop) if self._context.model.removes_records else ():
            if self._plan.files[at].delete_row_count != 0:
                self._distribute(start, at + 1)
                start = at + 1
        self._distribute(start, stop)

    def _distribute(self, start: int, stop: int) -> None:
        """Write the rows of some of the waiting files, numbered on from what the buckets hold so far."""
        files = self._plan.files[start:stop]
        if not files:
            return
        plan, context, task = self._plan, self._context, self._task
        proof = None
        if self._proving:
            moved = Moved(plan.partition, files, dict(self._last), plan.share, plan.shares, start, self._later)
            proof = PostponeProof(task.proof, context, moved)
        state = WriteState({(plan.partition, bucket): last for bucket, last in self._last.items()})
        writer = TableWrite(context, state, None if proof is None else proof.bucket)
        self._writers.append(writer)
        for place, file in enumerate(files, start):
            for records in task.reader(table_options.POSTPONE_BUCKET, file).batches(_BATCH_ROWS):
                buckets = buckets_of(records, context)
                superseded = None if self._newer is None else self._newer.of_rows(records, place)
                if proof is not None:
                    proof.reads(file, records, buckets, superseded)
                self._rows += int(np.count_nonzero(buckets % plan.shares == plan.share))
                if superseded is not None and superseded.any():
                    records, buckets = records.filter(pa.array(~superseded)), buckets[~superseded]
                _write(writer, records.drop_columns([SEQUENCE_NUMBER.name]), buckets, plan)
        messages = [_as_compaction(message) for message in writer.finish()]
        for message in messages:
            self._take(message.bucket, message.compact_after)
            self._changelog.setdefault(message.bucket, []).extend(message.compact_changelog)
        if proof is not None:
            self._proofs.append(proof.check(messages, task.reader))

    def _take(self, bucket: int, files: Sequence[DataFileMeta]) -> None:
        self._written.setdefault(bucket, []).append(files)
        self._number_above(bucket, files)

    def _number_above(self, bucket: int, files: Sequence[DataFileMeta]) -> None:
        """Let the rows that come next to a bucket have higher numbers than files of it."""
        self._last[bucket] = max([self._last.get(bucket, -1), *(file.max_sequence_number for file in files)])

    def _raise(self, direct: DirectFiles) -> None:
        """Let files come after all that their bucket has got so far."""
        bucket, last = direct.bucket, self._last.get(direct.bucket, -1)
        shift = last + 1 - min(file.min_sequence_number for file in direct.files)
        if shift <= 0:
            self._take(bucket, direct.files)
            return
        done = [self._renumber(bucket, file, shift) for file in direct.files]
        self._replaced.setdefault(bucket, []).extend(direct.files)
        self._take(bucket, [file for _, made in done for file in made])
        for proof, made in done:
            if proof is not None:
                self._proofs.append(proof.check(made, lambda file: self._task.reader(bucket, file)))

    def _renumber(
        self, bucket: int, file: DataFileMeta, shift: int
    ) -> tuple[RenumberProof | None, Sequence[DataFileMeta]]:
        task, source = self._task, FileSource.COMPACT
        again = RenumberTask(self._context, task.read, self._plan.partition, bucket, file, shift, source)
        proof = RenumberProof(task.proof, self._context, file, shift) if self._proving else None
        made = renumber(again) if proof is None else renumber(again, proof.observer, proof.reads)
        self._renumbered += [(bucket, new) for new in made]
        return proof, made

    @property
    def messages(self) -> list[CommitMessage]:
        """What was written so far: one for each bucket."""
        plan, kept = self._plan, {file.file_name for direct in self._plan.direct for file in direct.files}
        messages = []
        for bucket, parts in sorted(self._written.items()):
            new = tuple(file for part in parts for file in part if file.file_name not in kept)
            if new:
                messages.append(
                    CommitMessage(
                        plan.partition,
                        bucket,
                        plan.total_buckets,
                        compact_before=tuple(self._replaced.get(bucket, ())),
                        compact_after=new,
                        compact_changelog=tuple(self._changelog.get(bucket, ())),
                        highest=plan.highest.get(bucket, -1),
                    )
                )
        return messages

    def abort(self) -> None:
        """Delete what was written."""
        for writer in self._writers:
            writer.abort()
        paths = self._task.write.paths
        for bucket, file in self._renumbered:
            self._task.write.file_io.delete_quietly(paths.all_files_of(self._plan.partition, bucket, file))


def check_shares(tasks: Sequence[PostponeTask], done: Sequence[Distributed]) -> None:
    """Check that all rows that wait in a partition were taken by its units, once. `done`: of all of them.

    Raises: ProofError: they were not; what all of them wrote is in quarantine.
    """
    if any(share.proof.mode == ProofMode.OFF for share in done):
        return
    due = sum(file.row_count for file in tasks[0].compaction.files)
    taken = sum(share.rows for share in done)
    if taken != due:
        digest = total(share.proof.digest for share in done)
        wrong = [f"{taken} rows were given a bucket, and {due} wait"]
        findings = Findings(wrong, Digest(due), replace(digest, rows=taken))
        raise refused(tasks[0], [message for share in done for message in share.messages], findings)


def refused(task: PostponeTask, messages: Sequence[CommitMessage], findings: Findings) -> ProofError:
    """Put what was written into quarantine. Returns the error to raise."""
    subject, place = "the move out of the postpone bucket", leaving(task.compaction)
    return refuse(task.write, place, findings, subject=subject, snapshot_id=task.snapshot_id, others=messages)


def _at_one_moment(context: WriteContext) -> WriteContext:
    """The context with a fixed clock: rows of one sequence get equal padding, and the last one read stays newest."""
    if not context.model.sequence_auto_padding:
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
    """What was written, as part of a COMPACT snapshot. Its files are of a compaction: older than what waits by then."""
    files = tuple(replace(file, file_source=FileSource.COMPACT) for file in message.new_files)
    return replace(
        message, new_files=(), changelog_files=(), compact_after=files, compact_changelog=message.changelog_files
    )
