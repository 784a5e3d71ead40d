"""The job that acknowledges a conflict: it writes into the history, and the checks of the table at once."""

from collections.abc import Sequence

import dagster as dg
from pydantic import Field

from maintenance.errors import OptionError
from maintenance.operations.acknowledgements.acknowledge import OPERATION, Acknowledge
from maintenance.operations.operation import Run
from maintenance.table.acknowledged import ACKNOWLEDGEABLE
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import write_checks
from paimon_maintenance.assets.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure
from paimon_maintenance.assets.steps.ops import known_table


class AcknowledgeConfig(dg.Config):
    """What was looked at, and by whom."""

    table: str = Field(description="database.table")
    check: str = Field(description=f"The check that failed: {', '.join(ACKNOWLEDGEABLE)}.")
    name: str = Field(description="Who has looked at it.")
    reason: str = Field(description="Why it is in order, or what was done.")


def acknowledge_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """Acknowledge what a check of one of the tables has found up to now."""

    @dg.op(
        name=keys.ACKNOWLEDGED,
        description=OPERATION.summary,
        tags={"paimon/action": keys.ACKNOWLEDGE},
        out=dg.Out(dg.Nothing),
    )
    def acknowledge(context: dg.OpExecutionContext, config: AcknowledgeConfig, catalog: PaimonCatalog) -> None:
        with as_dagster_failure(context):
            table = known_table(tables, config.table, keys.ACKNOWLEDGE)
            if catalog.history is None:
                fix = "Take 'history: null' out of tables.yaml."
                raise OptionError("there is no history to write it into", config.table, fix)
            asked = Acknowledge(config.table, config.check, config.name, config.reason, catalog.history, context.run_id)
            done = OPERATION.run(Run(), catalog.open(), asked)
            context.add_output_metadata(dict(done))
            write_checks(context, catalog, table)

    return acknowledge
