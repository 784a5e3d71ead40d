"""Changes of a table's definition. Source: Java `SchemaChange`, `SchemaManager`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maintenance.catalog.validation import validate
from maintenance.errors import SchemaError
from maintenance.format.schema import TableSchema
from maintenance.options.table import IMMUTABLE


@dataclass(frozen=True, slots=True)
class SetOption:
    """Set a table option."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class RemoveOption:
    """Unset a table option."""

    key: str


SchemaChange = SetOption | RemoveOption


def changed_schema(
    schema: TableSchema, changes: Sequence[SchemaChange], table: str, *, has_snapshot: bool, time_millis: int
) -> TableSchema:
    """The next schema. Raises: SchemaError: a change is not allowed; OptionError, UnsupportedError: of a value."""
    options = dict(schema.options)
    for change in changes:
        _check_option(change, options, table, has_snapshot=has_snapshot)
        if isinstance(change, SetOption):
            options[change.key] = str(change.value)
        else:
            options.pop(change.key, None)
    result = replace(schema, id=schema.id + 1, options=options, time_millis=time_millis, version=3)
    validate(result, table)
    return result


def _check_option(change: SchemaChange, options: dict[str, str], table: str, *, has_snapshot: bool) -> None:
    old = options.get(change.key)
    new = change.value if isinstance(change, SetOption) else None
    if old == new:
        return
    refused = change.key in ("type", "path", "branch") or (has_snapshot and change.key in IMMUTABLE)
    if has_snapshot and change.key == "bucket":
        refused = new is None or "-1" in (new, old or "-1")
    if change.key in ("ignore-delete", "ignore-update-before") and (old or "").lower() == "true":
        refused = has_snapshot
    if change.key == "deletion-vectors.enabled" and has_snapshot:
        refused = options.get("deletion-vectors.modifiable", "false").lower() != "true"
    if refused:
        raise SchemaError(
            f"option '{change.key}' cannot change from '{old}' to '{new}'",
            f"table {table}",
            "Create a new table with the option and copy the data.",
        )
