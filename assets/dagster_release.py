"""What releases of Dagster call otherwise, or do not allow yet."""

import dagster as dg

# Before 1.12 a policy of the same name was another thing.
if tuple(map(int, dg.__version__.split(".")[:2])) >= (1, 12):
    from dagster import FreshnessPolicy
else:
    from dagster.preview.freshness import FreshnessPolicy

__all__ = ["FreshnessPolicy", "pool_name"]


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
