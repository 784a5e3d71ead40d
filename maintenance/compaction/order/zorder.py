"""Order `zorder`: the bits of all columns taken in turn, so that rows near in any column tend to be near in the file.

The most significant bits come first, round robin by column; a column whose bits are used up is passed over. Source:
data section 2.10, Java `ZOrderByteUtils.interleaveBits`.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.compaction.order.codes import WORD_BYTES, column_bytes

_ROWS_AT_ONCE = 1 << 16


def zorder_words(columns: Sequence[pa.Array], text_bytes: int) -> list[np.ndarray]:
    """Words, most significant first, uint64, shape (n,). `columns`: n > 0 rows; `text_bytes`: of a text that count."""
    parts = [column_bytes(column, text_bytes) for column in columns]
    if len(parts) <= WORD_BYTES and {part.shape[1] for part in parts} == {WORD_BYTES}:
        return _of_words(parts)
    turns = interleaved([8 * part.shape[1] for part in parts])
    words = -(-len(turns) // (8 * WORD_BYTES))
    out = np.zeros((len(parts[0]), words * WORD_BYTES), np.uint8)
    for start in range(0, len(out), _ROWS_AT_ONCE):
        stop = start + _ROWS_AT_ONCE
        bits = np.unpackbits(np.concatenate([part[start:stop] for part in parts], axis=1), axis=1)
        packed = np.packbits(bits[:, turns], axis=1)
        out[start:stop, : packed.shape[1]] = packed
    return list(out.view(">u8").T.astype(np.uint64))


def _of_words(parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The same for columns of eight bytes each, a byte of every column at a time: they give as many bytes of it."""
    count = len(parts)
    bits = np.arange(256, dtype=np.uint64)
    spread = np.zeros(256, np.uint64)
    for bit in range(8):
        spread |= (bits >> np.uint64(bit) & np.uint64(1)) << np.uint64(bit * count)
    out = np.empty((len(parts[0]), WORD_BYTES * count), np.uint8)
    for place in range(WORD_BYTES):
        taken = np.zeros(len(out), np.uint64)
        for column, part in enumerate(parts):
            taken |= spread[part[:, place]] << np.uint64(count - 1 - column)
        content = taken.astype(">u8").view(np.uint8).reshape(-1, WORD_BYTES)
        out[:, place * count : (place + 1) * count] = content[:, WORD_BYTES - count :]
    return list(out.view(">u8").T.astype(np.uint64))


def interleaved(widths: Sequence[int]) -> np.ndarray:
    """Places of the bits of columns that lie one behind the other, in the order they are taken. `widths`: in bits."""
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    return np.array(
        [starts[column] + bit for bit in range(max(widths)) for column, width in enumerate(widths) if bit < width]
    )
