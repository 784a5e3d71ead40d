"""A table that a statement creates for rows: if they cannot be written, nothing of it is left."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from maintenance.catalog import Catalog, Schema
from maintenance.errors import PaimonError

if TYPE_CHECKING:
    from maintenance.sql.session_state import SessionState, Stored

_FIRST_SCHEMA = "schema/schema-0"


@contextmanager
def created_table(session: "SessionState", path: tuple[str, ...], schema: Schema) -> Iterator[None]:
    """Create a table, and drop it if an error comes. Raises: as `Catalog.create_table`.

    A catalog leaves the files of an external table; here they go too, unless the folder had others before.
    """
    name = session.table_name(path)
    catalog, started = session.catalog_of(name.catalog), time.time_ns() // 1_000_000
    catalog.create_table(name.identifier, schema)
    table = session.stored(path)
    files = {file.path for file in table.file_io.list_tree(table.location)}
    is_new = not files or (files == {_FIRST_SCHEMA} and table.schema.time_millis >= started)
    try:
        yield
    except BaseException as error:
        try:
            _drop(catalog, name.identifier, table if is_new else None)
        except PaimonError as left:
            error.add_note(f"The table is left: {left}")
        raise


def _drop(catalog: Catalog, identifier: str, new: "Stored | None") -> None:
    """`new`: a table in a folder that had no files of others."""
    catalog.drop_table(identifier, ignore_if_not_exists=True)
    if new is not None and new.file_io.folder_exists(new.location):
        new.file_io.delete_folder(new.location)
