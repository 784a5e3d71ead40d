"""The difference of two merged states, and when two values are the same."""

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.merge.difference import difference
from maintenance.merge.ordered import RecordOrder, group_by_key
from maintenance.merge.same_rows import same_values
from maintenance.types.row_kind import KIND_TEXTS

State = dict[int, tuple[float | None, str]]
ORDER = RecordOrder(("k",))
STATE = st.dictionaries(
    st.integers(0, 6),
    st.tuples(st.sampled_from([None, 0.0, -0.0, 1.0, float("nan")]), st.sampled_from("IUD")),
    max_size=6,
)
KINDS = {"I": 0, "U": 2, "D": 3}


def records(state: State) -> pa.Table:
    keys = sorted(state)
    return pa.table(
        {
            "_SEQUENCE_NUMBER": pa.array([7 * key % 5 for key in keys], pa.int64()),
            "_VALUE_KIND": pa.array([KINDS[state[key][1]] for key in keys], pa.int8()),
            "k": pa.array(keys, pa.int32()),
            "v": pa.array([state[key][0] for key in keys], pa.float64()),
        }
    )


def bits(value: float | None) -> bytes | None:
    return None if value is None else struct.pack(">d", value)


@given(STATE, STATE)
def test_difference_key_by_key(before: State, after: State) -> None:
    expected = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        if new is None:
            assert old is not None
            if old[1] != "D":
                expected.append((key, bits(old[0]), "-D"))
        elif old is None or bits(old[0]) != bits(new[0]) or (old[1] == "D") != (new[1] == "D"):
            expected.append((key, bits(new[0]), KIND_TEXTS[KINDS[new[1]]]))
    sides = [
        records(state).append_column("_RUN", pa.array([i] * len(state), pa.int32()))
        for i, state in enumerate((before, after))
    ]
    rows = pa.concat_tables(sides).combine_chunks()
    if not rows.num_rows:
        return
    actual = difference(rows, group_by_key(rows, ORDER), ("k", "v"))
    shown = [(row["k"], bits(row["v"]), KIND_TEXTS[row["_VALUE_KIND"]]) for row in actual.to_pylist()]
    assert shown == expected


VALUES: dict[pa.DataType, list[Any]] = {
    pa.float32(): [0.0, -0.0, 1.5, float("nan")],
    pa.string(): ["", "a", "b"],
    pa.binary(): [b"", b"a"],
    pa.timestamp("us"): [0, 1],
    pa.list_(pa.float64()): [[], [None], [0.0], [-0.0], [1.0, None], [1.0, 2.0], [float("nan")]],
    pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]): [
        {"a": None, "b": None}, {"a": 1, "b": []}, {"a": 1, "b": ["x", None]}, {"a": 1, "b": ["x", "y"]},
    ],
    pa.map_(pa.string(), pa.int32()): [
        [], [("a", 1)], [("a", 2)], [("a", None)], [("a", 1), ("b", 2)], [("b", 2), ("a", 1)],
    ],
}  # fmt: skip


@pytest.mark.parametrize("data_type", VALUES, ids=str)
@given(data=st.data())
def test_values_are_the_same_as_their_texts(data_type: pa.DataType, data: st.DataObject) -> None:
    """Every value has a text of its own, by which a model tells them apart."""
    value = st.sampled_from([None, *VALUES[data_type]])
    choice = st.lists(st.tuples(value, value), max_size=8)
    pairs = data.draw(choice)
    offset = data.draw(st.integers(0, len(pairs)))
    left, right = (pa.array([pair[side] for pair in pairs], data_type).slice(offset) for side in (0, 1))
    expected = [repr(one) == repr(two) for one, two in pairs[offset:]]
    actual = same_values(left, right)
    assert actual.dtype == np.bool_
    assert actual.tolist() == expected


def test_maps_in_another_order_are_the_same_if_asked_for() -> None:
    left, right = (pa.array([[("x", entries)]], pa.map_(pa.string(), pa.map_(pa.string(), pa.int32()))) for entries in (
        [("a", 1), ("b", None)], [("b", None), ("a", 1)],
    ))  # fmt: skip
    assert same_values(left, right).tolist() == [False]
    assert same_values(left, right, maps_in_order=False).tolist() == [True]
    assert same_values(left, pa.array([[("x", [("a", 1)])]], left.type), maps_in_order=False).tolist() == [False]
