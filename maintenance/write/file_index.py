"""File indexes of data files: where their containers are stored, and how the next one is named."""

from maintenance.format.data_file import DataFileMeta
from maintenance.format.file_index.builder import FileIndexBuilder
from maintenance.format.file_index.kinds import column_indexes
from maintenance.fs.file_io import FileIO
from maintenance.write.context import WriteContext

SUFFIX = ".index"


def index_builder(context: WriteContext) -> FileIndexBuilder | None:
    """A builder for a new data file, None if the table declares no index."""
    declared = column_indexes(context.options, context.schema.fields)
    return FileIndexBuilder(declared) if declared else None


def store_container(
    container: bytes, path: str, file_io: FileIO, threshold: int
) -> tuple[bytes | None, tuple[str, ...]]:
    """Embed a container of up to `threshold` bytes, else write it to `path`. Returns (embedded, extra file names)."""
    if len(container) <= threshold:
        return container, ()
    file_io.write_bytes(path, container)
    return None, (path.rsplit("/", 1)[-1],)


def next_index_name(file: DataFileMeta) -> str:
    """Name of the next index file of a data file: `X.parquet.index`, then `X.parquet-1.index`, `X.parquet-2.index`…"""
    previous = [name for name in file.extra_files if name.endswith(SUFFIX)]
    if not previous:
        return f"{file.file_name}{SUFFIX}"
    tail = previous[-1].removesuffix(SUFFIX).removeprefix(file.file_name)
    number = int(tail[1:]) if tail.startswith("-") and tail[1:].isdecimal() else 0
    return f"{file.file_name}-{number + 1}{SUFFIX}"
