"""Advice on the tables with `tuning: propose`, in one run. It changes nothing."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from maintenance.amounts import number_of
from maintenance.errors import PaimonError
from maintenance.operations.history import HistoryEntry, write_history
from maintenance.operations.operation import Run
from maintenance.operations.tuning.advise import OPERATION, AdviceReport, Advise
from maintenance.spark.errors import as_paimon_error
from paimon_maintenance.assets.pages.table_page import text_table
from paimon_maintenance.assets.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure, parts_failed, worst_part

PROPOSE, STEP = "propose_settings", "advice"


def proposals_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """An op that asks for advice on each of the tables, and writes it into their histories."""

    @dg.op(name=STEP, description="Says what tables would be better off with, and why.", out=dg.Out(dg.Nothing))
    def advice(context: dg.OpExecutionContext, catalog: PaimonCatalog) -> None:
        with as_dagster_failure(context):
            rows: list[dict[str, str]] = []
            outcomes: dict[str, PaimonError | None] = {}
            for table in tables:
                try:
                    report = _of_table(context, catalog, table)
                    outcomes[table.identifier] = None
                except Exception as error:  # noqa: BLE001 - one table that cannot be read does not stop the others
                    outcomes[table.identifier] = as_paimon_error(error, f"table {table.identifier}")
                    continue
                rows += [{"table": table.identifier, **asdict(each)} for each in report.advice]
            summary = f"{number_of(len(rows), 'proposal')} for {number_of(len(tables), 'table')}"
            context.log.info(summary)
            shown: dict[str, Any] = {"proposals": text_table(rows)} if rows else {}
            context.add_output_metadata({"summary": summary, **shown})
            if worst_part(outcomes) is not None:
                raise parts_failed(outcomes, "tables")

    return advice


def _of_table(context: dg.OpExecutionContext, catalog: PaimonCatalog, config: TableConfig) -> AdviceReport:
    started = datetime.now(UTC)
    report: AdviceReport = OPERATION.run(Run(), catalog.get_table(config.identifier), Advise())
    for line in OPERATION.said(report):
        context.log.info(f"{config.identifier}: {line}")
    history = catalog.history_of(config.identifier)
    if history is not None:
        now = datetime.now(UTC)
        told = {f"proposal {number}": f"{each.found}. {each.to_do}" for number, each in enumerate(report.advice, 1)}
        seconds = (now - started).total_seconds()
        entry = HistoryEntry(
            now, config.identifier, OPERATION.name, run_id=context.run_id, seconds=seconds, details=told
        )
        write_history(catalog.open(), history, [entry])
    return report
