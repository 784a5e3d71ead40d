"""The file index of a data file, as filters use it: embedded in the manifest, or the needed parts of a separate file.

Embedded bytes win over a separate file. What cannot be read is ignored with a warning: an index only saves work.
Source: data section 9.7, Java `FileIndexEvaluator`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from maintenance.errors import CorruptFileError
from maintenance.format.file_index.container import Place, head_length, parse_head
from maintenance.format.file_index.selection import FileIndexes, Selection, select
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.fs.file_io import FileIO
from maintenance.predicate.tree import Predicate
from maintenance.types.data_type import DataField

INDEX_SUFFIX = ".index"

_LOG = logging.getLogger(__name__)
_FIX = "Rebuild the index with rewrite_file_index, or read with file-index.read.enabled = false."
_FIRST_BYTES = 16 << 10


@dataclass(frozen=True, slots=True)
class IndexContainer:
    """An open container.

    Attributes:
        places: column, kind of index, place of its body.
        start: its first bytes, the head at least.
        path: of the rest, None if `start` is all.
    """

    places: Mapping[str, Mapping[str, Place | None]]
    start: bytes
    path: str | None
    file_io: FileIO

    def body(self, column: str, kind: str) -> bytes | None:
        """A body; None for one that was given no rows. Raises: CorruptFileError: it cannot be read."""
        place = self.places[column][kind]
        if place is None:
            return None
        first, length = place
        if self.path is None or first + length <= len(self.start):
            content = self.start[first : first + length]
        else:
            content = _read(self.file_io, self.path, first, length)
        if len(content) != length:
            raise CorruptFileError(f"an index of {length} bytes is cut off after {len(content)}", self.path or "", _FIX)
        return content


def has_index(file: DataFileMeta) -> bool:
    """Whether the file has an index."""
    return file.embedded_index is not None or any(name.endswith(INDEX_SUFFIX) for name in file.extra_files)


def index_path(path: str, file: DataFileMeta) -> str | None:
    """Path of the separate index of a data file, None without one. `path`: of the data file."""
    names = [name for name in file.extra_files if name.endswith(INDEX_SUFFIX)]
    return f"{path.rsplit('/', 1)[0]}/{names[-1]}" if names else None


def open_container(file_io: FileIO, path: str, file: DataFileMeta) -> IndexContainer | None:
    """The file's container; None without one, or with a warning if it cannot be read. `path`: of the data file."""
    try:
        return read_container(file_io, path, file)
    except CorruptFileError as error:
        _LOG.warning("a file index is ignored: %s", error)
        return None


def read_container(file_io: FileIO, path: str, file: DataFileMeta) -> IndexContainer | None:
    """The file's container, None without one. `path`: of the data file. Raises: CorruptFileError."""
    if file.embedded_index is not None:
        return IndexContainer(parse_head(file.embedded_index, path), file.embedded_index, None, file_io)
    separate = index_path(path, file)
    if separate is None:
        return None
    start = _read(file_io, separate, 0, _FIRST_BYTES)
    length = head_length(start, separate)
    if length > len(start) == _FIRST_BYTES:
        start = _read(file_io, separate, 0, length)
    return IndexContainer(parse_head(start[:length], separate), start, separate, file_io)


def index_bytes(file_io: FileIO, path: str, file: DataFileMeta) -> bytes | None:
    """The whole container, None without one. `path`: of the data file. Raises: CorruptFileError: it is missing."""
    separate = None if file.embedded_index is not None else index_path(path, file)
    return file.embedded_index if separate is None else _read(file_io, separate, 0, None)


def _read(file_io: FileIO, path: str, start: int, length: int | None) -> bytes:
    try:
        return file_io.read_bytes(path) if length is None else file_io.read_range(path, start, length)
    except FileNotFoundError as error:
        raise CorruptFileError("the index file is missing", path, _FIX) from error


def index_selection(
    predicate: Predicate, file: DataFileMeta, own: Sequence[DataField], load: Callable[[], IndexContainer | None]
) -> Selection:
    """Rows of a file that may match. `predicate`: over the file's `own` columns."""
    container = load() if has_index(file) else None
    if container is None:
        return Selection()
    names = {column: tuple(kinds) for column, kinds in container.places.items()}
    fields = {field.name: field for field in own}
    return select(predicate, FileIndexes(names, container.body, fields, file.row_count, file.file_name))
