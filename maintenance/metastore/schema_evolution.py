"""Apply changes to a table's schema: the next schema, or the reason why there is none.

Changes of one call apply one after the other and become one schema. Ids of columns are never given twice: the highest
one ever given is part of the schema. Source: metadata section 2.5, Java `SchemaManager.generateTableSchema`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from maintenance.errors import SchemaError
from maintenance.format.metadata.schema import SCHEMA_VERSION, TableSchema
from maintenance.metadata.zone import local_zone
from maintenance.metastore.column_directives import directed, without_column
from maintenance.metastore.column_paths import (
    Fields,
    check_absent,
    index_of,
    inserted,
    moved,
    with_fields_changed,
    with_type_changed,
)
from maintenance.metastore.schema_change import (
    AddColumn,
    Column,
    ColumnChange,
    DropColumn,
    DropPrimaryKey,
    ExpectOption,
    Position,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefaultValue,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
    path_of,
)
from maintenance.metastore.validation import validate
from maintenance.options import table as table_options
from maintenance.options.changes import fix_of_change
from maintenance.options.known import as_meant
from maintenance.options.model import TableModel
from maintenance.options.option import Option
from maintenance.options.renames import renamed
from maintenance.types.casts.default import default_value
from maintenance.types.casts.matrix import may_change
from maintenance.types.data_type import DataField, DataType
from maintenance.types.field_ids import nested_ids, with_new_ids
from maintenance.types.type_text import parse_data_type


def changed_schema(
    schema: TableSchema, changes: Sequence[SchemaChange], table: str, *, has_snapshot: bool, time_millis: int
) -> TableSchema:
    """The next schema. Raises: SchemaError: a change is not allowed; OptionError, UnsupportedError: of a value."""
    evolution = _Evolution(schema, f"table {table}", has_snapshot)
    for change in changes:
        evolution.apply(change)
    result = replace(_normalized(evolution.schema), id=schema.id + 1, time_millis=time_millis, version=SCHEMA_VERSION)
    validate(result, table, schema)
    return result


def check_expected(change: ExpectOption, options: Mapping[str, str], where: str) -> None:
    """Raises: SchemaError: the option has another value."""
    value = options.get(change.key)
    if value != change.value:
        expected, found = ("unset" if text is None else f"'{text}'" for text in (change.value, value))
        raise SchemaError(f"option '{change.key}' is {found}, and not {expected}", where, "Look who has changed it.")


@dataclass
class _Evolution:
    """A schema in change. Rules about options and keys go by the `start`, before any change, as in Paimon."""

    start: TableSchema
    where: str
    has_snapshot: bool

    def __post_init__(self) -> None:
        self.schema = self.start

    def apply(self, change: SchemaChange) -> None:
        match change:
            case SetOption(key, value):
                for meant, text in as_meant({key: str(value)}, self.where).items():
                    self._set_option(meant, text)
            case RemoveOption(key):
                self._set_option(key, None)
            case ExpectOption():
                check_expected(change, self.start.options, self.where)
            case UpdateComment(comment):
                self.schema = replace(self.schema, comment=comment)
            case DropPrimaryKey():
                self._refuse_if(self.has_snapshot, "the primary key of a table with data cannot be dropped")
                self.schema = replace(self.schema, primary_keys=())
            case _:
                self._change_column(change)

    def _change_column(self, change: ColumnChange) -> None:
        match change:
            case AddColumn():
                self._add(change)
            case RenameColumn(column, new_name):
                self._rename(path_of(column), new_name)
            case DropColumn(column):
                self._drop(path_of(column))
            case UpdateColumnType():
                self._update_type(change)
            case UpdateColumnNullability(column, nullable):
                self._update_nullability(path_of(column), nullable)
            case UpdateColumnComment(column, comment):
                self._check_comment(comment)
                self._update_field(column, lambda field: replace(field, description=comment))
            case UpdateColumnDefaultValue(column, text):
                self._check_no_nested_default(path_of(column))
                self._update_field(column, lambda field: _with_default(field, text, self.where))
            case UpdateColumnPosition(column, position):
                self._fields(moved(self.schema.fields, column, position, self.where))

    def _fields(self, fields: Fields) -> None:
        self.schema = replace(self.schema, fields=fields)

    def _refuse_if(self, wrong: bool, problem: str, fix: str = "Create a new table and copy the data.") -> None:
        if wrong:
            raise SchemaError(problem, self.where, fix)

    def _option(self, option: Option[bool]) -> bool:
        return bool(option.of(self.start.options))

    def _set_option(self, key: str, value: str | None) -> None:
        options = dict(self.schema.options)
        old = options.get(key)
        if old == value or _is_present_key(key, value, self.start):
            return
        fix = fix_of_change(key, value, options, has_snapshot=self.has_snapshot)
        if fix is not None:
            before, after = ("unset" if text is None else f"'{text}'" for text in (old, value))
            raise SchemaError(f"option '{key}' cannot change from {before} to {after}", self.where, fix)
        if value is None:
            del options[key]
        else:
            options[key] = value
        self.schema = replace(self.schema, options=options)

    def _add(self, change: AddColumn) -> None:
        path = path_of(change.column)
        name, data_type = ".".join(path), _type_of(change.type)
        self._refuse_if(
            not data_type.nullable, f"the new column '{name}' is NOT NULL", "Rows that are there have null in it."
        )
        if len(path) > 1:
            self._check_comment(change.comment)
        ids = count(self.schema.highest_field_id + 1)
        number = next(ids)
        data_type = with_new_ids(data_type, ids)
        field = DataField(number, path[-1], data_type, change.comment)
        if len(path) == 1:
            field, options = directed(field, self.schema.options, self.where)
            self.schema = replace(self.schema, options=options)
        if change.default_value is not None:
            self._check_no_nested_default(path)
            field = _with_default(field, change.default_value, self.where)
        position = change.position
        if position is None and len(path) == 1 and self._option(table_options.ADD_COLUMN_BEFORE_PARTITION):
            firsts = [part.name for part in self.schema.fields if part.name in self.start.partition_keys]
            position = Position("before", firsts[0]) if firsts else None
        insert = partial(inserted, field=field, position=position, where=self.where)
        self._fields(with_fields_changed(self.schema.fields, path, insert, self.where))
        self.schema = replace(self.schema, highest_field_id=max((number, *nested_ids(data_type))))

    def _rename(self, path: tuple[str, ...], new_name: str) -> None:
        self._check_no_partition_key(path, "renamed")

        def rename(fields: Fields) -> Fields:
            index = index_of(fields, path[-1], self.where)
            self._refuse_if(fields[index].type.is_blobs, f"BLOB column '{path[-1]}' cannot be renamed")
            check_absent(fields, new_name, self.where)
            return (*fields[:index], replace(fields[index], name=new_name), *fields[index + 1 :])

        self._fields(with_fields_changed(self.schema.fields, path, rename, self.where))
        if len(path) == 1:
            names = {path[0]: new_name}
            keys = tuple(names.get(key, key) for key in self.schema.primary_keys)
            self.schema = replace(self.schema, primary_keys=keys, options=renamed(self.schema.options, names))

    def _drop(self, path: tuple[str, ...]) -> None:
        self._check_no_partition_key(path, "dropped")
        self._check_no_primary_key(path, "dropped")

        def drop(fields: Fields) -> Fields:
            index = index_of(fields, path[-1], self.where)
            self._refuse_if(len(fields) == 1, f"'{'.'.join(path)}' is the only column there", "Drop the table.")
            return (*fields[:index], *fields[index + 1 :])

        self._fields(with_fields_changed(self.schema.fields, path, drop, self.where))
        if len(path) == 1:
            self.schema = replace(self.schema, options=without_column(self.schema.options, path[0]))

    def _update_type(self, change: UpdateColumnType) -> None:
        path, wanted = path_of(change.column), _type_of(change.type)
        self._check_no_partition_key(path, "given another type")
        self._check_no_primary_key(path, "given another type")
        explicit = not self._option(table_options.DISABLE_EXPLICIT_TYPE_CASTING)

        def update(old: DataType) -> DataType:
            new = wanted.as_nullable(old.nullable) if change.keep_nullability else wanted
            if not change.keep_nullability:
                self._check_nullability(old, new.nullable, path)
            self._refuse_if(
                not may_change(old, new, explicit=explicit),
                f"column '{'.'.join(path)}' cannot become {new}, it is {old}",
                "Add a column of the new type, or see the table of casts in docs/schema-evolution.md.",
            )
            return new

        self._fields(with_type_changed(self.schema.fields, path, update, self.where))
        field = self.schema.field(path[0])
        if field.default_value is not None:
            _with_default(field, field.default_value, self.where)

    def _update_nullability(self, path: tuple[str, ...], nullable: bool) -> None:
        if nullable:
            self._check_no_primary_key(path, "allowed to be null")

        def update(old: DataType) -> DataType:
            self._check_nullability(old, nullable, path)
            return old.as_nullable(nullable)

        self._fields(with_type_changed(self.schema.fields, path, update, self.where))

    def _update_field(self, column: Column, change: Callable[[DataField], DataField]) -> None:
        path = path_of(column)

        def update(fields: Fields) -> Fields:
            index = index_of(fields, path[-1], self.where)
            return (*fields[:index], change(fields[index]), *fields[index + 1 :])

        self._fields(with_fields_changed(self.schema.fields, path, update, self.where))

    def _check_comment(self, comment: str | None) -> None:
        directive = (comment or "").strip().startswith(("__BLOB", "__VECTOR"))
        self._refuse_if(
            directive,
            f"comment '{comment}' is a directive of Paimon, for new columns of a table alone",
            "Choose another.",
        )

    def _check_nullability(self, old: DataType, nullable: bool, path: tuple[str, ...]) -> None:
        option = table_options.ALTER_COLUMN_NULL_TO_NOT_NULL_DISABLED
        self._refuse_if(
            old.nullable and not nullable and self._option(option),
            f"column '{'.'.join(path)}' allows null, and may hold it",
            f"Set '{option.key}' = 'false' if you know that there is none.",
        )

    def _check_no_nested_default(self, path: tuple[str, ...]) -> None:
        self._refuse_if(len(path) > 1, f"'{'.'.join(path)}' is inside a column", "Give the column itself a default.")

    def _check_no_partition_key(self, path: tuple[str, ...], what: str) -> None:
        wrong = len(path) == 1 and path[0] in self.start.partition_keys
        self._refuse_if(wrong, f"partition column '{path[0]}' cannot be {what}")

    def _check_no_primary_key(self, path: tuple[str, ...], what: str) -> None:
        wrong = len(path) == 1 and path[0] in self.schema.primary_keys
        self._refuse_if(wrong, f"primary key column '{path[0]}' cannot be {what}")


def _is_present_key(option: str, value: str | None, schema: TableSchema) -> bool:
    """Whether `primary-key` or `partition` is set to what the table has: they do not stay options."""
    keys = {"primary-key": schema.primary_keys, "partition": schema.partition_keys}.get(option)
    return keys is not None and value is not None and _names(value) == keys


def _type_of(data_type: str | DataType) -> DataType:
    return parse_data_type(data_type) if isinstance(data_type, str) else data_type


def _with_default(field: DataField, text: str | None, where: str) -> DataField:
    """Raises: SchemaError: the text is not a value of the column's type."""
    if text is not None:
        try:
            default_value(text, field.type, local_zone())
        except SchemaError as error:
            raise error.at(f"{where}, column '{field.name}'") from error
    return replace(field, default_value=text)


def _normalized(schema: TableSchema) -> TableSchema:
    """Keys given as options become the table's keys, and columns of the primary key NOT NULL, or all nullable."""
    options = dict(schema.options)
    primary, partition = options.pop("primary-key", None), options.pop("partition", None)
    if (primary and schema.primary_keys) or (partition and schema.partition_keys):
        fix = "Leave 'primary-key' and 'partition' out: a table keeps the keys that it was made with."
        raise SchemaError("'primary-key' or 'partition' is set, and the table has such keys already", "options", fix)
    primary_keys = _names(primary) if primary else schema.primary_keys
    partition_keys = _names(partition) if partition else schema.partition_keys
    nullable = TableModel(options).primary_key_nullable
    fields = tuple(
        replace(field, type=field.type.as_nullable(nullable)) if field.name in primary_keys else field
        for field in schema.fields
    )
    return replace(schema, fields=fields, primary_keys=primary_keys, partition_keys=partition_keys, options=options)


def _names(text: str) -> tuple[str, ...]:
    """Names in a list with commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())
