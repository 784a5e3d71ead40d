"""Row kinds: what a record does to its key. Source: seed 000, Java `RowKind`."""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError


class RowKind(IntEnum):
    """The value of `_VALUE_KIND`."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def text(self) -> str:
        return KIND_TEXTS[self]


KIND_TEXTS = ("+I", "-U", "+U", "-D")


def is_retract(kinds: np.ndarray) -> np.ndarray:
    """True where a kind is -U or -D. `kinds`: int8, shape (n,)."""
    return (kinds & 1).astype(bool)


def kinds_of_texts(texts: Sequence[str] | pa.Array | pa.ChunkedArray) -> pa.Array:
    """Row kinds (int8) of texts such as ``+I``. Raises: DataError: another text, or null."""
    try:
        array = texts if isinstance(texts, (pa.Array, pa.ChunkedArray)) else pa.array(list(texts), pa.string())
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        kinds = pc.index_in(array, value_set=pa.array(KIND_TEXTS))
    except (pa.ArrowException, TypeError) as error:
        raise DataError(f"row kinds that are not texts: {error}", "row kinds", "Use +I, -U, +U or -D.") from error
    if kinds.null_count:
        wrong = array.filter(kinds.is_null()).to_pylist()[0]
        raise DataError(f"'{wrong}' is not a row kind", "row kinds", "Use +I, -U, +U or -D.")
    return kinds.cast(pa.int8())


def texts_of_kinds(kinds: pa.Array) -> pa.Array:
    """Texts such as ``+I`` of row kinds."""
    return pa.array(KIND_TEXTS).take(kinds)


def opposite_kinds(kinds: pa.ChunkedArray) -> pa.ChunkedArray:
    """The kinds that undo those: -D for +I, -U for +U, and the other way round. Source: Java `ReverseReader`."""
    return pc.subtract(pa.scalar(int(RowKind.DELETE), pa.int8()), kinds)
