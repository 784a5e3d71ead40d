"""Merge the manifests of a table's newest state: procedure `compact_manifest`.

Many small manifests, and entries of files that are gone, make each plan slower. One COMPACT snapshot names the live
files in few manifests; no data changes. Source: Java `FileStoreCommitImpl.compactManifest`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.manifest_merge import ManifestMergeOptions, is_merged
from maintenance.commit.publish import publish
from maintenance.commit.target import CommitTarget
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.operations.operation import Operation, Run, Shown, looking
from maintenance.operations.parameters import Parameter, text, truth
from maintenance.operations.plan_store import PlannedGroup
from maintenance.options import table as table_options
from maintenance.table.table import Table, new_commit_user


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
class CompactManifestReport:
    """`snapshot_id`: that names the merged manifests, None if there was nothing to do; `after`: None in a dry run."""

    table: str
    snapshot_id: int | None
    before: ManifestsSummary
    after: ManifestsSummary | None = None
    dry_run: bool = False
    needed: bool = False


@dataclass(frozen=True, slots=True)
class CompactManifest:
    """The table's options say how."""


def _work(run: Run, table: Table, request: CompactManifest, /, *, dry_run: bool) -> CompactManifestReport:
    table_options.check_keepable(table.options, table.identifier)
    merging = ManifestMergeOptions.of(table.options, table.schema.partition_keys)
    options = replace(merging, min_count=1, full_threshold=1)
    types = [field.type for field in table.schema.partition_fields]
    latest = table.latest_snapshot()
    metas = [] if latest is None else table.manifests.data_manifests(latest)
    before = ManifestsSummary.of(metas)
    if is_merged(metas, options, types):
        return CompactManifestReport(table.identifier, None, before, before, dry_run)
    if dry_run:
        return CompactManifestReport(table.identifier, None, before, dry_run=True, needed=True)

    def check(target: CommitTarget, _changes: Changes, newest: Snapshot | None) -> Conflict | None:
        done = newest is None or is_merged(target.manifests.data_manifests(newest), options, types)
        return Conflict("another writer merged the manifests meanwhile", frozenset()) if done else None

    identity = CommitIdentity(new_commit_user(table.options), properties={OPERATION_PROPERTY: "compact_manifest"})
    changes = Changes(CommitKind.COMPACT, (), merging=options)
    snapshot, _, _ = publish(table.commit_target(), changes, identity, check)
    if snapshot is None:
        return CompactManifestReport(table.identifier, None, before, before)
    after = ManifestsSummary.of(table.manifests.data_manifests(snapshot))
    return CompactManifestReport(table.identifier, snapshot.id, before, after, needed=True)


def _groups(_: Table, report: CompactManifestReport) -> Iterator[PlannedGroup]:
    if report.needed:
        reason = f"{report.before.manifests} manifests with {report.before.entries} entries are merged"
        yield PlannedGroup("manifests", (), report.before.bytes, 1, reason)


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
    *looking(_work, _groups),
    shown=_shown,
    takes_options=True,
    sets=(
        Parameter("manifest_sort_enabled", truth, option="manifest-sort.enabled", type=bool),
        Parameter("manifest_sort_partition_field", text, option="manifest-sort.partition-field"),
        Parameter("manifest_sort_max_rewrite_size", text, option="manifest-sort.max-rewrite-size"),
    ),
    has_job=False,
)


def compact_manifest(table: Table, *, dry_run: bool = False) -> CompactManifestReport:
    """Merge all small manifests and those with deletions, whatever `manifest.full-compaction-threshold-size` says.

    Raises: CommitError: other writers kept publishing first; UnsupportedError; CorruptFileError.
    """
    return OPERATION.run(Run(), table, CompactManifest(), dry_run=dry_run)
