"""Partitions of format tables as statements write and show them: columns to the texts of their folders."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from maintenance.errors import DataError
from maintenance.format.plain.texts import cast_texts, texts_of
from maintenance.metastore.partitions import Partition
from maintenance.spelling import suggestion
from maintenance.sql.partitions import Written, by_own_names, folder_texts
from maintenance.table.format_table import FormatTable
from maintenance.table.table import Table

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState


def plain_spec(table: FormatTable, written: Written) -> dict[str, str]:
    """A partition that a statement names, by texts as a write of its values makes them.

    Raises: DataError: no such partition column, or a value is not of its column's type.
    """
    keys, where = table.schema.partition_keys, f"table {table.identifier}"
    empty = table.options.partition_default_name
    spec = {}
    for name, literal in by_own_names(written, keys, where).items():
        if name not in keys:
            known = f"They are: {', '.join(keys) or 'none'}.{suggestion(name, keys)}"
            raise DataError(f"'{name}' is not a partition column", where, known)
        text = literal.text
        if text in (None, "", empty):
            spec[name] = empty
            continue
        field = table.schema.field(name)
        value = pa.chunked_array([cast_texts(pa.array([text], pa.string()), field.type)])
        spec[name] = texts_of(value, field.type)[0].as_py()
    return spec


def folder_of(table: Table | FormatTable, written: Written, zone: str) -> dict[str, str]:
    """A partition that a statement names, by the texts of its folder. `zone`: of the session. Raises: DataError."""
    return plain_spec(table, written) if isinstance(table, FormatTable) else folder_texts(table, written, zone)


def known_partitions(session: "SessionState", path: tuple[str, ...], table: Table | FormatTable) -> Sequence[Partition]:
    """The partitions of a table. How many rows those of a format table have is not known: -1, as its buckets are."""
    if isinstance(table, FormatTable) and table.register is None:
        return [Partition(spec, -1, size, count, None, -1) for spec, count, size in table.partitions()]
    name = session.table_name(path)
    return session.catalog_of(name.catalog).list_partitions(name.identifier)
