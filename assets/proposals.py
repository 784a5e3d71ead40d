"""Advice on the tables with `tuning`, in one run; and a step of tuning for those with `tuning: apply`."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from maintenance.amounts import number_of
from maintenance.errors import OptionError, PaimonError
from maintenance.operations.history import HistoryEntry, write_history
from maintenance.operations.operation import Run
from maintenance.operations.tuning.advise import OPERATION, PROPOSALS, AdviceReport, Advise
from maintenance.operations.tuning.sure_settings import bounds_of
from maintenance.operations.tuning.tune_settings import OPERATION as TUNE
from maintenance.operations.tuning.tune_settings import TuneSettings, TuningReport
from maintenance.project.config import TableConfig
from maintenance.spark.errors import as_paimon_error
from paimon_maintenance.assets.pages.table_page import text_table
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import as_dagster_failure, check_parts
from paimon_maintenance.assets.runs.history import reason_of

APPLY = "apply"
PROPOSE, STEP = "propose_settings", "advice"


def proposals_op(tables: Sequence[TableConfig]) -> dg.OpDefinition:
    """An op that asks for advice on each of the tables, and writes it into their histories."""

    text = "Says what tables would be better off with, and why; sets what is sure where tables.yaml says so."

    @dg.op(name=STEP, description=text, out=dg.Out(dg.Nothing))
    def advice(context: dg.OpExecutionContext, catalog: PaimonCatalog) -> None:
        with as_dagster_failure(context):
            rows: list[dict[str, str]] = []
            tuned: list[dict[str, str]] = []
            outcomes: dict[str, PaimonError | None] = {}
            for table in tables:
                try:
                    step = _tuned(context, catalog, table)
                    report = _of_table(context, catalog, table)
                    outcomes[table.identifier] = None
                except Exception as error:  # noqa: BLE001 - one table that cannot be read does not stop the others
                    outcomes[table.identifier] = as_paimon_error(error, f"table {table.identifier}")
                    continue
                if step is not None:
                    said = {name: getattr(step, name) for name in ("step", "change", "reason")}
                    tuned.append({"table": table.identifier, **said})
                rows += [{"table": table.identifier, **asdict(each)} for each in report.advice]
            summary = f"{number_of(len(rows), 'proposal')} for {number_of(len(tables), 'table')}"
            context.log.info(summary)
            shown: dict[str, Any] = {"proposals": text_table(rows)} if rows else {}
            done: dict[str, Any] = {"tuning": text_table(tuned)} if tuned else {}
            context.add_output_metadata({"summary": summary, **shown, **done})
            check_parts(outcomes, "tables")

    return advice


def _tuned(context: dg.OpExecutionContext, catalog: PaimonCatalog, config: TableConfig) -> TuningReport | None:
    """Go a step of tuning. None: tables.yaml does not ask for it."""
    if config.tuning is None or config.tuning.mode != APPLY:
        return None
    history = catalog.history_of(config.identifier)
    if history is None:
        fix = "Give the project a history, or say tuning: propose."
        raise OptionError("without a history nothing can be taken back", f"table {config.identifier}, tuning", fix)
    request = TuneSettings(
        config.identifier,
        bounds_of(config.tuning.bounds),
        history=history.partition(".")[0],
        leave=_set_elsewhere(config),
    )
    report: TuningReport = TUNE.run(Run(), catalog.open(), request)
    for line in TUNE.said(report):
        context.log.info(f"{config.identifier}: {line}")
    return report


def _set_elsewhere(config: TableConfig) -> dict[str, str]:
    """Options that do nothing, since a policy says the same, and which one."""
    policies = {
        "compaction.trigger": (
            config.compaction.trigger,
            ("num-sorted-run.compaction-trigger", "compaction.min.file-num"),
        ),
        "retention.time_retained": (config.retention.time_retained, ("snapshot.time-retained",)),
        "retention.keep_at_most": (config.retention.keep_at_most, ("snapshot.num-retained.max",)),
    }
    return {
        key: f"tables.yaml sets {policy}"
        for policy, (value, keys) in policies.items()
        if value is not None
        for key in keys
    }


def _of_table(context: dg.OpExecutionContext, catalog: PaimonCatalog, config: TableConfig) -> AdviceReport:
    started = datetime.now(UTC)
    report: AdviceReport = OPERATION.run(Run(), catalog.get_table(config.identifier), Advise())
    for line in OPERATION.said(report):
        context.log.info(f"{config.identifier}: {line}")
    history = catalog.history_of(config.identifier)
    if history is not None:
        now = datetime.now(UTC)
        found = f"{number_of(len(report.advice), 'proposal')}: {reason_of(context.run)}"
        told = {"reason": found, PROPOSALS: [asdict(each) for each in report.advice]}
        seconds = (now - started).total_seconds()
        entry = HistoryEntry(
            now, config.identifier, OPERATION.name, run_id=context.run_id, seconds=seconds, details=told
        )
        write_history(catalog.open(), history, [entry])
    return report
