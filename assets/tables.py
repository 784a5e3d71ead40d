"""Each table as an asset: a graph whose steps are the operations of `project/chain.py` that apply to it, and a page.

A table that others write, one without a landing folder, is maintained in the same way: its chain starts with the
compaction. What others commit is reported to its asset by a sensor.

A materialized table is refreshed much more often than it needs maintenance: its asset is the refresh, and the rest of
the chain runs by itself.
"""

from dataclasses import dataclass
from typing import Any, Self

import dagster as dg

from maintenance.project.config import TableConfig
from paimon_maintenance.assets import keys
from paimon_maintenance.assets.pages import catalogue
from paimon_maintenance.assets.steps.chain import (
    COMPACT,
    COMPACTION,
    EXPIRY,
    INGEST,
    REFRESH,
    NamedOp,
    applies,
    chain,
)
from paimon_maintenance.assets.steps.ops import DESCRIBE, RECORD, ChainOp
from paimon_maintenance.assets.steps.step import Step

# The input from the landing folder's asset, only for the lineage: the ingestion lists the folder itself.
_LANDED = "landed"


@dataclass(frozen=True)
class TableSteps:
    """The steps of one table. They are made once, since the asset and the jobs share them."""

    table: TableConfig
    ingestion: tuple[NamedOp, ...]
    refresh: tuple[NamedOp, ...]
    compaction: tuple[NamedOp, ...]
    expiry: tuple[NamedOp, ...]
    describe: NamedOp
    record: NamedOp

    @classmethod
    def of(cls, table: TableConfig) -> Self:
        """The steps that apply to `table`."""
        above = {name: dg.In(dg.Nothing) for name in _above(table)}
        # Dagster takes what an asset depends on from the inputs of its first step.
        first = INGEST if table.landing else REFRESH if table.materialized else COMPACT

        def of(*steps: Step) -> tuple[NamedOp, ...]:
            made = [ChainOp.of(step, above if step is first else {}) for step in steps if applies(step, table)]
            return tuple(op.of_table(table) for op in made)

        return cls(
            table,
            ingestion=of(INGEST),
            refresh=of(REFRESH),
            compaction=of(*COMPACTION),
            expiry=of(*EXPIRY),
            describe=DESCRIBE.of_table(table),
            record=RECORD.of_table(table),
        )


def _above(table: TableConfig) -> dict[str, dg.AssetKey]:
    """What a table is made from: the name of the first step's input -> asset."""
    if table.landing:
        return {_LANDED: keys.landing(table.identifier)}
    return {f"made_from_{number}": keys.asset_key(name) for number, name in enumerate(table.lineage)}


def table_asset(steps: TableSteps) -> dg.AssetsDefinition:
    """The asset of a table. Materialising it runs the whole chain; of a materialized table the refresh alone."""
    table = steps.table
    key = keys.asset_key(table.identifier)

    def asset(**above: Any) -> Any:
        made = steps.refresh or (*steps.ingestion, *steps.compaction, *steps.expiry)
        return chain([*made, steps.describe], above)

    return dg.graph_asset(
        name=key.path[-1],
        key_prefix=key.path[:-1],
        ins={name: dg.AssetIn(made_from, dagster_type=dg.Nothing) for name, made_from in _above(table).items()},
        description=catalogue.description(table),
        group_name=key.path[0],
        owners=list(table.owners) or None,
        metadata=catalogue.standing_metadata(table),
        kinds=catalogue.kinds(table),
        tags=catalogue.tags(table),
    )(asset)


def alone(asset: dg.AssetSpec) -> dg.AssetsDefinition:
    """An asset that nothing here materialises, as a definition of its own.

    Dagster puts all specs that it is given into one, and each job about an asset of it copies that whole: with a
    thousand tables, a thousand times a thousand assets.
    """
    return dg.AssetsDefinition(specs=[asset])
