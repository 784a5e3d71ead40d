"""What releases of Dagster call otherwise, or do not allow yet; and what it has under private names alone."""

from typing import Any

import dagster as dg
from dagster import AssetCheckEvaluation
from dagster._core.execution.plan.instance_concurrency_context import InstanceConcurrencyContext
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

# Before 1.12 a policy of the same name was another thing.
if tuple(map(int, dg.__version__.split(".")[:2])) >= (1, 12):
    from dagster import FreshnessPolicy
else:
    from dagster.preview.freshness import FreshnessPolicy

# Checks have partitions in later releases alone.
CHECKS_HAVE_PARTITIONS = "partition" in getattr(AssetCheckEvaluation, "_fields", ())
__all__ = [
    "CHECKS_HAVE_PARTITIONS",
    "AssetCheckExecutionRecordStatus",
    "FreshnessPolicy",
    "InstanceConcurrencyContext",
    "of_partition",
    "partition_filter",
    "pool_name",
]


def of_partition(partition: str | None) -> dict[str, str]:
    """The argument of a check's result that says of which partition it is."""
    return {} if partition is None else {"partition": partition}


def partition_filter(partition: str | None, *, unpartitioned: bool = False) -> dict[str, Any]:
    """The argument that chooses the results of a check of one partition; of None: all, or those of no partition."""
    if partition is None and not unpartitioned:
        return {}
    from dagster._core.event_api import PartitionKeyFilter

    return {"partition_filter": PartitionKeyFilter(key=partition)}


def _is_allowed(pool: str) -> bool:
    try:
        dg.OpDefinition(compute_fn=lambda: None, name="op", pool=pool)
    except dg.DagsterInvalidDefinitionError:
        return False
    return True


_TAKES_ALL_NAMES = _is_allowed("a/b.c")


def pool_name(name: str) -> str:
    """The name of a pool; releases before 1.13 take letters, digits and underscores alone."""
    return name if _TAKES_ALL_NAMES else name.replace("/", "_").replace(".", "_")
