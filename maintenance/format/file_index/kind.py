"""A kind of file index: a builder that is given a column, and a reader that returns the matching rows."""

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa
from pyroaring import BitMap

from maintenance.errors import CorruptFileError
from maintenance.predicate.tree import Leaf, Not
from maintenance.types.data_type import DataType


class IndexBuilder(Protocol):
    """Builds the body of one index of one column of one data file."""

    def add(self, array: pa.Array | pa.ChunkedArray) -> None:
        """Take the column's next rows, of its natural Arrow type, nulls included."""

    def finish(self) -> bytes | None:
        """The body; None if no row was added. Raises: DataError: the index cannot hold a value."""


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """What a finished body is about. `data_type`: when it was built; `row_count`: of the data file."""

    data_type: DataType
    row_count: int


Condition = Leaf | Not


@dataclass(frozen=True, slots=True)
class IndexKind:
    """A kind of file index.

    Attributes:
        name: as in the options and in the container.
        options: names of the options of one index.
        supports: whether columns of a type can have the index.
        builder: a new builder for a column of the type. Raises OptionError: an option has a wrong value.
        select: rows that can satisfy a condition (a leaf, or NOT of one that is no `Compare`), given the index's body;
            none if no row can, None if the body does not tell. Raises CorruptFileError.
        fits: whether a body was built with these options, as far as the body tells.
    """

    name: str
    options: frozenset[str]
    supports: Callable[[DataType], bool]
    builder: Callable[[DataType, Mapping[str, str]], IndexBuilder]
    select: Callable[[Condition, bytes, IndexedColumn], BitMap | None]
    fits: Callable[[bytes, DataType, Mapping[str, str]], bool]


@contextmanager
def decoding(kind: str) -> Iterator[None]:
    """Decoding a body, whose bytes may be anything. Raises: CorruptFileError."""
    try:
        yield
    except (struct.error, ValueError, IndexError, OverflowError, MemoryError) as error:
        raise CorruptFileError(
            f"this is not an intact index '{kind}': {error}",
            "file index",
            "Rebuild the index with rewrite_file_index, or read with file-index.read.enabled = false.",
        ) from None


def check_row_count(row_count: int, column: IndexedColumn) -> None:
    """Raise ValueError where a body is of another file."""
    if row_count != column.row_count:
        raise ValueError(f"it is of {row_count} rows, the file has {column.row_count}")
