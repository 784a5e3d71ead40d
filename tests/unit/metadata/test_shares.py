"""Work cut into shares, and the sizes of many files."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from maintenance.fs.file_io import FileIO
from maintenance.metadata.file_sizes import sizes_of
from maintenance.metadata.shares import FILES, Amount, cut, in_one_batch


@given(st.lists(st.integers(0, 12)), st.integers(1, 10))
def test_shares_keep_all_items_in_order_and_none_has_more_than_it_should(weights: list[int], most: int) -> None:
    shares = cut(list(enumerate(weights)), Amount("things", 1, most), weights)
    assert [item for share in shares for item in share] == list(enumerate(weights))
    for share in shares:
        assert len(share) == 1 or sum(weight for _, weight in share) <= most


def test_one_batch_has_all_items_and_nothing_is_called_for_none() -> None:
    assert in_one_batch(sum, [1, 2, 3], FILES) == [6]
    assert in_one_batch(sum, [], FILES) == []


def test_sizes_come_in_the_order_of_the_paths_and_missing_files_have_none(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for number in range(300):
            (tmp_path / folder / f"{number}").write_bytes(b"x" * number)
    paths = [f"{tmp_path}/{folder}/{number}" for number in range(302) for folder in ("b", "a")]
    expected = [number if number < 300 else None for number in range(302) for _ in range(2)]
    assert sizes_of(FileIO(), paths) == expected
