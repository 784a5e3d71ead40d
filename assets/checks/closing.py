"""The checks of a table as the run that has changed it leaves them: written before the run's materialisation.

Dagster shows a check as not evaluated once the asset has a newer materialisation of another run. So each run that
materialises the table writes every check of it again. What takes long to find out is not found out again: its last
result is repeated, with the time at which it was found. A run that observes the table writes what has changed alone.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster import AssetCheckKey, DagsterInstance

from maintenance.monitor.judgement import Judgement
from maintenance.project.config import TableConfig
from maintenance.table.acknowledged import COMPACTIONS_PROVED
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.asset_checks import CHANGELOG_HOLDS, FSCK
from paimon_maintenance.assets.checks.due import automation_of, location_of
from paimon_maintenance.assets.checks.judgements import evaluation
from paimon_maintenance.assets.checks.judging import TableHealth, see
from paimon_maintenance.assets.checks.orphan_check import ORPHAN_BYTES
from paimon_maintenance.assets.dagster_release import (
    CHECKS_HAVE_PARTITIONS,
    AssetCheckExecutionRecordStatus,
    partition_filter,
)
from paimon_maintenance.assets.resources.catalog import PaimonCatalog

LONG = (FSCK, ORPHAN_BYTES, CHANGELOG_HOLDS, COMPACTIONS_PROVED)
"""Checks that read whole tables, or list all their folders."""
EXAMINED = "examined at"
# Dagster has no public names for the states of a check, nor for the records that it hands out.
_PASSED, _FAILED = "SUCCEEDED", "FAILED"
_SETTLED = (_PASSED, _FAILED)


def health_of(context: dg.OpExecutionContext, catalog: PaimonCatalog, config: TableConfig) -> TableHealth | None:
    """What a run finds of a table at its end; None, and a warning, where that fails: the work is done all the same."""
    try:
        automation = automation_of(context.instance, location_of(context.run))
        return see(catalog, config, datetime.now(UTC), automation=automation)
    except Exception as error:  # noqa: BLE001 - the sensor check_radar looks soon
        context.log.warning(f"The health of {config.identifier} could not be determined: {error}")
        return None


def write_checks(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    config: TableConfig,
    health: TableHealth | None = None,
    *,
    turned_only: bool = False,
) -> None:
    """Write every check of a table as an event of this run; call it before the table's materialisation.

    Args: `health`: what was just found of the table; None: it is looked at here; `turned_only`: those that fail, or
        failed before: an observation hides none of the others.
    """
    spot = keys.spot_of(config)
    if config.grouped:
        return  # the checks are of its database, and the sensor check_radar judges that
    try:
        health = health or health_of(context, catalog, config)
        judgements = () if health is None else health.judgements
        chosen = _turned(context.instance, spot, judgements) if turned_only else judgements
        repeated = () if turned_only else repeated_checks(context.instance, [spot])
        for event in (*(evaluation(spot, judgement) for judgement in chosen), *repeated):
            context.log_event(event)
    except Exception as error:  # noqa: BLE001 - the work is done; the sensor check_radar writes the checks soon
        context.log.warning(f"The checks of {config.identifier} could not be written: {error}")


def _turned(instance: DagsterInstance, spot: keys.Spot, judgements: Sequence[Judgement]) -> list[Judgement]:
    """Those that fail, or did not pass before."""
    before = latest_results(instance, [spot], [judgement.check for judgement in judgements])
    passed = {check for (_, check), record in before.items() if record.status.name == _PASSED}
    return [judgement for judgement in judgements if not (judgement.passed and judgement.check in passed)]


def repeated_checks(
    instance: DagsterInstance, spots: Sequence[keys.Spot], *, of_runs: bool = False
) -> Iterator[dg.AssetCheckEvaluation]:
    """The last results of the long checks, with the time at which they were found. `of_runs`: only those of runs.

    Not of partitions: Dagster keeps no second result of one that no run has made.
    """
    spots = [spot for spot in spots if spot.partition is None]
    for (spot, check), record in latest_results(instance, spots, LONG).items():
        if of_runs and not record.run_id:
            continue
        settled = last_settled(instance, AssetCheckKey(spot.asset, check), record)
        if settled is not None and settled.evaluation is not None:
            yield _repeated(settled.evaluation, settled.event.timestamp)


def latest_results(
    instance: DagsterInstance, spots: Sequence[keys.Spot], checks: Sequence[str]
) -> dict[tuple[keys.Spot, str], Any]:
    """The newest executions of checks, where there are any."""
    storage, found = instance.event_log_storage, dict[tuple[keys.Spot, str], Any]()
    whole = [AssetCheckKey(spot.asset, check) for spot in spots if spot.partition is None for check in checks]
    if whole:
        records = storage.get_latest_asset_check_execution_by_key(whole)
        found |= {(keys.Spot(key.asset_key), key.name): record for key, record in records.items()}
    for asset, names in _partitions_of(spots).items():
        wanted = [AssetCheckKey(asset, check) for check in checks]
        # Of many tables few have a result of these checks.
        if len(names) > 1:
            known = {info.partition_key for info in storage.get_asset_check_partition_info(wanted)}
            names = [name for name in names if name in known]
        for name in names:
            records = storage.get_latest_asset_check_execution_by_key(wanted, **partition_filter(name))
            found |= {(keys.Spot(asset, name), key.name): record for key, record in records.items()}
    return found


def spots_with_results(instance: DagsterInstance, spots: Sequence[keys.Spot], check: str) -> set[keys.Spot]:
    """Those for which a check was ever executed: of many tables in one query for each asset."""
    storage = instance.event_log_storage
    whole = [AssetCheckKey(spot.asset, check) for spot in spots if spot.partition is None]
    found = (
        {keys.Spot(key.asset_key) for key in storage.get_latest_asset_check_execution_by_key(whole)} if whole else set()
    )
    for asset in _partitions_of(spots):
        infos = storage.get_asset_check_partition_info([AssetCheckKey(asset, check)])
        found |= {keys.Spot(asset, info.partition_key) for info in infos}
    return found


def failing_partitions(
    instance: DagsterInstance, spots: Sequence[keys.Spot], checks: Sequence[str]
) -> dict[tuple[keys.Spot, str], Any]:
    """The newest executions of checks of partitions, of those that did not pass: most of many tables pass."""
    storage, found = instance.event_log_storage, dict[tuple[keys.Spot, str], Any]()
    for asset, names in _partitions_of(spots).items():
        wanted, known = [AssetCheckKey(asset, check) for check in checks], set(names)
        for info in storage.get_asset_check_partition_info(wanted):
            if info.partition_key not in known or info.latest_execution_status.name == "SUCCEEDED":
                continue
            key = info.check_key
            records = storage.get_latest_asset_check_execution_by_key([key], **partition_filter(info.partition_key))
            found |= {(keys.Spot(asset, info.partition_key), key.name): record for record in records.values()}
    return found


def _partitions_of(spots: Sequence[keys.Spot]) -> dict[dg.AssetKey, list[str]]:
    partitions: dict[dg.AssetKey, list[str]] = {}
    for spot in spots:
        if CHECKS_HAVE_PARTITIONS and spot.partition is not None:
            partitions.setdefault(spot.asset, []).append(spot.partition)
    return partitions


def last_settled(instance: DagsterInstance, check: AssetCheckKey, newest: Any) -> Any:
    """The newest result of a check; None: it never had one. `newest`: its newest execution, which may have none."""
    if newest.status.name in _SETTLED:
        return newest
    history = settled_history(instance, check, 1, getattr(newest, "partition", None))
    return history[0] if history else None


def settled_history(
    instance: DagsterInstance, check: AssetCheckKey, limit: int, partition: str | None = None
) -> Sequence[Any]:
    """The newest results of a check, the newest first. `partition`: of this one alone."""
    settled = {status for status in AssetCheckExecutionRecordStatus if status.name in _SETTLED}
    return instance.event_log_storage.get_asset_check_execution_history(
        check, limit=limit, status=settled, **partition_filter(partition)
    )


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
