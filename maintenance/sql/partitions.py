"""Partitions as statements write them, and as their folders show them."""

from collections.abc import Mapping

from maintenance.errors import DataError
from maintenance.metadata.partition_path import partition_text
from maintenance.predicate.tree import Compare
from maintenance.spelling import suggestion
from maintenance.table.table import Table

_BARE = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DECIMAL", "BOOLEAN", "FLOAT", "DOUBLE")


def folder_spec(table: Table, written: Mapping[str, str]) -> dict[str, str]:
    """Partition columns and the texts of their folders: a date is written as one, and may be a number there.

    Raises: DataError: no such partition column; PredicateError: a value does not fit its column.
    """
    fields = {field.name: field for field in table.schema.partition_fields}
    spec = {}
    for name, text in written.items():
        if name not in fields:
            raise DataError(
                f"'{name}' is not a partition column",
                f"table {table.identifier}",
                f"They are: {', '.join(fields) or 'none'}.{suggestion(name, fields)}",
            )
        field, paths = fields[name], table.paths
        literal = text if field.type.root in _BARE else "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        same = None if text == paths.default_partition_name else table.predicate(f"`{name}` = {literal}")
        if isinstance(same, Compare):
            spec[name] = partition_text(same.value, field.type, paths.legacy_partition_name, paths.zone)
        else:
            spec[name] = text
    return spec
