"""Which options of a table that holds data may change. Source: Java `SchemaManager.checkAlterTableOption`."""

from collections.abc import Mapping

from maintenance.options.table import (
    CLUSTERING_COLUMNS,
    DELETION_VECTORS_ENABLED,
    DELETION_VECTORS_MODIFIABLE,
    IMMUTABLE,
    PK_CLUSTERING_OVERRIDE,
)

_NEVER = frozenset({"type", "path"})
_ONE_WAY = frozenset({"ignore-delete", "ignore-update-before"})
_COPY = "Create a new table with the option and copy the data."
_VECTORS = (
    f"Set '{DELETION_VECTORS_MODIFIABLE.key}' = 'true' first, and compact the table fully right after the change: "
    "until then reads may return replaced rows."
)


def fix_of_change(key: str, new: str | None, options: Mapping[str, str], *, has_snapshot: bool) -> str | None:
    """What to do instead if an option may not get another value; None if it may.

    Args: `new`: None = unset; `options`: as they are.
    """
    old = options.get(key)
    if key in _NEVER:
        return _COPY
    if not has_snapshot:
        return None
    if key == DELETION_VECTORS_ENABLED.key:
        may = DELETION_VECTORS_MODIFIABLE.of(options) or _is_true(old) == _is_true(new)
        return None if may else _VECTORS
    return None if _may_change(key, old, new, options) else _COPY


def _may_change(key: str, old: str | None, new: str | None, options: Mapping[str, str]) -> bool:
    if key in IMMUTABLE:
        return False
    if key == "bucket":
        return new is not None and "-1" not in (new.strip(), (old or "-1").strip())
    if key == CLUSTERING_COLUMNS.key and PK_CLUSTERING_OVERRIDE.of(options):
        return False
    # Unsetting them is allowed, though it does the same.
    return not (key in _ONE_WAY and _is_true(old) and new is not None and not _is_true(new))


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() == "true"
