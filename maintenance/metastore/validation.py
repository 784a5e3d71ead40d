"""Rules that a table's definition must keep. Source: Java `SchemaValidation`."""

from collections.abc import Sequence
from dataclasses import replace

from maintenance.compaction.clustering import clustered_by, is_clustered
from maintenance.errors import OptionError, SchemaError, UnsupportedError
from maintenance.format.blob_elements import check_keys_of_blobs
from maintenance.format.file_index.kinds import column_indexes
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.rows.system_fields import is_system_field
from maintenance.merge.rules import check_merge_engine
from maintenance.metadata.external_paths import ExternalPaths
from maintenance.metadata.zone import local_zone
from maintenance.metastore.apart_rules import check_apart
from maintenance.metastore.option_rules import check_options
from maintenance.options import table as table_options
from maintenance.options.callbacks import check_callbacks
from maintenance.options.known import all_options, check_set
from maintenance.options.model import TableModel
from maintenance.options.state import Honoured
from maintenance.read.defaults import read_defaults
from maintenance.scan.startup import checked_startup
from maintenance.types.arrow import arrow_type, is_list_of_lists_of_blobs
from maintenance.types.casts.default import default_value
from maintenance.types.data_type import DataField, DataType
from maintenance.types.field_ids import rows_in
from maintenance.write.settings import check_formats


def validate(schema: TableSchema, table: str, before: TableSchema | None = None) -> None:
    """Raises: SchemaError, OptionError, UnsupportedError: with the column or option that breaks a rule.

    `before`: the schema that this one follows. What this engine does not support may stay as it is there, not come new.
    """
    where = f"table {table}"
    known = {} if before is None else before.options
    types = frozenset() if before is None else frozenset(field.type for field in before.fields)
    _validate_fields(schema, where, types)
    _validate_keys(schema, where)
    _validate_buckets(schema, where)
    _validate_defaults(schema, where)
    _validate_retention(schema, where)
    news = {key: value for key, value in schema.options.items() if known.get(key) != value}
    check_set(news, known, where)
    table_options.check_writable(news, table)
    check_apart(schema, where, news)
    check_callbacks(TableModel(news), table)
    checked_startup(schema.model)
    check_options(schema, where)
    if before is None or not _is_split_key(before):
        _validate_fixed_key(schema, where)
    ExternalPaths.of(schema.model)
    if is_clustered(schema, schema.model):
        clustered_by(schema, schema.model, where)
    check_merge_engine(schema, where)
    read_defaults(schema, schema.model)
    for option in all_options():
        if isinstance(option.state, Honoured):
            option.of(schema.options)
    column_indexes(schema.options, schema.fields)
    if before is None or _can_be_written(before, where):
        _check_formats(schema, where)


def _check_formats(schema: TableSchema, where: str) -> None:
    check_formats(replace(schema, fields=tuple(filter(_is_held, schema.fields))), schema.model, where)


def _can_be_written(before: TableSchema, where: str) -> bool:
    """Whether this engine writes files of a table; it may change the definition of others, too."""
    try:
        _check_formats(before, where)
    except UnsupportedError:
        return False
    return True


def _validate_fields(schema: TableSchema, where: str, known: frozenset[DataType]) -> None:
    if not schema.fields:
        raise SchemaError("the table has no column", where, "Give the table at least one column.")
    _validate_names(schema.fields, where)
    for field in schema.fields:
        if is_system_field(field.name):
            raise SchemaError(f"column name '{field.name}' is reserved", where, "Choose another name.")
        if field.type not in known:
            if field.type.is_blobs:
                _validate_blob(schema, field, where)
            arrow_type(field.type, f"{where}, column {field.name}")
            if is_list_of_lists_of_blobs(field.type):
                raise UnsupportedError(
                    f"type {field.type}, of blobs inside another type than a column's ARRAY or MAP",
                    f"{where}, column {field.name}",
                    "Use an ARRAY or MAP of blobs.",
                )


def _validate_blob(schema: TableSchema, field: DataField, where: str) -> None:
    """Source: Java `SchemaValidation.validateRowTracking`."""
    where = f"{where}, column {field.name}"
    options = schema.model
    evolves = options.tracks_rows and options.evolves
    if not evolves or schema.primary_keys:
        raise SchemaError(
            "a BLOB column in a table without 'row-tracking.enabled' and 'data-evolution.enabled'",
            where,
            "Set both to 'true', in a table without a primary key, or use BYTES.",
        )
    if field.name in schema.partition_keys:
        raise SchemaError("a BLOB column is a partition key", where, "Partition by another column.")
    check_keys_of_blobs(field.type, where)
    if all(other.type.is_blobs for other in schema.fields):
        raise SchemaError("all columns are BLOB", where, "Add a column of another type.")


def _is_held(field: DataField) -> bool:
    """Whether this engine has the column's type in data files: blobs are in files of their own."""
    if field.type.is_blobs:
        return False
    try:
        arrow_type(field.type)
    except UnsupportedError:
        return False
    return True


