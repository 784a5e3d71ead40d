"""Drop partitions by name, with all their rows: procedure `drop_partition`, `ALTER TABLE … DROP PARTITION`.

One OVERWRITE snapshot deletes their files, which stay on storage until their snapshots expire. Each attempt reads their
files from the newest snapshot, so rows that another writer adds meanwhile are dropped, too. Source: metadata section
9.5, Java `BatchTableCommit.truncatePartitions`.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.overwrite import Overwrite
from maintenance.commit.overwrite import drop_partitions as commit_drop
from maintenance.errors import DataError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.operations.compaction.partition_choice import missing_partitions, not_found
from maintenance.options import table as table_options
from maintenance.table.table import Table, new_commit_user


@dataclass(frozen=True, slots=True)
class DropPartitionsReport:
    """What was dropped, or would be.

    Attributes:
        dropped: specs, columns to texts; `bytes`, `rows`, `files`: of these.
        missing: specs that were asked for and fit no partition.
    """

    table: str
    dropped: tuple[Mapping[str, str], ...]
    snapshot_id: int | None
    files: int
    rows: int
    bytes: int
    dry_run: bool
    seconds: float
    missing: tuple[Mapping[str, str], ...] = ()


def drop_partitions(
    table: Table,
    partitions: Sequence[Mapping[str, str]],
    *,
    ignore_if_not_exists: bool = False,
    dry_run: bool = False,
) -> DropPartitionsReport:
    """Drop partitions.

    Args: `partitions`: columns to text, as directories show them; some of the columns suffice; `ignore_if_not_exists`:
        drop those that there are, which repeats a drop after a crash; `dry_run`: report what would go, change nothing.
    Raises: DataError: none is named, or one of a column that is not a partition column; NotFoundError: a named one does
        not exist, then none is dropped; CommitError; UnsupportedError.
    """
    started = time.monotonic()
    table_options.check_writable(table.options, table.identifier)
    if not partitions:
        raise DataError("no partition is named", f"table {table.identifier}", "Name some, or truncate the table.")
    replaces = Overwrite(partitions, dynamic=False).replaces(table.commit_target(), ())
    assert replaces is not None
    missing = missing_partitions(table, partitions)
    if missing and not ignore_if_not_exists:
        raise not_found(table, missing)
    going: list[ManifestEntry] = []

    def chosen(live: Sequence[ManifestEntry]) -> set[bytes]:
        going[:] = [entry for entry in live if replaces(entry.partition)]
        return {entry.partition for entry in going}

    snapshot_id = None
    if dry_run:
        snapshot = table.latest_snapshot()
        chosen([] if snapshot is None else table.manifests.live_entries(snapshot))
    else:
        properties = {OPERATION_PROPERTY: "drop_partitions"}
        identity = CommitIdentity(new_commit_user(table.options), properties=properties)
        snapshot_id = commit_drop(table.commit_target(), identity, chosen)
    specs = [table.paths.spec_of(partition) for partition in dict.fromkeys(entry.partition for entry in going)]
    return DropPartitionsReport(
        table.identifier,
        tuple(sorted(specs, key=lambda spec: tuple(spec.values()))),
        snapshot_id,
        len(going),
        sum(entry.file.row_count for entry in going),
        sum(entry.file.file_size for entry in going),
        dry_run,
        time.monotonic() - started,
        tuple(missing),
    )
