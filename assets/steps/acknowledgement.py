"""The job that acknowledges a conflict: it writes into the history, and the checks of the table at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maintenance.errors import OptionError
from maintenance.operations.acknowledgements.acknowledge import OPERATION
from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import write_checks
from paimon_maintenance.assets.runs.summary import StepSummary
from paimon_maintenance.assets.steps.config import config_of
from paimon_maintenance.assets.steps.ops import known_table
from paimon_maintenance.assets.steps.step import Metadata, Step, Work


@dataclass(frozen=True)
class _Acknowledge(Step):
    tables: Sequence[TableConfig] = ()

    def request(self, work: Work) -> Any:
        known_table(self.tables, work.config.table, keys.ACKNOWLEDGE)
        if work.catalog.history is None:
            fix = "Take 'history: null' out of tables.yaml."
            raise OptionError("there is no history to write it into", work.config.table, fix)
        return super().request(work)

    def show(self, work: Work, report: Any, metadata: Metadata) -> StepSummary:
        work.context.add_output_metadata({**metadata, **report})
        write_checks(work.context, work.catalog, known_table(self.tables, work.config.table, keys.ACKNOWLEDGE))
        return StepSummary()


def acknowledgement(tables: Sequence[TableConfig]) -> Step:
    """Acknowledge what a check of one of the tables has found up to now."""
    return _Acknowledge(
        OPERATION,
        config=config_of(OPERATION, {"history": None, "run_id": None}),
        policy=lambda work: {"history": work.catalog.history, "run_id": work.context.run_id},
        tables=tables,
    )
