"""BLOB columns of a read: as bytes, or as descriptors of where they are.

Options: with `blob-as-descriptor` every blob is a descriptor. Without, blobs of `blob-descriptor-field`, of which the
table has the descriptor alone, are fetched, from the kind of storage that the table is in and no other: data of a store
must not make a reader open files of its own machine. References of `blob-view-field` are read as they are, if
`blob-view.resolve.enabled` is off: the tables that they name are not looked up here.
Source: Java `BlobDescriptorReaderFactory`, `BlobViewTableReadSupport`.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from maintenance.errors import MissingFileError, UnsupportedError
from maintenance.format.blob import bounded
from maintenance.format.blob_descriptor import WHOLE, BlobDescriptor, are_descriptors, parse_descriptor
from maintenance.fs.file_io import FileIO
from maintenance.options.blob import (
    BLOB_AS_DESCRIPTOR,
    BLOB_DESCRIPTOR_FIELD,
    BLOB_VIEW_FIELD,
    BLOB_VIEW_RESOLVE_ENABLED,
)
from maintenance.types.data_type import DataField
from maintenance.types.nested import Path, Rebuild

_ELSEWHERE = "blob-external-storage-field"


def check_blobs(columns: Sequence[DataField], options: Mapping[str, str], table: str) -> None:
    """Refuse what cannot be read of blobs. Raises: UnsupportedError."""
    blobs = {column.name for column in columns if column.type.root == "BLOB"}
    views = blobs.intersection(BLOB_VIEW_FIELD.of(options))
    if views and BLOB_VIEW_RESOLVE_ENABLED.of(options):
        raise UnsupportedError(
            f"column '{min(views)}' of '{BLOB_VIEW_FIELD.key}' refers to blobs of other tables",
            table,
            f"Set '{BLOB_VIEW_RESOLVE_ENABLED.key}' = 'false' to read the references, or leave the column out.",
        )
    for name in blobs:
        if name in [part.strip() for part in options.get(_ELSEWHERE, "").split(",")]:
            raise UnsupportedError(
                f"column '{name}' of '{_ELSEWHERE}' has its blobs elsewhere", table, "Leave the column out of the read."
            )


def blobs_as_stored(options: Mapping[str, str]) -> dict[str, str]:
    """The options for a read of what changes of rows write again: blobs stay where they are."""
    return {**options, BLOB_AS_DESCRIPTOR.key: "true", BLOB_VIEW_RESOLVE_ENABLED.key: "false"}


def fetched_columns(columns: Sequence[DataField], options: Mapping[str, str]) -> tuple[str, ...]:
    """The columns whose blobs are to be fetched by their descriptors."""
    if BLOB_AS_DESCRIPTOR.of(options):
        return ()
    described = BLOB_DESCRIPTOR_FIELD.of(options)
    return tuple(column.name for column in columns if column.type.root == "BLOB" and column.name in described)


def with_blobs(rows: pa.Table, names: Sequence[str], file_io: FileIO, root: str) -> Iterator[pa.Table]:
    """Rows with blobs in the place of descriptors, in tables of bounded size. `root`: the table's location."""
    if not names or not rows.num_rows:
        yield rows
        return
    descriptors = {name: _descriptors(rows.column(name), f"{root}, column {name}", file_io, root) for name in names}
    sizes = np.sum([[0 if one is None else one.length for one in column] for column in descriptors.values()], axis=0)
    for start, end in bounded(np.cumsum(sizes), rows.num_rows):
        part = rows.slice(start, end - start)
        for name, column in descriptors.items():
            values = [None if one is None else read_blob(one, file_io, root) for one in column[start:end]]
            at = part.schema.get_field_index(name)
            part = part.set_column(at, part.schema.field(at), pa.array(values, part.schema.field(at).type))
        yield part


def _descriptors(column: pa.ChunkedArray, where: str, file_io: FileIO, root: str) -> list[BlobDescriptor | None]:
    return [
        None if data is None else _sized(parse_descriptor(data, where), file_io, root) for data in column.to_pylist()
    ]


def _sized(descriptor: BlobDescriptor, file_io: FileIO, root: str) -> BlobDescriptor:
    """A descriptor with its length. Raises: UnsupportedError, MissingFileError."""
    _check_storage(descriptor.uri, root)
    if descriptor.length != WHOLE:
        return descriptor
    size = file_io.size(descriptor.uri)
    if size is None:
        raise _missing(descriptor)
    return BlobDescriptor(descriptor.uri, descriptor.offset, size - descriptor.offset)


def _check_storage(uri: str, root: str) -> None:
    """Raises: UnsupportedError: the blob is in another storage than the table."""
    own, other = (text.partition("://")[0] if "://" in text else "" for text in (root, uri.removeprefix("file:")))
    if own != other:
        raise UnsupportedError(
            f"a blob at {uri}, which is not in the table's own storage",
            root,
            f"Set '{BLOB_AS_DESCRIPTOR.key}' = 'true' to read the descriptors.",
        )


def read_blob(descriptor: BlobDescriptor, file_io: FileIO, root: str) -> bytes:
    """The bytes of a blob. Raises: UnsupportedError; MissingFileError: they are not there."""
    sized = _sized(descriptor, file_io, root)
    try:
        data = file_io.read_range(sized.uri, sized.offset, sized.length)
    except FileNotFoundError as error:
        raise _missing(descriptor) from error
    if len(data) != sized.length:
        raise _missing(descriptor)
    return data


def _missing(descriptor: BlobDescriptor) -> MissingFileError:
    return MissingFileError(
        f"a blob of {descriptor.length} bytes from {descriptor.offset} on is missing",
        descriptor.uri,
        "Restore the file, or read the descriptors alone.",
    )


def fetched(column: pa.ChunkedArray, file_io: FileIO, root: str) -> pa.ChunkedArray:
    """A column of blobs to write, with the blob in the place of each descriptor among them."""
    described = are_descriptors(column)
    if not described.any():
        return column
    values = [
        read_blob(parse_descriptor(value, root), file_io, root) if is_described else value
        for value, is_described in zip(column.to_pylist(), described, strict=True)
    ]
    return pa.chunked_array([pa.array(values, column.type)])


def fetched_lists(column: pa.ChunkedArray, file_io: FileIO, root: str) -> pa.ChunkedArray:
    """A column of lists or maps of blobs to write, see `fetched`."""

    def leaf(array: pa.Array, _: pa.DataType, path: Path) -> pa.Array:
        if path == ("key",):
            return array
        return fetched(pa.chunked_array([array]), file_io, root).combine_chunks()

    return Rebuild(leaf).column(column, column.type)
