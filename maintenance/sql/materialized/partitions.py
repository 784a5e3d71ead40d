"""The partitions of a materialized table that a refresh replaces, and how its query is held to their rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlglot import exp

from maintenance.errors import OptionError, UnsupportedError
from maintenance.format.rows.binary_row import parse_row
from maintenance.metadata.partition_path import is_blank, partition_text
from maintenance.sql.materialized.alignment import Alignment
from maintenance.table.table import Table
from maintenance.types.data_type import DataField
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
class PartitionChoice:
    """Partitions to replace: those that agree in some of the partition columns, or in all.

    Attributes:
        spec: column -> the text of its folder.
        literals: column -> its value as SQL text.
    """

    spec: Mapping[str, str]
    literals: Mapping[str, str]

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        return tuple(self.spec.items())


@dataclass(frozen=True, slots=True)
class Choices:
    """Partitions to replace; None = the whole table, since `why`."""

    choices: tuple[PartitionChoice, ...] | None
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
    choices: dict[tuple[tuple[str, str], ...], PartitionChoice] = {}
    by_name = {f.name: f for f in table.schema.fields}
    for partition in partitions:
        values = dict(zip((f.name for f in fields), parse_row(partition, [f.type for f in fields]), strict=True))
        for projection in usable:
            choice = _choice(table, {by_name[name]: values[column] for name, column in projection.items()})
            if choice is None:
                return Choices(None, f"a partition without a name has changed in {source.identifier}")
            choices.setdefault(choice.key, choice)
    if len(choices) > MOST:
        return Choices(None, f"more than {MOST} partitions have changed")
    return Choices(tuple(choices[key] for key in sorted(choices)))


def _choice(table: Table, values: Mapping[DataField, Value]) -> PartitionChoice | None:
    """None: several values have the same folder as one of them."""
    spec, literals = {}, {}
    for column, value in values.items():
        if value is None:
            return None
        text = partition_text(value, column.type, table.paths.legacy_partition_name, table.paths.zone)
        if is_blank(text) or text == table.paths.default_partition_name:
            return None
        spec[column.name], literals[column.name] = text, _literal(value, column)
    return PartitionChoice(spec, literals)


def _literal(value: Value, column: DataField) -> str:
    text = text_of_value(value, column.type)
    if column.type.root in _TEXTS:
        return exp.Literal.string(text).sql("spark")
    return f"DATE '{text}'" if column.type.root == "DATE" else text


def written(table: Table, spec: Mapping[str, str], folders: Mapping[str, str]) -> PartitionChoice:
    """A partition that a statement names.

    Args: `spec`: its values as they are written; `folders`: the texts of their folders.
    Raises: UnsupportedError: a column of a type whose values have no literal.
    """
    fields = {f.name: f for f in table.schema.partition_fields}
    literals = {}
    for name, text in spec.items():
        column = fields[name].type
        quoted = exp.Literal.string(text).sql("spark")
        if folders[name] == table.paths.default_partition_name:
            literals[name] = "NULL"
        elif column.root in (*_NUMBERS, "BOOLEAN"):
            literals[name] = text
        elif column.root in _TEXTS:
            literals[name] = quoted
        elif column.root in ("DATE", "DECIMAL"):
            literals[name] = f"CAST({quoted} AS {column.as_nullable()})"
        else:
            problem = f"partitions by {name}, a {column}, cannot be refreshed one by one"
            raise UnsupportedError(problem, f"table {table.identifier}", "Refresh the whole table.")
    return PartitionChoice(folders, literals)


def by_clock(table: Table, formatters: Mapping[str, str], since: datetime, now: datetime) -> Choices:
    """The partitions of a span of time, by the patterns that the table's partition columns are written in.

    Raises: OptionError: a pattern is not supported.
    """
    minutes = int((now - since) / _MINUTE) + 1
    if minutes > _MINUTES:
        return Choices(None, "its last refresh is too long ago to go by the clock")
    choices: dict[tuple[tuple[str, str], ...], PartitionChoice] = {}
    for number in range(minutes + 1):
        moment = min(since + number * _MINUTE, now)
        try:
            spec = {name: text_by_pattern(moment, pattern) for name, pattern in formatters.items()}
        except ValueError as error:
            where = f"table {table.identifier}"
            raise OptionError(f"a date-formatter cannot be used: {error}", where, "Use another pattern.") from None
        choice = PartitionChoice(spec, {name: exp.Literal.string(text).sql("spark") for name, text in spec.items()})
        choices.setdefault(choice.key, choice)
    return (
        Choices(tuple(choices.values())) if len(choices) <= MOST else Choices(None, "too many partitions by the clock")
    )


def restricted(tree: exp.Expr, names: Sequence[str], choices: Sequence[PartitionChoice]) -> exp.Expr:
    """A query held to the rows of partitions. `names`: of the table's columns, by position those of the query."""
    columns = [exp.to_identifier(name, quoted=True) for name in names]
    alias = exp.TableAlias(this=exp.to_identifier("definition", quoted=True), columns=columns)
    rows = exp.Subquery(this=tree.copy(), alias=alias)
    alternatives = [exp.condition(condition_of(choice.literals), dialect="spark") for choice in choices]
    query: exp.Expr = exp.select("*").from_(rows).where(exp.or_(*alternatives))
    return query


def condition_of(literals: Mapping[str, str]) -> str:
    """A condition in Spark's SQL. `literals`: column -> its value."""
    parts = (
        f"`{name.replace('`', '``')}` IS NULL" if text == "NULL" else f"`{name.replace('`', '``')}` = {text}"
        for name, text in literals.items()
    )
    return " AND ".join(parts)


def reading_condition(choices: Sequence[PartitionChoice], projections: Sequence[Projection]) -> str | None:
    """What the rows of a source fulfil that rows of these partitions are made from; None: nothing that is known."""
    if len(projections) != 1 or not choices:
        return None
    (projection,) = projections
    alternatives = []
    for choice in choices:
        known = {projection[name]: text for name, text in choice.literals.items() if name in projection}
        if not known:
            return None
        alternatives.append(f"({condition_of(known)})")
    return " OR ".join(dict.fromkeys(alternatives))
