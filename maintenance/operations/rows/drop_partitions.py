"""Drop partitions by name, with all their rows: procedure `drop_partition`, `ALTER TABLE … DROP PARTITION`.

One OVERWRITE snapshot deletes their files, which stay on storage until their snapshots expire. Each attempt reads their
files from the newest snapshot, so rows that another writer adds meanwhile are dropped, too. A catalog that lists
partitions forgets them. Source: metadata section 9.5, Java `BatchTableCommit.truncatePartitions`, `HiveCatalog`.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from maintenance.commit.identity import OPERATION_PROPERTY, CommitIdentity
from maintenance.commit.overwrite import drop_partitions as commit_drop
from maintenance.errors import DataError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.metadata.partition_names import Spec
from maintenance.metadata.partition_value import PartitionValue, covering
from maintenance.operations.compaction.partition_choice import missing_partitions, not_found
from maintenance.operations.operation import Operation, OperationReport, Run, Shown, Spelling, lazily
from maintenance.operations.parameters import Param
from maintenance.operations.planned_groups import partition_groups
from maintenance.options import table as table_options
from maintenance.table.partitions import forget_partitions, named_partitions
from maintenance.table.table import Table, new_commit_user


@dataclass(frozen=True, slots=True)
class DropPartitionsReport(OperationReport):
    """What was dropped, or would be.

    Attributes:
        dropped: `bytes`, `rows`, `files`: of these.
        missing: those that were asked for and are not there.
    """

    table: str
    dropped: tuple[PartitionValue, ...]
    snapshot_id: int | None
    files: int
    rows: int
    bytes: int
    seconds: float
    missing: tuple[PartitionValue, ...] = ()


@dataclass(frozen=True, slots=True)
class DropPartitions:
    """Which partitions go."""

    partitions: Annotated[
        Sequence[Spec], Param("The partitions, as a=1,b=2;a=2; some of the columns suffice.", takes_more=True)
    ]
    ignore_if_not_exists: Annotated[bool, Param("Ignore partitions that do not exist.")] = False


def _work(run: Run, table: Table, request: DropPartitions, /, *, dry_run: bool) -> DropPartitionsReport:
    partitions, ignore_if_not_exists = request.partitions, request.ignore_if_not_exists
    started = time.monotonic()
    table_options.check_keepable(table.options, table.identifier)
    if not partitions:
        raise DataError("no partition is named", f"table {table.identifier}", "Name some, or truncate the table.")
    wanted = named_partitions(table, partitions)
    missing = missing_partitions(table, wanted)
    if missing and not ignore_if_not_exists:
        raise not_found(table, missing)
    going: list[ManifestEntry] = []
    replaces = covering(table.schema.partition_fields, wanted)

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
        forget_partitions(table, [*map(table.paths.folder_texts, wanted)])
    dropped = map(table.paths.partition, dict.fromkeys(entry.partition for entry in going))
    return DropPartitionsReport(
        table.identifier,
        tuple(sorted(dropped, key=lambda partition: tuple(partition.values()))),
        snapshot_id,
        len(going),
        sum(entry.file.row_count for entry in going),
        sum(entry.file.file_size for entry in going),
        time.monotonic() - started,
        missing,
    )


OPERATION = Operation(
    "drop_partitions",
    "Drop partitions with all their rows.",
    DropPartitions,
    *lazily(_work, lambda table, report: partition_groups(table, report.dropped, "was named")),
    is_guarded=True,
    shown=lambda report: Shown(nothing_to_do=not report.dropped),
    has_job=False,
    spellings=(Spelling("drop_partition", "Drop partitions with all their rows."),),
)


drop_partitions = OPERATION.function(
    """Drop partitions.

    Args:
        partitions: columns to values as texts, or to None for null; some of the columns suffice.
        ignore_if_not_exists: ignore partitions that do not exist, so that a drop can be repeated after a crash.
        dry_run: report what would go, change nothing.
    Raises: DataError: none is named, one of a column that is not a partition column, or a name may mean several;
        NotFoundError: a named one does not exist, then none is dropped; CommitError; UnsupportedError.
    """
)
