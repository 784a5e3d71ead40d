"""The step that refreshes a materialized table: it makes rows again as far as the sources have changed."""

from maintenance.errors import OptionError
from maintenance.operations.operation import nothing_said
from maintenance.operations.plan_store import StoredPlan
from maintenance.sql import Session
from maintenance.sql.materialized.definition import DefiningQuery
from maintenance.sql.materialized.plan import RefreshRequest, plan_refresh
from maintenance.sql.materialized.record import REFRESH as REFRESH_STEP
from maintenance.sql.materialized.refresh import RefreshReport, carry_out, report_of
from maintenance.sql.materialized.stored import apply_refresh, stored
from maintenance.sql.session_state import DEFAULT_CATALOG
from paimon_maintenance.assets.project.step_config import RefreshConfig
from paimon_maintenance.assets.steps.step import Preview, Step, Work


class _Refresh(Step):
    def __init__(self) -> None:
        self.name, self.config, self.uses_spark = REFRESH_STEP, RefreshConfig, True
        self.description = (
            "Makes rows again from the table's query: those of partitions that changes of its sources reach, or all."
        )
        self.said, self.ins = nothing_said, {}

    def request(self, work: Work) -> RefreshRequest:
        config: RefreshConfig = work.config
        if config.full and config.partition:
            where = f"step {REFRESH_STEP} of {work.described.identifier}"
            raise OptionError("'full' and 'partition' are both set", where, "Leave one of them out.")
        return RefreshRequest(config.partition or None, config.full, str(work.zone))

    def preview(self, work: Work, request: RefreshRequest) -> Preview:
        plan = plan_refresh(_query(work), work.table, request)
        return Preview(stored(plan, request), report_of(plan, dry_run=True))

    def apply(self, work: Work, plan: StoredPlan) -> RefreshReport:
        return apply_refresh(_query(work), work.table, plan, work.session, work.say)

    def run(self, work: Work, request: RefreshRequest) -> RefreshReport:
        # Spark starts only if there is something to do.
        return carry_out(plan_refresh(_query(work), work.table, request), work.session, work.say)


def _query(work: Work) -> DefiningQuery:
    session = Session(work.catalog.open(), None, "flink", makes_default=False)
    return DefiningQuery.of(session, work.table, DEFAULT_CATALOG)


REFRESH = _Refresh()
