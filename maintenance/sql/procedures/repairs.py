"""Manifests, files that are gone, emptying a table, and what a catalog knows of its warehouse."""

import pyarrow as pa

from maintenance.operations import (
    compact_manifest,
    purge_files,
    remove_unexisting_files,
    remove_unexisting_manifests,
    repair_earliest_snapshot,
)
from maintenance.sql.procedures.procedure import (
    DRY_RUN,
    TABLE,
    Call,
    Parameter,
    Procedure,
    moment,
    names,
    number,
    options,
)
from maintenance.sql.result import Result


def _compact_manifest(call: Call) -> Result:
    report = compact_manifest(call.table(), **call.passed("dry_run"))
    if not report.dry_run:
        return call.done(nothing_to_do=report.snapshot_id is None)
    before = report.before
    rows = {"manifests": [before.manifests], "bytes": [before.bytes], "entries": [before.entries]}
    return Result(pa.table(rows), nothing_to_do=not report.needed)


def _remove_unexisting_files(call: Call) -> Result:
    report = remove_unexisting_files(call.table(), **call.passed("dry_run", "parallelism"))
    return Result.of_texts(("fileName",), [(path,) for path in report.paths])


def _remove_unexisting_manifests(call: Call) -> Result:
    report = remove_unexisting_manifests(call.table(), **call.passed("dry_run"))
    if not report.dry_run:
        return call.done(nothing_to_do=report.snapshot_id is None)
    return Result.of_texts(("manifest",), [(name,) for name in report.manifests])


def _purge_files(call: Call) -> Result:
    report = purge_files(call.table(), **call.passed("dry_run", "older_than"))
    if not report.dry_run:
        return call.done(nothing_to_do=report.is_empty)
    return Result.of_texts(("going",), [(line,) for line in report.lines()])


def _repair_earliest_snapshot(call: Call) -> Result:
    report = repair_earliest_snapshot(call.table(), call.get("snapshot_id"), **call.passed("dry_run"))
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
        (TABLE, Parameter("options", options), DRY_RUN),
        _compact_manifest,
    ),
    Procedure("remove_unexisting_files", (TABLE, DRY_RUN, Parameter("parallelism", number)), _remove_unexisting_files),
    Procedure(
        "remove_unexisting_manifests",
        (TABLE, DRY_RUN),
        _remove_unexisting_manifests,
    ),
    Procedure(
        "repair_earliest_snapshot",
        (TABLE, Parameter("snapshot_id", number, required=True), DRY_RUN),
        _repair_earliest_snapshot,
    ),
    Procedure("purge_files", (TABLE, Parameter("older_than", moment), DRY_RUN), _purge_files),
)
