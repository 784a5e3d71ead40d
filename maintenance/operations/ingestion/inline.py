"""Writers of a table that is not `write-only` compact the buckets that got rows.

Rows are committed first, in a snapshot of their own. Then the rules of dedicated compaction are applied to the
buckets that got them, and what these pick is merged and committed as a COMPACT snapshot of the same user and
identifier. If that fails, the rows stay committed: the failure becomes a warning, and the next write checks the bucket
again. A bucket that another compaction changed meanwhile is planned again.

With `full-compaction.delta-commits` = n a write without a commit identifier compacts its buckets fully. In a pipeline
that numbers its commits every n-th commit does, for all buckets that it has written to since. With `changelog-producer`
= full-compaction n is 1 unless it is set: every write makes its changelog.

Back-pressure: if the existing and new runs of a bucket exceed `num-sorted-run.stop-trigger`, the bucket is compacted
before the new rows are committed, and the writer waits for that.

Not compacted are tables without buckets and those with postponed buckets, as in Paimon. Source: Java `MergeTreeWriter`,
`BucketedAppendCompactManager`, Spark's `DataWrite`, Flink's `GlobalFullCompactionSinkWrite`.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maintenance.commit.commit import append_or_abort
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.overwrite import Overwrite, overwrite_or_abort
from maintenance.compaction.clustering import is_clustered
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, CommitKind
from maintenance.metadata.paths import bucket_text
from maintenance.operations.compaction.compaction import compact_groups
from maintenance.operations.compaction.plan import CompactionScope, Group
from maintenance.operations.compaction.report import FAILED, CompactionSummary
from maintenance.operations.ingestion.visibility import wait_until_visible
from maintenance.operations.progress import Progress
from maintenance.operations.refs.mark_partition_done import check_marking, mark_after_commit
from maintenance.operations.refs.trigger_tag_automatic_creation import tag_after_commit
from maintenance.options.model import TableModel
from maintenance.table.table import Table
from maintenance.write.message import CommitMessage
from maintenance.write.state import WriteState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_RETRIES = 3


@dataclass(frozen=True, slots=True)
class InlineCompaction:
    """What a writer compacted. Sizes in bytes.

    Attributes:
        buckets: those compacted; `changelog_rows`: produced by it, by kind text.
        before_commit: of the buckets those that had too many runs, so that the writer compacted them first.
        warning: what went wrong; the rows are committed all the same.
    """

    snapshot_ids: tuple[int, ...] = ()
    buckets: int = 0
    before_commit: int = 0
    input_files: int = 0
    output_files: int = 0
    input_bytes: int = 0
    output_bytes: int = 0
    input_rows: int = 0
    output_rows: int = 0
    changelog_rows: Mapping[str, int] = field(default_factory=dict)
    warning: str = ""
    seconds: float = 0.0

    def plus(self, other: "InlineCompaction") -> "InlineCompaction":
        """Both together."""
        kinds = [*self.changelog_rows, *(kind for kind in other.changelog_rows if kind not in self.changelog_rows)]
        return InlineCompaction(
            (*self.snapshot_ids, *other.snapshot_ids),
            self.buckets + other.buckets,
            self.before_commit + other.before_commit,
            self.input_files + other.input_files,
            self.output_files + other.output_files,
            self.input_bytes + other.input_bytes,
            self.output_bytes + other.output_bytes,
            self.input_rows + other.input_rows,
            self.output_rows + other.output_rows,
            {kind: self.changelog_rows.get(kind, 0) + other.changelog_rows.get(kind, 0) for kind in kinds},
            "; ".join(filter(None, (self.warning, other.warning))),
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did. `snapshot_ids`: of the rows and of the compactions, in the order of their commits."""

    snapshot_ids: tuple[int, ...]
    messages: Sequence[CommitMessage]
    compaction: InlineCompaction


def compacts_inline(table: Table) -> bool:
    """Whether writers of the table compact what they write; clustering is left to compactions."""
    options = table.options
    if is_clustered(table.schema, options):
        return False
    has_buckets = table.is_primary_key_table or options.bucket > 0
    return has_buckets and not options.write_only and not options.is_postponed


