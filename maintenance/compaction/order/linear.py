"""Order `order`: by the columns, the first one counts most."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from maintenance.compaction.order.codes import column_codes
from maintenance.merge.sort_words import sort_words


def linear_ranges(columns: Sequence[pa.Array], _text_bytes: int) -> list[np.ndarray]:
    """Words to cut ranges by: of the first column alone. They are not exact, so that no other may decide."""
    return [column_codes(columns[0])]


def linear_words(columns: Sequence[pa.Array], _text_bytes: int) -> list[np.ndarray]:
    """Words to sort by, exact."""
    return sort_words(columns)
