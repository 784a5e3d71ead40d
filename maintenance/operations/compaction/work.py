"""What the parts of a running compaction share: its table, what it is asked to do, its summary, and its commits."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maintenance.amounts import number_of
from maintenance.commit.commit import abort, commit_compact
from maintenance.commit.identity import CommitIdentity
from maintenance.compaction.rewriting import CompactionResult
from maintenance.errors import CommitError, ConflictError, ErrorClass, PaimonError, UnexpectedError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.expired import is_held
from maintenance.operations.compaction.back_off import rival, seconds_to_wait
from maintenance.operations.compaction.plan import Group
from maintenance.operations.compaction.report import COMMITTED, CONFLICT_RETRIED, CompactionSummary
from maintenance.operations.compaction.request import CheckedRequest
from maintenance.operations.progress import Progress
from maintenance.operations.refs.trigger_tag_automatic_creation import tag_after_commit
from maintenance.read.data_file import ReadContext
from maintenance.table.table import Table, identity_of
from maintenance.write.context import WriteContext
from maintenance.write.message import CommitMessage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class CompactionWork:
    """One running compaction.

    Attributes:
        spark: session whose tasks do the work; None = threads of this process.
        identity: whose COMPACT snapshots they are.
    """

    spark: "SparkSession | None"
    table: Table
    request: CheckedRequest
    progress: Progress
    identity: CommitIdentity
    summary: CompactionSummary

    @classmethod
    def of(
        cls,
        spark: "SparkSession | None",
        table: Table,
        request: CheckedRequest,
        progress: Progress,
        identity: CommitIdentity | None = None,
    ) -> "CompactionWork":
        """A compaction that has not begun. `identity`: None = one of its own."""
        own = identity_of(table, "compact")
        return cls(spark, table, request, progress, identity or own, CompactionSummary(table))

    def commit(
        self, finished: Sequence[CompactionResult], messages: Sequence[CommitMessage], *, retried: bool
    ) -> Mapping[Group, str]:
        """Commit messages, those of `finished` among them. Returns the groups that another writer changed meanwhile."""
        if not messages:
            return {}
        try:
            committed = commit_compact(self.table.commit_target(), messages, self.identity)
        except CommitError as error:
            # Certain not to be published: what was written is of no use, the groups are planned again.
            abort(self.table.commit_target(), messages)
            return {group_of(message): str(error) for message in messages}
        if committed.snapshot_id is not None:
            self.summary.snapshot_ids.append(committed.snapshot_id)
            self.progress(f"snapshot {committed.snapshot_id} committed")
            tag_after_commit(self.table, wrote_rows=False)
        if committed.snapshot_id is None and not committed.lost:
            problem = "work was planned, and there was nothing to commit after it"
            unexpected = UnexpectedError(
                problem,
                f"table {self.table.identifier}",
                "Report this as an issue of paimon-maintenance, with the run's log.",
            )
            self.summary.fail(map(group_of, messages), unexpected)
            return {}
        for result in finished:
            if group_of(result.message) not in committed.lost:
                self.summary.finish(result, CONFLICT_RETRIED if retried else COMMITTED)
        return committed.lost

    def back_off(self, planned_on: Snapshot | None, lost: Mapping[Group, str], attempt: int) -> None:
        """Wait before groups are planned again, longer each time, and longest beside writers of another engine."""
        other = rival(self.table, planned_on, lost)
        seconds = seconds_to_wait(attempt, lost_to_others=other is not None)
        who = "another writer" if other is None else f"'{other}', a writer of another engine"
        self.progress(
            f"{number_of(len(lost), 'group was', 'groups were')} changed by {who}: planned again in {seconds:.1f} s"
        )
        time.sleep(seconds)

    def has_expired(self, snapshot: Snapshot | None, error: PaimonError) -> bool:
        """Whether a file is missing as another writer replaced it, and the snapshot with it expired."""
        if error.error_class != ErrorClass.DAMAGE or snapshot is None:
            return False
        return not is_held(self.table.file_io, self.table.paths, snapshot.id)

    def read_context(self, files: Sequence[DataFileMeta], write: WriteContext) -> ReadContext:
        """How to read data files. Raises: ConflictError: they have newer columns than the table was opened with."""
        ids = {file.schema_id for file in files} | {self.table.schema.id}
        schemas = {i: self.table.schema if i == self.table.schema.id else self.table.schemas.get(i) for i in ids}
        if max(ids) > self.table.schema.id and schemas[max(ids)].fields != self.table.schema.fields:
            raise ConflictError(
                f"there are files of schema {max(ids)}, and the table was opened with schema {self.table.schema.id}",
                f"table {self.table.identifier}",
                "Open the table again: otherwise they would be rewritten with the old columns.",
            )
        keyed = self.table.is_primary_key_table
        ordering = self.table.model.sequence_snapshot_ordering
        keys = self.table.schema.partition_keys
        return ReadContext(self.table.file_io, schemas, write.row_fields, keys, keyed=keyed, snapshot_ordering=ordering)


def group_of(message: CommitMessage) -> Group:
    return message.partition, message.bucket