def commit_rows_of(
    spark: "SparkSession | None",
    table: Table,
    messages: Sequence[CommitMessage],
    identity: CommitIdentity,
    state: WriteState,
) -> Written:
    """Commit rows that were written upon a state, and compact their buckets. Errors as of `append_or_abort`."""
    compactor = Compactor(spark, table)
    room = compactor.make_room(state, messages, identity)
    snapshot_ids, messages = append_or_abort(table.commit_target(), messages, identity, state=state)
    return finished(compactor, room, snapshot_ids, messages, identity)


def overwrite_rows(
    spark: "SparkSession | None",
    table: Table,
    messages: Sequence[CommitMessage],
    identity: CommitIdentity,
    overwrite: Overwrite,
    *,
    progress: Progress = lambda _: None,
) -> Written:
    """Commit new files in place of others, and compact their buckets. Arguments and errors: see `overwrite_or_abort`.

    As the overwrite itself, the compaction makes no changelog.
    """
    check_marking(table)
    snapshot_ids = overwrite_or_abort(table.commit_target(), messages, identity, overwrite)
    compactor = Compactor(spark, table, progress)
    published = messages if snapshot_ids else ()
    written = finished(compactor, InlineCompaction(), snapshot_ids, published, identity, silent=True)
    return replace(written, messages=messages)


def finished(
    compactor: "Compactor",
    room: InlineCompaction,
    snapshot_ids: tuple[int, ...],
    messages: Sequence[CommitMessage],
    identity: CommitIdentity,
    *,
    silent: bool = False,
) -> Written:
    """What follows a commit of rows: tags, the compaction of their buckets, and what others are told.

    Args: `room`: what was compacted before; `messages`: as they were published; `silent`: no changelog is made.
    """
    table = compactor.table
    if snapshot_ids:
        tag_after_commit(table, wrote_rows=True)
    after = compactor.compact(_groups(messages), identity, silent=silent)
    wait_until_visible(table, messages, identity)
    _mark_done(table, messages, identity)
    return Written((*room.snapshot_ids, *snapshot_ids, *after.snapshot_ids), messages, room.plus(after))


def finish_replayed(
    spark: "SparkSession | None", table: Table, identity: CommitIdentity, progress: Progress = lambda _: None
) -> InlineCompaction:
    """Compact what a commit wrote that was killed behind its rows; it is repeated, and they are there already.

    Nothing tells a writer that was killed from one that found nothing to compact, so the rules of the table as it is
    opened now decide, which may be others than those of the writer. That commits nothing but COMPACT snapshots, of the
    commit's user and identifier; behind one of these, or behind another commit of the user, nothing is done any more.
    """
    if compacts_inline(table):
        for snapshot in table.snapshots.newest_first():
            if snapshot.commit_user == identity.user:
                last = snapshot.commit_identifier == identity.identifier and snapshot.commit_kind == CommitKind.APPEND
                entries = table.manifests.delta_entries(snapshot) if last else ()
                groups = frozenset((entry.partition, entry.bucket) for entry in entries)
                return Compactor(spark, table, progress).compact(groups, identity)
    return InlineCompaction()


def _mark_done(table: Table, messages: Sequence[CommitMessage], identity: CommitIdentity) -> None:
    """Tell others that the partitions that got rows are complete, behind the one commit of a job."""
    if identity.identifier == BATCH_IDENTIFIER:
        mark_after_commit(table, {partition for partition, _ in _groups(messages)})


def _groups(messages: Sequence[CommitMessage]) -> frozenset[Group]:
    return frozenset((message.partition, message.bucket) for message in messages if message.new_files)


