"""The table that a clone copies into: made in any catalog, with the schemas of the source.

A catalog whose tables have their own schema files gets those of the source, under their numbers; a JDBC or Hive catalog
then takes the table from its files, as its repair does. A REST server numbers schemas itself: there the files' only
schema has to be the source's newest one, with the same columns and ids.
"""

from dataclasses import replace

from maintenance.errors import ConflictError, NotFoundError, OptionError, UnsupportedError
from maintenance.format.metadata.schema import TableSchema, parse_schema, serialize_schema
from maintenance.format.row_file.data_format import ROW
from maintenance.metastore.catalog import Catalog
from maintenance.metastore.filesystem import FilesystemCatalog
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.located import LocatedCatalog
from maintenance.metastore.schema import Schema
from maintenance.options import table as table_options
from maintenance.options.global_index import GLOBAL_INDEX_EXTERNAL_PATH
from maintenance.options.own import EXTERNAL_PATHS_EXCLUSIVE
from maintenance.table.table import Table

_EXTERNAL = (
    table_options.DATA_FILE_EXTERNAL_PATHS.key,
    table_options.DATA_FILE_EXTERNAL_PATHS_STRATEGY.key,
    table_options.DATA_FILE_EXTERNAL_PATHS_SPECIFIC_FS.key,
    table_options.DATA_FILE_EXTERNAL_PATHS_WEIGHTS.key,
    GLOBAL_INDEX_EXTERNAL_PATH.key,
    EXTERNAL_PATHS_EXCLUSIVE.key,
)


def existing_target(source: Table, catalog: Catalog, identifier: str) -> Table | None:
    """The target as it is. Raises: OptionError: it is the source; ConflictError: it is not a table with files."""
    try:
        table = catalog.get_table(identifier)
    except NotFoundError:
        return None
    if not isinstance(table, Table):
        raise ConflictError(
            "a table of another kind has that name", f"table {identifier}", "Clone into a table of another name."
        )
    if table.location.rstrip("/") == source.location.rstrip("/"):
        raise OptionError("the target is the source", source.identifier, "Name another table or warehouse.")
    return table


def made_target(source: Table, catalog: Catalog, identifier: str) -> Table:
    """The target with all schemas of the source, made if it is not there.

    Raises: ConflictError: it has other schemas, or is not a table with files; OptionError: it is the source;
        AlreadyExistsError: a table that is none of Paimon has the name; UnsupportedError.
    """
    name = Identifier.parse(identifier)
    existing_target(source, catalog, identifier)
    catalog.create_database(name.database, ignore_if_exists=True)
    if isinstance(catalog, LocatedCatalog):
        _with_files(source, catalog, name)
    else:
        _at_server(source, catalog, identifier)
    target = existing_target(source, catalog, identifier)
    assert target is not None
    return target


def has_own_schemas(source: Table, catalog: Catalog, target: Table) -> bool:
    """Whether a table has others than those that a clone of the source would have."""
    if not isinstance(catalog, LocatedCatalog):
        return True
    both = set(source.schemas.list_ids()) & set(target.schemas.list_ids())
    return not both or any(
        target.file_io.read_settled(target.paths.schema(number)) != _copied_schema(source, source.paths.schema(number))
        for number in both
    )


def schema_there(source: Table, catalog: Catalog, target: Table, used: set[int], *, own: bool) -> int | None:
    """The number that the schema of the source's files has in the target; None: each has its own.

    Args: `used`: numbers of the schemas that the files were written with; `own`: the target has schemas of its own.
    Raises: UnsupportedError: it would have to know several; ConflictError: it knows another one.
    """
    if isinstance(catalog, LocatedCatalog) and not own:
        return None
    newest = source.schemas.latest()
    assert newest is not None
    if used - {newest.id}:
        raise UnsupportedError(
            f"files were written with schemas {', '.join(map(str, sorted(used)))}, and the target has the newest "
            f"one, {newest.id}, alone",
            f"table {source.identifier}",
            "Compact the table fully with 'compaction.force-rewrite-all-files' = 'true' first, or clone into a new "
            "table of another kind of catalog.",
        )
    if not _are_known(newest, target.schema):
        raise ConflictError(
            "the target lacks columns of the source, or has other ids or keys",
            f"table {target.identifier}",
            "Clone into a new table.",
        )
    return target.schema.id


def _with_files(source: Table, catalog: LocatedCatalog, name: Identifier) -> None:
    catalog.check_place(name)
    location = catalog.location(name)
    if location.rstrip("/") == source.location.rstrip("/"):
        raise OptionError("the target is the source", source.identifier, "Name another table or warehouse.")
    changed = False
    for number in source.schemas.list_ids():
        path = f"{location.rstrip('/')}/schema/schema-{number}"
        data = _copied_schema(source, source.paths.schema(number))
        if catalog.file_io.publish(path, data):
            changed = True
        elif catalog.file_io.read_settled(path) != data:
            raise ConflictError(
                f"the target has another schema {number} than the source",
                path,
                "Clone into a table that nothing else changes, or into a new one.",
            )
    if isinstance(catalog, FilesystemCatalog):
        return
    if changed or name.table not in catalog.list_tables(name.database):
        catalog.repair_table(str(name))


def _at_server(source: Table, catalog: Catalog, identifier: str) -> None:
    newest = source.schemas.latest()
    assert newest is not None
    options = {key: value for key, value in newest.without_place().options.items() if key not in _EXTERNAL}
    definition = Schema(newest.fields, newest.primary_keys, newest.partition_keys, options, newest.comment)
    catalog.create_table(identifier, definition, ignore_if_exists=True)


def _copied_schema(source: Table, path: str) -> bytes:
    """A schema file without external paths: the copy has its files in its own folder."""
    data = source.file_io.read_settled(path)
    schema = parse_schema(data, path)
    options = {key: value for key, value in schema.options.items() if key not in _EXTERNAL}
    return data if len(options) == len(schema.options) else serialize_schema(replace(schema, options=options))


def _are_known(source: TableSchema, target: TableSchema) -> bool:
    """Whether the target reads files of the source's columns: it has them all, and others may be null.

    Source: Java `CopySchemaOperator.checkCompatible`.
    """
    ours, theirs = ([(f.id, f.name, f.type) for f in schema.fields] for schema in (source, target))
    if _keys(source) != _keys(target) or not set(ours) <= set(theirs):
        return False
    is_by_place = ROW.name in (source.model.file_format, target.model.file_format)
    more = [field for field in target.fields if field.name not in source.field_names]
    return ours == theirs or not (is_by_place or any(not field.type.nullable for field in more))


def _keys(schema: TableSchema) -> tuple[object, ...]:
    return tuple(schema.primary_keys), tuple(schema.partition_keys), schema.options.get("bucket")
