"""Compaction of many tables in one run and one Spark, a few tables at a time, each reported to its own asset.

The tables' pools are not taken: what another run compacts meanwhile is committed once, the other one plans again. The
sensor `latest_snapshots` asks for nothing while such a run is unfinished.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.errors import PaimonError
from maintenance.operations.compaction.report import CompactReport
from maintenance.operations.databases.compact_database import (
    COMPACT_DATABASE,
    OPERATION,
    CompactDatabaseReport,
    again,
)
from maintenance.operations.databases.compact_database import plan as plan_compaction
from maintenance.operations.operation import Operation
from maintenance.project.config import TableConfig
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.closing import write_checks
from paimon_maintenance.assets.pages.materialization import data_version, materialization
from paimon_maintenance.assets.pages.metadata import shape_numbers
from paimon_maintenance.assets.runs.failures import as_dagster_failure, group_error, parts_failed, worst_part
from paimon_maintenance.assets.runs.history import keep_failure, keep_summary
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary, report_numbers
from paimon_maintenance.assets.steps.config import step_config
from paimon_maintenance.assets.steps.ops import matching_tables
from paimon_maintenance.assets.steps.step import Metadata, Step, Work

_CONFIG = step_config(
    OPERATION,
    instead={
        "tables": (list[str], Field(["*.*"], description="Patterns such as sales.*, of the tables that Dagster has.")),
        "without": (list[str], Field([], description="Patterns of tables to leave out.")),
        **dict.fromkeys(("databases", "excluded", "options", "mode")),
    },
)


@dataclass(frozen=True)
class _CompactMany(Step):
    """`described`: the tables of tables.yaml."""

    described: Mapping[str, TableConfig] = field(default_factory=dict)

    def bound(self, work: Work) -> Operation[Any, Any, Any]:
        """The compaction that gives each table the run's id and what tables.yaml says of its compaction."""

        def opened(table: Table) -> Table:
            policy = self.described[table.identifier].compaction
            return table.of_run(work.context.run_id).copy(policy.options(table.is_primary_key_table))

        return replace(OPERATION, plan=partial(plan_compaction, opened=opened), again=partial(again, opened=opened))

    def _spot(self, name: str) -> keys.Spot:
        return keys.spot_of(self.described[name]) if name in self.described else keys.spot(name)

    def request(self, work: Work) -> Any:
        chosen = matching_tables(list(self.described.values()), work.config, "compact_tables")
        return replace(super().request(work), tables="|".join(re.escape(table.identifier) for table in chosen))

    def show(self, work: Work, report: CompactDatabaseReport, metadata: Metadata) -> StepSummary:
        """Report each table that was changed to its asset and the history; fails if one failed."""
        rows = []
        for name, done in report.reports.items():
            rows.append(_row(name, done))
            if done.snapshot_ids:
                summary = RunSummary.of(COMPACT_DATABASE, StepSummary(_numbers(done), shape_numbers(done.before)))
                keep_summary(work.context, work.catalog, name, done.after, summary)
                if name in self.described:
                    write_checks(work.context, work.catalog, self.described[name])
                work.context.log_event(_materialization(self._spot(name), work.catalog.get_table(name), done))
        work.context.add_output_metadata({
            **metadata,
            "tables": len(report.reports),
            "tables that were changed": sum(bool(done.snapshot_ids) for done in report.reports.values()),
            "what was done": dg.MetadataValue.table([dg.TableRecord(row) for row in rows]) if rows else "nothing",
        })  # fmt: skip
        outcomes: dict[str, PaimonError | None] = {**dict.fromkeys(report.reports), **report.errors}
        outcomes |= {name: group_error(done.groups) for name, done in report.reports.items() if done.failed}
        worst = worst_part(outcomes)
        if worst is not None:
            try:
                with as_dagster_failure(work.context, lambda: work.catalog.place_of(worst)):
                    raise parts_failed(outcomes, "tables")
            except dg.Failure:  # it is not tried again
                for name, error in outcomes.items():
                    if error is not None:
                        keep_failure(work.context, work.catalog, name, COMPACT_DATABASE, dg.Failure(str(error)))
                raise
        return StepSummary()


def compact_many(tables: Sequence[TableConfig]) -> Step:
    """Compact all tables, or those that the config names."""
    return _CompactMany(
        OPERATION,
        "Compacts many tables in one run, a few at a time. A table that fails does not block the others.",
        _CONFIG,
        with_plan=lambda work: {"max_concurrent": getattr(work.config, "max_concurrent", 2)},
        described={table.identifier: table for table in tables},
    )


def _numbers(done: CompactReport) -> dict[str, Any]:
    return {**report_numbers(done), "input_bytes": sum(group.input_bytes for group in done.groups)}


def _row(name: str, done: CompactReport) -> dict[str, Any]:
    files = f"{done.before.files} -> {done.after.files}"
    proof = str(done.proof.get("mode", ""))
    seconds = round(done.seconds, 1)
    return {"table": name, "snapshots": len(done.snapshot_ids), "files": files, "proof": proof, "seconds": seconds}


def _materialization(spot: keys.Spot, table: Table, done: CompactReport) -> dg.AssetMaterialization:
    metadata = {"snapshot": done.after.snapshot_id or 0, **shape_numbers(done.after)}
    version = data_version(table, done.after.snapshot_id)
    return materialization(spot, version, "After compact_database.", metadata)
