"""The first schema of a table to create, of whatever kind."""

import time
from collections.abc import Mapping
from dataclasses import replace

from maintenance.errors import OptionError, SchemaError
from maintenance.format.metadata.schema import TableSchema
from maintenance.format.plain.files import check_format
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.schema import Schema
from maintenance.names import check_new_name
from maintenance.options import table as table_options
from maintenance.options.catalog import table_defaults
from maintenance.options.known import as_meant, check_set
from maintenance.options.model import TableModel
from maintenance.table import format_table, object_table
from maintenance.table.object_table import object_fields


def first_schema(name: Identifier, schema: Schema, catalog_options: Mapping[str, str]) -> TableSchema:
    """Schema 0, with the catalog's `table-default.*` options.

    Raises: SchemaError, OptionError, UnsupportedError: the definition is not allowed.
    """
    check_new_name(name.table, "a table", f"table {name}", error=SchemaError)
    given = {**table_defaults(catalog_options), **schema.options}
    schema = replace(schema, options=as_meant(given, f"table {name}"))
    options = TableModel.of(schema.options)
    kind = table_options.check_type(options, str(name))
    branch = table_options.BRANCH.of(options)
    if branch != MAIN_BRANCH:
        fix = "Create the table without 'branch', and the branch with CALL sys.create_branch."
        raise OptionError(f"'branch' = '{branch}': a new table has no branch", str(name), fix)
    if table_options.AUTO_CREATE.of(options):
        fix = "Leave it out, or set it to false."
        raise OptionError("'auto-create' = 'true': a catalog makes no table by itself", str(name), fix)
    where, now = str(name), time.time_ns() // 1_000_000
    if kind in (object_table.TYPE, format_table.TYPE):
        of_kind = (table_options.TYPE.key, table_options.FILE_FORMAT.key)
        check_set({key: value for key, value in options.items() if key not in of_kind}, {}, f"table {name}")
    if kind == object_table.TYPE:
        of_objects = Schema([("path", "STRING")], options={}, comment=schema.comment).table_schema(where, now)
        fields = object_fields()
        return replace(of_objects, fields=fields, highest_field_id=len(fields) - 1, options=options)
    if kind == format_table.TYPE:
        chosen = check_format(options.file_format, where)
        # A primary key means nothing to files that nobody merges, and is accepted as in Paimon.
        plain = replace(schema, primary_keys=(), options={}).table_schema(where, now)
        return replace(plain, options={**options, table_options.FILE_FORMAT.key: chosen})
    return schema.table_schema(where, now)
