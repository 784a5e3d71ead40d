"""Which options of a table that holds data may change. Source: Java `SchemaManager.checkAlterTableOption`."""

from collections.abc import Mapping

from maintenance.options.table import DELETION_VECTORS_MODIFIABLE, IMMUTABLE

_NEVER = frozenset({"type", "path"})
_ONE_WAY = frozenset({"ignore-delete", "ignore-update-before"})


def may_change_option(key: str, new: str | None, options: Mapping[str, str], *, has_snapshot: bool) -> bool:
    """Whether an option may get another value. `new`: None = unset; `options`: as they are."""
    old = options.get(key)
    if key in _NEVER:
        return False
    if not has_snapshot:
        return True
    if key in IMMUTABLE:
        return False
    if key == "bucket":
        return new is not None and "-1" not in (new.strip(), (old or "-1").strip())
    if key == "deletion-vectors.enabled":
        return DELETION_VECTORS_MODIFIABLE.of(options) or _is_true(old) == _is_true(new)
    # Unsetting them is allowed, though it does the same.
    return not (key in _ONE_WAY and _is_true(old) and new is not None and not _is_true(new))


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() == "true"
