"""Serialized rows, the `bytes` fields of manifests: single values in `binary_value`, columns in `binary_columns`.

Layout: see `binary_layout`. In manifests it is preceded by the number of fields as a big endian int32, which
is not part of the row: neither the offsets nor the hash count it. Source: metadata section 4.4, Java `BinaryRow`.
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from maintenance.errors import RESTORE, CorruptFileError, DataError
from maintenance.format.bytes.murmur import hash_rows
from maintenance.format.rows.binary_columns import encode_rows
from maintenance.format.rows.binary_layout import is_supported
from maintenance.format.rows.binary_value import row_bytes, row_values
from maintenance.types.data_type import DataType

EMPTY_ROW = bytes(12)

_ARITY_SIZE = 4


def serialize_row(values: Sequence[Any], types: Sequence[DataType]) -> bytes:
    """The bytes of a row, number of fields first. Values of nested types: see `binary_value`.

    Raises: DataError: a value does not fit its type; UnsupportedError: a value, not null, of a type without a form.
    """
    if len(values) != len(types):
        raise DataError(f"{len(values)} values for {len(types)} columns", "row", "Give one value per column.")
    return struct.pack(">i", len(types)) + row_bytes(values, types)


def parse_row(data: bytes, types: Sequence[DataType], *, skip_unsupported: bool = False) -> tuple[Any, ...]:
    """The values of a row with its number of fields first.

    Args: `skip_unsupported`: give None for values of nested types and those without a form here, as for statistics,
        where it is unknown.
    Raises: CorruptFileError: another number of fields, or cut off; UnsupportedError: a value, not null, of a type
        without a form here.
    """
    arity = int.from_bytes(data[:_ARITY_SIZE], "big", signed=True)
    if len(data) < _ARITY_SIZE or arity != len(types):
        fix = "Check that the schema of the id in the entry of this file is the one that it was written with."
        raise CorruptFileError(f"expected a row with {len(types)} fields, found {arity}", "row", fix)
    try:
        if skip_unsupported:
            return row_values(data[_ARITY_SIZE:], types, is_supported)
        return row_values(data[_ARITY_SIZE:], types)
    except (struct.error, ValueError) as error:  # UnicodeDecodeError is a ValueError
        raise CorruptFileError(f"a value of a row: {error}", "row", RESTORE) from error


def row_hashes(columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]) -> np.ndarray:
    """Hash of each row of columns: murmur over its bytes without the number of fields.

    Args: `columns`: at least one, n rows each, of the types' Arrow types or ones that cast to them.
    Returns: int32, shape (n,).
    Raises: UnsupportedError: a column of a type without a form here; DataError: a column does not cast to its type.
    Source: metadata section 7, Java `BinaryRow.hashCode`.
    """
    rows = len(columns[0])
    hashes = np.empty(rows, np.int32)
    for first, encoded in encode_rows(columns, types):
        hashes[first : first + len(encoded.starts)] = hash_rows(encoded.words, encoded.starts, encoded.sizes)
    return hashes


def row_array(columns: Sequence[pa.Array | pa.ChunkedArray], types: Sequence[DataType]) -> pa.BinaryArray:
    """The bytes of each row without the number of fields, to tell rows apart. Args and errors: as `row_hashes`."""
    pieces = [pa.array([], pa.binary())]
    for _, encoded in encode_rows(columns, types):
        # Rows lie one after the other.
        offsets = np.append(encoded.starts, encoded.starts[-1:] + encoded.sizes[-1:]).astype(np.int32) * 8
        buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(encoded.words.tobytes())]
        pieces.append(pa.Array.from_buffers(pa.binary(), len(encoded.starts), buffers))
    return pa.concat_arrays(pieces)
