"""Changes between two states, record by record: which keys they explain, and what is wrong with the others."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from maintenance.merge.changelog_proof import Break, BrokenKey, broken_keys
from maintenance.merge.ordered import RecordOrder, group_by_key

INSERT, BEFORE, AFTER, DELETE = range(4)
Change = tuple[int, int, int | None]


def broken(changes: Sequence[Change], end: Sequence[tuple[int, int | None]] = ()) -> list[BrokenKey]:
    """Args: `changes`: key, kind, value, with the rows of the first state as inserts; `end`: key and value of rows."""
    records = [*changes, *((key, INSERT, value) for key, value in end)]
    rows = pa.table(
        {
            "k": pa.array([key for key, _, _ in records], pa.int32()),
            "v": pa.array([value for _, _, value in records], pa.int32()),
            "_VALUE_KIND": pa.array([kind for _, kind, _ in records], pa.int8()),
            "_AT": pa.array(range(len(records)), pa.int64()),
        }
    )
    groups = group_by_key(rows, RecordOrder(("k",), sequence_number="_AT"))
    return broken_keys(rows, groups, np.arange(len(records)) >= len(changes), ["v"])


def test_complete_changes_explain_every_key() -> None:
    assert not broken([(1, INSERT, 5)], [(1, 5)])
    assert not broken([(1, INSERT, 5), (1, DELETE, 5)])
    assert not broken([(1, INSERT, 5), (1, BEFORE, 5), (1, AFTER, None)], [(1, None)])
    assert not broken([(1, INSERT, 5), (2, INSERT, 7), (2, DELETE, 7), (2, INSERT, 8)], [(1, 5), (2, 8)])


@pytest.mark.parametrize(
    ("changes", "end", "record", "what"),
    [
        ([(1, DELETE, 5)], [], 0, Break.NOTHING_TO_RETRACT),
        ([(1, INSERT, 5), (1, BEFORE, 5), (1, BEFORE, 5)], [], 2, Break.NOTHING_TO_RETRACT),
        ([(1, INSERT, 5), (1, INSERT, 5)], [(1, 5)], 1, Break.THERE_ALREADY),
        ([(1, INSERT, 5), (1, AFTER, 6)], [], 1, Break.THERE_ALREADY),
        ([(1, INSERT, 5), (1, DELETE, 6)], [], 1, Break.OTHER_VALUES),
        ([(1, INSERT, 5), (1, DELETE, None)], [], 1, Break.OTHER_VALUES),
        ([], [(1, 5)], 0, Break.NOT_MADE),
        ([(1, INSERT, 5), (1, DELETE, 5)], [(1, 5)], 2, Break.NOT_MADE),
        ([(1, INSERT, 5)], [(1, 6)], 1, Break.OTHER_ROW),
        ([(1, INSERT, 5)], [], 0, Break.NOT_THERE),
        ([(1, INSERT, 5), (1, DELETE, 5), (1, INSERT, 6)], [], 2, Break.NOT_THERE),
    ],
)
def test_the_first_record_that_breaks_the_chain(
    changes: list[Change], end: list[tuple[int, int | None]], record: int, what: Break
) -> None:
    assert broken(changes, end) == [BrokenKey(record, what)]


def test_each_wrong_key_once_in_key_order() -> None:
    """Key 3 is right; of the several breaks of key 1 the first counts."""
    changes = [
        (3, INSERT, 1), (1, DELETE, 1), (2, INSERT, 1), (2, INSERT, 2), (1, DELETE, 1), (1, INSERT, 1),
        (0, INSERT, 4), (0, DELETE, 4), (0, INSERT, 9),
    ]  # fmt: skip
    assert broken(changes, [(3, 1)]) == [
        BrokenKey(8, Break.NOT_THERE),
        BrokenKey(1, Break.NOTHING_TO_RETRACT),
        BrokenKey(3, Break.THERE_ALREADY),
    ]


def test_a_break_on_the_last_record_is_told_as_what_it_is() -> None:
    """An odd number of records ends with an addition that comes to a row: it is not also missing in the end."""
    assert broken([(1, INSERT, 5), (1, INSERT, 6), (1, INSERT, 7)]) == [BrokenKey(1, Break.THERE_ALREADY)]
