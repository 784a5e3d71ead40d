"""Removal of orphan files, and the bin."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from maintenance.errors import SqlError, worst_of
from maintenance.fs.file_io import FileIO
from maintenance.operations import empty_bin, remove_orphan_files, restore
from maintenance.operations.bin.empty_bin import EmptyBinReport
from maintenance.operations.bin.restore import RestoreReport
from maintenance.operations.databases.migrated_origin import is_of_origin, restore_origin
from maintenance.operations.databases.remove_orphan_files_of import is_of_many, remove_orphan_files_of
from maintenance.operations.orphans.remove_orphan_files import RemoveOrphanFilesReport
from maintenance.operations.plans.bin_plans import EMPTY_BIN, RESTORE, apply_empty_bin, plan_empty_bin
from maintenance.operations.plans.orphan_plan import REMOVE_ORPHAN_FILES, apply_orphans, preview_orphans
from maintenance.operations.plans.stored_plan import StoredPlan
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import (
    DRY_RUN,
    INTO_BIN,
    TABLE,
    Call,
    Parameter,
    Planning,
    Procedure,
    moment,
    names,
    number,
    period,
    text,
)
from maintenance.sql.result import Result


def _mode(value: object) -> str:
    if str(value).lower() not in ("local", "distributed"):
        raise ValueError("'local' or 'distributed' is expected")
    return str(value).lower()


def _remove_orphan_files(call: Call) -> Result:
    arguments = call.passed("older_than", "minimum_age", "parallelism", "time_limit", "dry_run")
    if is_of_many(call.get("table")) and call.get("into_bin"):
        raise SqlError(
            "the bin takes one table at a time", "sys.remove_orphan_files", "Name one, or leave into_bin out."
        )
    spark = None if call.get("mode") == "local" else call.session.spark
    if not is_of_many(call.get("table")):
        into = call.into("remove_orphan_files")
        return _counted([remove_orphan_files(spark, call.table(), into=into, progress=call.progress, **arguments)])
    report = remove_orphan_files_of(
        spark, call.session.current(), call.get("table"), progress=call.progress, **arguments
    )
    if report.errors:
        raise worst_of(report.errors.values())
    return _counted(list(report.reports.values()))


def _plan_orphans(call: Call) -> StoredPlan | None:
    """None for many tables: a plan is of one."""
    if is_of_many(call.get("table")):
        return None
    spark = None if call.get("mode") == "local" else call.session.spark
    arguments = call.passed("older_than", "minimum_age", "parallelism")
    return preview_orphans(spark, call.table(), progress=call.progress, **arguments)[1]


def _apply_orphans(call: Call, plan: StoredPlan) -> Result:
    into = call.into("remove_orphan_files")
    return _counted([apply_orphans(call.session.spark, call.table(), plan, progress=call.progress, into=into)])


def _counted(reports: list[RemoveOrphanFilesReport]) -> Result:
    """The number of files and their bytes; after a dry run, of those that would be deleted."""
    files = sum(len(report.orphans) if report.dry_run else report.deleted_files for report in reports)
    size = sum(report.orphan_bytes if report.dry_run else report.deleted_bytes for report in reports)
    columns = {"deletedFileCount": files, "deletedFileTotalLenInBytes": size}
    return Result(pa.table({name: pa.array([value], pa.int64()) for name, value in columns.items()}), not files)


def _restore(call: Call) -> Result:
    return _shown(call, _restored(call))


def _shown(_: Call, report: RestoreReport) -> Result:
    """What came back: files, then snapshots, tags and changelogs; then what could not."""
    rows = [("file", path) for path in report.files]
    rows += [("snapshot", name) for name in report.snapshots] + [("tag", name) for name in report.tags]
    rows += [("changelog", name) for name in report.changelogs]
    rows += [("missing", path) for path in report.missing] + [("incomplete", why) for why in report.incomplete]
    return replace(Result.of_texts(("kind", "restored"), rows), nothing_to_do=not rows)


def _restored(call: Call) -> RestoreReport:
    catalog, run = call.session.current(), call.get("run")
    file_io = FileIO.of(catalog.options)
    if is_of_origin(file_io, catalog.warehouse, run):
        if call.passed("files", "snapshots", "tags"):
            raise SqlError("the source of a migration comes back as a whole", "sys.restore", "Name the run alone.")
        name = call.session.table_name(path_of(call.get("table"))).identifier
        return restore_origin(catalog, file_io, run, name, **call.passed("dry_run"))
    return restore(call.table(), **_chosen(call), progress=call.progress, **call.passed("dry_run"))


def _chosen(call: Call) -> dict[str, Any]:
    snapshots = [int(number) for number in call.get("snapshots", ())]
    return {
        "warehouse": call.session.current().warehouse,
        "snapshots": snapshots,
        **call.passed("run", "files", "tags"),
    }


def _plan_restore(call: Call) -> StoredPlan | None:
    """None for the source of a migration, which comes back as a whole."""
    catalog = call.session.current()
    if is_of_origin(FileIO.of(catalog.options), catalog.warehouse, call.get("run")):
        return None
    return RESTORE.plan(call.table(), **_chosen(call))


def _apply_restore(call: Call, plan: StoredPlan) -> Result:
    return _shown(call, RESTORE.apply(call.table(), plan, progress=call.progress))


def _empty_bin(call: Call) -> Result:
    return _emptied(empty_bin(*_bin(call), **call.passed("window", "max_bytes", "dry_run")))


def _bin(call: Call) -> tuple[FileIO, str]:
    catalog = call.session.current()
    return FileIO.of(catalog.options), catalog.warehouse


def _plan_empty_bin(call: Call) -> StoredPlan:
    return plan_empty_bin(*_bin(call), **call.passed("window", "max_bytes"))


def _apply_empty_bin(call: Call, plan: StoredPlan) -> Result:
    return _emptied(apply_empty_bin(*_bin(call), plan, call.progress))


def _emptied(report: EmptyBinReport) -> Result:
    rows = Result.of_texts(("run",), [(run,) for run in report.runs])
    return replace(rows, nothing_to_do=not report.runs)


PROCEDURES = (
    Procedure(
        "remove_orphan_files",
        (
            TABLE,
            Parameter("older_than", moment),
            DRY_RUN,
            Parameter("parallelism", number),
            Parameter("mode", _mode),
            Parameter("minimum_age", period),
            INTO_BIN,
            Parameter("time_limit", period),
        ),
        _remove_orphan_files,
        planning=Planning(REMOVE_ORPHAN_FILES, _plan_orphans, _apply_orphans),
    ),
    Procedure(
        "restore",
        (
            TABLE,
            Parameter("run", text, required=True),
            Parameter("files", names),
            Parameter("snapshots", names),
            Parameter("tags", names),
            DRY_RUN,
        ),
        _restore,
        planning=Planning(RESTORE.operation, _plan_restore, _apply_restore),
    ),
    Procedure(
        "empty_bin",
        (Parameter("window", period), Parameter("max_bytes", number), DRY_RUN),
        _empty_bin,
        planning=Planning(EMPTY_BIN, _plan_empty_bin, _apply_empty_bin),
    ),
)
