"""Rules of options that say where blobs and vectors are stored. Source: Java `SchemaValidation`."""

from collections.abc import Mapping

from maintenance.errors import OptionError, SchemaError, UnsupportedError
from maintenance.format.metadata.schema import TableSchema
from maintenance.metadata.external_paths import external_blob_root
from maintenance.options import table as table_options
from maintenance.options.blob import (
    BLOB_DESCRIPTOR_FIELD,
    BLOB_EXTERNAL_STORAGE_FIELD,
    BLOB_FIELD,
    BLOB_VIEW_FIELD,
)
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataType


def check_apart(schema: TableSchema, where: str, news: Mapping[str, str]) -> None:
    """Raises: SchemaError, OptionError, UnsupportedError: naming the option and the column.

    `news`: the options that the table had not before: what is not supported may stay.
    """
    _check_named(schema, where)
    both = set(schema.model.blob_descriptor_field) & set(schema.model.blob_view_field)
    if both:
        problem = f"column '{min(both)}' is in '{BLOB_DESCRIPTOR_FIELD.key}' and in '{BLOB_VIEW_FIELD.key}'"
        raise OptionError(problem, where, f"Name '{min(both)}' in one of the two options.")
    _check_external(schema, where)
    file_format = schema.model.file_format.lower()
    asked = schema.model if table_options.FILE_FORMAT.key in news else TableModel(news)
    if asked.inline_blobs and file_format != "parquet":
        raise UnsupportedError(
            f"'{BLOB_DESCRIPTOR_FIELD.key}' or '{BLOB_VIEW_FIELD.key}' with '{table_options.FILE_FORMAT.key}' = "
            f"'{file_format}'",
            where,
            "Use parquet files.",
        )
    if schema.model.vector_file_format is not None:
        _check_vector_files(schema, where)


def _check_named(schema: TableSchema, where: str) -> None:
    options = (
        (BLOB_FIELD, "BLOB"),
        (BLOB_DESCRIPTOR_FIELD, "BLOB"),
        (BLOB_VIEW_FIELD, "BLOB"),
        (table_options.VECTOR_FIELD, "VECTOR"),
    )
    for option, root in options:
        for name in option.of(schema.options):
            if name not in schema.field_names or not _is(schema.field(name).type, root, option is BLOB_FIELD):
                raise SchemaError(
                    f"'{option.key}' names '{name}', which is no {root} column", where, f"Declare it {root}."
                )


def _check_external(schema: TableSchema, where: str) -> None:
    external = schema.model.blob_external_storage_field
    other = next((name for name in external if name not in schema.model.blob_descriptor_field), None)
    if other is not None:
        problem = f"column '{other}' is in '{BLOB_EXTERNAL_STORAGE_FIELD.key}' and not in '{BLOB_DESCRIPTOR_FIELD.key}'"
        raise OptionError(problem, where, f"Name '{other}' in '{BLOB_DESCRIPTOR_FIELD.key}', too.")
    if external:
        external_blob_root(schema.model)


def _is(data_type: DataType, root: str, has_lists: bool) -> bool:
    """Whether a column has the type. `has_lists`: lists and maps of blobs count as BLOB."""
    return data_type.is_blobs if has_lists else data_type.root == root


def _check_vector_files(schema: TableSchema, where: str) -> None:
    key = table_options.VECTOR_FILE_FORMAT.key
    if not schema.model.evolves:
        raise OptionError(f"'{key}' without 'data-evolution.enabled'", where, "Enable it, or leave vectors among rows.")
    if all(field.type.root == "VECTOR" for field in schema.fields):
        raise SchemaError(f"all columns are VECTOR, with '{key}'", where, "Add a column of another type.")
