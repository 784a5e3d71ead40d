"""Order `hilbert`: along a Hilbert curve through the space of the columns, which leaves no gaps as the Z-order does.

Each column gives 63 bits, null is the largest number. Source: data section 2.10, Java `HilbertIndexer`.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.compaction.order.codes import column_codes
from maintenance.compaction.order.curve import places

BITS = 63
_NULL = np.uint64((1 << BITS) - 1)


def hilbert_words(columns: Sequence[pa.Array], _text_bytes: int) -> list[np.ndarray]:
    """Words, most significant first, uint64, shape (n,). `columns`: at least two, n > 0 rows."""
    return places([_axis(column) for column in columns], BITS)


def _axis(column: pa.Array) -> np.ndarray:
    codes = column_codes(column) >> np.uint64(1)
    if column.null_count:
        codes[column.is_null().to_numpy(zero_copy_only=False)] = _NULL
    return codes
