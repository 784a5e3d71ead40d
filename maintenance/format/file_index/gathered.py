"""The shared part of builders of bitmap indexes: keep the column until the file is complete, then encode it at once."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from maintenance.format.file_index.keys import Keys, distinct
from maintenance.types.data_type import DataType


@dataclass(frozen=True, slots=True)
class Coded:
    """A column by its distinct values.

    Attributes:
        row_count: nulls included.
        keys: the distinct values.
        rows: int64, numbers of the rows with a value: of the first key ascending, then of the second…
        starts: int64, shape (len(keys),), where the rows of each key begin in `rows`.
        nulls: int64, numbers of the rows without, ascending.
    """

    row_count: int
    keys: Keys
    rows: np.ndarray
    starts: np.ndarray
    nulls: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """Rows of each key."""
        return np.diff(self.starts, append=len(self.rows))


class GatheringBuilder(ABC):
    """Keeps a column of one data file and makes its index when all rows are there."""

    def __init__(self, data_type: DataType) -> None:
        self._data_type = data_type
        self._chunks: list[pa.Array] = []

    def add(self, array: pa.Array | pa.ChunkedArray) -> None:
        """Take the column's next rows, of its natural Arrow type, nulls included."""
        for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else (array,):
            if len(chunk):
                plain = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
                self._chunks.append(plain)

    def finish(self) -> bytes | None:
        """The body; None if no row was added. Raises: DataError: the index cannot hold a value."""
        return self._body(pa.chunked_array(self._chunks).combine_chunks()) if self._chunks else None

    @abstractmethod
    def _body(self, column: pa.Array) -> bytes:
        """The body of a column of at least one row."""


def coded(column: pa.Array, data_type: DataType) -> Coded:
    """A column by its distinct values. Raises: DataError."""
    keys, codes = distinct(column.drop_null(), data_type)
    order = np.argsort(codes.astype(np.uint16) if len(keys) < 1 << 16 else codes, kind="stable")
    counts = np.bincount(codes, minlength=len(keys))
    starts = np.cumsum(counts) - counts
    if column.null_count == 0:
        return Coded(len(column), keys, order, starts, np.empty(0, np.int64))
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    return Coded(len(column), keys, np.flatnonzero(valid)[order], starts, np.flatnonzero(~valid))
