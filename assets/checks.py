"""Asset checks: what can be proved of a table, apart from running its steps."""

from typing import Any

import dagster as dg

from assets import keys
from assets.config import TableConfig
from assets.failures import told_as_failure
from assets.resources import PaimonCatalog, Spark
from assets.step_config import AuditConfig
from maintenance.operations.audit_changelog import AuditReport, audit_changelog

CHANGELOG_HOLDS = "changelog_holds"


def changelog_check(table: TableConfig) -> dg.AssetChecksDefinition:
    """Whether the table's changelog turns the rows of one snapshot into those of another.

    It reads two states and the changes between them, so it is no part of the table's own job.
    """

    @dg.asset_check(
        asset=keys.asset_key(table.identifier),
        name=CHANGELOG_HOLDS,
        description="The changelog turns the rows of one snapshot into those of another, key by key.",
        pool=keys.pool(table.identifier),
    )
    def changelog_holds(
        context: dg.AssetCheckExecutionContext, config: AuditConfig, catalog: PaimonCatalog, spark: Spark
    ) -> dg.AssetCheckResult:
        with told_as_failure():
            opened = catalog.get_table(table.identifier)  # before Spark is started for nothing
            report = audit_changelog(spark.session(), opened, config.start, config.end)
            context.log.info(str(report))
            return dg.AssetCheckResult(passed=report.holds, description=str(report), metadata=_metadata(report))

    return changelog_holds


def _metadata(report: AuditReport) -> dict[str, Any]:
    found: dict[str, Any] = {
        "from snapshot": report.start,
        "to snapshot": report.end,
        "kind": "complete" if report.complete else "net",
        "changes": report.changes,
        "keys": report.keys,
        "wrong keys": report.wrong_keys,
        "files without changelog": report.pending_files,
        "seconds": round(report.seconds, 3),
    }
    if report.first_bad is not None:
        found["first bad snapshot"] = report.first_bad
    if report.examples:
        rows = [
            dg.TableRecord({"key": e.key, "what": str(e.what), "kind": e.kind, "snapshot": e.snapshot_id or 0})
            for e in report.examples
        ]
        found["examples"] = dg.MetadataValue.table(rows)
    return found
