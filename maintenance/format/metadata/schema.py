"""Schema files: a table's columns, keys and options at one version. Source: metadata section 2, Java `TableSchema`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from maintenance.errors import CorruptFileError, SchemaError, UnsupportedError
from maintenance.format.json_object import MAX_MILLIS, in_range, missing_key, parse_object, read_back, serialize_object
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField, field_of_json, json_of_field

SCHEMA_VERSION = 3

_MAX_FIELD_ID = 2**30 - 2  # the ids above are those of the system
_BUCKET = "bucket"
_BUCKET_KEY = "bucket-key"
_FILE_FORMAT = "file.format"


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A version of a table's schema.

    Attributes:
        id: the number in the file name.
        highest_field_id: the largest id ever given in this table; ids of dropped columns are not used again.
        comment: None = none; an empty text is kept.
        time_millis: when it was written, milliseconds since 1970-01-01 UTC.
        version: of the file's layout: 1 up to Paimon 0.7, 2 in 0.8, 3 since.
    """

    id: int
    fields: tuple[DataField, ...]
    highest_field_id: int
    partition_keys: tuple[str, ...] = ()
    primary_keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    time_millis: int = 0
    version: int = SCHEMA_VERSION

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", TableModel.of(self.options))

    @property
    def model(self) -> TableModel:
        """What the options say."""
        return TableModel.of(self.options)

    @property
    def field_names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.fields)

    @property
    def trimmed_primary_keys(self) -> tuple[str, ...]:
        """The primary key without partition columns: what data files are sorted by."""
        return tuple(name for name in self.primary_keys if name not in self.partition_keys)

    @property
    def bucket_keys(self) -> tuple[str, ...]:
        """The columns that decide a row's bucket: option `bucket-key` (split at commas, not trimmed), else the key."""
        text = self.options.get(_BUCKET_KEY, "")
        return tuple(text.split(",")) if text else self.trimmed_primary_keys

    @property
    def is_cross_partition(self) -> bool:
        """Whether an update may move a key to another partition: the primary key lacks a partition column."""
        return bool(self.primary_keys) and not set(self.partition_keys) <= set(self.primary_keys)

    @property
    def partition_fields(self) -> tuple[DataField, ...]:
        return self.fields_of(self.partition_keys)

    @property
    def key_fields(self) -> tuple[DataField, ...]:
        """The columns of the trimmed primary key."""
        return self.fields_of(self.trimmed_primary_keys)

    @property
    def bucket_fields(self) -> tuple[DataField, ...]:
        return self.fields_of(self.bucket_keys)

    def field(self, name: str) -> DataField:
        """The column of that name. Raises: SchemaError: there is none."""
        for part in self.fields:
            if part.name == name:
                return part
        raise SchemaError(f"no column '{name}'", f"schema {self.id}", f"Columns are {', '.join(self.field_names)}.")

    def without_place(self) -> "TableSchema":
        """This schema without the options that contain the location of the table."""
        return replace(self, options={k: v for k, v in self.options.items() if k not in ("path", "branch")})

    def fields_of(self, names: Sequence[str]) -> tuple[DataField, ...]:
        """The columns of those names, in their order. Raises: SchemaError: one does not exist."""
        return tuple(map(self.field, names))


def parse_schema(data: bytes, where: str) -> TableSchema:
    """The schema of a file; unknown keys are ignored, options that old versions implied are added.

    Raises: CorruptFileError: not JSON, or a required key is missing; SchemaError: a type is wrong; UnsupportedError: a
        newer version.
    """
    form = parse_object(data, where)
    version = form.get("version", 1)
    try:
        if version > SCHEMA_VERSION:
            raise UnsupportedError(f"schema version {version}", where, "Use a newer release of this program.")
        return TableSchema(
            in_range(int(form["id"])),
            _fields_of_json(form["fields"]),
            int(form["highestFieldId"]),
            _names_of_json(form["partitionKeys"]),
            _names_of_json(form["primaryKeys"]),
            _with_implied(version, form["options"]),
            form.get("comment"),
            in_range(form.get("timeMillis", 0), MAX_MILLIS),
            version,
        )
    except KeyError as error:
        raise missing_key(error, where) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise CorruptFileError(f"no valid schema: {error}", where, "Restore the schema file.") from error
    except SchemaError as error:
        raise error.at(where) from error


def _fields_of_json(forms: Any) -> tuple[DataField, ...]:
    """The columns. Raises: ValueError: two have the same name or id, or an id is one of the system's."""
    fields = tuple(map(field_of_json, forms))
    if len({part.name for part in fields}) < len(fields) or len({part.id for part in fields}) < len(fields):
        raise ValueError("two columns have the same name or id")
    for part in fields:
        in_range(part.id, _MAX_FIELD_ID)
    return fields


def _names_of_json(form: Any) -> tuple[str, ...]:
    if not isinstance(form, list) or not all(isinstance(name, str) for name in form):
        raise TypeError(f"{form!r} are not column names")
    return tuple(form)


def _with_implied(version: int, options: Mapping[str, Any]) -> dict[str, str]:
    implied: dict[str, str] = {}
    if version <= 1:
        implied[_BUCKET] = "1"
    if version <= 2:
        implied[_FILE_FORMAT] = "orc"
    return {**implied, **{key: _option_text(key, value) for key, value in options.items() if value is not None}}


def _option_text(key: str, value: Any) -> str:
    """An option as text. Values are texts; others that are one value count as theirs, as in Java. Raises: TypeError."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise TypeError(f"option '{key}' is {value!r}")


def serialize_schema(schema: TableSchema) -> bytes:
    """The bytes of a schema file; a comment that is not set is left out, since Java reads null as the text "null".

    Raises: DataError: reading them would not give the schema.
    """
    form: dict[str, Any] = {
        "version": schema.version,
        "id": schema.id,
        "fields": [json_of_field(part) for part in schema.fields],
        "highestFieldId": schema.highest_field_id,
        "partitionKeys": list(schema.partition_keys),
        "primaryKeys": list(schema.primary_keys),
        "options": dict(schema.options),
    }
    if schema.comment is not None:
        form["comment"] = schema.comment
    form["timeMillis"] = schema.time_millis
    return read_back(schema, serialize_object(form), parse_schema, "the schema")
