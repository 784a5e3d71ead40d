"""The step that removes orphan files, for tables with the policy `orphans`."""

from typing import Any

from maintenance.operations.orphans.remove_orphan_files import MINIMUM_AGE, OPERATION
from maintenance.operations.plan_store import StoredPlan
from maintenance.options.option import duration
from paimon_maintenance.assets.steps.config import request_of
from paimon_maintenance.assets.steps.step import Step, Work


class _Orphans(Step):
    def request(self, work: Work) -> Any:
        policy = work.described.orphans
        age = MINIMUM_AGE if policy is None else duration(policy.minimum_age)
        most = work.config.max_deletes or (None if policy is None else policy.max_files)
        return request_of(self.operation, work.config, minimum_age=age, max_deletes=most, **_limit(work))

    def apply(self, work: Work, plan: StoredPlan) -> Any:
        return self.operation.carry_out(work.table, plan, self.run_of(work), **_limit(work))


def _limit(work: Work) -> dict[str, Any]:
    policy = work.described.orphans
    return {} if policy is None or policy.time_limit is None else {"time_limit": duration(policy.time_limit)}


ORPHANS = _Orphans(OPERATION, "Removes files that no snapshot, tag, changelog or branch names and that are old enough.")
