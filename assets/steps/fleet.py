"""The work on all tables within the budget of tables.yaml, in one run, each table reported to its asset."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import dagster as dg

from maintenance.operations.fleet.fleet_costs import OPERATION as COSTS
from maintenance.operations.fleet.fleet_costs import CostsReport, FleetCosts
from maintenance.operations.fleet.plan_fleet import (
    NOW,
    OPERATION,
    PLAN_FLEET,
    FleetLine,
    FleetReport,
    PlanFleet,
    carried_out,
)
from maintenance.operations.fleet.plan_fleet import plan as plan_work
from maintenance.operations.history import HistoryEntry
from maintenance.operations.operation import Run
from maintenance.project.config import Project, TableConfig
from maintenance.table.shape import table_shape
from maintenance.table.table import Table
from paimon_maintenance.assets.pages.table_page import text_table
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure, check_parts
from paimon_maintenance.assets.runs.lineage import send_events
from paimon_maintenance.assets.steps.config import config_of, request_of
from paimon_maintenance.assets.steps.ops import report_changed

__all__ = ["PLAN_FLEET", "costs", "plan_fleet_op", "planned"]
_SHOWN = 200


def _asked(project: Project, tables: Sequence[TableConfig], now: datetime) -> dict[str, Any]:
    """Over which tables, and by what tables.yaml says of them. `tables`: with what the patterns say of each."""
    described = {table.identifier: table for table in tables}
    settings = project.fleet_settings(lambda identifier: described[identifier].kept(now))
    return {"only": tuple(described), "history": project.history, "settings": settings}


def planned(catalog: PaimonCatalog, project: Project, tables: Sequence[TableConfig], now: datetime) -> FleetReport:
    """What would be done now."""
    request = PlanFleet(**_asked(project, tables, now))
    opened = partial(_opened, tables, "")
    report: FleetReport = OPERATION.run(Run(now=now), catalog.open(), request, dry_run=True, opened=opened)
    return report


def costs(catalog: PaimonCatalog, project: Project, tables: Sequence[TableConfig], now: datetime) -> CostsReport:
    """What the maintenance of all tables costs and saves."""
    root = catalog.root() if catalog.has_root() else ""
    request = FleetCosts(**_asked(project, tables, now))
    report: CostsReport = COSTS.run(Run(now=now, warehouse=root), catalog.open(), request)
    return report


def plan_fleet_op(project: Project, tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """An op that does what brings most within the budget; in a dry run it shows what that is."""
    config_type = config_of(OPERATION, dict.fromkeys(("databases", "tables", "excluded", "history")))
    schema: Any = config_type.to_config_schema()
    described = {table.identifier: table for table in tables}

    @dg.op(
        name="work_within_budget",
        description="Does the most valuable work on all tables within the budget. dry_run: only show the plan.",
        out=dg.Out(dg.Nothing),
        config_schema=schema,
        required_resource_keys={"catalog", "spark"},
    )
    def work_within_budget(context: dg.OpExecutionContext) -> None:
        config: Any = config_type(**context.op_config)
        catalog, spark = context.resources.catalog, context.resources.spark

        def told(line: FleetLine, entry: HistoryEntry) -> None:
            if line.error is not None:
                send_events(context, catalog, [entry])
                return
            shape = table_shape(catalog.get_table(line.table))
            send_events(context, catalog, [entry], shape)
            report_changed(context, catalog, described[line.table], shape, line.operation)

        def has_bin(identifier: str) -> bool:
            return described[identifier].bin is not None

        with as_dagster_failure(context):
            request = request_of(OPERATION, config, _asked(project, tables, datetime.now(UTC)))
            run = Run(spark.session, context.log.info, warehouse=catalog.root, into_bin=config.into_bin)
            made = plan_work(run, catalog.open(), request, partial(_opened, tables, context.run_id))
            report = OPERATION.foretold(made)
            if not config.dry_run:
                report = carried_out(run, catalog.open(), made, told, run_id=context.run_id, has_bin=has_bin)
            context.log.info(report.summary)
            context.add_output_metadata(_shown(report))
            check_parts({line.table: line.error for line in report.lines if line.outcome}, "tables")

    return work_within_budget


def _opened(tables: Sequence[TableConfig], run_id: str, table: Table) -> Table:
    """A table as its compactions find it: with what tables.yaml says of them."""
    policy = next(each.compaction for each in tables if each.identifier == table.identifier)
    own = table.of_run(run_id) if run_id else table
    return own.copy(policy.options(table.is_primary_key_table))


def _shown(report: FleetReport) -> dict[str, Any]:
    rows = [
        {
            "table": line.table,
            "what": f"{line.operation.replace('_', ' ')} {line.scope}".strip(),
            "what for": line.purpose,
            "decision": line.outcome or line.decision,
            "files less": f"{line.gain.files:,}",
            "seconds": f"{line.expected.seconds:,.1f}",
            "turn": "" if line.turn is None else f"{line.turn:%Y-%m-%d %H:%M}",
            "why": line.reason,
        }
        for line in report.lines[:_SHOWN]
    ]
    return {
        "summary": report.summary,
        "chosen": sum(line.decision == NOW for line in report.lines),
        "left out": len(report.left_out),
        **({"plan": text_table(rows)} if rows else {}),
    }
