"""Tags, branches, rollbacks and consumers."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from maintenance.operations import (
    clear_consumers,
    create_branch,
    create_tag,
    delete_branch,
    delete_tag,
    expire_tags,
    fast_forward,
    merge_branch,
    rename_branch,
    rename_tag,
    replace_tag,
    reset_consumer,
    rollback_to,
    rollback_to_as_latest,
    trigger_tag_automatic_creation,
)
from maintenance.operations.expiry.expire_tags import ExpireTagsReport
from maintenance.operations.plans.dry_run_plans import DELETE_TAG, ROLLBACK, ROLLBACK_AS_LATEST
from maintenance.operations.plans.ref_plans import (
    DELETE_BRANCH,
    FAST_FORWARD,
    MERGE_BRANCH,
    RENAME_BRANCH,
    apply_delete_branch,
    apply_fast_forward,
    plan_delete_branch,
    plan_fast_forward,
)
from maintenance.operations.plans.step_plans import (
    EXPIRE_TAGS,
    TAG,
    apply_expire_tags,
    apply_tag,
    plan_expire_tags,
    plan_tag,
)
from maintenance.operations.plans.stored_plan import StoredPlan
from maintenance.operations.plans.tag_plans import (
    AUTOMATIC_TAGS,
    CLEAR_CONSUMERS,
    RENAME_TAG,
    REPLACE_TAG,
    RESET_CONSUMER,
)
from maintenance.operations.refs.merge_branch import MergeBranchReport
from maintenance.operations.refs.rename_branch import RenameBranchReport
from maintenance.operations.refs.rollback_to import RollbackReport
from maintenance.operations.refs.rollback_to_as_latest import RollbackToAsLatestReport
from maintenance.operations.refs.trigger_tag_automatic_creation import AutomaticTagsReport
from maintenance.sql.procedures.procedure import (
    DRY_RUN,
    INTO_BIN,
    TABLE,
    Call,
    Parameter,
    Planning,
    Procedure,
    dry_run_planning,
    moment,
    names,
    number,
    period,
    text,
    truth,
)
from maintenance.sql.result import Result

_TAG = Parameter("tag", text, required=True, others=("tag_name",))
_SNAPSHOT = Parameter("snapshot_id", number, others=("snapshot",))
_RETAINED = Parameter("time_retained", period)
_BRANCH = Parameter("branch", text, required=True, others=("branch_name",))


def _create_tag(call: Call) -> Result:
    create_tag(call.table(), call.get("tag"), spark=call.session.spark, **call.passed("snapshot_id", "time_retained"))
    return call.done()


def _plan_tag(call: Call) -> StoredPlan:
    return plan_tag(call.table(), call.get("tag"), **call.passed("snapshot_id", "time_retained"))


def _apply_tag(call: Call, plan: StoredPlan) -> Result:
    return call.done(nothing_to_do=apply_tag(call.table(), plan, call.session.spark) is None)


def _create_tag_from(call: Call) -> Result:
    goal = call.passed("watermark")
    if "timestamp" in call.values:
        goal = {"timestamp_millis": call.get("timestamp")}
    table = call.table()
    report = create_tag(table, call.get("tag"), spark=call.session.spark, **goal, **call.passed("time_retained"))
    snapshot = table.tags.get(report.name).snapshot
    return Result(
        pa.table(
            {
                "tagName": pa.array([report.name], pa.string()),
                "snapshot": pa.array([snapshot.id], pa.int64()),
                "commit_time": pa.array([snapshot.time_millis], pa.int64()),
                # Text, and "null" where there is none: so do Paimon's procedures.
                "watermark": pa.array(["null" if snapshot.watermark is None else str(snapshot.watermark)], pa.string()),
            }
        )
    )


def _replace_tag(call: Call) -> Result:
    arguments = call.passed("snapshot_id", "time_retained", "dry_run")
    replace_tag(call.table(), call.get("tag"), **arguments)
    return call.done()


_REPLACE_TAG = dry_run_planning(
    REPLACE_TAG,
    lambda call: {"name": call.get("tag"), **call.passed("snapshot_id", "time_retained")},
    lambda call, _: call.done(),
)


def _rename_tag(call: Call) -> Result:
    rename_tag(call.table(), call.get("tag"), call.get("target_tag"), **call.passed("dry_run"))
    return call.done()


_RENAME_TAG = dry_run_planning(RENAME_TAG, lambda call: call.passed("tag", "target_tag"), lambda call, _: call.done())


def _delete_tag(call: Call) -> Result:
    delete_tag(
        call.table(), *call.get("tag"), into=call.into("delete_tag"), spark=call.session.spark, **call.passed("dry_run")
    )
    return call.done()


_DELETE_TAG = dry_run_planning(
    DELETE_TAG,
    lambda call: {"names": list(call.get("tag"))},
    lambda call, _: call.done(),
    lambda call: {"into": call.into("delete_tag")},
)


def _expire_tags(call: Call) -> Result:
    arguments = {**call.passed("older_than", "dry_run"), "spark": call.session.spark}
    return _expired(expire_tags(call.table(), into=call.into("expire_tags"), progress=call.progress, **arguments))


def _expired(report: ExpireTagsReport) -> Result:
    rows = Result.of_texts(("expired_tags",), [(name,) for name in report.expired])
    return replace(rows, nothing_to_do=not report.expired)


def _plan_expire_tags(call: Call) -> StoredPlan:
    return plan_expire_tags(call.table(), spark=call.session.spark, **call.passed("older_than"))


def _apply_expire_tags(call: Call, plan: StoredPlan) -> Result:
    into = call.into("expire_tags")
    return _expired(apply_expire_tags(call.table(), plan, call.progress, into, call.session.spark))


def _trigger_tags(call: Call) -> Result:
    report = trigger_tag_automatic_creation(call.table(), spark=call.session.spark, **call.passed("dry_run"))
    return _tags_triggered(call, report)


def _tags_triggered(call: Call, report: AutomaticTagsReport) -> Result:
    if not report.dry_run:
        return call.done(nothing_to_do=not (report.created or report.deleted or report.expired))
    rows = [
        *((name, "created") for name in report.created),
        *((name, "beyond tag.num-retained-max") for name in report.deleted),
        *((name, "expired") for name in report.expired),
    ]
    return Result.of_texts(("tag", "change"), rows)


def _create_branch(call: Call) -> Result:
    create_branch(call.table(), call.get("branch"), **call.passed("tag", "snapshot_id", "ignore_if_exists"))
    return call.done()


def _delete_branch(call: Call) -> Result:
    reports = [delete_branch(call.table(), name, **call.passed("dry_run")) for name in call.get("branch")]
    if not call.get("dry_run"):
        return call.done()
    columns = {
        "branch": pa.array([report.branch for report in reports], pa.string()),
        "snapshots": pa.array([len(report.snapshots) for report in reports], pa.int64()),
        "tags": pa.array([len(report.tags) for report in reports], pa.int64()),
        "orphan_files": pa.array([report.orphan_files for report in reports], pa.int64()),
        "orphan_bytes": pa.array([report.orphan_bytes for report in reports], pa.int64()),
    }
    return Result(pa.table(columns))


def _plan_delete_branch(call: Call) -> StoredPlan | None:
    """None for several branches: a plan is of one."""
    branches = call.get("branch")
    return plan_delete_branch(call.table(), branches[0]) if len(branches) == 1 else None


def _apply_delete_branch(call: Call, plan: StoredPlan) -> Result:
    apply_delete_branch(call.table(), plan)
    return call.done()


def _rename_branch(call: Call) -> Result:
    arguments = call.passed("from_branch", "to_branch", "dry_run")
    return _branch_renamed(call, rename_branch(call.table(), **arguments))


def _branch_renamed(call: Call, report: RenameBranchReport) -> Result:
    if not report.dry_run:
        return call.done()
    return Result.of_texts(
        ("from_branch", "to_branch", "options"),
        [(report.from_branch, report.to_branch, ", ".join(report.options))],
    )


def _fast_forward(call: Call) -> Result:
    report = fast_forward(call.table(), call.get("branch"), **call.passed("dry_run"))
    if not report.dry_run:
        return call.done()
    rows = [("snapshot", "goes", str(number)) for number in report.leaving]
    rows += [("snapshot", "comes", str(number)) for number in report.coming]
    rows += [("tag", "goes", name) for name in report.leaving_tags]
    rows += [("tag", "comes", name) for name in report.coming_tags]
    return Result.of_texts(("kind", "change", "name"), rows)


def _plan_fast_forward(call: Call) -> StoredPlan:
    return plan_fast_forward(call.table(), call.get("branch"))


def _apply_fast_forward(call: Call, plan: StoredPlan) -> Result:
    apply_fast_forward(call.table(), plan)
    return call.done()


def _rollback(call: Call) -> Result:
    return _rolled_back(call, **_goal(call))


def _goal(call: Call) -> dict[str, Any]:
    """The version is the id of a snapshot, or the name of a tag."""
    version = call.get("version")
    if version is None:
        return call.passed("snapshot_id", "tag")
    return {"snapshot_id": int(version)} if version.isdecimal() else {"tag": version}


def _rollback_to(call: Call) -> Result:
    """Flink gives a tag or a snapshot in the second place."""
    goal = call.passed("snapshot_id")
    tag = call.get("tag")
    if tag is not None:
        goal = {"snapshot_id": tag} if isinstance(tag, int) else {"tag": tag}
    return _rolled_back(call, **goal)


def _rollback_to_timestamp(call: Call) -> Result:
    return _rolled_back(call, timestamp_millis=call.get("timestamp"))


def _rollback_to_watermark(call: Call) -> Result:
    return _rolled_back(call, watermark=call.get("watermark"))


def _rollback_to_as_latest(call: Call) -> Result:
    return _made_latest(call, rollback_to_as_latest(call.table(), **call.passed("tag", "snapshot_id", "dry_run")))


def _made_latest(_: Call, report: RollbackToAsLatestReport) -> Result:
    ids = {
        "previous_snapshot_id": report.previous,
        "rolled_back_snapshot_id": report.target,
        "current_snapshot_id": report.current or report.previous,
    }
    if report.dry_run:
        ids |= {
            "returning_files": report.returning_files,
            "returning_rows": report.returning_rows,
            "leaving_files": report.leaving_files,
            "leaving_rows": report.leaving_rows,
        }
    result = {name: pa.array([value], pa.int64()) for name, value in ids.items()}
    return Result(pa.table(result), nothing_to_do=report.current is None and not report.dry_run)


def _merge_branch(call: Call) -> Result:
    return _branch_merged(call, merge_branch(call.table(), **_branches(call), **call.passed("dry_run")))


def _branches(call: Call) -> dict[str, Any]:
    return call.passed("source_branch", "target_branch")


def _branch_merged(call: Call, report: MergeBranchReport) -> Result:
    if not report.dry_run:
        return call.done(nothing_to_do=not report.files)
    return Result(pa.table({"files": [report.files], "rows": [report.rows]}), nothing_to_do=not report.files)


def _rolled_back(call: Call, **goal: Any) -> Result:
    return _went_back(call, rollback_to(call.table(), **goal, **call.passed("dry_run")))


def _went_back(_: Call, report: RollbackReport) -> Result:
    columns = {
        "previous_snapshot_id": pa.array([report.previous], pa.int64()),
        "current_snapshot_id": pa.array([report.current], pa.int64()),
    }
    if report.dry_run:
        columns["snapshots"] = pa.array([len(report.snapshots)], pa.int64())
        columns["tags"] = pa.array([", ".join(report.tags)], pa.string())
    return Result(pa.table(columns))


def _reset_consumer(call: Call) -> Result:
    reset_consumer(call.table(), **_consumer(call), **call.passed("dry_run"))
    return call.done()


def _consumer(call: Call) -> dict[str, Any]:
    return {"consumer": call.get("consumer_id"), "next_snapshot": call.get("next_snapshot_id")}


def _clear_consumers(call: Call) -> Result:
    return _cleared(call, clear_consumers(call.table(), **_consumers(call), **call.passed("dry_run")))


def _consumers(call: Call) -> dict[str, Any]:
    return {"including": call.get("including_consumers") or ".*", "excluding": call.get("excluding_consumers")}


def _cleared(call: Call, names: tuple[str, ...]) -> Result:
    return call.done(nothing_to_do=not names)


def _tag_or_id(value: object) -> object:
    return value if isinstance(value, int) and not isinstance(value, bool) else text(value)


PROCEDURES = (
    Procedure(
        "create_tag",
        (TABLE, _TAG, _SNAPSHOT, _RETAINED),
        _create_tag,
        planning=Planning(TAG, _plan_tag, _apply_tag),
    ),
    Procedure(
        "create_tag_from_timestamp",
        (TABLE, _TAG, Parameter("timestamp", number, required=True), _RETAINED),
        _create_tag_from,
    ),
    Procedure(
        "create_tag_from_watermark",
        (TABLE, _TAG, Parameter("watermark", number, required=True), _RETAINED),
        _create_tag_from,
    ),
    Procedure("replace_tag", (TABLE, _TAG, _SNAPSHOT, _RETAINED, DRY_RUN), _replace_tag, planning=_REPLACE_TAG),
    Procedure(
        "rename_tag",
        (
            TABLE,
            replace(_TAG, others=(*_TAG.others, "tagName")),
            Parameter("target_tag", text, required=True, others=("target_tag_name", "targetTagName")),
            DRY_RUN,
        ),
        _rename_tag,
        planning=_RENAME_TAG,
    ),
    Procedure(
        "delete_tag",
        (TABLE, Parameter("tag", names, required=True, others=("tag_name", "tags")), DRY_RUN, INTO_BIN),
        _delete_tag,
        planning=_DELETE_TAG,
    ),
    Procedure(
        "expire_tags",
        (TABLE, Parameter("older_than", moment), DRY_RUN, INTO_BIN),
        _expire_tags,
        planning=Planning(EXPIRE_TAGS, _plan_expire_tags, _apply_expire_tags),
    ),
    Procedure(
        "trigger_tag_automatic_creation",
        (TABLE, DRY_RUN),
        _trigger_tags,
        planning=dry_run_planning(AUTOMATIC_TAGS, lambda _: {}, _tags_triggered),
    ),
    Procedure(
        "create_branch",
        (
            TABLE,
            _BRANCH,
            Parameter("tag", text),
            Parameter("ignore_if_exists", truth, others=("ignoreIfExists",)),
            _SNAPSHOT,
        ),
        _create_branch,
    ),
    Procedure(
        "delete_branch",
        (TABLE, Parameter("branch", names, required=True, others=("branch_name", "branches")), DRY_RUN),
        _delete_branch,
        planning=Planning(DELETE_BRANCH, _plan_delete_branch, _apply_delete_branch),
    ),
    Procedure(
        "rename_branch",
        (TABLE, Parameter("from_branch", text, required=True), Parameter("to_branch", text, required=True), DRY_RUN),
        _rename_branch,
        planning=dry_run_planning(RENAME_BRANCH, lambda call: call.passed("from_branch", "to_branch"), _branch_renamed),
    ),
    Procedure(
        "merge_branch",
        (
            TABLE,
            Parameter("source_branch", text, required=True),
            Parameter("target_branch", text),
            DRY_RUN,
        ),
        _merge_branch,
        planning=dry_run_planning(MERGE_BRANCH, _branches, _branch_merged),
    ),
    Procedure(
        "fast_forward",
        (TABLE, _BRANCH, DRY_RUN),
        _fast_forward,
        planning=Planning(FAST_FORWARD, _plan_fast_forward, _apply_fast_forward),
    ),
    Procedure(
        "rollback",
        (
            TABLE,
            Parameter("version", str),
            Parameter("snapshot_id", number, others=("snapshot",)),
            Parameter("tag", text),
            DRY_RUN,
        ),
        _rollback,
        planning=dry_run_planning(ROLLBACK, _goal, _went_back),
    ),
    Procedure("rollback_to", (TABLE, Parameter("tag", _tag_or_id), _SNAPSHOT, DRY_RUN), _rollback_to),
    Procedure(
        "rollback_to_as_latest",
        (TABLE, Parameter("tag", text), _SNAPSHOT, DRY_RUN),
        _rollback_to_as_latest,
        planning=dry_run_planning(ROLLBACK_AS_LATEST, lambda call: call.passed("tag", "snapshot_id"), _made_latest),
    ),
    Procedure(
        "rollback_to_timestamp",
        (TABLE, Parameter("timestamp", number, required=True), DRY_RUN),
        _rollback_to_timestamp,
        planning=dry_run_planning(ROLLBACK, lambda call: {"timestamp_millis": call.get("timestamp")}, _went_back),
    ),
    Procedure(
        "rollback_to_watermark",
        (TABLE, Parameter("watermark", number, required=True), DRY_RUN),
        _rollback_to_watermark,
        planning=dry_run_planning(ROLLBACK, lambda call: {"watermark": call.get("watermark")}, _went_back),
    ),
    Procedure(
        "reset_consumer",
        (
            TABLE,
            Parameter("consumer_id", text, required=True, others=("consumerId",)),
            Parameter("next_snapshot_id", number, others=("nextSnapshotId",)),
            DRY_RUN,
        ),
        _reset_consumer,
        planning=dry_run_planning(RESET_CONSUMER, _consumer, lambda call, _: call.done()),
    ),
    Procedure(
        "clear_consumers",
        (
            TABLE,
            Parameter("including_consumers", text, others=("includingConsumers",)),
            Parameter("excluding_consumers", text, others=("excludingConsumers",)),
            DRY_RUN,
        ),
        _clear_consumers,
        planning=dry_run_planning(CLEAR_CONSUMERS, _consumers, _cleared),
    ),
)
