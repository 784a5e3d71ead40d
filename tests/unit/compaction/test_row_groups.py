"""Which files of a table with data evolution become one."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from maintenance.compaction.row_groups import pack_rows
from maintenance.format.metadata.data_file import DataFileMeta
from tests.unit.compaction.files import data_file


def part(name: str, first: int, rows: int = 10, size: int = 100, sequence: int = 0) -> DataFileMeta:
    return replace(data_file(name, size=size, sequence=sequence), first_row_id=first, row_count=rows)


def packed(
    files: Sequence[DataFileMeta],
    *with_vectors: str,
    target: int = 1000,
    cost: int = 1,
    least: int = 2,
    beside: dict[str, int] | None = None,
) -> list[str]:
    """Names of the files of each group. `beside`: a column that the group of a file has beside its rows."""

    def columns(group: Sequence[DataFileMeta]) -> frozenset[int]:
        return frozenset((beside or {})[file.file_name] for file in group if file.file_name in (beside or {}))

    actual = pack_rows(files, with_vectors, target_size=target, open_cost=cost, min_files=least, columns_apart=columns)
    return ["+".join(sorted(file.file_name for file in group)) for group, _ in actual]


FOUR = [part(name, 10 * i) for i, name in enumerate("abcd")]


def test_neighbours_become_one_file() -> None:
    assert packed(FOUR) == ["a+b+c+d"]
    assert packed(FOUR, least=5) == []
    assert packed(FOUR, least=4) == ["a+b+c+d"]


def test_a_file_is_full_once_it_is_larger_than_wanted() -> None:
    assert packed(FOUR, target=200) == ["a+b+c"]
    assert packed(FOUR, target=199) == ["a+b", "c+d"]
    assert packed(FOUR, target=1, cost=100) == []
    assert packed(FOUR, target=200, cost=150) == ["a+b", "c+d"]


def test_a_large_file_stays_alone() -> None:
    large = [FOUR[0], FOUR[1], part("c", 20, size=1001), FOUR[3], part("e", 40)]
    assert packed(large) == ["a+b", "d+e"]
    assert packed([FOUR[0], FOUR[1], part("c", 20, size=1000)], target=1000) == ["a+b+c"]


def test_a_gap_between_row_ids_parts_files() -> None:
    assert packed([FOUR[0], FOUR[1], FOUR[3], part("e", 40)]) == ["a+b", "d+e"]


def test_files_with_deleted_rows_stay() -> None:
    assert packed(FOUR, "a") == ["b+c+d"]
    assert packed([*FOUR, part("e", 40)], "c") == ["a+b", "d+e"]


def test_files_of_the_same_rows_become_one() -> None:
    assert packed([FOUR[0], part("column", 0, sequence=5)]) == ["a+column"]
    assert packed([FOUR[0], part("column", 0, sequence=5)], "column") == []


def test_files_beside_the_rows_stay_where_they_are() -> None:
    """Rows with files of vectors stay alone, those with files of blobs do not."""
    assert packed([*FOUR, part("x.blob", 10)]) == ["a+b+c+d"]
    assert packed([*FOUR, part("e", 40), part("x.vector.parquet", 20)]) == ["a+b", "d+e"]


@pytest.mark.parametrize(("beside", "groups"), [({"c": 7, "d": 7}, ["a+b", "c+d"]), ({"b": 7}, ["c+d"])])
def test_groups_have_the_same_columns_beside_them(beside: dict[str, int], groups: list[str]) -> None:
    assert packed(FOUR, beside=beside) == groups
