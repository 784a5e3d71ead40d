"""Ordering records by key and age against a model that sorts them one by one."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maintenance.merge.ordered import KeyGroups, RecordOrder, group_by_key, without_covered_levels
from tests.examples import examples
from tests.models.merging import grouped
from tests.models.order import Record
from tests.unit.merge.strategies import records, table_of

KEYS = (("k",), ("s",), ("k", "s"))
SEQUENCES: tuple[tuple[str, ...], ...] = ((), ("u1",), ("u2",), ("u1", "u2"), ("v",))


def numbers_of(groups: KeyGroups, rows: pa.Table) -> list[list[int]]:
    numbers = rows.column("n").to_pylist()
    bounds = [*groups.starts.tolist(), len(groups.order)]
    ordered = [numbers[i] for i in groups.order.tolist()]
    return [ordered[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]


@settings(max_examples=examples(60))
@given(records(), st.sampled_from(KEYS), st.sampled_from(SEQUENCES), st.booleans(), st.booleans())
def test_records_are_grouped_by_key_and_sorted_by_age(
    rows: list[Record], key: tuple[str, ...], sequence: tuple[str, ...], descending: bool, by_run: bool
) -> None:
    table = table_of(rows)
    groups = group_by_key(table, RecordOrder(key, sequence, descending), "_RUN" if by_run else None)
    expected = grouped(rows, key, sequence, descending=descending)
    assert numbers_of(groups, table) == [[record["n"] for record in members] for members in expected]
    assert table.column("n").take(pa.array(groups.newest)).to_pylist() == [members[-1]["n"] for members in expected]


def test_null_sequence_is_the_oldest_in_both_directions() -> None:
    rows = pa.table(
        {
            "k": pa.array([1, 1, 1], pa.int32()),
            "u": pa.array([None, 5, 9], pa.int64()),
            "_SEQUENCE_NUMBER": pa.array([2, 0, 1], pa.int64()),
        }
    )
    assert group_by_key(rows, RecordOrder(("k",), ("u",))).order.tolist() == [0, 1, 2]
    assert group_by_key(rows, RecordOrder(("k",), ("u",), descending=True)).order.tolist() == [0, 2, 1]


def test_equal_user_sequences_leave_it_to_the_sequence_number() -> None:
    rows = pa.table(
        {"k": [1, 1, 1], "u": [3, 3, 3], "_SEQUENCE_NUMBER": pa.array([11, 12, 10], pa.int64()), "_RUN": [2, 1, 0]}
    )
    for descending in (False, True):
        groups = group_by_key(rows, RecordOrder(("k",), ("u",), descending), "_RUN")
        assert groups.order.tolist() == [2, 0, 1]
        assert groups.newest.tolist() == [1]


@pytest.mark.parametrize(
    ("levels", "kept"),
    [
        ([[0, 0]], [[0, 0]]),
        ([[5], [0]], [[5], [0]]),
        ([[5, 0, 0]], [[5, 0, 0]]),
        ([[5, 4, 0]], [[4, 0]]),
        ([[0, 1, 5, 3], [0, 2], [5, 1]], [[0, 1], [0, 2], [1]]),
        ([[5, 3, 4]], [[3]]),
        ([[2], [5, 4]], [[2], [4]]),
    ],
)
def test_the_lowest_level_above_0_covers_deeper_ones(levels: list[list[int]], kept: list[list[int]]) -> None:
    """Args: `levels`: of the records of each key. Records are numbered against their order."""
    flat = [level for key in levels for level in key]
    order = np.arange(len(flat))[::-1]
    starts = np.cumsum([0, *map(len, levels)])[:-1]
    of_row = np.array(flat)[::-1]
    actual = without_covered_levels(KeyGroups(order, starts), of_row)
    bounds = [*actual.starts.tolist(), len(actual.order)]
    ordered = of_row[actual.order].tolist()
    assert [ordered[start:end] for start, end in zip(bounds, bounds[1:], strict=False)] == kept
