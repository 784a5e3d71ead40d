"""Which options of a table that holds data may change. Source: Java `SchemaManager.checkAlterTableOption`."""

from collections.abc import Mapping

from maintenance.errors import SchemaError
from maintenance.format.schema import TableSchema
from maintenance.options.table import IMMUTABLE

_NEVER = ("type", "path", "branch")
_ONE_WAY = ("ignore-delete", "ignore-update-before")


def check_option(
    key: str, new: str | None, schema: TableSchema, options: Mapping[str, str], *, has_snapshot: bool
) -> bool:
    """Whether the option changes at all. `new`: None = unset; `options`: as they are so far.

    Raises: SchemaError: the change is not allowed.
    """
    old = options.get(key)
    if old == new or _is_same_key(key, new, schema):
        return False
    if key in _NEVER or (has_snapshot and _is_refused(key, old, new, options)):
        raise SchemaError(
            f"option '{key}' cannot change from '{old}' to '{new}'",
            "options",
            "Create a new table with the option and copy the data.",
        )
    return True


def _is_refused(key: str, old: str | None, new: str | None, options: Mapping[str, str]) -> bool:
    if key in IMMUTABLE:
        return True
    if key == "bucket":
        return new is None or "-1" in (new.strip(), (old or "-1").strip())
    if key == "deletion-vectors.enabled":
        return not _is_true(options.get("deletion-vectors.modifiable")) and _is_true(old) != _is_true(new)
    # Unsetting them is allowed, though it does the same.
    return key in _ONE_WAY and _is_true(old) and new is not None and not _is_true(new)


def _is_same_key(key: str, new: str | None, schema: TableSchema) -> bool:
    """Whether `primary-key` or `partition` is set to what it is: as options they do not stay."""
    keys = {"primary-key": schema.primary_keys, "partition": schema.partition_keys}.get(key)
    return keys is not None and new is not None and tuple(part.strip() for part in new.split(",")) == keys


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() == "true"
