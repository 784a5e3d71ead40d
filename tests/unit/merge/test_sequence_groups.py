"""Orders of sequence groups, and the records that win them."""

import numpy as np
import pyarrow as pa
import pytest

from maintenance.merge.records import Records
from maintenance.merge.sequence_groups import SequenceGroup, removals, sequence_ranks, winners

INSERT, BEFORE, AFTER, DELETE = range(4)


def records(
    *rows: tuple[int | None, int | None], kinds: list[int] | None = None, starts: tuple[int, ...] = (0,)
) -> Records:
    """Args: `rows`: values of the sequence columns s and t."""
    table = pa.table(
        {
            "s": pa.array([s for s, _ in rows], pa.int64()),
            "t": pa.array([t for _, t in rows], pa.int64()),
            "_VALUE_KIND": pa.array(kinds or [INSERT] * len(rows), pa.int8()),
        }
    )
    return Records(table, np.arange(len(rows)), np.array(starts))


def test_a_group_removes_no_rows_unless_it_is_told_to() -> None:
    assert not SequenceGroup(("s",), ("a",)).removes


@pytest.mark.parametrize("far", [0, 2**62])
def test_sequences_compare_one_column_after_the_other(far: int) -> None:
    """Nulls are smallest; a record without any sequence has no place."""
    given = records((1, 5), (1, 4), (None, 9), (None, None), (2, None), (far or 1, 5))
    ranks = sequence_ranks(given, SequenceGroup(("s", "t"), ())).tolist()
    assert ranks[3] == -1
    assert min(ranks[:3]) >= 0
    assert ranks[2] < ranks[1] < ranks[0] < ranks[4]
    assert (ranks[5] == ranks[0]) == (far == 0)


@pytest.mark.parametrize(
    ("ranks", "wins"),
    [
        ([1, 2, 2, 1, 3], [0, 1, 2, 4]),
        ([-1, 0, -1, 0], [1, 3]),
        ([5, -1, 4, 5], [0, 3]),
        ([0], [0]),
        ([-1], []),
    ],
)
def test_a_record_wins_if_no_sequence_before_is_larger(ranks: list[int], wins: list[int]) -> None:
    begins = np.zeros(len(ranks), bool)
    begins[0] = True
    assert np.flatnonzero(winners(np.array(ranks), begins)).tolist() == wins


def test_each_part_begins_anew() -> None:
    begins = np.array([True, False, True, False, True])
    assert np.flatnonzero(winners(np.array([7, 3, 0, -1, 7]), begins)).tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("sequences", "kinds", "removed"),
    [
        ([1, 2, 3], [INSERT, DELETE, INSERT], [1]),
        ([2, 1, 3], [INSERT, DELETE, INSERT], []),
        ([1, 2, 3], [INSERT, BEFORE, INSERT], []),
        ([5, 5, 1, 1, 2], [INSERT, DELETE, INSERT, DELETE, INSERT], [1]),
        ([1, 2, 3, 3, 2], [DELETE, DELETE, INSERT, DELETE, DELETE], [0, 1, 3]),
        ([1, None, 3], [INSERT, DELETE, INSERT], []),
        ([1, 2], [INSERT, INSERT], []),
    ],
)
def test_a_delete_that_wins_removes_the_row(sequences: list[int | None], kinds: list[int], removed: list[int]) -> None:
    """What follows is compared with the sequence that the removal brought."""
    given = records(*((s, None) for s in sequences), kinds=kinds)
    group = SequenceGroup(("s",), ("a",), removes=True)
    assert np.flatnonzero(removals(given, [group])).tolist() == removed
    assert not removals(given, [SequenceGroup(("s",), ("a",))]).any()


def test_removals_of_several_keys() -> None:
    given = records(
        *((s, None) for s in (1, 2, 9, 3, 1, 2)),
        kinds=[INSERT, DELETE, INSERT, DELETE, DELETE, DELETE],
        starts=(0, 2, 4),
    )
    group = SequenceGroup(("s",), ("a",), removes=True)
    assert np.flatnonzero(removals(given, [group])).tolist() == [1, 4, 5]
