"""The partitions of a materialized table that a refresh replaces, and how its query is held to their rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlglot import exp

from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.rows.binary_row import parse_row, serialize_row
from maintenance.metadata.partition_value import PartitionValue
from maintenance.sql.materialized.alignment import Alignment
from maintenance.table.partitions import partition_names
from maintenance.table.table import Table
from maintenance.types.data_type import DataType
from maintenance.types.time_pattern import text_by_pattern
from maintenance.types.values import Value, text_of_value

MOST = 1000
"""A refresh of more partitions than these refreshes the whole table."""
_TEXTS = ("CHAR", "VARCHAR", "STRING")
_NUMBERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")
_LITERALS = (*_TEXTS, *_NUMBERS, "DATE", "BOOLEAN")
_MINUTES = 100_000
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Choices:
    """Partitions to replace, by some of the partition columns or all; None = the whole table, since `why`."""

    choices: tuple[PartitionValue, ...] | None
    why: str = ""


# Which columns of a source say the partition: partition column of the table -> column of the source.
Projection = Mapping[str, str]


def projections_of(table: Table, source: Table, alignment: Alignment, relations: frozenset[str]) -> list[Projection]:
    """How partitions of a source become those of a table, for each way in which the query reads it; empty: they do not.

    Args: `relations`: the names of the source in the query.
    """
    outputs = {f.name: number for number, f in enumerate(table.schema.fields) if f.name in table.schema.partition_keys}
    types = {f.name: f.type.as_nullable() for f in source.schema.fields}
    keys = []
    for name, number in outputs.items():
        carried, wanted = alignment.carried(relations, number), table.schema.fields[number].type.as_nullable()
        if carried is not None and wanted.root in _LITERALS and all(types.get(column) == wanted for column in carried):
            keys.append((name, number))
    readings = [reading for reading in alignment.readings if reading[0] in relations]
    specs = [{name: alignment.columns[number][reading] for name, number in keys} for reading in readings]
    return [dict(items) for items in sorted({tuple(sorted(projection.items())) for projection in specs})]


def touched(table: Table, source: Table, partitions: Iterable[bytes], projections: Sequence[Projection]) -> Choices:
    """The partitions of a table that rows of partitions of a source reach."""
    fields = source.schema.partition_fields
    usable = [
        {name: column for name, column in projection.items() if column in source.schema.partition_keys}
        for projection in projections
    ]
    if not usable or not all(usable):
        return Choices(None, f"the query does not tell which partitions a change in {source.identifier} reaches")
    choices: set[PartitionValue] = set()
    for partition in partitions:
        values = dict(zip((f.name for f in fields), parse_row(partition, [f.type for f in fields]), strict=True))
        choices |= {_choice(table, projection, values) for projection in usable}
    if len(choices) > MOST:
        return Choices(None, f"more than {MOST} partitions have changed")
    return Choices(tuple(sorted(choices, key=lambda choice: tuple(choice.items()))))


def _choice(table: Table, projection: Projection, values: Mapping[str, Value]) -> PartitionValue:
    """The partitions of a table that rows of a source reach. `values`: of the source's partition columns."""
    columns = [field for field in table.schema.partition_fields if field.name in projection]
    reached = [values[projection[field.name]] for field in columns]
    return table.paths.partition_of(columns, serialize_row(reached, [field.type for field in columns]))


def check_literals(table: Table, choice: PartitionValue) -> None:
    """Raises: UnsupportedError: a column of a type whose values have no literal."""
    for field in choice.fields:
        if field.type.root not in (*_LITERALS, "DECIMAL") and choice.values_by_name[field.name] is not None:
            problem = f"partitions by {field.name}, a {field.type}, cannot be refreshed one by one"
            fix = "Refresh the whole table: leave PARTITION out of ALTER MATERIALIZED TABLE … REFRESH."
            raise UnsupportedError(problem, f"table {table.identifier}", fix)


def by_clock(table: Table, formatters: Mapping[str, str], since: datetime, now: datetime) -> Choices:
    """The partitions of a span of time, by the patterns that the table's partition columns are written in.

    Raises: OptionError: a pattern is not supported.
    """
    minutes = int((now - since) / _MINUTE) + 1
    if minutes > _MINUTES:
        return Choices(None, "its last refresh is too long ago to go by the clock")
    choices: dict[PartitionValue, None] = {}
    for number in range(minutes + 1):
        moment = min(since + number * _MINUTE, now)
        try:
            spec = {name: text_by_pattern(moment, pattern) for name, pattern in formatters.items()}
        except ValueError as error:
            where = f"table {table.identifier}"
            raise OptionError(f"a date-formatter cannot be used: {error}", where, "Use another pattern.") from None
        choices[partition_names(table).values(spec)] = None
    return Choices(tuple(choices)) if len(choices) <= MOST else Choices(None, "too many partitions by the clock")


def restricted(tree: exp.Expr, names: Sequence[str], choices: Sequence[PartitionValue]) -> exp.Expr:
    """A query held to the rows of partitions. `names`: of the table's columns, by position those of the query."""
    columns = [exp.to_identifier(name, quoted=True) for name in names]
    alias = exp.TableAlias(this=exp.to_identifier("definition", quoted=True), columns=columns)
    rows = exp.Subquery(this=tree.copy(), alias=alias)
    query: exp.Expr = exp.select("*").from_(rows).where(exp.or_(*map(_condition, choices)))
    return query


def _condition(choice: PartitionValue, columns: Projection | None = None) -> exp.Expr:
    """What the rows of a partition fulfil. `columns`: under other names, those that are not named left out."""
    parts: list[exp.Expr] = []
    for field in choice.fields:
        name = field.name if columns is None else columns.get(field.name)
        if name is not None:
            column, value = exp.column(name, quoted=True), choice.values_by_name[field.name]
            same = exp.EQ(this=column, expression=_literal(value, field.type))
            parts.append(exp.Is(this=column, expression=exp.Null()) if value is None else same)
    return exp.and_(*parts)


def _literal(value: Value, data_type: DataType) -> exp.Expr:
    text = text_of_value(value, data_type)
    if data_type.root in _TEXTS:
        return exp.Literal.string(text)
    if data_type.root in _NUMBERS:
        return exp.Neg(this=exp.Literal.number(text[1:])) if text.startswith("-") else exp.Literal.number(text)
    if data_type.root == "BOOLEAN":
        return exp.Boolean(this=value)
    return exp.cast(exp.Literal.string(text), str(data_type.as_nullable()), dialect="spark")


def reading_condition(choices: Sequence[PartitionValue], projections: Sequence[Projection]) -> str | None:
    """What the rows of a source fulfil that rows of these partitions are made from; None: nothing that is known."""
    if len(projections) != 1 or not choices:
        return None
    (projection,) = projections
    if any(projection.keys().isdisjoint(choice) for choice in choices):
        return None
    alternatives = dict.fromkeys(_condition(choice, projection).sql("spark") for choice in choices)
    return " OR ".join(f"({alternative})" for alternative in alternatives)
