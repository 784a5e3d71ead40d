"""Partitions as statements write them: columns and literals, of which NULL is one."""

import decimal
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa

from maintenance.errors import DataError, SqlError
from maintenance.metadata.partition_names import PartitionNames
from maintenance.metadata.partition_path import escape, partition_text
from maintenance.metadata.partition_value import PartitionValue
from maintenance.predicate.moments import NANOS_PER_SECOND, nanos_of_text, text_of_nanos
from maintenance.spelling import meant, suggestion
from maintenance.sql.cursor import Cursor
from maintenance.sql.dialects import Flink
from maintenance.table.format_table import FormatTable
from maintenance.table.partitions import partition_names, readable_partitions
from maintenance.table.table import Table
from maintenance.types.casts.float_text import float_texts
from maintenance.types.casts.zones import instants_of
from maintenance.types.data_type import DataField, DataType
from maintenance.types.values import Value


@dataclass(frozen=True, slots=True)
class PartitionLiteral:
    """A value of a partition column.

    Attributes: `text`: None = NULL; `is_moment`: it is written as a TIMESTAMP; `fills_char`: a CHAR gets blanks.
    """

    text: str | None
    is_moment: bool = False
    fills_char: bool = False


Written = Mapping[str, PartitionLiteral]
_V = TypeVar("_V")


def read_spec(cursor: Cursor) -> dict[str, PartitionLiteral]:
    """A partition: ``(a = 1, b = 'x', c = NULL)``."""

    def column() -> tuple[str, PartitionLiteral]:
        name = cursor.name("the name of a partition column")
        cursor.expect("=")
        return name, _literal(cursor)

    return _each_once(cursor, cursor.listed(column))


def read_partition(cursor: Cursor) -> dict[str, PartitionLiteral | None]:
    """``(a = 1, b)``: None for a column without a value."""

    def column() -> tuple[str, PartitionLiteral | None]:
        name = cursor.name("the name of a partition column")
        return name, _literal(cursor) if cursor.take("=") else None

    return _each_once(cursor, cursor.listed(column))


def _each_once(cursor: Cursor, columns: Iterable[tuple[str, _V]]) -> dict[str, _V]:
    """Raises: SqlError: a column is given twice."""
    found: dict[str, _V] = {}
    for name, value in columns:
        if name in found:
            token = cursor.find("column", name, last=True)
            raise cursor.error(f"column '{name}' is given twice", "Give it once.", token=token)
        found[name] = value
    return found


def _literal(cursor: Cursor) -> PartitionLiteral:
    if cursor.take("NULL"):
        return PartitionLiteral(None)
    if cursor.take("DATE"):
        return PartitionLiteral(cursor.string())
    if cursor.take("TIMESTAMP"):
        return PartitionLiteral(cursor.string(), is_moment=True)
    number = cursor.number()
    if number is not None:
        return PartitionLiteral(_number_text(number))
    return PartitionLiteral(cursor.option_value(), fills_char=cursor.source.dialect is not Flink)


def by_own_names(written: Mapping[str, _V], columns: Collection[str], where: str) -> dict[str, _V]:
    """What is written of columns, under the names that the columns have; what names none of them stays.

    Raises: DataError: two names mean the same column.
    """
    found: dict[str, _V] = {}
    for name, value in written.items():
        matches = meant(columns, name)
        own = matches[0] if len(matches) == 1 else name
        if own in found:
            raise DataError(f"column '{own}' is given twice", where, "Give it once.")
        found[own] = value
    return found


def _number_text(number: str) -> str:
    """A number as a cast to a text gives it: ``05`` is 5. Source: Spark's `visitStringConstant`; Flink's literals."""
    if "e" in number.lower():
        return str(float_texts(pa.array([float(number)]))[0])
    return format(decimal.Decimal(number), "f") if "." in number else str(int(number))


def partition_of(table: Table, written: Written, zone: str) -> PartitionValue:
    """The partition, or those, that a statement names.

    Args: `zone`: of the session, for what is written as a TIMESTAMP; texts are read as folders and reports show them.
    Raises: DataError: it names none, or may name several.
    """
    return partition_names(table).chosen([_texts(table, written, zone)])[0]


