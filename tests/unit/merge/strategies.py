"""Records of a few keys, as several runs hold them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from tests.models.order import Record

SCHEMA = pa.schema(
    [
        ("k", pa.int32()),
        ("s", pa.string()),
        ("_SEQUENCE_NUMBER", pa.int64()),
        ("_VALUE_KIND", pa.int8()),
        ("u1", pa.float64()),
        ("u2", pa.int32()),
        ("v", pa.string()),
        ("n", pa.int64()),
        ("_RUN", pa.int32()),
    ]
)


@st.composite
def records(draw: st.DrawFn, max_size: int = 14) -> list[Record]:
    """Records in any order, each sequence number once. `n` tells them apart; `top`: of the highest level, one a key."""
    rows = draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "k": st.sampled_from([1, 2, -3]),
                    "s": st.sampled_from(["", "a", "a long key", None]),
                    "_VALUE_KIND": st.sampled_from([0, 0, 1, 2, 3]),
                    "u1": st.sampled_from([None, 0.0, -0.0, 1.5, math.nan]),
                    "u2": st.sampled_from([None, 0, 7]),
                    "v": st.sampled_from([None, "x", "y"]),
                    "_RUN": st.integers(0, 3),
                }
            ),
            min_size=1,
            max_size=max_size,
        )
    )
    numbers = draw(st.permutations(range(len(rows))))
    topped: set[Any] = set()
    for i, (row, number) in enumerate(zip(rows, numbers, strict=True)):
        row |= {"_SEQUENCE_NUMBER": number, "n": i, "top": False}
        if row["_RUN"] == 0 and (row["k"], row["s"]) not in topped:
            row["top"] = True
            topped.add((row["k"], row["s"]))
    return [*rows]


def table_of(rows: Sequence[Record]) -> pa.Table:
    return pa.Table.from_pylist([dict(row) for row in rows], schema=SCHEMA).combine_chunks()


def top_of(rows: Sequence[Record]) -> np.ndarray:
    return np.array([row["top"] for row in rows])
