"""The checks of a table as the run that has changed it leaves them: written before the run's materialisation.

Dagster shows a check as not evaluated once the asset has a newer materialisation of another run. So each run writes
every check of its table again. What takes long to find out is not found out again: its last result is repeated, with
the time at which it was found.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster import AssetCheckKey, DagsterInstance
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from maintenance.table.acknowledged import COMPACTIONS_PROVED
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.asset_checks import CHANGELOG_HOLDS, FSCK
from paimon_maintenance.assets.checks.due import automation_of, location_of
from paimon_maintenance.assets.checks.judgements import evaluation
from paimon_maintenance.assets.checks.judging import look_at
from paimon_maintenance.assets.checks.orphan_check import ORPHAN_BYTES
from paimon_maintenance.assets.project.config import TableConfig
from paimon_maintenance.assets.resources.catalog import PaimonCatalog

LONG = (FSCK, ORPHAN_BYTES, CHANGELOG_HOLDS, COMPACTIONS_PROVED)
"""Checks that read whole tables, or list all their folders."""
EXAMINED = "examined at"
# Dagster has no public names for the states of a check, nor for the records that it hands out.
_FAILED = "FAILED"
_SETTLED = ("SUCCEEDED", _FAILED)


def write_checks(context: dg.OpExecutionContext, catalog: PaimonCatalog, config: TableConfig) -> None:
    """Write every check of a table as an event of this run; call it before the table's materialisation."""
    key = keys.asset_key(config.identifier)
    try:
        automation = automation_of(context.instance, location_of(context.run))
        judgements = look_at(catalog, config, datetime.now(UTC), automation=automation)
        found = [evaluation(key, judgement) for judgement in judgements]
        for event in (*found, *repeated_checks(context.instance, [key])):
            context.log_event(event)  # type: ignore[arg-type] # it takes evaluations, too
    except Exception as error:  # noqa: BLE001 - the work is done; the sensor check_radar writes the checks soon
        context.log.warning(f"The checks of {config.identifier} could not be written: {error}")


def repeated_checks(
    instance: DagsterInstance, assets: Sequence[dg.AssetKey], *, of_runs: bool = False
) -> Iterator[dg.AssetCheckEvaluation]:
    """The last results of the long checks, with the time at which they were found. `of_runs`: only those of runs."""
    wanted = [AssetCheckKey(asset, check) for asset in assets for check in LONG]
    latest = instance.event_log_storage.get_latest_asset_check_execution_by_key(wanted) if wanted else {}
    for key, record in latest.items():
        if of_runs and not record.run_id:
            continue
        settled = last_settled(instance, key, record)
        if settled is not None and settled.evaluation is not None:
            yield _repeated(settled.evaluation, settled.event.timestamp)


def last_settled(instance: DagsterInstance, check: AssetCheckKey, newest: Any) -> Any:
    """The newest result of a check; None: it never had one. `newest`: its newest execution, which may have none."""
    if newest.status.name in _SETTLED:
        return newest
    history = settled_history(instance, check, 1)
    return history[0] if history else None


def settled_history(instance: DagsterInstance, check: AssetCheckKey, limit: int) -> Sequence[Any]:
    """The newest results of a check, the newest first."""
    settled = {status for status in AssetCheckExecutionRecordStatus if status.name in _SETTLED}
    return instance.event_log_storage.get_asset_check_execution_history(check, limit=limit, status=settled)


def has_failed(record: Any) -> bool:
    """Whether a settled result says that something is wrong."""
    return bool(record.status.name == _FAILED)


def _repeated(found: dg.AssetCheckEvaluation, timestamp: float) -> dg.AssetCheckEvaluation:
    """The same result with no target, so that Dagster takes it for one of the state at which it is written."""
    at = datetime.fromtimestamp(timestamp, UTC)
    described = found.description or ""
    if EXAMINED not in found.metadata:
        described = f"Examined on {at:%Y-%m-%d} at {at:%H:%M} UTC: {described}"
    return dg.AssetCheckEvaluation(
        asset_key=found.asset_key,
        check_name=found.check_name,
        passed=found.passed,
        severity=found.severity,
        description=described,
        metadata={EXAMINED: dg.MetadataValue.timestamp(at), **found.metadata},
    )
