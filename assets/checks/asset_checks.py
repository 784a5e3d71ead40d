"""Asset checks: what can be proved of a table, apart from running its steps."""

from typing import Any

import dagster as dg
from pydantic import Field

from maintenance.amounts import number_of
from maintenance.operations.checks.audit_changelog import AuditReport, audit_changelog
from maintenance.operations.checks.faults import Fault, FaultKind
from maintenance.operations.checks.fsck import FsckReport, fsck
from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.project.console_links import console_link
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure

CHANGELOG_HOLDS = "changelog_holds"
FSCK = "fsck"
_FAULTS_SHOWN = 1000
_STEP_OF_CHANGELOG = (
    "Let readers of the changelog start again from a snapshot after the first bad one. The commit user of that snapshot"
    " says who wrote the wrong changes."
)
# Faults with which this project reads and writes the table all the same, apart from what it does not support.
_WARNINGS = (FaultKind.HINT, FaultKind.STRAY, FaultKind.UNSUPPORTED)


class AuditConfig(dg.Config):
    """Audit of a changelog."""

    start: int | None = Field(default=None, ge=0, description="Snapshot to start from; empty: the earliest; 0: none.")
    end: int | None = Field(default=None, ge=1, description="Snapshot to go up to; empty: the newest.")


class FsckConfig(dg.Config):
    """Examination of a table's files."""

    deep: bool = Field(default=False, description="Read every data file to its last row, in Spark tasks.")


def audited(
    context: Any, config: AuditConfig, catalog: PaimonCatalog, spark: Spark, table: TableConfig
) -> dg.AssetCheckResult:
    """The result of `changelog_holds`. `context`: of a check or an op."""
    with as_dagster_failure(context, lambda: catalog.place_of(table.identifier)):
        opened = catalog.get_table(table.identifier)  # before Spark is started for nothing
        report = audit_changelog(spark.session(), opened, config.start, config.end)
        context.log.info(str(report))
        metadata = {**_metadata(report), **spark.metadata(), **console_link("tables", table.identifier)}
        return dg.AssetCheckResult(
            check_name=CHANGELOG_HOLDS,
            asset_key=keys.spot_of(table).asset,
            passed=report.holds,
            description=str(report),
            metadata=metadata,
        )


def _metadata(report: AuditReport) -> dict[str, Any]:
    metadata: dict[str, Any] = {
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
        metadata["first bad snapshot"] = report.first_bad
    if not report.holds:
        metadata["next step"] = _STEP_OF_CHANGELOG
    if report.examples:
        rows = [
            dg.TableRecord({"key": e.key, "what": str(e.what), "kind": e.kind, "snapshot": e.snapshot_id or 0})
            for e in report.examples
        ]
        metadata["examples"] = dg.MetadataValue.table(rows)
    return metadata


def examined(
    context: Any, config: FsckConfig, catalog: PaimonCatalog, spark: Spark, table: TableConfig
) -> dg.AssetCheckResult:
    """The result of `fsck`. `context`: of a check or an op."""
    with as_dagster_failure(context, lambda: catalog.place_of(table.identifier)):
        file_io, location = catalog.place_of(table.identifier)
        session = spark.session() if config.deep else None
        report = fsck(file_io, location, deep=config.deep, spark=session, progress=context.log.info)
        return dg.AssetCheckResult(
            check_name=FSCK,
            asset_key=keys.spot_of(table).asset,
            passed=report.healthy,
            severity=_severity(report),
            description=_fsck_summary(report),
            metadata={**_fsck_metadata(report), **spark.metadata(), **console_link("tables", table.identifier)},
        )


def _severity(report: FsckReport) -> dg.AssetCheckSeverity:
    warnings = all(fault.kind in _WARNINGS for fault in report.faults)
    return dg.AssetCheckSeverity.WARN if warnings else dg.AssetCheckSeverity.ERROR


def _fsck_summary(report: FsckReport) -> str:
    if report.healthy:
        notes = f" Harmless findings: {len(report.notes)}." if report.notes else ""
        return f"{number_of(report.states, 'state')} and {number_of(report.data_files, 'data file')} are whole.{notes}"
    first = report.faults[0]
    return f"{len(report.faults)} faults, the first: {first.object}: {first.detail}. Next step: {first.fix}"


def _fsck_metadata(report: FsckReport) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "faults": len(report.faults),
        "states": report.states,
        "manifests": report.manifests,
        "index files": report.index_files,
        "data files": report.data_files,
        "data files read": report.read_files,
        "seconds": round(report.seconds, 3),
    }
    if report.faults:
        metadata["next step"] = report.faults[0].fix
    for name, faults in (("table of faults", report.faults), ("harmless findings", report.notes)):
        if faults:
            metadata[name] = dg.MetadataValue.table([_record(fault) for fault in faults[:_FAULTS_SHOWN]])
    return metadata


def _record(fault: Fault) -> dg.TableRecord:
    return dg.TableRecord({"kind": fault.kind.value, "object": fault.object, "detail": fault.detail, "fix": fault.fix})
