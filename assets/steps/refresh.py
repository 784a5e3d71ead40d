"""The step that refreshes a materialized table: it makes rows again as far as the sources have changed."""

from dataclasses import replace
from typing import Any

from maintenance.operations.operation import Run
from maintenance.sql import Session
from maintenance.sql.operations.refresh_materialized_table import OPERATION
from maintenance.sql.session_names import SessionNames
from paimon_maintenance.assets.steps.config import request_of
from paimon_maintenance.assets.steps.step import Step, Work


class _Refresh(Step):
    def request(self, work: Work) -> Any:
        return request_of(self.operation, work.config, zone=str(work.zone))

    def run_of(self, work: Work) -> Run:
        # Spark starts only if there is something to do.
        session = Session(work.catalog.open(), None, "flink", makes_default=False)
        return replace(super().run_of(work), names=SessionNames(session))


REFRESH = _Refresh(
    OPERATION,
    "Makes rows again from the table's query: those of partitions that changes of its sources reach, or all.",
    without=("zone",),
)
