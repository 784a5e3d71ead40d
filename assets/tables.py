"""Each table as an asset: a graph whose steps are the operations, in the order in which they may run.

ingestion -> compaction -> changelog -> file index -> tag -> expiry of partitions, snapshots, tags -> description

The asset of a table that others write, one without a landing folder, is not a graph but external: the sensor reports
each new snapshot to it, and the jobs do the maintenance.

A step that does not apply to a table is left out: no landing folder, no ingestion; no changelog producer, no changelog;
no indexed columns, no file index; no time for its partitions, no expiry of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from zoneinfo import ZoneInfo

import dagster as dg

from assets import keys
from assets.pages import catalogue
from assets.project.config import TableConfig
from assets.steps.compaction import CHANGELOG, COMPACT, FILE_INDEX
from assets.steps.expiry import EXPIRE_PARTITIONS, EXPIRE_SNAPSHOTS, EXPIRE_TAGS, TAG
from assets.steps.ingestion import INGEST, LANDED
from assets.steps.ops import describe_op, record_op, step_op
from assets.steps.step import Step

# The short name of a step, and its op.
NamedOp = tuple[str, dg.OpDefinition]


@dataclass(frozen=True)
class TableSteps:
    """The steps of one table. They are made once, since the asset and the jobs share them."""

    table: TableConfig
    ingestion: tuple[NamedOp, ...]
    compaction: tuple[NamedOp, ...]
    expiry: tuple[NamedOp, ...]
    describe: NamedOp
    record: NamedOp

    @classmethod
    def of(cls, table: TableConfig, zone: ZoneInfo) -> Self:
        """The steps that apply to `table`; `zone`: where the days of its tags begin."""

        def of(*steps: Step) -> tuple[NamedOp, ...]:
            return tuple((step.name, step_op(step, table, zone)) for step in steps)

        changelog = of(CHANGELOG) if table.writes_changelog else ()
        indexes = of(FILE_INDEX) if table.has_file_index else ()
        partitions = of(EXPIRE_PARTITIONS) if table.may_expire_partitions else ()
        return cls(
            table,
            ingestion=of(INGEST) if table.landing else (),
            compaction=(*of(COMPACT), *changelog, *indexes),
            expiry=(*of(TAG), *partitions, *of(EXPIRE_SNAPSHOTS, EXPIRE_TAGS)),
            describe=("describe", describe_op(table)),
            record=("record", record_op(table)),
        )


def chain(steps: Sequence[NamedOp], landed: Any = None) -> Any:
    """Connect the steps inside a graph's body, each under its short name; returns the last one's output.

    `landed`: the graph's input from the landing folder, where the first step is the ingestion.
    """
    (name, first), *others = steps
    account = first.alias(name)() if landed is None else first.alias(name)(**{LANDED: landed})
    for name, step in others:
        account = step.alias(name)(account)
    return account


def table_asset(steps: TableSteps) -> dg.AssetsDefinition | dg.AssetSpec:
    """The asset of a table. Materialising it runs the whole chain; that of a table which others write only shows it."""
    table = steps.table
    key = keys.asset_key(table.identifier)
    owners = list(table.owners) or None
    if table.is_external:
        return dg.AssetSpec(
            key,
            deps=[keys.asset_key(upstream) for upstream in table.lineage],
            description=catalogue.description(table),
            group_name=key.path[0],
            owners=owners,
            metadata=catalogue.standing_metadata(table),
            kinds=catalogue.kinds(table),
            tags=catalogue.tags(table),
        )

    @dg.graph_asset(
        name=key.path[-1],
        key_prefix=key.path[:-1],
        ins={LANDED: dg.AssetIn(keys.landing(table.identifier), dagster_type=dg.Nothing)},
        description=catalogue.description(table),
        group_name=key.path[0],
        owners=owners,
        metadata=catalogue.standing_metadata(table),
        kinds=catalogue.kinds(table),
        tags=catalogue.tags(table),
    )
    def asset(landed: Any) -> Any:
        return chain([*steps.ingestion, *steps.compaction, *steps.expiry, steps.describe], landed)

    return asset


def alone(asset: dg.AssetsDefinition | dg.AssetSpec) -> dg.AssetsDefinition:
    """The asset as a definition of its own.

    Dagster puts all specs that it is given into one, and each job about an asset of it copies that whole: with a
    thousand tables, a thousand times a thousand assets.
    """
    return dg.AssetsDefinition(specs=[asset]) if isinstance(asset, dg.AssetSpec) else asset
