"""BLOB columns of a read: as bytes, or as descriptors of where they are.

Options: with `blob-as-descriptor` every blob is a descriptor. Without, blobs of `blob-descriptor-field`, of which the
table has the descriptor alone, are fetched, from the kind of storage that the table is in and no other: data of a store
must not make a reader open files of its own machine. References of `blob-view-field`: see `blob_views`.
Source: Java `BlobDescriptorReaderFactory`.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from maintenance.errors import MissingFileError, PaimonError, UnsupportedError
from maintenance.format.blob import bounded
from maintenance.format.blob_descriptor import WHOLE, BlobDescriptor, are_descriptors, parse_descriptor
from maintenance.fs.file_io import FileIO
from maintenance.options.blob import (
    BLOB_AS_DESCRIPTOR,
    BLOB_VIEW_RESOLVE_ENABLED,
    BLOB_WRITE_NULL_ON_FETCH_FAILURE,
    BLOB_WRITE_NULL_ON_MISSING_FILE,
)
from maintenance.options.model import TableModel
from maintenance.types.data_type import DataField
from maintenance.types.nested import Path, Rebuild

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BlobPlace:
    """A blob, and what it is read with.

    Attributes:
        root: location of the table that refers to it.
    """

    descriptor: BlobDescriptor
    file_io: FileIO
    root: str

    def sized(self) -> "BlobPlace":
        """The place with the blob's length. Raises: UnsupportedError: in another storage; MissingFileError."""
        return replace(self, descriptor=_sized(self.descriptor, self.file_io, self.root))


def blobs_as_stored(options: TableModel) -> dict[str, str]:
    """The options for a read of what changes of rows write again: blobs stay where they are."""
    return {**options, BLOB_AS_DESCRIPTOR.key: "true", BLOB_VIEW_RESOLVE_ENABLED.key: "false"}


def fetched_columns(columns: Sequence[DataField], options: TableModel) -> tuple[str, ...]:
    """The columns whose blobs are to be fetched by their descriptors."""
    if options.blob_as_descriptor:
        return ()
    described = options.blob_descriptor_field
    return tuple(column.name for column in columns if column.type.root == "BLOB" and column.name in described)


def described_places(
    rows: pa.Table, names: Sequence[str], file_io: FileIO, root: str
) -> dict[str, list[BlobPlace | None]]:
    """Where the blobs of columns of descriptors are. `root`: the table's location. Raises: DataError."""
    return {
        name: [
            None if data is None else BlobPlace(parse_descriptor(data, f"{root}, column {name}"), file_io, root)
            for data in rows.column(name).to_pylist()
        ]
        for name in names
    }


def with_blobs(rows: pa.Table, places: Mapping[str, Sequence[BlobPlace | None]]) -> Iterator[pa.Table]:
    """Rows with blobs in the place of descriptors and references, in tables of bounded size.

    Args: `places`: of the blobs of columns, one for each row. Raises: UnsupportedError, MissingFileError.
    """
    if not places or not rows.num_rows:
        yield rows
        return
    sized = {name: [None if one is None else one.sized() for one in column] for name, column in places.items()}
    sizes = np.sum(
        [[0 if one is None else one.descriptor.length for one in column] for column in sized.values()], axis=0
    )
    for start, end in bounded(np.cumsum(sizes), rows.num_rows):
        part = rows.slice(start, end - start)
        for name, column in sized.items():
            values = [
                None if one is None else read_blob(one.descriptor, one.file_io, one.root) for one in column[start:end]
            ]
            part = _with_values(part, name, values)
        yield part


def with_descriptors(rows: pa.Table, places: Mapping[str, Sequence[BlobPlace | None]]) -> pa.Table:
    """Rows with descriptors in the place of references."""
    for name, column in places.items():
        rows = _with_values(rows, name, [None if one is None else one.descriptor.serialize() for one in column])
    return rows


def _with_values(rows: pa.Table, name: str, values: Sequence[bytes | None]) -> pa.Table:
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))


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


@dataclass(frozen=True, slots=True)
class Lost:
    """Which blobs become null when they are written. `missing`: those not there; `failing`: those of other errors."""

    missing: bool = False
    failing: bool = False

    @classmethod
    def of(cls, options: TableModel) -> "Lost":
        return cls(BLOB_WRITE_NULL_ON_MISSING_FILE.of(options), BLOB_WRITE_NULL_ON_FETCH_FAILURE.of(options))

    def blob(self, descriptor: bytes, file_io: FileIO, root: str) -> bytes | None:
        """The bytes of a blob. Raises: as `read_blob`, if it does not become null."""
        try:
            return read_blob(parse_descriptor(descriptor, root), file_io, root)
        except MissingFileError as error:
            if not self.missing:
                raise
            _LOG.warning("null is written for a blob: %s", error)
        except (PaimonError, OSError) as error:
            if not self.failing:
                raise
            _LOG.warning("null is written for a blob: %s", error)
        return None


_NONE_LOST = Lost()


def fetched(column: pa.ChunkedArray, file_io: FileIO, root: str, lost: Lost = _NONE_LOST) -> pa.ChunkedArray:
    """A column of blobs to write, with the blob in the place of each descriptor among them."""
    described = are_descriptors(column)
    if not described.any():
        return column
    values = [
        lost.blob(value, file_io, root) if is_described else value
        for value, is_described in zip(column.to_pylist(), described, strict=True)
    ]
    return pa.chunked_array([pa.array(values, column.type)])


def fetched_lists(column: pa.ChunkedArray, file_io: FileIO, root: str, lost: Lost = _NONE_LOST) -> pa.ChunkedArray:
    """A column of lists or maps of blobs to write, see `fetched`."""

    def leaf(array: pa.Array, _: pa.DataType, path: Path) -> pa.Array:
        if path == ("key",):
            return array
        return fetched(pa.chunked_array([array]), file_io, root, lost).combine_chunks()

    return Rebuild(leaf).column(column, column.type)
