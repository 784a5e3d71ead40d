"""Which rows of a file are read: not the deleted ones, of the others those that may match, or exactly some."""

import numpy as np
import pytest
from pyroaring import BitMap, FrozenBitMap

from maintenance.format.metadata.deletion_vector import DeletionVector
from maintenance.fs.file_io import FileIO
from maintenance.read.row_selection import ALL_ROWS, RowSelection

DELETED = DeletionVector(FrozenBitMap([1, 4]))


@pytest.mark.parametrize(
    ("selection", "numbers"),
    [
        (ALL_ROWS, None),
        (RowSelection(vector=DELETED), [0, 2, 3, 5]),
        (RowSelection(candidates=BitMap([1, 2, 5])), [1, 2, 5]),
        (RowSelection(vector=DELETED, candidates=BitMap([1, 2, 5])), [2, 5]),
        (RowSelection(vector=DELETED, candidates=BitMap()), []),
        (RowSelection(exactly=np.array([0, 3])), [0, 3]),
    ],
)
def test_numbers_of_the_rows(selection: RowSelection, numbers: list[int] | None) -> None:
    found = selection.numbers(6)
    assert (None if found is None else found.tolist()) == numbers
    assert selection.is_all == (numbers is None)


def test_an_index_narrows_the_candidates_of_another() -> None:
    narrowed = RowSelection(candidates=BitMap([1, 2, 5])).narrowed(BitMap([2, 3]))
    assert narrowed.candidates == BitMap([2])
    assert RowSelection(vector=DELETED).narrowed(None) == RowSelection(vector=DELETED)


def test_only_a_vector_at_hand_deletes_alone() -> None:
    assert RowSelection(vector=DELETED).only_deletes
    assert not RowSelection(vector=DELETED, candidates=BitMap([1])).only_deletes
    assert not ALL_ROWS.only_deletes
    assert RowSelection(vector=DELETED).live(6).tolist() == [True, False, True, True, False, True]


def test_a_vector_at_hand_is_not_read_again() -> None:
    selection = RowSelection(vector=DELETED)
    assert selection.loaded(FileIO(), 6) is selection