def target_of(table: Table, written: Written, zone: str, *, replaced: bool) -> PartitionValue:
    """The partition that rows are written to.

    Without `replaced` nothing is lost, and a literal is the value itself, as in Flink and Spark.
    Raises: DataError, as `partition_of`.
    """
    names, texts = partition_names(table), _texts(table, written, zone)
    return names.chosen([texts], may_be_new=True)[0] if replaced else names.values(texts)


def folder_texts(table: Table, written: Written, zone: str) -> dict[str, str]:
    """The texts of a partition's folder, which is all that catalogs know of it. Raises: DataError."""
    # Whichever of several is meant has the same folder.
    names = PartitionNames(table.paths, f"table {table.identifier}")
    (partition,) = names.chosen([_texts(table, written, zone)])
    return table.paths.folder_texts(partition)


def newest_partition(table: Table | FormatTable, zone: str) -> str:
    """The largest value of the first partition column, as Spark casts it to a text; null is none.

    Args: `zone`: of the session. Raises: SqlError: there is no value.
    """
    largest = max((value for value in _first_values(table) if value is not None), key=_order, default=None)
    if largest is None:
        raise SqlError(f"table '{table.identifier}' has no partition", "query", "Name a table that has one.")
    return _spark_text(largest, table.schema.field(table.schema.partition_keys[0]).type, zone)


def spark_name(partition: Mapping[str, Value], fields: Iterable[DataField], zone: str) -> list[str]:
    """A partition as Spark's statements print it: ``name=value`` for each column, which are no folders of Paimon.

    Args: `partition`: columns to values; `zone`: of the session.
    """
    return [f"{_escaped(f.name)}={_escaped(_spark_text(partition[f.name], f.type, zone))}" for f in fields]


def _spark_text(value: Value, data_type: DataType, zone: str) -> str:
    """A value as Spark casts it to a text."""
    if value is None:
        return "null"
    text = partition_text(value, data_type, legacy=False, zone=zone)
    return text.rstrip("0").rstrip(".") if data_type.is_timestamp and "." in text else text


def _escaped(text: str) -> str:
    # Of what Paimon escapes in folders, Spark leaves the brace. Colons stay, so that the text of a time is one.
    return escape(text).replace("%7D", "}").replace("%3A", ":")


def _first_values(table: Table | FormatTable) -> list[Value]:
    """Of the first partition column, one for each partition."""
    keys = table.schema.partition_keys
    if not keys:
        return []
    if isinstance(table, Table):
        return [table.paths.partition(row).values_by_name[keys[0]] for row in readable_partitions(table)]
    return [table.partition_values(spec)[keys[0]] for spec, *_ in table.partitions()]


def _order(value: Value) -> tuple[bool, Any]:
    """What is not a number is larger than all numbers, as in Java."""
    return isinstance(value, float) and math.isnan(value), value


def _texts(table: Table, written: Written, zone: str) -> dict[str, str | None]:
    """Columns and texts, None for NULL. Raises: DataError: one is not a partition column."""
    fields = {field.name: field.type for field in table.schema.partition_fields}
    found = by_own_names(written, fields, f"table {table.identifier}")
    for name in found:
        if name not in fields:
            raise DataError(
                f"'{name}' is not a partition column",
                f"table {table.identifier}",
                f"They are: {', '.join(fields) or 'none'}.{suggestion(name, fields)}",
            )
    return {name: _text(literal, fields[name], zone) for name, literal in found.items()}


def _text(literal: PartitionLiteral, kind: DataType, zone: str) -> str | None:
    if literal.text is not None and literal.fills_char and kind.root == "CHAR":
        return literal.text.ljust(kind.length or 1)
    if literal.text is None or not literal.is_moment or kind.root != "TIMESTAMP_LTZ":
        return literal.text
    return _with_zone(literal.text, zone)


def _with_zone(text: str, zone: str) -> str:
    """A time of the session's clock as one of UTC; of two that the clock reads the earlier one, as in Spark."""
    try:
        nanos, is_zoned = nanos_of_text(text)
    except ValueError:
        return text  # whoever reads the text says what is wrong with it
    if is_zoned:
        return text
    seconds, rest = divmod(nanos, NANOS_PER_SECOND)
    (instant,) = instants_of(pa.array([seconds], pa.timestamp("s")), zone).cast(pa.int64()).to_pylist()
    return f"{text_of_nanos(instant * NANOS_PER_SECOND + rest)}Z"
