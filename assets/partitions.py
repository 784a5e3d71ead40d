"""Compaction as the state of partitions: what is compacted up to where, what has changed since, what a backfill redoes.

Each partitioned table has more assets, over partitions that a sensor mirrors from the table. `<table>_partitions`
is external: a new data version of a partition says that it has changed. `<table>_compaction` depends on it partition by
partition, so that Dagster shows those as stale that changed since they were compacted; its data version is the snapshot
up to which the partition is compacted. A run over many partitions is one compaction: it rewrites the stale ones alone.
`<table>_changelog` is the same for the changelog, of tables whose changelog is made by a step.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

import dagster as dg
from pydantic import Field

from maintenance.amounts import number_of
from maintenance.metadata.partition_path import partition_path
from maintenance.metadata.partition_value import PartitionValue
from maintenance.operations import compact, produce_changelog
from maintenance.operations.compaction.partition_choice import missing_partitions, not_found
from maintenance.operations.compaction.report import PLANNED, CompactReport
from maintenance.operations.partition_states import PartitionState, PartitionStates, partition_states
from maintenance.project.config import TableConfig
from maintenance.table.partitions import partition_names
from maintenance.table.table import Table
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages.materialization import data_version
from paimon_maintenance.assets.pages.metadata import report_metadata, shape_numbers
from paimon_maintenance.assets.resources.catalog import PaimonCatalog
from paimon_maintenance.assets.resources.spark import Spark
from paimon_maintenance.assets.runs.failures import as_dagster_failure, check_groups
from paimon_maintenance.assets.runs.history import keep_summary
from paimon_maintenance.assets.runs.summary import RunSummary, StepSummary, report_numbers

# Dagster refuses partition keys that hold this.
_FORBIDDEN = "..."
_DIGEST = "digest of the files"


class PartitionCompactConfig(dg.Config):
    """Compaction of partitions."""

    max_retries: int = Field(
        default=5, ge=0, description="How often to retry a bucket whose commit lost against another writer."
    )


def partitions_of(table: TableConfig) -> dg.DynamicPartitionsDefinition:
    """The partitions of a table, mirrored by the sensor."""
    return dg.DynamicPartitionsDefinition(name=keys.partitions(table.identifier))


def key_of(spec: Mapping[str, str]) -> str:
    """The partition key of a partition, as it is shown: ``day=2026-01-31/hour=7``; no two have the same one."""
    return partition_path(dict(spec)).replace(_FORBIDDEN, "%2E%2E%2E")


def spec_of(key: str) -> dict[str, str]:
    """The other way round."""
    pairs = (part.partition("=") for part in key.split("/"))
    return {unquote(name): unquote(text) for name, _, text in pairs}


def state_metadata(state: PartitionState, snapshot: int) -> dict[str, Any]:
    """A partition as it was at a snapshot: what a run and the sensor both record of it."""
    return {"files": state.files, "bytes": state.bytes, "snapshot": snapshot, _DIGEST: state.digest}


def recorded_digest(event: dg.AssetMaterialization) -> Any:
    """The digest of the partition that an event records, or None."""
    value = event.metadata.get(_DIGEST)
    return None if value is None else value.value


def state_asset(table: TableConfig) -> dg.AssetSpec:
    """The partitions as the table's writers change them; the sensor observes them."""
    return dg.AssetSpec(
        keys.partition_states(table.identifier),
        description=f"The partitions of {table.identifier}; a new data version means that the partition has changed.",
        group_name=keys.asset_key(table.identifier).path[0],
        deps=[keys.asset_key(table.identifier)],
        partitions_def=partitions_of(table),
        kinds={"paimon"},
        owners=list(table.owners) or None,
    )


def compaction_asset(table: TableConfig) -> dg.AssetsDefinition:
    """The compaction of the partitions; materialising some of them rewrites those that are stale."""
    text = f"The snapshot up to which each partition of {table.identifier} is compacted into its top level."
    return _rewriting(table, keys.compaction(table.identifier), text, "compaction", partial(compact, full=True))


