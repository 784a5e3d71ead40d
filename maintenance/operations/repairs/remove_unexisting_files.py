"""Forget data files that are not on storage any more: procedure `remove_unexisting_files`.

A table whose live files were deleted by others cannot be read. One OVERWRITE snapshot no longer names them, nor their
deletion vectors: their rows are lost, the others can be read again. Earlier snapshots stay as they are, so a file that
is restored can be reached by a rollback. Source: Java `RemoveUnexistingFilesAction`, `ListUnexistingFiles`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from maintenance.commit.changes import Changes
from maintenance.commit.conflicts import Conflict
from maintenance.commit.vectors import without_vectors_of
from maintenance.errors import OptionError, WriteError
from maintenance.format.metadata.manifest import FileKind, ManifestEntry
from maintenance.format.metadata.snapshot import CommitKind, Snapshot
from maintenance.metadata.file_sizes import sizes_of
from maintenance.operations.operation import Operation, OperationReport, Run, Shown, lazily
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup
from maintenance.operations.repairs.attempts import repair_attempts
from maintenance.options import table as table_options
from maintenance.table.table import Table

_THREADS = 8


@dataclass(frozen=True, slots=True)
class RemoveUnexistingFilesReport(OperationReport):
    """`paths`: of the files that are gone; `rows`: that they had; `snapshot_id`: that no longer names them."""

    table: str
    snapshot_id: int | None
    paths: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class RemoveUnexistingFiles:
    """Every data file is looked for."""

    parallelism: Annotated[int | None, Param("How many threads look for files in storage; empty: 8.")] = None


def _work(run: Run, table: Table, request: RemoveUnexistingFiles, /, *, dry_run: bool) -> RemoveUnexistingFilesReport:
    parallelism = request.parallelism
    table_options.check_keepable(table.options, table.identifier)
    threads = _THREADS if parallelism is None else parallelism
    if threads < 1:
        raise OptionError(
            f"parallelism {parallelism} is below 1", f"table {table.identifier}", "Set parallelism to 1 or more."
        )
    if dry_run:
        return _report(table, None, _gone(table, table.latest_snapshot(), threads))
    gone: Sequence[ManifestEntry] = ()
    work = repair_attempts(table, "remove_unexisting_files")
    for attempt in work:
        with attempt:
            gone = _gone(table, attempt.latest, threads)
            attempt.commit(_without(gone), None if gone else Conflict("no file is missing", frozenset()))
    return _report(table, work.snapshot_id(), gone)


def _without(gone: Sequence[ManifestEntry]) -> Changes:
    """What takes files out of the state, with their deletion vectors."""
    names = {(entry.partition, entry.bucket, entry.file.file_name) for entry in gone}
    entries = tuple(replace(entry, kind=FileKind.DELETE) for entry in gone)
    return Changes(CommitKind.OVERWRITE, entries, index=without_vectors_of(names))


def _report(table: Table, snapshot_id: int | None, gone: Sequence[ManifestEntry]) -> RemoveUnexistingFilesReport:
    return RemoveUnexistingFilesReport(
        table.identifier,
        snapshot_id,
        tuple(_path(table, entry) for entry in gone),
        sum(entry.file.row_count for entry in gone),
    )


OPERATION = Operation(
    "remove_unexisting_files",
    "Remove data files that no longer exist from the metadata.",
    RemoveUnexistingFiles,
    *lazily(
        _work, lambda _, report: [PlannedGroup(path, (path,), 0, 0, "does not exist") for path in sorted(report.paths)]
    ),
    shown=lambda report: Shown.texts(("fileName",), [(path,) for path in report.paths], nothing_to_do=False),
    has_job=False,
)


def _gone(table: Table, latest: Snapshot | None, threads: int) -> Sequence[ManifestEntry]:
    live = [] if latest is None else list(table.manifests.live_entries(latest))
    sizes = sizes_of(table.file_io, [_path(table, entry) for entry in live], threads=threads)
    gone = [entry for entry, size in zip(live, sizes, strict=True) if size is None]
    # A listing may be behind: each file is asked for once more.
    gone = [entry for entry in gone if table.file_io.size(_path(table, entry)) is None]
    if len(gone) == len(live) > 1:
        problem = f"none of the {len(live)} data files exists: perhaps their storage cannot be reached"
        fix = "Look at the folder; if all rows are lost indeed, truncate the table."
        raise WriteError(problem, f"table {table.identifier}", fix)
    return gone


def _path(table: Table, entry: ManifestEntry) -> str:
    return table.paths.all_files_of(entry.partition, entry.bucket, entry.file)[0]


remove_unexisting_files = OPERATION.function(
    """Remove live data files that no longer exist from the metadata.

    Args:
        parallelism: how many threads ask storage for files; None = 8.
    Raises: OptionError: `parallelism` is below 1; WriteError: none of several files exists, so a folder may be missing
        rather than files: nothing has changed; CommitError: other writers kept publishing first; CorruptFileError: a
        manifest is missing.
    """
)