def _validate_names(fields: Sequence[DataField], where: str) -> None:
    """Names of columns, and of the fields of every ROW among them."""
    seen = set()
    for field in fields:
        if field.name in seen:
            raise SchemaError(
                f"column '{field.name}' is there twice", where, "Give one of the two columns another name."
            )
        if not field.name.strip():
            raise SchemaError(f"column name '{field.name}' is blank", where, "Choose another name.")
        if field.name.encode(errors="ignore").decode() != field.name:
            raise SchemaError(f"column name {field.name!r} is not valid Unicode", where, "Choose another name.")
        seen.add(field.name)
        for inner in rows_in(field.type):
            _validate_names(inner.fields, f"{where}, in column {field.name}")


def _validate_defaults(schema: TableSchema, where: str) -> None:
    for field in schema.fields:
        if field.default_value is not None:
            try:
                default_value(field.default_value, field.type, local_zone())
            except SchemaError as error:
                raise error.at(f"{where}, column '{field.name}'") from error


def _validate_keys(schema: TableSchema, where: str) -> None:
    for kind, keys in (("primary key", schema.primary_keys), ("partition key", schema.partition_keys)):
        for name in keys:
            if name not in schema.field_names:
                raise SchemaError(f"{kind} column '{name}' does not exist", where, "Name a column of the table.")
            _check_no_nested_type(schema, name, kind, where)
        if len(set(keys)) != len(keys):
            raise SchemaError(f"a {kind} column is there twice", where, "Name each column once.")
    if schema.primary_keys and not schema.trimmed_primary_keys:
        raise SchemaError(
            "the primary key holds partition columns only", where, "Add a column that tells rows of a partition apart."
        )
    _validate_partition_types(schema, where)


def _validate_partition_types(schema: TableSchema, where: str) -> None:
    for field in schema.partition_fields:
        if field.type.is_bytes and schema.model.partition_legacy_name:
            raise UnsupportedError(
                f"partition column '{field.name}' is {field.type}: its folders have names that cannot be repeated",
                where,
                "Set 'partition.legacy-name' = 'false', or partition by another column.",
            )


def _validate_buckets(schema: TableSchema, where: str) -> None:
    buckets = schema.model.bucket
    keys = table_options.BUCKET_KEY.of(schema.options)
    if buckets == 0 or buckets < table_options.POSTPONE_BUCKET:
        raise OptionError(f"'bucket' = '{buckets}'", where, "Use a positive number, -1 or -2.")
    if buckets == -1 and keys:
        fix = "Set 'bucket' to a number of buckets, or unset 'bucket-key'."
        raise OptionError("'bucket-key' is set and 'bucket' is -1", where, fix)
    if buckets == table_options.POSTPONE_BUCKET and not schema.primary_keys:
        raise OptionError("'bucket' = '-2' without a primary key", where, "Use -1 or a positive number.")
    if buckets > 0 and not schema.primary_keys and not keys:
        raise OptionError("an append table with buckets has no 'bucket-key'", where, "Set it, or use 'bucket' = '-1'.")
    for name in keys:
        if name not in schema.field_names or name in schema.partition_keys:
            raise OptionError(f"'bucket-key' names '{name}'", where, "Name columns that are not partition columns.")
        if schema.primary_keys and name not in schema.primary_keys:
            raise OptionError(f"'bucket-key' names '{name}'", where, "Name columns of the primary key.")
        _check_no_nested_type(schema, name, "bucket key", where)


def _validate_fixed_key(schema: TableSchema, where: str) -> None:
    """Java makes such tables, and leaves it to their writers that a key stays in its partition."""
    if _is_split_key(schema):
        missing = next(name for name in schema.partition_keys if name not in schema.primary_keys)
        raise OptionError(
            f"the primary key lacks the partition column '{missing}', and buckets are fixed: a key would be there once "
            "in each partition",
            where,
            "Add the column to the primary key, or use 'bucket' = '-1'.",
        )


def _is_split_key(schema: TableSchema) -> bool:
    return schema.is_cross_partition and schema.model.bucket > 0


def _check_no_nested_type(schema: TableSchema, name: str, kind: str, where: str) -> None:
    data_type = schema.field(name).type
    if data_type.is_nested or data_type.root in ("VARIANT", "BLOB"):
        raise SchemaError(
            f"{kind} column '{name}' is {data_type}", where, "Paimon takes no nested type there: use another column."
        )


def _validate_retention(schema: TableSchema, where: str) -> None:
    least = schema.model.snapshot_num_retained_min
    most = schema.model.snapshot_num_retained_max
    if least < 1 or most < least:
        raise OptionError(
            f"'snapshot.num-retained.min' = '{least}' and '.max' = '{most}'", where, "Use 1 or more, and min <= max."
        )
