"""Forget manifests that are not on storage any more: procedure `remove_unexisting_manifests`.

A state with a missing manifest cannot be read. One OVERWRITE snapshot names the manifests that exist: what the missing
ones added is lost, and what they deleted is back. If files that come back do not exist, `remove_unexisting_files` takes
them away afterwards. Going back to a whole snapshot or tag loses less where there is one: see `fsck`.
Source: Java `RemoveUnexistingManifestsAction`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from maintenance.amounts import number_of
from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import Conflict
from maintenance.commit.vectors import without_vectors_of
from maintenance.errors import WriteError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.manifest_list import ManifestFileMeta
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.manifests import merge_scan
from maintenance.operations.operation import Groups, Operation, OperationReport, Run, Shown, lazily
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.repairs.attempts import repair_attempts
from maintenance.options import table as table_options
from maintenance.table.table import Table


@dataclass(frozen=True, slots=True)
class RemoveUnexistingManifestsReport(OperationReport):
    """`manifests`: names of those that are gone.

    `added`, `deleted`: how many files these had added and deleted; `snapshot_id`: that no longer names them.
    """

    table: str
    snapshot_id: int | None
    manifests: tuple[str, ...]
    added: int
    deleted: int


@dataclass(frozen=True, slots=True)
class RemoveUnexistingManifests:
    """Every manifest of the newest state is looked for."""


def _work(
    run: Run, table: Table, request: RemoveUnexistingManifests, /, *, dry_run: bool
) -> RemoveUnexistingManifestsReport:
    table_options.check_keepable(table.options, table.identifier)
    if dry_run:
        return _report(table, None, _planned(table, table.latest_snapshot())[0])
    missing: Sequence[ManifestFileMeta] = ()
    work = repair_attempts(table, "remove_unexisting_manifests")
    for attempt in work:
        with attempt:
            missing, changes = _planned(table, attempt.latest)
            attempt.commit(changes, None if missing else Conflict("no manifest is missing", frozenset()))
    return _report(table, work.snapshot_id(), missing)


def _planned(table: Table, latest: Snapshot | None) -> tuple[Sequence[ManifestFileMeta], Changes]:
    """The manifests that are missing in a state, and what takes them out of it."""
    metas = [] if latest is None else table.manifests.data_manifests(latest)
    missing = _missing(table, metas)
    names = {meta.file_name for meta in missing}
    kept = [meta for meta in metas if meta.file_name not in names]
    live = list(merge_scan(entry for meta in kept for entry in table.manifests.read_manifest(meta)))
    lost = _vectors_without_file(table, latest, live) if missing and latest is not None else set()
    return missing, Changes(
        CommitKind.OVERWRITE,
        (),
        index=without_vectors_of(lost) if lost else None,
        kept=lambda now: [meta for meta in now if meta.file_name not in names],
        total=sum(entry.file.row_count for entry in live),
    )


def _report(
    table: Table, snapshot_id: int | None, missing: Sequence[ManifestFileMeta]
) -> RemoveUnexistingManifestsReport:
    return RemoveUnexistingManifestsReport(
        table.identifier,
        snapshot_id,
        tuple(meta.file_name for meta in missing),
        sum(meta.num_added_files for meta in missing),
        sum(meta.num_deleted_files for meta in missing),
    )


def _groups(_: Table, report: RemoveUnexistingManifestsReport) -> Groups:
    lost = f"does not exist; all of them had added {number_of(report.added, 'file')} and deleted {report.deleted}"
    return [PlannedGroup(f"manifest {name}", (name,), 0, 0, lost) for name in sorted(report.manifests)]


def _shown(report: RemoveUnexistingManifestsReport) -> Shown:
    if not report.dry_run:
        return Shown(nothing_to_do=report.snapshot_id is None)
    return Shown.texts(("manifest",), [(name,) for name in report.manifests], nothing_to_do=False)


OPERATION = Operation(
    "remove_unexisting_manifests",
    "Remove manifests that no longer exist from the metadata.",
    RemoveUnexistingManifests,
    *lazily(_work, _groups),
    shown=_shown,
    has_job=False,
)


def _missing(table: Table, metas: Sequence[ManifestFileMeta]) -> list[ManifestFileMeta]:
    missing = [meta for meta in metas if table.file_io.size(table.paths.manifest(meta.file_name)) is None]
    if len(missing) == len(metas) > 1:
        problem = f"none of the {number_of(len(metas), 'manifest')} exists: perhaps their storage cannot be reached"
        fix = "Look at the folder; roll back to a snapshot or tag that is whole, or truncate the table."
        raise WriteError(problem, table.paths.manifest_folder(), fix)
    return missing


def _vectors_without_file(table: Table, latest: Snapshot, live: Sequence[ManifestEntry]) -> set[tuple[bytes, int, str]]:
    """Data files with a deletion vector that the remaining manifests do not have."""
    there = {(entry.partition, entry.bucket, entry.file.file_name) for entry in live}
    index = table.manifests.read_index(latest)
    vectors = {(e.partition, e.bucket, part.data_file_name) for e in index for part in e.dv_ranges or ()}
    return vectors - there


remove_unexisting_manifests = OPERATION.function(
    """Commit a snapshot without the manifests that no longer exist.

    Raises: WriteError: none of several manifests exists, so the folder may be missing: nothing has changed;
        CorruptFileError: a manifest list or index manifest is missing, or a manifest is damaged; CommitError.
    """
)
