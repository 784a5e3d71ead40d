"""Manifests, files that are gone, emptying a table, and what a catalog knows of its warehouse."""

from dataclasses import replace

import pyarrow as pa

from maintenance.operations import (
    compact_manifest,
    purge_files,
    remove_unexisting_files,
    remove_unexisting_manifests,
    repair_earliest_snapshot,
)
from maintenance.operations.plans.dry_run_plans import (
    COMPACT_MANIFEST,
    PURGE_FILES,
    REMOVE_UNEXISTING_FILES,
    REMOVE_UNEXISTING_MANIFESTS,
    REPAIR_EARLIEST_SNAPSHOT,
)
from maintenance.operations.repairs.compact_manifest import CompactManifestReport
from maintenance.operations.repairs.purge_files import PurgeFilesReport
from maintenance.operations.repairs.remove_unexisting_files import RemoveUnexistingFilesReport
from maintenance.operations.repairs.remove_unexisting_manifests import RemoveUnexistingManifestsReport
from maintenance.operations.repairs.repair_earliest_snapshot import RepairEarliestSnapshotReport
from maintenance.sql.procedures.procedure import (
    DRY_RUN,
    TABLE,
    Call,
    Parameter,
    Procedure,
    dry_run_planning,
    moment,
    names,
    number,
    options,
    text,
    truth,
)
from maintenance.sql.result import Result


def _compact_manifest(call: Call) -> Result:
    return _manifests_merged(call, compact_manifest(call.table(), **call.passed("dry_run")))


def _manifests_merged(call: Call, report: CompactManifestReport) -> Result:
    if not report.dry_run:
        return call.done(nothing_to_do=report.snapshot_id is None)
    before = report.before
    rows = {"manifests": [before.manifests], "bytes": [before.bytes], "entries": [before.entries]}
    return Result(pa.table(rows), nothing_to_do=not report.needed)


def _remove_unexisting_files(call: Call) -> Result:
    return _files_forgotten(call, remove_unexisting_files(call.table(), **call.passed("dry_run", "parallelism")))


def _files_forgotten(_: Call, report: RemoveUnexistingFilesReport) -> Result:
    return Result.of_texts(("fileName",), [(path,) for path in report.paths])


def _remove_unexisting_manifests(call: Call) -> Result:
    return _manifests_forgotten(call, remove_unexisting_manifests(call.table(), **call.passed("dry_run")))


def _manifests_forgotten(call: Call, report: RemoveUnexistingManifestsReport) -> Result:
    if not report.dry_run:
        return call.done(nothing_to_do=report.snapshot_id is None)
    return Result.of_texts(("manifest",), [(name,) for name in report.manifests])


def _purge_files(call: Call) -> Result:
    return _purged(call, purge_files(call.table(), **call.passed("dry_run", "older_than")))


def _purged(call: Call, report: PurgeFilesReport) -> Result:
    if not report.dry_run:
        return call.done(nothing_to_do=report.is_empty)
    return Result.of_texts(("going",), [(line,) for line in report.lines()])


def _repair_earliest_snapshot(call: Call) -> Result:
    return _repaired(call, repair_earliest_snapshot(call.table(), **call.passed("snapshot_id", "dry_run")))


def _repaired(_: Call, report: RepairEarliestSnapshotReport) -> Result:
    columns = {"previous_earliest_snapshot_id": report.previous, "current_earliest_snapshot_id": report.current}
    rows = {name: pa.array([number], pa.int64()) for name, number in columns.items()}
    return Result(pa.table(rows), nothing_to_do=report.previous == report.current)


def _repair(call: Call) -> Result:
    """Names of tables and databases; none means the whole catalog."""
    catalog = call.session.current()
    for name in call.get("table", ()):
        if "." in name:
            catalog.repair_table(name)
        else:
            catalog.repair_database(name)
    if not call.get("table"):
        catalog.repair_catalog()
    return call.done()


PROCEDURES = (
    Procedure("repair", (Parameter("table", names, others=("database_or_table",)),), _repair),
    Procedure(
        "compact_manifest",
        (
            TABLE,
            Parameter("options", options),
            DRY_RUN,
            Parameter("manifest_sort_enabled", truth, option="manifest-sort.enabled"),
            Parameter("manifest_sort_partition_field", text, option="manifest-sort.partition-field"),
            Parameter("manifest_sort_max_rewrite_size", text, option="manifest-sort.max-rewrite-size"),
        ),
        _compact_manifest,
        planning=dry_run_planning(COMPACT_MANIFEST, lambda _: {}, _manifests_merged),
    ),
    Procedure(
        "remove_unexisting_files",
        (TABLE, DRY_RUN, Parameter("parallelism", number)),
        _remove_unexisting_files,
        planning=dry_run_planning(REMOVE_UNEXISTING_FILES, lambda call: call.passed("parallelism"), _files_forgotten),
    ),
    Procedure(
        "remove_unexisting_manifests",
        (replace(TABLE, others=(*TABLE.others, "tableId")), DRY_RUN),
        _remove_unexisting_manifests,
        planning=dry_run_planning(REMOVE_UNEXISTING_MANIFESTS, lambda _: {}, _manifests_forgotten),
    ),
    Procedure(
        "repair_earliest_snapshot",
        (TABLE, Parameter("snapshot_id", number, required=True), DRY_RUN),
        _repair_earliest_snapshot,
        planning=dry_run_planning(REPAIR_EARLIEST_SNAPSHOT, lambda call: call.passed("snapshot_id"), _repaired),
    ),
    Procedure(
        "purge_files",
        (TABLE, Parameter("older_than", moment), DRY_RUN),
        _purge_files,
        planning=dry_run_planning(PURGE_FILES, lambda call: call.passed("older_than"), _purged),
    ),
)
