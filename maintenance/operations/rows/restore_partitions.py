"""Bring partitions back to what a tag or an earlier snapshot holds, and leave the rest of the table as it is.

The rows are read under the newest schema and written again, as one OVERWRITE snapshot: `INSERT OVERWRITE … PARTITION …
SELECT … FROM t VERSION AS OF …`. The old files cannot be taken back themselves: Paimon deletes them together with the
tag, whatever newer snapshots say. Rows that another writer adds to these partitions meanwhile are replaced, too.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.commit.identity import OPERATION_PROPERTY
from maintenance.commit.overwrite import Overwrite
from maintenance.errors import DataError, NotFoundError, OptionError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.metadata.paths import matches_spec, partition_text_of
from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.refs.snapshot_choice import counted_or_tagged
from maintenance.options import table as table_options
from maintenance.scan.split import Split
from maintenance.table.planning import plan_state
from maintenance.table.rows import read_splits, splits_to_spark
from maintenance.table.table import Table, new_commit_user
from maintenance.types.arrow import arrow_type

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SHOWN = 5
Spec = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RestorePartitionsReport:
    """What was brought back, or would be.

    Attributes:
        source: the id of the snapshot whose rows these are.
        restored: the partitions, columns to texts.
        files, rows, bytes: of them in that snapshot, rows before merging.
        replaced_files, replaced_rows, replaced_bytes: of what they held until now.
        snapshot_id: the new snapshot; None for a dry run.
    """

    table: str
    source: int
    restored: tuple[Spec, ...]
    files: int
    rows: int
    bytes: int
    replaced_files: int
    replaced_rows: int
    replaced_bytes: int
    snapshot_id: int | None
    dry_run: bool
    seconds: float


def restore_partitions(
    spark: "SparkSession | None",
    table: Table,
    partitions: Sequence[Spec],
    *,
    tag: str | None = None,
    snapshot_id: int | None = None,
    dry_run: bool = False,
) -> RestorePartitionsReport:
    """Replace partitions by what they were in an earlier state.

    Args:
        spark: its tasks read and write; None: this process does, which must hold the rows in memory.
        partitions: columns to text, as directories show them; some of the columns suffice.
        tag, snapshot_id: exactly one of them; the snapshot may have expired if a tag holds it.
        dry_run: only report what would be done.
    Raises: DataError: no partition is named, or a column that is not a partition column; OptionError: not exactly one
        state is named; NotFoundError: there is no such state, or a partition is not in it; CorruptFileError: a file of
        the state is missing; CommitError; UnsupportedError. Nothing has changed then.
    """
    started = time.monotonic()
    table_options.check_writable(table.options, table.identifier)
    _check_specs(table, partitions)
    source = _state(table, tag, snapshot_id)
    then = _chosen(table, source, partitions)
    specs = _specs(table, then)
    _check_present(table, partitions, specs, source)
    now = _chosen(table, table.latest_snapshot(), specs)
    made = None if dry_run else _write(spark, table, source, specs)
    return RestorePartitionsReport(
        table.identifier,
        source.id,
        tuple(specs),
        *_sizes(then),
        *_sizes(now),
        made,
        dry_run,
        time.monotonic() - started,
    )


def _check_specs(table: Table, partitions: Sequence[Spec]) -> None:
    if not partitions:
        raise DataError("no partition is named", f"table {table.identifier}", "Name some, or roll the table back.")
    # This checks the columns.
    Overwrite(partitions, dynamic=False).replaces(table.commit_target(), ())


def _state(table: Table, tag: str | None, snapshot_id: int | None) -> Snapshot:
    if (tag is None) == (snapshot_id is None):
        raise OptionError("a restore needs exactly one earlier state", table.identifier, "Name one tag or snapshot.")
    if tag is not None:
        return table.tags.get(tag).snapshot
    snapshot = counted_or_tagged(table, snapshot_id or 0)
    if snapshot is None:
        held = ", ".join(table.tags.names()) or "none"
        raise NotFoundError(
            f"snapshot {snapshot_id} does not exist and no tag holds it",
            table.identifier,
            f"Use one of {table.snapshots.earliest_id()} to {table.snapshots.latest_id()}, or a tag: {held}.",
        )
    return snapshot


def _chosen(table: Table, snapshot: Snapshot | None, specs: Sequence[Spec]) -> list[ManifestEntry]:
    """The live files of these partitions in a snapshot."""
    live = [] if snapshot is None else table.manifests.live_entries(snapshot)
    return [entry for entry in live if matches_spec(table.paths.spec_of(entry.partition), specs)]


def _specs(table: Table, entries: Sequence[ManifestEntry]) -> list[Spec]:
    specs = [table.paths.spec_of(partition) for partition in dict.fromkeys(entry.partition for entry in entries)]
    return sorted(specs, key=lambda spec: tuple(spec.values()))


def _check_present(table: Table, asked: Sequence[Spec], found: Sequence[Spec], source: Snapshot) -> None:
    missing = [spec for spec in asked if not any(matches_spec(existing, [spec]) for existing in found)]
    if not missing:
        return
    there = [partition_text_of(spec) for spec in _specs(table, table.manifests.live_entries(source))]
    more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
    raise NotFoundError(
        f"snapshot {source.id} has no partition {partition_text_of(missing[0])}",
        f"table {table.identifier}",
        f"It has {', '.join(there[:_SHOWN]) or 'none'}{more}. Name one of them, or another tag or snapshot.",
    )


def _sizes(entries: Sequence[ManifestEntry]) -> tuple[int, int, int]:
    """Files, rows and bytes."""
    files = [entry.file for entry in entries]
    return len(files), sum(file.row_count for file in files), sum(file.file_size for file in files)


def _write(spark: "SparkSession | None", table: Table, source: Snapshot, specs: Sequence[Spec]) -> int | None:
    """Commit the rows. Returns the id of the snapshot that has them."""
    report = ingest(
        spark,
        table,
        _rows(spark, table, source, specs),
        commit_user=new_commit_user(table.options),
        overwrite=Overwrite(specs, dynamic=False),
        properties={OPERATION_PROPERTY: "restore_partitions"},
    )
    return report.snapshot_ids[0] if report.snapshot_ids else None


def _rows(
    spark: "SparkSession | None", table: Table, source: Snapshot, specs: Sequence[Spec]
) -> "DataFrame | pa.Table":
    plan, read = plan_state(table, source)
    splits = [
        split
        for split in plan.splits
        if isinstance(split, Split) and matches_spec(table.paths.spec_of(split.partition), specs)
    ]
    if spark is not None:
        return splits_to_spark(spark, splits, read)
    schema = pa.schema([(f.name, arrow_type(f.type, f"column {f.name}")) for f in read.columns])
    return pa.concat_tables([schema.empty_table(), *read_splits(splits, read)])
