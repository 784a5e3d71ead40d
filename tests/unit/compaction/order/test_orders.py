"""The orders there are."""

import numpy as np
import pyarrow as pa

from maintenance.compaction.order.hilbert import hilbert_words
from maintenance.compaction.order.orders import ORDERS, SortedBy

ROWS = pa.table({"a": pa.array([3, 1, 2], pa.int32()), "b": ["x", "y", "z"]})


def test_how_many_columns_each_needs() -> None:
    assert {name: order.min_columns for name, order in ORDERS.items()} == {"order": 1, "zorder": 1, "hilbert": 2}


def test_rows_in_their_order() -> None:
    for strategy, columns, rows in (
        ("order", ("a", "b"), [1, 2, 0]), ("order", ("b",), [0, 1, 2]), ("zorder", ("a",), [1, 2, 0]),
    ):  # fmt: skip
        by = SortedBy(strategy, columns)
        for words in (by.words(ROWS), by.ranges(ROWS)):
            assert np.lexsort(words[::-1]).tolist() == rows


def test_columns_of_a_hilbert_curve_have_63_bits_and_null_is_the_largest() -> None:
    """The curve begins where both columns are smallest, and ends where the first alone is largest."""
    most = 2**63 - 1
    corners = pa.array([-(2**63), -(2**63), None, None, most], pa.int64())
    others = pa.array([-(2**63), None, None, -(2**63), -(2**63)], pa.int64())
    words = hilbert_words([corners, others], 8)
    places = [int(high) << 64 | int(low) for high, low in zip(*words, strict=True)]
    assert places[0] == 0
    assert len(set(places)) == 4
    assert places[3] == places[4] == max(places)
