"""How a table's asset is materialised: the event and its page, whoever has changed the table."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import dagster as dg

from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.metadata.snapshot_identity import SnapshotIdentity
from maintenance.project.config import TableConfig
from maintenance.table.shape import TableShape
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.checks.judging import TableHealth
from paimon_maintenance.assets.pages.catalogue import column_lineage, columns_metadata
from paimon_maintenance.assets.pages.health import health_page
from paimon_maintenance.assets.pages.holders import IN_RUNS, OrphansOf, holders_page, who_holds
from paimon_maintenance.assets.pages.metadata import closing_metadata
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.runs.summary import RunSummary


def data_version(table: Table, snapshot_id: int | None) -> str:
    """The data version of a table at a snapshot; None: it has none yet.

    It says what the snapshot is, since after a rollback another one has its number. Of one that has expired meanwhile
    only the number is known.
    """
    snapshot = None if snapshot_id is None else table.snapshots.find(snapshot_id)
    return str(snapshot_id or 0) if snapshot is None else str(SnapshotIdentity.of(snapshot))


def closing_page(
    context: dg.OpExecutionContext,
    catalog: PaimonCatalog,
    config: TableConfig,
    table: Table,
    shape: TableShape,
    summary: RunSummary,
    health: TableHealth | None,
) -> dict[str, Any]:
    """All that a run shows of a table at its end: health, who holds bytes, numbers, what its steps did, columns.

    Args: `summary`: of the run; `health`: what was just found of the table.
    """
    return {
        **({} if health is None else health_page(context, catalog, config, shape, health)),
        **holders_page(who_holds(OrphansOf(context.instance), catalog, table, IN_RUNS, context.log.warning)),
        **closing_metadata(table, shape, summary),
        **columns_metadata(config, table.schema),
    }


def materialization(
    spot: keys.Spot, version: str, description: str, metadata: Mapping[str, Any]
) -> dg.AssetMaterialization:
    """The event that says what a table is at a snapshot. `version`: `data_version` there."""
    return dg.AssetMaterialization(
        asset_key=spot.asset,
        partition=spot.partition,
        description=description,
        metadata=metadata,
        tags={"dagster/data_version": version},
    )


def commit_materialization(
    table: TableConfig, snapshot: Snapshot, page: Mapping[str, Any] = MappingProxyType({})
) -> dg.AssetMaterialization:
    """A commit of someone else, as an event of the table's asset that needs no run. `page`: more to show, first."""
    committed = snapshot.committed_at
    metadata = {
        **page,
        "snapshot": snapshot.id,
        "commit kind": str(snapshot.commit_kind),
        "commit user": snapshot.commit_user,
        "committed at": dg.MetadataValue.timestamp(committed),
        "records": snapshot.total_record_count or 0,
        "records of the commit": snapshot.delta_record_count or 0,
        **column_lineage(table),
    }
    summary = f"Snapshot {snapshot.id}, committed by {snapshot.commit_user}."
    return materialization(keys.spot_of(table), str(SnapshotIdentity.of(snapshot)), summary, metadata)
