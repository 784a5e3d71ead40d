"""What a user gives to create a table, and the first schema file that comes of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from maintenance.errors import SchemaError
from maintenance.format.metadata.schema import TableSchema
from maintenance.metastore.column_directives import directed
from maintenance.metastore.validation import validate
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, DataType
from maintenance.types.field_ids import all_ids, with_new_ids
from maintenance.types.type_text import parse_data_type

PRIMARY_KEY, PARTITION = "primary-key", "partition"
FieldSpec = tuple[str, ...] | tuple[str, DataType] | tuple[str, DataType, str] | DataField


@dataclass(frozen=True)
class Schema:
    """A table to create.

    Attributes:
        fields: (name, type) or (name, type, comment), types as Paimon's text (`ROW<a INT, b ARRAY<DATE>>`); all ids
            are given here: a column's, then those inside it.
        primary_keys, partition_keys: names of columns; may also be given as options, which do not stay ones.
        options: Paimon's table options, texts.
    Raises: SchemaError: keys are given in both forms.
    """

    fields: Sequence[FieldSpec]
    primary_keys: Sequence[str] = ()
    partition_keys: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    def __post_init__(self) -> None:
        options = {key: str(value) for key, value in self.options.items()}
        object.__setattr__(self, "primary_keys", keys_of(options, PRIMARY_KEY, self.primary_keys))
        object.__setattr__(self, "partition_keys", keys_of(options, PARTITION, self.partition_keys))
        object.__setattr__(self, "options", options)

    def table_schema(self, table: str, time_millis: int) -> TableSchema:
        """Schema 0 of the table. Raises: SchemaError, OptionError, UnsupportedError."""
        options = dict(self.options)
        declared = []
        for spec in self.fields:
            column, options = directed(field_of(spec), options, f"table {table}")
            declared.append(column)
        nullable = TableModel(options).primary_key_nullable
        fields = tuple(
            replace(f, type=f.type.as_nullable(nullable)) if f.name in self.primary_keys else f
            for f in _with_ids(declared)
        )
        schema = TableSchema(
            id=0,
            fields=fields,
            highest_field_id=max(all_ids(fields), default=-1),
            partition_keys=tuple(self.partition_keys),
            primary_keys=tuple(self.primary_keys),
            options=options,
            comment=self.comment,
            time_millis=time_millis,
        )
        validate(schema, table)
        return schema


def keys_of(options: dict[str, str], option: str, given: Sequence[str]) -> tuple[str, ...]:
    """Names of keys as they are given or as an option says, which does not stay one.

    Source: Java `Schema.normalizePrimaryKeys`. Raises: SchemaError: both are given.
    """
    text = options.pop(option, None)
    if text and given:
        problem = f"option '{option}' and the keys of the definition are given"
        raise SchemaError(problem, "schema", f"Give the keys in the definition, or as '{option}'.")
    return tuple(part.strip() for part in text.split(",") if part.strip()) if text else tuple(given)


def field_of(spec: FieldSpec) -> DataField:
    """The column of a definition, without an id of its own yet. Raises: SchemaError: not a column, or of no type."""
    if isinstance(spec, DataField):
        return spec
    if not 2 <= len(spec) <= 3:
        raise SchemaError(f"{spec!r} is not a column", "schema", "Write (name, type) or (name, type, comment).")
    name, data_type, *comment = spec
    parsed = data_type if isinstance(data_type, DataType) else parse_data_type(data_type)
    return DataField(0, name, parsed, comment[0] if comment else None)


def _with_ids(fields: Iterable[DataField]) -> Iterator[DataField]:
    """The columns of a new table with their ids: a column's own comes before those inside it."""
    ids = count()
    for part in fields:
        own = next(ids)
        yield replace(part, id=own, type=with_new_ids(part.type, ids))
