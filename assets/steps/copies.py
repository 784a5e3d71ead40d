"""Clones and migrations from the Launchpad: one job each, for any table of the catalog.

A dry run keeps a plan; without it the job makes the plan and does exactly what it says. Each table that was copied is
reported: a clone as an observation of its source, a migrated table as a materialization of the new one.
"""

from collections.abc import Mapping
from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.errors import PaimonError
from maintenance.operations.databases.clone import CloneReport
from maintenance.operations.databases.clone_database import CloneDatabaseReport
from maintenance.operations.databases.clone_tables import OPERATION as CLONE
from maintenance.operations.databases.migrate_database import OPERATION as MIGRATE_DATABASE
from maintenance.operations.databases.migrate_database import MigrateDatabaseReport
from maintenance.operations.databases.migrate_table import OPERATION as MIGRATE_TABLE
from maintenance.operations.databases.migration import MigrateReport
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.materialization import data_version, materialization
from paimon_maintenance.assets.pages.metadata import report_metadata
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.failures import parts_failed, worst_part
from paimon_maintenance.assets.runs.summary import StepSummary
from paimon_maintenance.assets.steps.config import config_of
from paimon_maintenance.assets.steps.plans import kept_plan
from paimon_maintenance.assets.steps.step import Metadata, Step, Work

_TARGET = "target_catalog"
_HIVE = {"connector": "hive"}


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
        outcomes: dict[str, PaimonError | None] = {**dict.fromkeys(reports), **(report.errors if is_of_many else {})}
        if worst_part(outcomes) is not None:
            raise parts_failed(outcomes, "tables")
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
_CLONE = _Copy(
    CLONE,
    "Copies tables to another warehouse, or brings the copies up to date; each file is compared.",
    config_of(
        CLONE,
        {
            "database": (str, Field(description="Of the source.")),
            _TARGET: (dict[str, str], _TARGET_FIELD),
            **dict.fromkeys(("clone_from", "target_catalog_conf", "prefer_file_format", "target_table_conf")),
        },
    ),
    policy=_copied_to,
)
_MIGRATIONS = [
    _Copy(operation, text, config_of(operation, {"connector": None, "options_map": None}), policy=lambda _: _HIVE)
    for operation, text in (
        (MIGRATE_TABLE, "Makes a table of Paimon of the files of a format table; the source stays unless it is to go."),
        (MIGRATE_DATABASE, "Makes tables of Paimon of the format tables of a database, one after the other."),
    )
]
COPIES = (_CLONE, *_MIGRATIONS)
