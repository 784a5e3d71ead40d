"""The steps of a table's chain, in order: which there are, which apply to a table, and how they are connected."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import dagster as dg

from maintenance.project.chain import operations_of
from maintenance.project.config import TableConfig
from paimon_maintenance.assets.steps.compaction import CHANGELOG, COMPACT, FILE_INDEX
from paimon_maintenance.assets.steps.expiry import EXPIRE_PARTITIONS, EXPIRE_SNAPSHOTS, EXPIRE_TAGS, ORPHANS, TAG
from paimon_maintenance.assets.steps.step import Step

# The short name of a step, and its op.
NamedOp = tuple[str, dg.OpDefinition]
# The steps of each part of the chain, as far as they apply to a table.
COMPACTION = (COMPACT, CHANGELOG, FILE_INDEX)
EXPIRY = (TAG, EXPIRE_PARTITIONS, EXPIRE_SNAPSHOTS, EXPIRE_TAGS, ORPHANS)


def applies(step: Step, table: TableConfig) -> bool:
    """Whether a table has that step."""
    return step.operation.name in operations_of(table)


def chain(steps: Sequence[NamedOp], above: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Connect the steps inside a graph's body, each under its short name; returns the last one's output.

    `above`: the graph's inputs, for the first step.
    """
    (name, first), *others = steps
    summary = first.alias(name)(**above)
    for name, step in others:
        summary = step.alias(name)(summary)
    return summary
