"""What a kind of file index is: a builder that is given a column, and a test of a filter against the finished body."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from maintenance.predicate.tree import Leaf
from maintenance.types.data_type import DataType


class IndexBuilder(Protocol):
    """Builds the body of one index of one column of one data file."""

    def add(self, array: pa.Array | pa.ChunkedArray) -> None:
        """Take the column's next rows, of its natural Arrow type, nulls included."""

    def finish(self) -> bytes | None:
        """The body; None if no row was added."""


@dataclass(frozen=True, slots=True)
class IndexKind:
    """A kind of file index.

    Attributes:
        name: as in the options and in the container.
        options: names of the options of one index.
        supports: whether columns of a type can have the index.
        builder: a new builder for a column of the type. Raises OptionError: an option has a wrong value.
        may_match: false only if no row of the file can satisfy the leaf, given the index's body and the column's type.
    """

    name: str
    options: frozenset[str]
    supports: Callable[[DataType], bool]
    builder: Callable[[DataType, Mapping[str, str]], IndexBuilder]
    may_match: Callable[[Leaf, bytes, DataType], bool]