def changelog_asset(table: TableConfig) -> dg.AssetsDefinition:
    """The changelog of the partitions; materialising some of them produces what they lack.

    Changes of one key between two runs come as one change: a changelog that is made later is shorter, and as true.
    """
    text = f"The snapshot up to which each partition of {table.identifier} has its changelog; a backfill makes it."
    return _rewriting(table, keys.changelog(table.identifier), text, "changelog", produce_changelog)


def _rewriting(
    table: TableConfig, key: dg.AssetKey, description: str, step: str, operation: Callable[..., CompactReport]
) -> dg.AssetsDefinition:
    """An asset over the table's partitions, which an operation rewrites; a backfill is one run."""

    @dg.asset(
        key=key,
        description=description,
        group_name=keys.asset_key(table.identifier).path[0],
        deps=[dg.AssetDep(keys.partition_states(table.identifier), partition_mapping=dg.IdentityPartitionMapping())],
        partitions_def=partitions_of(table),
        backfill_policy=dg.BackfillPolicy.single_run(),
        kinds={"paimon", "spark"},
        owners=list(table.owners) or None,
        pool=keys.pool(table.identifier),
        op_tags={"paimon/table": table.identifier, "paimon/action": key.path[-1]},
    )
    def rewritten(
        context: dg.AssetExecutionContext, config: PartitionCompactConfig, catalog: PaimonCatalog, spark: Spark
    ) -> dg.MaterializeResult:
        with as_dagster_failure(context, lambda: catalog.place_of(table.identifier)):
            return _rewritten(context, config, catalog, spark, table, step, operation)

    return rewritten


def _rewritten(
    context: dg.AssetExecutionContext,
    config: PartitionCompactConfig,
    catalog: PaimonCatalog,
    spark: Spark,
    table: TableConfig,
    step: str,
    operation: Callable[..., CompactReport],
) -> dg.MaterializeResult:
    """Run an operation over the partitions of a run; those in which nothing is to be done cost nothing."""
    opened = catalog.get_table(table.identifier).of_run(context.run.run_id).copy(table.compaction.conduct)
    specs, absent = _existing(context, opened)
    plan = operation(None, opened, partitions=specs, dry_run=True)
    stale = {group.partition for group in plan.groups if group.outcome == PLANNED}
    context.log.info(f"{len(stale):,} of {number_of(len(specs), 'partition')} stale")
    report = operation(
        spark.session() if stale else None,  # Spark is not started for nothing
        opened,
        partitions=specs,
        max_retries=config.max_retries,
        progress=context.log.info,
    )
    check_groups(report.groups)
    facts = {**report_numbers(report), "input_bytes": sum(group.input_bytes for group in report.groups)}
    summary = RunSummary.of(step, StepSummary(facts, shape_numbers(report.before)))
    keep_summary(context.op_execution_context, catalog, table.identifier, report.after, summary)
    _record_states(context, partition_states(opened))
    numbers = {"partitions": len(specs), "partitions rewritten": len(stale), **absent, **spark.metadata()}
    version = dg.DataVersion(data_version(opened, report.compacted_through))
    return dg.MaterializeResult(metadata={**numbers, **report_metadata(report)}, data_version=version)


def _existing(context: dg.AssetExecutionContext, table: Table) -> tuple[list[PartitionValue], dict[str, Any]]:
    """The partitions of the run that the table has, and metadata about those that it has not.

    Others may have been dropped since the keys were mirrored. Raises: NotFoundError: all of them are missing.
    """
    names = partition_names(table)
    specs = [names.shown(spec_of(key)) for key in context.partition_keys]
    missing = missing_partitions(table, specs)
    if not missing:
        return specs, {}
    error = not_found(table, missing)
    if len(missing) == len(specs):
        raise error
    context.log.warning(str(error))
    absent = [partition_path(dict(spec)) for spec in missing]
    return [spec for spec in specs if spec not in missing], {
        "partitions that do not exist": dg.MetadataValue.json(absent)
    }


def _record_states(context: dg.AssetExecutionContext, observed: PartitionStates) -> None:
    """Give each partition of the run its own numbers; those of the report are of all of them."""
    states = {key_of(state.spec): state for state in observed.partitions}
    for key in context.partition_keys:
        if key in states and observed.snapshot is not None:
            context.add_asset_metadata(state_metadata(states[key], observed.snapshot.id), partition_key=key)
