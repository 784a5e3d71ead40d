"""Compaction, expiry, indexes and checks."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from maintenance.compaction.clustering import is_clustered
from maintenance.errors import SqlError, worst_of
from maintenance.operations import (
    compact,
    compact_database,
    drop_partitions,
    expire_changelogs,
    expire_partitions,
    expire_snapshots,
    fsck,
    mark_partition_done,
    produce_changelog,
    rescale,
    restore_partitions,
    rewrite_file_index,
)
from maintenance.operations.compaction.report import CompactReport, GroupResult
from maintenance.operations.compaction.request import CompactRequest
from maintenance.operations.databases.compact_database import (
    COMPACT_DATABASE,
    UNPLANNED,
    CompactDatabaseReport,
    TableChoice,
    apply_compact_database,
    plan_compact_database,
)
from maintenance.operations.expiry.expire_changelogs import ExpireChangelogsReport
from maintenance.operations.expiry.expire_partitions import ExpirePartitionsReport
from maintenance.operations.indexes.rewrite_file_index import RewriteFileIndexReport
from maintenance.operations.plans.dry_run_plans import (
    DROP_PARTITIONS,
    EXPIRE_CHANGELOGS,
    RESCALE,
    RESTORE_PARTITIONS,
)
from maintenance.operations.plans.step_plans import (
    CHANGELOG,
    EXPIRE_PARTITIONS,
    FILE_INDEX,
    apply_changelog,
    apply_expire_partitions,
    apply_file_index,
    plan_expire_partitions,
    plan_file_index,
    preview_changelog,
)
from maintenance.operations.plans.stored_plan import (
    COMPACT,
    StoredPlan,
    apply_compact,
    apply_expire_snapshots,
    plan_compact,
    plan_expire_snapshots,
)
from maintenance.operations.rows.drop_partitions import DropPartitionsReport
from maintenance.operations.rows.rescale import RescaleReport
from maintenance.operations.rows.restore_partitions import RestorePartitionsReport
from maintenance.sql.names import path_of
from maintenance.sql.procedures.procedure import (
    DRY_RUN,
    INTO_BIN,
    TABLE,
    Call,
    Parameter,
    Planning,
    Procedure,
    Value,
    dry_run_planning,
    moment,
    names,
    number,
    options,
    period,
    specs,
    text,
    truth,
)
from maintenance.sql.result import Result
from maintenance.table.object_table import ObjectTable
from maintenance.table.table import Table

_PARTITIONS = Parameter("partitions", specs)
_OPTIONS = Parameter("options", options)
_WHERE = Parameter("where", text)
_TIME_LIMIT = Parameter("time_limit", period)
_PARTITION_EXPIRY = ("expiration_time", "timestamp_formatter", "timestamp_pattern", "expire_strategy", "max_expires")
_RETAIN = (Parameter("retain_max", number), Parameter("retain_min", number), Parameter("older_than", moment),
           Parameter("max_deletes", number))  # fmt: skip


def _strategy(value: object) -> str:
    if value not in ("full", "minor"):
        raise ValueError("'full' or 'minor' is expected")
    return str(value)


def _buckets(value: Value) -> frozenset[int]:
    """``0-3,7``: numbers of buckets, and the first and last of several."""
    found: set[int] = set()
    for part in names(value):
        first, sign, last = (piece.strip() for piece in part.partition("-"))
        if not first.isdecimal() or (sign and not last.isdecimal()) or int(last or first) < int(first):
            raise ValueError("buckets are written as 0-3,7")
        found.update(range(int(first), int(last or first) + 1))
    if not found:
        raise ValueError("buckets are written as 0-3,7")
    return frozenset(found)


def _compact(call: Call) -> Result:
    scope = call.passed("partitions", "where", "buckets", "partition_idle_time", "time_limit", "dry_run")
    report = compact(call.session.spark, call.table(), **_way(call), **scope, progress=call.progress)
    check_groups(report)
    return _summary(call, report)


def _way(call: Call) -> dict[str, Any]:
    """How a call compacts."""
    # A clustering is incremental unless the call says otherwise, as in Paimon.
    table = call.table()
    usual = "minor" if is_clustered(table.schema, table.options) else "full"
    return {
        "full": call.get("compact_strategy", usual) == "full",
        "order_strategy": call.get("order_strategy", "none"),
        "order_by": call.get("order_by", ()),
    }


def _plan_compact(call: Call) -> StoredPlan:
    request = CompactRequest(**_way(call), **call.passed("partitions", "where", "buckets", "partition_idle_time"))
    return plan_compact(call.table(), request)


def _apply_compact(call: Call, plan: StoredPlan) -> Result:
    report = apply_compact(call.session.spark, call.table(), plan, call.progress)
    check_groups(report)
    return _summary(call, report)


def _summary(call: Call, report: CompactReport) -> Result:
    """The result of a compaction; after a dry run, what would be compacted."""
    groups = _due(report)
    if not report.dry_run:
        return call.done(nothing_to_do=not report.snapshot_ids)
    columns = ("partition", "bucket", "input_files", "input_bytes", "message")
    rows = {name: [getattr(group, name) for group in groups] for name in columns}
    return Result(pa.table(rows), nothing_to_do=not groups)


def _due(report: CompactReport) -> list[GroupResult]:
    return [group for group in report.groups if group.outcome not in ("nothing_to_do", "skipped")]


def check_groups(report: CompactReport) -> None:
    """Raises: the worst error of the groups that failed."""
    errors = [group.error for group in report.failed if group.error is not None]
    if errors:
        raise worst_of(errors)


def _compact_database(call: Call) -> Result:
    choice = TableChoice(
        call.get("including_databases", ".*"), call.get("including_tables", ".*"), call.get("excluding_tables")
    )
    report = compact_database(
        call.session.spark,
        call.session.current(),
        choice,
        full=call.get("compact_strategy") == "full",
        opened=_opening(call),
        progress=call.progress,
        **call.passed("partition_idle_time", "dry_run"),
    )
    return _of_tables(report)


def _of_tables(report: CompactDatabaseReport) -> Result:
    if report.errors:
        raise worst_of(report.errors.values())
    for each in report.reports.values():
        check_groups(each)
    changed = any(each.snapshot_ids or (each.dry_run and _due(each)) for each in report.reports.values())
    return Result(pa.table({"tables": pa.array([len(report.reports)], pa.int64())}), nothing_to_do=not changed)


def _opening(call: Call) -> Callable[[Table], Table]:
    """Gives each table the options of the call."""
    chosen = call.get("options") or {}
    return lambda table: table.copy(chosen)


def _plan_compact_database(call: Call) -> StoredPlan:
    choice = TableChoice(
        call.get("including_databases", ".*"), call.get("including_tables", ".*"), call.get("excluding_tables")
    )
    request = CompactRequest(full=call.get("compact_strategy") == "full", **call.passed("partition_idle_time"))
    plan = plan_compact_database(call.session.current(), choice, request, opened=_opening(call))
    failed = [f"not part of the plan: {name}: {why}" for name, why in plan.arguments[UNPLANNED].items()]
    return replace(plan, warnings=(*plan.warnings, *failed))


def _apply_compact_database(call: Call, plan: StoredPlan) -> Result:
    catalog = call.session.current()
    report = apply_compact_database(call.session.spark, catalog, plan, opened=_opening(call), progress=call.progress)
    return _of_tables(report)


def _counted(name: str, count: int) -> Result:
    return Result(pa.table({name: pa.array([count], pa.int32())}), nothing_to_do=not count)


def _expire_snapshots(call: Call) -> Result:
    arguments = call.passed("retain_max", "retain_min", "older_than", "max_deletes", "time_limit", "dry_run")
    into = call.into("expire_snapshots")
    report = expire_snapshots(call.table(), into=into, progress=call.progress, spark=call.session.spark, **arguments)
    return _counted("deleted_snapshots_count", len(report.expired))


def _plan_expire_snapshots(call: Call) -> StoredPlan:
    arguments = call.passed("retain_max", "retain_min", "older_than", "max_deletes")
    return plan_expire_snapshots(call.table(), spark=call.session.spark, **arguments)


def _apply_expire_snapshots(call: Call, plan: StoredPlan) -> Result:
    report = apply_expire_snapshots(
        call.table(), plan, call.progress, call.into("expire_snapshots"), call.session.spark
    )
    return _counted("deleted_snapshots_count", len(report.expired))


def _expire_changelogs(call: Call) -> Result:
    return _changelogs_expired(call, expire_changelogs(call.table(), **_changelogs(call), **call.passed("dry_run")))


def _changelogs(call: Call) -> dict[str, Any]:
    return call.passed("retain_max", "retain_min", "older_than", "max_deletes", "delete_all")


def _changelogs_expired(_: Call, report: ExpireChangelogsReport) -> Result:
    return _counted("deleted_changelogs_count", len(report.expired))


def _expire_partitions(call: Call) -> Result:
    report = expire_partitions(
        call.table(),
        progress=call.progress,
        spark=call.session.spark,
        **call.passed(*_PARTITION_EXPIRY, "dry_run"),
    )
    return _expired(report)


def _expired(report: ExpirePartitionsReport) -> Result:
    rows = [(", ".join(f"{key}={value}" for key, value in spec.items()),) for spec in report.expired]
    return replace(Result.of_texts(("expired_partitions",), rows), nothing_to_do=not rows)


def _plan_expire_partitions(call: Call) -> StoredPlan:
    return plan_expire_partitions(call.table(), spark=call.session.spark, **call.passed(*_PARTITION_EXPIRY))


def _apply_expire_partitions(call: Call, plan: StoredPlan) -> Result:
    return _expired(apply_expire_partitions(call.table(), plan, call.progress, call.session.spark))


def _rewrite_file_index(call: Call) -> Result:
    chosen = call.passed("where", "partitions", "dry_run")
    report = rewrite_file_index(call.session.spark, call.table(), progress=call.progress, **chosen)
    return _indexed(report)


def _indexed(report: RewriteFileIndexReport) -> Result:
    """Each file that is written has one container of indexes."""
    counts = {"written_partitions": len(report.written_partitions), "written_indexes": report.written_files}
    rows = {name: pa.array([count], pa.int32()) for name, count in counts.items()}
    return Result(pa.table(rows), nothing_to_do=not report.written_files)


def _plan_file_index(call: Call) -> StoredPlan:
    return plan_file_index(call.session.spark, call.table(), **call.passed("where", "partitions"))


def _apply_file_index(call: Call, plan: StoredPlan) -> Result:
    return _indexed(apply_file_index(call.session.spark, call.table(), plan, call.progress))


def _drop_partition(call: Call) -> Result:
    return _dropped(call, drop_partitions(call.table(), call.get("partitions"), **call.passed("dry_run")))


def _dropped(call: Call, report: DropPartitionsReport) -> Result:
    return call.done(nothing_to_do=not report.dropped)


def _restore_partitions(call: Call) -> Result:
    arguments = call.passed("partitions", "tag", "snapshot_id", "dry_run")
    return _partitions_restored(call, restore_partitions(call.session.spark, call.table(), **arguments))


def _partitions_restored(_: Call, report: RestorePartitionsReport) -> Result:
    counts = ("source", "snapshot_id", "files", "rows", "bytes", "replaced_files", "replaced_rows", "replaced_bytes")
    columns = {name: pa.array([getattr(report, name)], pa.int64()) for name in counts}
    return Result(pa.table(columns))


def _mark_partition_done(call: Call) -> Result:
    report = mark_partition_done(call.table(), call.get("partitions"), **call.passed("dry_run"))
    if report.dry_run:
        rows = [(partition, action) for partition in report.partitions for action in report.actions]
        return Result.of_texts(("partition", "action"), rows)
    return call.done()


def _rescale(call: Call) -> Result:
    return _rescaled(call, rescale(call.session.spark, call.table(), **_partitions(call), **call.passed("dry_run")))


def _partitions(call: Call) -> dict[str, Any]:
    return call.passed("bucket_num", "partitions", "where")


def _rescaled(call: Call, report: RescaleReport) -> Result:
    if not report.dry_run:
        return call.done(nothing_to_do=report.snapshot_id is None)
    return Result(
        pa.table({"buckets": [report.buckets], "files": [report.files], "bytes": [report.bytes]}), not report.files
    )


def _produce_changelog(call: Call) -> Result:
    scope = call.passed("partitions", "where", "dry_run")
    report = produce_changelog(call.session.spark, call.table(), **scope, progress=call.progress)
    check_groups(report)
    return _summary(call, report)


def _plan_changelog(call: Call) -> StoredPlan:
    return preview_changelog(call.table(), CompactRequest(**call.passed("partitions", "where")), call.progress)[1]


def _apply_changelog(call: Call, plan: StoredPlan) -> Result:
    report = apply_changelog(call.session.spark, call.table(), plan, call.progress)
    check_groups(report)
    return _summary(call, report)


def _fsck(call: Call) -> Result:
    table = call.table()
    report = fsck(table.file_io, table.location, deep=call.get("deep", False), spark=call.session.spark)
    return Result.of_texts(("fault",), [(str(fault),) for fault in report.faults])


def _refresh_object_table(call: Call) -> Result:
    """Object tables list their folder at each read, so there is nothing to refresh."""
    view = call.session.view(path_of(call.get("table")))
    if not isinstance(view, ObjectTable):
        raise SqlError(f"'{call.get('table')}' is not an object table", "sys.refresh_object_table", "Name one.")
    return call.done()


def _job_mode(value: Value) -> str:
    """Whether Flink runs one job or one for each table; here tables follow each other either way."""
    if text(value).lower() not in ("divided", "combined"):
        raise ValueError("it is 'divided' or 'combined'")
    return text(value).lower()


PROCEDURES = (
    Procedure(
        "compact",
        (
            TABLE,
            _PARTITIONS,
            Parameter("order_strategy", text),
            Parameter("order_by", names),
            _OPTIONS,
            _WHERE,
            Parameter("partition_idle_time", period),
            Parameter("compact_strategy", _strategy),
            Parameter("buckets", _buckets),
            DRY_RUN,
            _TIME_LIMIT,
        ),
        _compact,
        planning=Planning(COMPACT, _plan_compact, _apply_compact),
    ),
    Procedure(
        "compact_database",
        (
            Parameter("including_databases", text),
            Parameter("mode", _job_mode),
            Parameter("including_tables", text),
            Parameter("excluding_tables", text),
            Parameter("options", options, others=("table_options",)),
            Parameter("partition_idle_time", period),
            Parameter("compact_strategy", _strategy),
            DRY_RUN,
        ),
        _compact_database,
        planning=Planning(COMPACT_DATABASE, _plan_compact_database, _apply_compact_database),
    ),
    Procedure(
        "expire_snapshots",
        (TABLE, *_RETAIN, _OPTIONS, DRY_RUN, INTO_BIN, _TIME_LIMIT),
        _expire_snapshots,
        planning=Planning("expire_snapshots", _plan_expire_snapshots, _apply_expire_snapshots),
    ),
    Procedure(
        "expire_changelogs",
        (TABLE, *_RETAIN, Parameter("delete_all", truth), DRY_RUN),
        _expire_changelogs,
        planning=dry_run_planning(EXPIRE_CHANGELOGS, _changelogs, _changelogs_expired),
    ),
    Procedure(
        "expire_partitions",
        (
            TABLE,
            Parameter("expiration_time", period),
            Parameter("timestamp_formatter", text),
            Parameter("timestamp_pattern", text),
            Parameter("expire_strategy", text),
            Parameter("max_expires", number),
            _OPTIONS,
            DRY_RUN,
        ),
        _expire_partitions,
        planning=Planning(EXPIRE_PARTITIONS, _plan_expire_partitions, _apply_expire_partitions),
    ),
    Procedure(
        "rewrite_file_index",
        (TABLE, _PARTITIONS, _WHERE, DRY_RUN),
        _rewrite_file_index,
        planning=Planning(FILE_INDEX, _plan_file_index, _apply_file_index),
    ),
    Procedure(
        "drop_partition",
        (TABLE, Parameter("partitions", specs, required=True, takes_more=True), DRY_RUN),
        _drop_partition,
        planning=dry_run_planning(DROP_PARTITIONS, lambda call: call.passed("partitions"), _dropped),
    ),
    Procedure(
        "restore_partitions",
        (
            TABLE,
            Parameter("partitions", specs, required=True),
            Parameter("tag", text),
            Parameter("snapshot_id", number, others=("snapshot",)),
            DRY_RUN,
        ),
        _restore_partitions,
        planning=dry_run_planning(
            RESTORE_PARTITIONS,
            lambda call: call.passed("partitions", "tag", "snapshot_id"),
            _partitions_restored,
            lambda call: {"spark": call.session.spark},
        ),
    ),
    Procedure(
        "mark_partition_done",
        (TABLE, Parameter("partitions", specs, required=True), DRY_RUN),
        _mark_partition_done,
    ),
    Procedure(
        "rescale",
        (
            TABLE,
            Parameter("bucket_num", number),
            Parameter("partitions", specs, others=("partition",)),
            _WHERE,
            # Of Flink's subtasks: here as many tasks work as there is to do.
            Parameter("scan_parallelism", number),
            Parameter("sink_parallelism", number),
            DRY_RUN,
        ),
        _rescale,
        planning=dry_run_planning(
            RESCALE,
            _partitions,
            _rescaled,
            lambda call: {"spark": call.session.spark},
        ),
    ),
    Procedure(
        "produce_changelog",
        (TABLE, _PARTITIONS, _WHERE, DRY_RUN),
        _produce_changelog,
        planning=Planning(CHANGELOG, _plan_changelog, _apply_changelog),
    ),
    Procedure("refresh_object_table", (TABLE,), _refresh_object_table),
    Procedure("fsck", (TABLE, Parameter("deep", truth)), _fsck),
)
