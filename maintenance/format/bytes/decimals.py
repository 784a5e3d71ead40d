"""Decimals as the shortest two's complement of their digits, most significant byte first: Java's `BigInteger`."""

from decimal import Decimal
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.errors import DataError
from maintenance.types.row_hash import SHORT_DECIMAL

Column = TypeVar("Column", pa.Array, pa.ChunkedArray)

_WIDTH = 16
# Parquet files hold decimals of up to this many digits in 32 bits.
_INT32_DIGITS = 9


def digits_of_decimals(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of decimals without nulls, one after the other (uint8), and how many each has (int64)."""
    words = np.frombuffer(array.buffers()[1], np.uint8).reshape(-1, _WIDTH)
    words = words[array.offset : array.offset + len(array), ::-1]
    negative = words[:, 0] >= 0x80
    padding = np.where(negative, 0xFF, 0).astype(np.uint8)
    # A leading byte is superfluous while all before it are padding and the next one has the sign.
    same = words[:, :-1] == padding[:, None]
    same &= (words[:, 1:] >= 0x80) == negative[:, None]
    superfluous = np.logical_and.accumulate(same, axis=1).sum(axis=1)
    kept = np.arange(_WIDTH)[None, :] >= superfluous[:, None]
    return words[kept], _WIDTH - superfluous


def decimals_of_digits(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Decimals of their digits. `array`: binary, not sliced. Raises: ValueError: one has more than 16 bytes."""
    offsets = np.frombuffer(array.buffers()[1], np.int32)[: len(array) + 1].astype(np.int64)
    content = np.frombuffer(array.buffers()[2] or b"", np.uint8)
    lengths, starts = np.diff(offsets), offsets[:-1]
    if len(lengths) and int(lengths.max()) > _WIDTH:
        raise ValueError(f"a decimal has more than {_WIDTH} bytes")
    words = np.zeros((len(lengths), _WIDTH), np.uint8)
    filled = np.flatnonzero(lengths)
    words[filled[content[starts[filled]] >= 0x80]] = 0xFF
    for place in range(_WIDTH):
        there = np.flatnonzero(lengths > place)
        words[there, place] = content[starts[there] + lengths[there] - 1 - place]
    return pa.Array.from_buffers(target, len(array), [array.buffers()[0], pa.py_buffer(words)])


def null_where_too_long(column: Column) -> Column:
    """Decimals, those with more digits than their type has as null: sums of up to 18 digits may have more.

    Paimon writes them so to ORC files, and reads them so out of Avro files. Source: Java `Decimal.fromBigDecimal`.
    """
    kind = column.type
    if kind.precision > SHORT_DECIMAL:
        return column
    most = Decimal(10**kind.precision - 1).scaleb(-kind.scale)
    ends = pc.min_max(column).as_py()
    if ends["min"] is None or (ends["max"] <= most and ends["min"] >= -most):
        return column
    high, low = pa.scalar(most, kind), pa.scalar(-most, kind)
    return pc.if_else(
        pc.and_(pc.less_equal(column, high), pc.greater_equal(column, low)), column, pa.scalar(None, kind)
    )


def check_bits(rows: pa.Table, where: str) -> None:
    """Refuse a sum that the 32 bits do not hold in which parquet files keep decimals of few digits; Paimon cuts it off.

    Args: `where`: the table, for the message. Raises: DataError.
    """
    for field in rows.schema:
        if not pa.types.is_decimal(field.type) or field.type.precision > _INT32_DIGITS:
            continue
        ends = pc.min_max(rows.column(field.name)).as_py()
        if ends["min"] is None:
            continue
        wrong = next((value for value in ends.values() if not -(2**31) <= value.scaleb(field.type.scale) < 2**31), None)
        if wrong is not None:
            precision, scale = field.type.precision, field.type.scale
            raise DataError(
                f"{wrong} in column '{field.name}' is too long even for the 32 bits of a DECIMAL({precision}, {scale})",
                where,
                f"Change the column's type to DECIMAL({SHORT_DECIMAL}, {scale}): its sums need more digits.",
            )
