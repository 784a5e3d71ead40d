"""Merge the manifests of a table's newest state: procedure `compact_manifest`.

Many small manifests, and entries of files that are gone, make each plan slower. One COMPACT snapshot names the live
files in few manifests; no data changes. Source: Java `FileStoreCommitImpl.compactManifest`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maintenance.amounts import number_of
from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import Conflict
from maintenance.commit.manifest_merge import ManifestMergeOptions, is_merged
from maintenance.commit.outcome import Lost
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown
from maintenance.operations.parameters import Param, truth
from maintenance.operations.plan_store import PlannedGroup
from maintenance.options import table as table_options
from maintenance.table.table import Table, identity_of
from maintenance.types.data_type import DataType


@dataclass(frozen=True, slots=True)
class ManifestsSummary:
    """Some manifests. `entries`: of files that were added or deleted; `bytes`: of the manifests."""

    manifests: int = 0
    bytes: int = 0
    entries: int = 0

    @classmethod
    def of(cls, metas: Sequence[ManifestFileMeta]) -> "ManifestsSummary":
        entries = sum(meta.num_added_files + meta.num_deleted_files for meta in metas)
        return cls(len(metas), sum(meta.file_size for meta in metas), entries)


@dataclass(frozen=True, slots=True)
class CompactManifestReport(OperationReport):
    """`snapshot_id`: that names the merged manifests, None if there was nothing to do; `after`: None in a dry run."""

    table: str
    snapshot_id: int | None
    before: ManifestsSummary
    after: ManifestsSummary | None = None
    needed: bool = False


@dataclass(frozen=True, slots=True)
class CompactManifest:
    """The table's options say how."""


@dataclass(frozen=True, slots=True)
class _Merging:
    options: ManifestMergeOptions
    types: Sequence[DataType]

    def is_done(self, metas: Sequence[ManifestFileMeta]) -> bool:
        return is_merged(metas, self.options, self.types)


def plan(_: Run, table: Table, request: CompactManifest) -> Plan[CompactManifest, CompactManifestReport]:
    """The manifests, and whether they are to be merged."""
    table_options.check_keepable(table.options, table.identifier)
    options = ManifestMergeOptions.of(table.options, table.schema.partition_keys)
    types = [field.type for field in table.schema.partition_fields]
    merging = _Merging(replace(options, min_count=1, full_threshold=1), types)
    latest = table.latest_snapshot()
    metas = [] if latest is None else table.manifests.data_manifests(latest)
    before = ManifestsSummary.of(metas)
    if merging.is_done(metas):
        return Plan(request, CompactManifestReport(table.identifier, None, before, before), work=merging)
    reason = f"{number_of(before.manifests, 'manifest')} with {before.entries} entries are merged"
    group = PlannedGroup("manifests", (), before.bytes, 1, reason)
    report = CompactManifestReport(table.identifier, None, before, needed=True)
    return Plan(request, report, lambda: [group], merging)


def apply(_run: Run, table: Table, planned: Plan[CompactManifest, CompactManifestReport]) -> CompactManifestReport:
    """Commit a snapshot that names the live files in few manifests."""
    merging, report = planned.work, planned.report
    assert isinstance(merging, _Merging)
    if not report.needed:
        return report
    identity = identity_of(table, "compact_manifest")
    work = CommitAttempts(table.commit_target(), identity)
    for attempt in work:
        with attempt:
            done = attempt.latest is None or merging.is_done(table.manifests.data_manifests(attempt.latest))
            conflict = Conflict("another writer merged the manifests meanwhile", frozenset()) if done else None
            attempt.commit(Changes(CommitKind.COMPACT, (), merging=merging.options), conflict)
    if isinstance(work.outcome, Lost):
        return replace(report, after=report.before, needed=False)
    snapshot = work.outcome.snapshot
    return replace(report, snapshot_id=snapshot.id, after=ManifestsSummary.of(table.manifests.data_manifests(snapshot)))


def _shown(report: CompactManifestReport) -> Shown:
    if not report.dry_run:
        return Shown(nothing_to_do=report.snapshot_id is None)
    before = report.before
    row = {"manifests": before.manifests, "bytes": before.bytes, "entries": before.entries}
    return Shown.one(row, nothing_to_do=not report.needed)


OPERATION = Operation(
    "compact_manifest",
    "Merge the manifests of a table.",
    CompactManifest,
    plan,
    apply,
    _shown,
    takes_options=True,
    sets=(
        Param(
            "Sort the entries of manifests by partition: true or false.",
            "manifest_sort_enabled",
            read=truth,
            option="manifest-sort.enabled",
            type=bool,
        ),
        Param(
            "The partition column to sort by; empty: the first one.",
            "manifest_sort_partition_field",
            option="manifest-sort.partition-field",
        ),
        Param(
            "The most bytes of manifests to rewrite for it.",
            "manifest_sort_max_rewrite_size",
            option="manifest-sort.max-rewrite-size",
        ),
    ),
    has_job=False,
)


compact_manifest = OPERATION.function(
    """Merge all small manifests and all with deletions, regardless of `manifest.full-compaction-threshold-size`.

    Raises: CommitError: other writers kept publishing first; UnsupportedError; CorruptFileError.
    """
)
