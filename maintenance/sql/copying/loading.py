"""``COPY INTO table FROM 'folder'``: the files of a folder that were not loaded yet, as one commit.

Source: Java `CopyIntoTableExec`, `CopyIntoHelper` of Paimon's Spark connector. Two at a time may load a file twice.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from maintenance.catalog import CatalogTable
from maintenance.errors import DataError, NotFoundError
from maintenance.fs.storage import FileStatus
from maintenance.sql.copying.file_format import FileFormat
from maintenance.sql.copying.history import LoadHistory
from maintenance.sql.copying.reading import LoadedFile, read_file
from maintenance.sql.result import Result
from maintenance.types.casts.text import fitted
from maintenance.types.data_type import DataField

OnError = Literal["ABORT_STATEMENT", "CONTINUE", "SKIP_FILE"]


@dataclass(frozen=True, slots=True)
class Load:
    """What is to be loaded.

    Attributes:
        folder: or a single file.
        pattern: a regular expression found in the names of files; None = all.
        again: load files that were loaded before.
        zone: of instants whose texts name none, and of wall clocks that become instants.
        on_error: of a record that is no row of the table: load nothing, all but it, or all but its file.
    """

    folder: str
    form: FileFormat
    zone: str
    pattern: str | None = None
    again: bool = False
    on_error: OnError = "ABORT_STATEMENT"


def load(table: CatalogTable, fields: Sequence[DataField], given: Load) -> Result:
    """Load files into some columns of a table; the others get their default or null.

    Returns: a row for each file, as Paimon's Spark connector does.
    Raises: NotFoundError: no such folder; DataError: a record is no row, and errors abort; UnsupportedError; as of
        writing.
    """
    files = _files(table, given)
    history = LoadHistory(table)
    before = set() if given.again else history.loaded(files)
    new = [status for status in files if status.path not in before]
    read = {status.path: _read(table, status, fields, given) for status in new}
    rows = [found.rows for found in read.values() if found.rows.num_rows]
    written = table.write_arrow(fitted(pa.concat_tables(rows), fields)) if rows else ()
    done = [status for status in new if not _has_failed(read[status.path], given)]
    if done:
        counts = {path: found.rows.num_rows for path, found in read.items()}
        history.add(counts, done, written[0] if written else table.snapshots.latest_id())
    return _result(files, read)


def _files(table: CatalogTable, given: Load) -> list[FileStatus]:
    """The files right in the folder, by name, without hidden ones. Raises: NotFoundError."""
    folder = given.folder.removeprefix("file:").rstrip("/") or "/"
    folder = re.sub("^///", "/", folder)
    if table.file_io.folder_exists(folder):
        found = table.file_io.list_files(folder)
    else:
        above, _, name = folder.rpartition("/")
        found = [status for status in table.file_io.list_files(above or "/") if status.name == name]
        if not found:
            fix = "Check the path behind FROM: it names a folder or a file."
            raise NotFoundError("there is no such folder or file", given.folder, fix)
    named = [status for status in found if not status.name.startswith(("_", "."))]
    if given.pattern is not None:
        named = [status for status in named if re.search(given.pattern, status.name)]
    return sorted(named, key=lambda status: status.name)


def _read(table: CatalogTable, status: FileStatus, fields: Sequence[DataField], given: Load) -> LoadedFile:
    """Raises: DataError: a record is no row, and errors abort."""
    nothing = pa.table({field.name: pa.nulls(0) for field in fields})
    try:
        found = read_file(table.file_io.read_bytes(status.path), status.name, fields, given.form, given.zone)
    except DataError as error:
        if given.on_error == "ABORT_STATEMENT":
            raise
        return LoadedFile(nothing, 0, 1, error.found)
    if not found.errors or given.on_error == "CONTINUE":
        return found
    if given.on_error == "SKIP_FILE":
        return LoadedFile(nothing, found.parsed, found.errors, found.error)
    raise DataError(
        f"{found.errors} of {found.parsed} records are no rows of the table: {found.error}",
        status.path,
        "Nothing was loaded. Correct the file, or use ON_ERROR = CONTINUE or SKIP_FILE.",
    )


def _has_failed(found: LoadedFile, given: Load) -> bool:
    return bool(found.errors) and (given.on_error == "SKIP_FILE" or not found.rows.num_rows)


def _result(files: Sequence[FileStatus], read: Mapping[str, LoadedFile]) -> Result:
    """A row for each file: those that were loaded first."""
    rows: list[tuple[str, str, int, int, int, str | None]] = []
    for status in sorted(files, key=lambda status: status.path not in read):
        found = read.get(status.path)
        if found is None:
            rows.append((status.name, "SKIPPED", 0, 0, 0, None))
            continue
        state = "LOADED"
        if found.errors:
            state = "PARTIALLY_LOADED" if found.rows.num_rows else "LOAD_FAILED"
        rows.append((status.name, state, found.rows.num_rows, found.parsed, found.errors, found.error))
    columns = list(zip(*rows, strict=True)) or [()] * 6
    names = ("file_name", "status", "rows_loaded", "rows_parsed", "errors_seen", "first_error")
    kinds = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.string())
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    loaded = any(found.rows.num_rows for found in read.values())
    return Result(pa.Table.from_arrays(arrays, names=list(names)), nothing_to_do=not loaded)
