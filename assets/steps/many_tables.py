"""Steps over many tables in one run: compactions, clones and migrations, each table reported to its own asset.

A compaction takes a few tables at a time, and one Spark. The tables' pools are not taken: what another run compacts
meanwhile is committed once, the other one plans again. The sensor `latest_snapshots` asks for nothing while such a run
is unfinished.

A dry run of a copy keeps a plan; without it the job makes the plan and does exactly what it says. A clone is reported
as an observation of its source, a migrated table as a materialization of the new one.
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
from maintenance.operations.databases import compact_database as compaction
from maintenance.operations.databases.clone import CloneReport
from maintenance.operations.databases.clone_database import CloneDatabaseReport
from maintenance.operations.databases.migrate_database import MigrateDatabaseReport
from maintenance.operations.databases.migration import MigrateReport
from maintenance.operations.operation import Operation
from maintenance.project.config import TableConfig
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.materialization import data_version, materialization
from paimon_maintenance.assets.pages.metadata import report_metadata, shape_numbers
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import (
    as_dagster_failure,
    check_parts,
    group_error,
    parts_failed,
    worst_part,
)
from paimon_maintenance.assets.runs.history import keep_failure, keep_summary
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary, report_numbers
from paimon_maintenance.assets.steps.config import TablesConfig
from paimon_maintenance.assets.steps.ops import matching_tables, report_changed
from paimon_maintenance.assets.steps.plans import kept_plan
from paimon_maintenance.assets.steps.step import Metadata, Step, Work

_TARGET = "target_catalog"
_HIVE = {"connector": "hive"}


@dataclass(frozen=True)
class _CompactMany(Step):
    """`described`: the tables of tables.yaml."""

    described: Mapping[str, TableConfig] = field(default_factory=dict)

    def bound(self, work: Work) -> Operation[Any, Any, Any]:
        """The compaction that gives each table the run's id and what tables.yaml says of its compaction."""

        def opened(table: Table) -> Table:
            policy = self.described[table.identifier].compaction
            return table.of_run(work.context.run_id).copy(policy.options(table.is_primary_key_table))

        plan, again = (partial(each, opened=opened) for each in (compaction.plan, compaction.again))
        return replace(compaction.OPERATION, plan=plan, again=again)

    def request(self, work: Work) -> Any:
        chosen = matching_tables(list(self.described.values()), work.config, "compact_tables")
        return replace(super().request(work), tables="|".join(re.escape(table.identifier) for table in chosen))

    def show(self, work: Work, report: compaction.CompactDatabaseReport, metadata: Metadata) -> StepSummary:
        """Report each table that was changed to its asset and the history; fails if one failed."""
        context, catalog = work.context, work.catalog
        for name, done in report.reports.items():
            if done.snapshot_ids:
                summary = RunSummary.of(self.name, StepSummary(_numbers(done), shape_numbers(done.before)))
                keep_summary(context, catalog, name, done.after, summary)
                report_changed(context, catalog, self.described[name], done.after, self.name)
        rows = [dg.TableRecord(_row(name, done)) for name, done in report.reports.items()]
        context.add_output_metadata({
            **metadata,
            "tables": len(report.reports),
            "tables that were changed": sum(bool(done.snapshot_ids) for done in report.reports.values()),
            "what was done": dg.MetadataValue.table(rows) if rows else "nothing",
        })  # fmt: skip
        outcomes: dict[str, PaimonError | None] = {**dict.fromkeys(report.reports), **report.errors}
        outcomes |= {name: group_error(done.groups) for name, done in report.reports.items() if done.failed}
        worst = worst_part(outcomes)
        if worst is not None:
            try:
                with as_dagster_failure(context, lambda: catalog.place_of(worst)):
                    raise parts_failed(outcomes, "tables")
            except dg.Failure:  # it is not tried again
                for name, error in outcomes.items():
                    if error is not None:
                        keep_failure(context, catalog, name, self.name, dg.Failure(str(error)))
                raise
        return StepSummary()


def compact_many(tables: Sequence[TableConfig]) -> Step:
    """Compact all tables, or those that the config names."""
    return _CompactMany(
        compaction.OPERATION,
        "Compacts many tables in one run, a few at a time. A table that fails does not block the others.",
        instead={
            **{name: (list[str], field) for name, field in TablesConfig.model_fields.items()},
            **dict.fromkeys(("databases", "excluded", "options", "mode")),
        },
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


class _Copy(Step):
    def run(self, work: Work, request: Any) -> Any:
        """Make the plan, and do exactly what it says."""
        plan = self.preview(work, request).plan
        kept_plan(work.context, work.catalog, plan)
        work.context.add_output_metadata({"plan id": plan.id})
        return self.apply(work, plan)

    def show(self, work: Work, report: Any, metadata: Metadata) -> StepSummary:
        """An event for each table that was copied, and one table of all; fails if one failed."""
        is_of_many = isinstance(report, CloneDatabaseReport | MigrateDatabaseReport)
        reports: Mapping[str, Any] = report.reports if is_of_many else {_source(report): report}
        rows = []
        for name, each in reports.items():
            work.context.log_event(_event(work.catalog, name, each))
            counts = {"files": each.files, "copied files": each.copied_files, "copied bytes": each.copied_bytes}
            if isinstance(each, CloneReport):
                counts["leaving files"] = each.leaving_files
            rows.append(
                dg.TableRecord({"source": name, "target": each.target, "snapshot": each.snapshot_id or 0} | counts)
            )
        shown = {"what was done": dg.MetadataValue.table(rows)} if rows else {}
        work.context.add_output_metadata({**metadata, "tables": len(rows), **shown})
        check_parts({**dict.fromkeys(reports), **(report.errors if is_of_many else {})}, "tables")
        return StepSummary()


def _source(report: CloneReport | MigrateReport) -> str:
    return report.source if isinstance(report, MigrateReport) else report.table


def _event(
    catalog: PaimonCatalog, source: str, report: CloneReport | MigrateReport
) -> dg.AssetObservation | dg.AssetMaterialization:
    metadata = report_metadata(report)
    if isinstance(report, MigrateReport):
        summary = f"Made of the files of {source}."
        version = data_version(catalog.get_table(report.target), report.snapshot_id)
        return materialization(keys.spot(report.target), version, summary, metadata)
    return dg.AssetObservation(keys.asset_key(source), description=f"Copied to {report.target}.", metadata=metadata)


def _copied_to(work: Work) -> Metadata:
    target = getattr(work.config, _TARGET, None)
    return {"clone_from": "paimon", **({"target_catalog_conf": target} if target else {})}


_TARGET_FIELD: Any = Field(
    default={},
    description="Options of the other catalog, such as {warehouse: s3://copy/lake}; empty: this one."
    " ${NAME} is read from the environment: write secrets so.",
)
COPIES = (
    _Copy.alone(
        "clone",
        "Copies tables to another warehouse, or brings the copies up to date; each file is compared.",
        instead={
            "database": (str, Field(description="Of the source.")),
            _TARGET: (dict[str, str], _TARGET_FIELD),
            **dict.fromkeys(("clone_from", "target_catalog_conf", "prefer_file_format", "target_table_conf")),
        },
        policy=_copied_to,
    ),
    *(
        _Copy.alone(name, instead=dict.fromkeys(("connector", "options_map")), policy=lambda _: _HIVE)
        for name in ("migrate_table", "migrate_database")
    ),
)
