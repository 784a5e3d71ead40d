"""File indexes of data files: where their containers are stored, and how the next one is named."""

from collections.abc import Iterator

from maintenance.format.file_index.builder import FileIndexBuilder
from maintenance.format.file_index.kinds import column_indexes
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.fs.file_io import FileIO
from maintenance.write.context import WriteContext

SUFFIX = ".index"


def index_builder(context: WriteContext) -> FileIndexBuilder | None:
    """A builder for a new data file, None if the table declares no index."""
    declared = column_indexes(context.options, context.schema.fields)
    written = [index for index in declared if index.field in context.columns]
    return FileIndexBuilder(written) if written else None


def store_container(
    container: bytes, path: str, file_io: FileIO, threshold: int
) -> tuple[bytes | None, tuple[str, ...]]:
    """Embed a container of up to `threshold` bytes, else write it to `path`. Returns (embedded, extra file names)."""
    if len(container) <= threshold:
        return container, ()
    file_io.write_bytes(path, container)
    return None, (path.rsplit("/", 1)[-1],)


def store_new_container(
    container: bytes, folder: str, file: DataFileMeta, file_io: FileIO, threshold: int
) -> tuple[bytes | None, tuple[str, ...]]:
    """As `store_container`, for a data file that is there: under a name that no other writer took meanwhile."""
    if len(container) <= threshold:
        return container, ()
    for name in index_names(file):
        if file_io.publish(f"{folder}/{name}", container):
            return None, (name,)
    raise AssertionError("there is always a next name")


def index_names(file: DataFileMeta) -> Iterator[str]:
    """Names for the next index file of a data file: `X.parquet.index`, `X.parquet-1.index`, `X.parquet-2.index`…

    They go on behind the file's present one.
    """
    previous = [name for name in file.extra_files if name.endswith(SUFFIX)]
    number = 0
    if not previous:
        yield f"{file.file_name}{SUFFIX}"
    else:
        tail = previous[-1].removesuffix(SUFFIX).removeprefix(file.file_name)
        number = int(tail[1:]) if tail.startswith("-") and tail[1:].isdecimal() else 0
    while True:
        number += 1
        yield f"{file.file_name}-{number}{SUFFIX}"