@dataclass(frozen=True, slots=True)
class Compactor:
    """The compactions of one write; none for a table whose writers do not compact."""

    spark: "SparkSession | None"
    table: Table
    progress: Progress = lambda _: None

    def make_room(
        self, state: WriteState, messages: Sequence[CommitMessage], identity: CommitIdentity
    ) -> InlineCompaction:
        """Compact the buckets that would have too many runs with the new ones. Never fails."""
        if not self.table.is_primary_key_table or not compacts_inline(self.table):
            return InlineCompaction()
        stop = self.table.model.stop_trigger
        full = {
            (message.partition, message.bucket): state.runs[message.partition, message.bucket]
            for message in messages
            if (message.partition, message.bucket) in state.runs
            and state.runs[message.partition, message.bucket] + len(message.new_files) > stop
        }
        # What is a single run already has nothing to give.
        groups = frozenset(group for group, runs in full.items() if runs > 1)
        if not groups:
            return InlineCompaction()
        self.progress(
            f"{len(groups)} buckets have up to {max(full.values())} sorted runs, and 'num-sorted-run.stop-trigger' is "
            f"{stop}: they are compacted before more is committed"
        )
        # What the writer commits under its identifier must be the rows, or a replay would leave them out.
        before = identity.identifier - (identity.identifier != BATCH_IDENTIFIER)
        compaction = self._attempt(
            CompactionScope(groups=groups, inline=True), replace(identity, identifier=before, watermark=None)
        )
        return replace(compaction, before_commit=compaction.buckets)

    def compact(self, groups: frozenset[Group], identity: CommitIdentity, *, silent: bool = False) -> InlineCompaction:
        """Compact buckets that got rows as far as they need it. Never fails."""
        if not groups or not compacts_inline(self.table):
            return InlineCompaction()
        scope = CompactionScope(groups=groups, inline=True, silent=silent)
        commits = commits_between_full(self.table.options)
        if commits > 0 and identity.identifier == BATCH_IDENTIFIER:
            scope = replace(scope, full=True)
        elif commits > 0 and (identity.identifier + 1) % commits == 0:
            scope = replace(scope, full=True, groups=groups | self._written_since(identity, commits))
        return self._attempt(scope, identity)

    def _written_since(self, identity: CommitIdentity, commits: int) -> frozenset[Group]:
        """Buckets that the latest `commits` commits of a pipeline wrote to, as far as their snapshots exist."""
        groups: set[Group] = set()
        first = identity.identifier - commits + 1
        for snapshot in self.table.snapshots.newest_first():
            if snapshot.commit_user != identity.user:
                continue
            if snapshot.commit_identifier < first:
                break
            if snapshot.commit_kind == CommitKind.APPEND:
                groups |= {(entry.partition, entry.bucket) for entry in self.table.manifests.delta_entries(snapshot)}
                # The rows of a commit are one snapshot, so nothing older is of these.
                if snapshot.commit_identifier == first:
                    break
        return frozenset(groups)

    def _attempt(self, scope: CompactionScope, identity: CommitIdentity) -> InlineCompaction:
        started = time.monotonic()
        try:
            summary = compact_groups(
                self.spark, self.table, scope, identity, max_retries=_RETRIES, progress=self.progress
            )
            compaction = _report(summary)
        except Exception as error:  # noqa: BLE001 - the rows are safe, and whoever wrote them must learn of that
            compaction = InlineCompaction(warning=f"{type(error).__name__}: {error}")
        if compaction.warning:
            _LOG.warning(
                "table %s: the rows are written, their compaction failed: %s", self.table.identifier, compaction
            )
            self.progress(f"the compaction after the write failed, the next write tries again: {compaction.warning}")
        return replace(compaction, seconds=time.monotonic() - started)


def commits_between_full(options: TableModel) -> int:
    """With which of a pipeline's commits buckets are compacted fully: each n-th; 0 = with none.

    A table whose changelog comes from full compactions has one with every commit, unless the option says otherwise.
    Source: Java `StoreSinkWrite`. Paimon's Spark writers make none unless the option is set.
    """
    commits = max(0, options.full_compaction_delta_commits or 0)
    return max(1, commits) if options.changelog_producer == "full-compaction" else commits


def _report(summary: CompactionSummary) -> InlineCompaction:
    groups = [group for group in summary.groups if group.changed]
    failed = [group for group in summary.groups if group.outcome == FAILED]
    return InlineCompaction(
        tuple(summary.snapshot_ids),
        len(groups),
        0,
        sum(group.input_files for group in groups),
        sum(group.output_files for group in groups),
        sum(group.input_bytes for group in groups),
        sum(group.output_bytes for group in groups),
        sum(group.input_rows for group in groups),
        sum(group.output_rows for group in groups),
        {kind: rows for kind, rows in summary.changelog_rows.items() if rows},
        "; ".join(f"{bucket_text(group.partition, group.bucket)}: {group.message}" for group in failed),
    )
