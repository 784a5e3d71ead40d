"""The step that removes orphan files, for tables with the policy `orphans`."""

from typing import Any

from assets.project.step_config import OrphansConfig
from assets.steps.expiry import instant
from assets.steps.into_bin import into_bin
from assets.steps.step import Arguments, Preview, Step, Work
from maintenance.operations.orphans.remove_orphan_files import MINIMUM_AGE, RemoveOrphanFilesReport, remove_orphan_files
from maintenance.operations.plans.orphan_plan import REMOVE_ORPHAN_FILES, apply_orphans, preview_orphans
from maintenance.operations.plans.stored_plan import StoredPlan
from maintenance.options.option import duration


def _arguments(work: Work) -> Arguments:
    policy = work.described.orphans
    return {
        "older_than": instant(work.config.older_than),
        "minimum_age": MINIMUM_AGE if policy is None else duration(policy.minimum_age),
        "max_deletes": work.config.max_deletes or (None if policy is None else policy.max_files),
    }


def _preview(work: Work, chosen: Arguments) -> Preview:
    report, plan = preview_orphans(work.spark_source, work.table, **chosen, progress=work.say)
    return Preview(plan, report)


def _apply(work: Work, plan: StoredPlan) -> RemoveOrphanFilesReport:
    return apply_orphans(work.spark_source, work.table, plan, into=into_bin(work, REMOVE_ORPHAN_FILES), **_limits(work))


def _run(work: Work, chosen: Arguments) -> RemoveOrphanFilesReport:
    into = into_bin(work, REMOVE_ORPHAN_FILES)
    return remove_orphan_files(work.spark_source, work.table, **chosen, into=into, **_limits(work))


def _limits(work: Work) -> dict[str, Any]:
    policy = work.described.orphans
    limit = None if policy is None or policy.time_limit is None else duration(policy.time_limit)
    return {"time_limit": limit, "progress": work.say}


ORPHANS = Step(
    REMOVE_ORPHAN_FILES,
    "Removes files that no snapshot, tag, changelog or branch names and that are old enough.",
    OrphansConfig,
    arguments=_arguments,
    preview=_preview,
    apply=_apply,
    run=_run,
    uses_spark=True,
)
