"""Partitions as statements write them: columns and literals, of which NULL is one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from maintenance.errors import DataError, SqlError
from maintenance.metadata.partition_names import PartitionNames
from maintenance.metadata.partition_path import partition_text
from maintenance.metadata.partition_value import PartitionValue
from maintenance.spelling import suggestion
from maintenance.sql.cursor import Cursor
from maintenance.table.partitions import live_partitions, partition_names
from maintenance.table.table import Table
from maintenance.types.values import Value


@dataclass(frozen=True, slots=True)
class PartitionLiteral:
    """A value of a partition column. `text`: None = NULL."""

    text: str | None


Written = Mapping[str, PartitionLiteral]


def read_spec(cursor: Cursor) -> dict[str, PartitionLiteral]:
    """A partition: ``(a = 1, b = 'x', c = NULL)``."""

    def column() -> tuple[str, PartitionLiteral]:
        name = cursor.name("the name of a partition column")
        cursor.expect("=")
        return name, _literal(cursor)

    return dict(cursor.listed(column))


def read_partition(cursor: Cursor) -> dict[str, PartitionLiteral | None]:
    """``(a = 1, b)``: None for a column without a value."""

    def column() -> tuple[str, PartitionLiteral | None]:
        name = cursor.name("the name of a partition column")
        return name, _literal(cursor) if cursor.take("=") else None

    return dict(cursor.listed(column))


def _literal(cursor: Cursor) -> PartitionLiteral:
    if cursor.take("NULL"):
        return PartitionLiteral(None)
    if cursor.take("DATE") or cursor.take("TIMESTAMP"):
        return PartitionLiteral(cursor.string())
    return PartitionLiteral(cursor.option_value())


def texts_of(written: Written) -> dict[str, str | None]:
    """Columns and texts, None for NULL."""
    return {name: literal.text for name, literal in written.items()}


def partition_of(table: Table, written: Written) -> PartitionValue:
    """The partition, or those, that a statement names. Raises: DataError: it names none, or may name several."""
    return _checked(table, written).chosen([texts_of(written)])[0]


def target_of(table: Table, written: Written, *, replaced: bool) -> PartitionValue:
    """The partition that rows are written to.

    Without `replaced` nothing is lost, and a literal is the value itself, as in Flink and Spark.
    Raises: DataError, as `partition_of`.
    """
    names, texts = _checked(table, written), texts_of(written)
    return names.chosen([texts], may_be_new=True)[0] if replaced else names.values(texts)


def folder_texts(table: Table, written: Written) -> dict[str, str]:
    """The texts of a partition's folder, which is all that catalogs know of it. Raises: DataError."""
    _checked(table, written)
    # Whichever of several is meant has the same folder.
    (partition,) = PartitionNames(table.paths, f"table {table.identifier}").chosen([texts_of(written)])
    return table.paths.folder_texts(partition)


def newest_partition(table: Table) -> str:
    """The largest value of the first partition column, as a cast shows it; null is none. Raises: SqlError: no value."""
    first = table.schema.partition_keys[:1]
    values = [table.paths.partition(row).values_by_name[name] for row in live_partitions(table) for name in first]
    largest = max((value for value in values if value is not None), key=_order, default=None)
    if largest is None:
        raise SqlError(f"table '{table.identifier}' has no partition", "query", "Name a table that has one.")
    return partition_text(largest, table.schema.partition_fields[0].type, legacy=False)


def _order(value: Value) -> tuple[bool, Any]:
    """What is not a number is larger than all numbers, as in Java."""
    return isinstance(value, float) and math.isnan(value), value


def _checked(table: Table, written: Written) -> PartitionNames:
    keys = table.schema.partition_keys
    for name in written:
        if name not in keys:
            raise DataError(
                f"'{name}' is not a partition column",
                f"table {table.identifier}",
                f"They are: {', '.join(keys) or 'none'}.{suggestion(name, keys)}",
            )
    return partition_names(table)
