"""Order `zorder`: the bits of all columns interleaved, so that rows near in any column tend to be near in the file.

The most significant bits come first, round robin by column; a column whose bits are used up is passed over. Source:
data section 2.10, Java `ZOrderByteUtils.interleaveBits`.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.compaction.order.bits import WORD_BITS, in_turn
from maintenance.compaction.order.codes import WORD_BYTES, column_bytes, column_codes, is_text

_ROWS_AT_ONCE = 1 << 16


def zorder_words(columns: Sequence[pa.Array], text_bytes: int) -> list[np.ndarray]:
    """Words, most significant first, uint64, shape (n,). `columns`: n > 0 rows; `text_bytes`: of a text that count."""
    if text_bytes == WORD_BYTES or not any(is_text(column.type) for column in columns):
        return in_turn([column_codes(column) for column in columns], WORD_BITS)
    parts = [column_bytes(column, text_bytes) for column in columns]
    turns = interleaved([8 * part.shape[1] for part in parts])
    words = -(-len(turns) // WORD_BITS)
    out = np.zeros((len(parts[0]), words * WORD_BYTES), np.uint8)
    for start in range(0, len(out), _ROWS_AT_ONCE):
        stop = start + _ROWS_AT_ONCE
        bits = np.unpackbits(np.concatenate([part[start:stop] for part in parts], axis=1), axis=1)
        packed = np.packbits(bits[:, turns], axis=1)
        out[start:stop, : packed.shape[1]] = packed
    return list(out.view(">u8").T.astype(np.uint64))


def interleaved(widths: Sequence[int]) -> np.ndarray:
    """Places of the bits of columns that lie one after the other, in the order they are taken. `widths`: in bits."""
    starts = np.concatenate([[0], np.cumsum(widths)[:-1]])
    return np.array(
        [starts[column] + bit for bit in range(max(widths)) for column, width in enumerate(widths) if bit < width]
    )
