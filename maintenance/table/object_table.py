"""Object tables: the files below a folder as rows. They cannot be written. Source: Java `ObjectTable`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from maintenance.errors import DataError, MissingFileError, NotFoundError
from maintenance.table.folder_table import FolderTable
from maintenance.types.data_type import DataField
from maintenance.types.type_text import parse_data_type

TYPE = "object-table"
_COLUMNS = (
    ("path", "STRING NOT NULL", "Relative path of object"),
    ("name", "STRING NOT NULL", "Name of object"),
    ("length", "BIGINT NOT NULL", "Bytes length of object"),
    ("mtime", "BIGINT NOT NULL", "Modification time of object"),
    ("atime", "BIGINT NOT NULL", "Access time of object"),
    ("owner", "STRING", "Owner of object"),
)
# The options that name a state by its number.
_STATE = ("scan.snapshot-id", "scan.version")
_ARROW = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("length", pa.int64(), nullable=False),
        pa.field("mtime", pa.int64(), nullable=False),
        pa.field("atime", pa.int64(), nullable=False),
        pa.field("owner", pa.string()),
    ]
)


def object_fields() -> tuple[DataField, ...]:
    """The columns of every object table."""
    return tuple(DataField(i, name, parse_data_type(text), about) for i, (name, text, about) in enumerate(_COLUMNS))


@dataclass(frozen=True, slots=True)
class ObjectTable(FolderTable):
    """A table over the files of a folder. Each read lists the folder again: that is its only state, snapshot 1.

    Attributes:
        location: the folder; `schema`: as the catalog has it, with the columns of every object table.
    """

    kind = "an object table"
    may = "Read it, and write files to its folder."
    taken = frozenset(_STATE)

    def copy(self, options: Mapping[str, str]) -> Self:
        """As of `FolderTable`. Raises: NotFoundError: another state than snapshot 1 is asked for; UnsupportedError."""
        for key in (key for key in _STATE if options.get(key, "1") != "1"):
            raise NotFoundError(
                f"'{key}' = '{options[key]}': an object table has one state, snapshot 1, the files as they are now",
                f"table {self.name}",
                f"Leave '{key}' out of the query.",
            )
        return FolderTable.copy(self, options)

    def rows(self, options: Mapping[str, str]) -> pa.Table:
        """All files, hidden ones and those in subfolders too. Sizes in bytes, times in milliseconds since 1970 UTC."""
        files = self.copy(options).file_io.list_tree(self.location)
        columns = (
            [file.path for file in files],
            [file.name for file in files],
            [file.size for file in files],
            [file.mtime_ms for file in files],
            [0] * len(files),  # as Paimon: it asks no file system for these two
            [None] * len(files),
        )
        arrays = [pa.array(values, field.type) for values, field in zip(columns, _ARROW, strict=True)]
        return pa.Table.from_arrays(arrays, schema=_ARROW)

    def read_object(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """The bytes of an object.

        Args: `path`: as column `path` shows it; `offset`, `length`: of a part, in bytes; None = up to the end.
        Raises: NotFoundError: there is no such object; DataError: the path or the part cannot be; StorageError.
        """
        if offset < 0 or (length is not None and length < 0):
            raise DataError(
                f"offset {offset}, length {length}", f"object {path}", "Give an offset and a length of 0 or more."
            )
        with self.open_object(path) as source:
            source.seek(min(offset, source.size()))
            return bytes(source.read(length))

    def open_object(self, path: str) -> "pa.NativeFile":
        """An object as a file to read: `read`, `seek`, `tell`, `size`; it closes as a context. See `read_object`."""
        parts = path.split("/")
        if not path or path.startswith("/") or ".." in parts or "." in parts:
            raise DataError(f"'{path}' is no path of an object", f"table {self.name}", "Give one of column 'path'.")
        try:
            return self.file_io.open_input(f"{self.location.rstrip('/')}/{path}")
        except MissingFileError as error:
            fix = "Read the column 'path' of the table for the objects that there are."
            raise NotFoundError(f"object '{path}' does not exist", f"table {self.name}", fix) from error

    def write_arrow(self, data: pa.Table | pa.RecordBatch) -> tuple[int, ...]:
        """Raises: UnsupportedError, always."""
        del data
        raise self.refused("no rows that could be written")
