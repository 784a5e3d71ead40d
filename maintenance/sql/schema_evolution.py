"""Spark's `spark.paimon.write.merge-schema`: the columns of a table follow the rows that are written by name.

Source: Java `SchemaEvolutionHelper` of Spark's connector.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from maintenance.errors import SqlError
from maintenance.metastore.schema_change import ColumnChange
from maintenance.metastore.schema_evolution import changed_schema
from maintenance.metastore.schema_merging import Merging
from maintenance.sql.by_name import ByName
from maintenance.sql.expressions.kinds import is_storable, plain
from maintenance.sql.settings import MERGES_SCHEMA, WIDENS_TYPES, WIDENS_WITH_LOSS
from maintenance.table.table import Table
from maintenance.types.data_type import DataField, DataType

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState

_MICRO_DIGITS = 6


def merging_of(session: "SessionState") -> Merging | None:
    """What of a schema follows the rows; None: nothing does."""

    def is_on(key: str) -> bool:
        return session.settings.get(key, "false").lower() == "true"

    if not is_on(MERGES_SCHEMA):
        return None
    return Merging(is_on(WIDENS_TYPES), is_on(WIDENS_WITH_LOSS), is_case_sensitive(session))


def is_case_sensitive(session: "SessionState") -> bool:
    """Whether names that differ only in case are different ones."""
    if session.dialect == "flink":
        return True
    return session.settings.get("spark.sql.caseSensitive", "false").lower() == "true"


def by_name(session: "SessionState", where: str) -> ByName:
    """How the rows of a statement meet the columns of a table."""
    return ByName(where, merging_of(session), is_case_sensitive(session))


def schema_changes(table: Table, given: Sequence[DataField], merging: Merging) -> list[ColumnChange]:
    """What rows of these columns change. Raises: SchemaError: types do not go together; SqlError: one has no type."""
    where = f"table {table.identifier}"
    typed = [replace(field, type=_stored(field.type)) for field in given]
    changes = merging.changes(table.schema.fields, typed, where)
    names = {field.name.lower() for field in table.schema.fields}
    for field in typed:
        if field.name.lower() not in names and not is_storable(field.type):
            fix = "Cast it in the query."
            raise SqlError(f"the new column '{field.name}' would be {field.type}, which no table has", where, fix)
    return changes


def changed_fields(table: Table, changes: Sequence[ColumnChange]) -> Sequence[DataField]:
    """The columns of a table after changes that are not made yet. Raises: SchemaError: one is not allowed."""
    if not changes:
        return table.schema.fields
    return changed_schema(table.schema, changes, str(table.identifier), has_snapshot=True, time_millis=0).fields


def change_columns(session: "SessionState", path: tuple[str, ...], changes: Sequence[ColumnChange]) -> None:
    """Make the changes, on the branch that is set. Raises: as of ALTER TABLE."""
    if changes:
        catalog = session.catalog_of(session.table_name(path).catalog)
        catalog.change_table(session.identifier_of_branch(path), changes)


def _stored(kind: DataType) -> DataType:
    """The type of a column for values of a query, in which Spark has no lengths, and microseconds alone."""
    return _in_micros(plain(kind))


def _in_micros(kind: DataType) -> DataType:
    if kind.is_timestamp:
        return replace(kind, precision=_MICRO_DIGITS)
    element, key, value = (part and _in_micros(part) for part in (kind.element, kind.key, kind.value))
    fields = tuple(replace(field, type=_in_micros(field.type)) for field in kind.fields)
    return replace(kind, element=element, key=key, value=value, fields=fields)
