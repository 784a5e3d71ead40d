"""Files of the same rows are read together, and no others."""

from dataclasses import replace

import pytest

from maintenance.errors import CorruptFileError
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.scan.data_evolution import alone_or_together, data_evolution_splits, row_groups, row_id_range
from maintenance.scan.split import SplitOptions
from tests.unit.commit.entries import add


def entry(name: str, first: int | None, rows: int = 10, *, sequence: int = 0, bucket: int = 0) -> ManifestEntry:
    actual = add(name, bucket=bucket)
    file = replace(actual.file, first_row_id=first, row_count=rows, max_sequence_number=sequence)
    return replace(actual, file=file)


ENTRIES = [
    entry("whole", 0, 10, sequence=1),
    entry("next", 10, 10, sequence=2),
    entry("column", 0, 10, sequence=3),
    entry("last", 20, 5, sequence=4),
]


def test_files_of_the_same_rows_newest_first() -> None:
    groups = row_groups([entry.file for entry in ENTRIES])
    assert [[file.file_name for file in group] for group in groups] == [["column", "whole"], ["next"], ["last"]]


def test_a_long_file_holds_short_ones_together() -> None:
    entries = [entry("b", 5, 2), entry("a", 0, 10), entry("c", 8, 2), entry("d", 10, 1)]
    groups = row_groups([entry.file for entry in entries])
    assert [sorted(file.file_name for file in group) for group in groups] == [["a", "b", "c"], ["d"]]


def test_files_without_row_ids() -> None:
    with pytest.raises(CorruptFileError, match="no first row id"):
        row_id_range(entry("a", None).file)


def test_a_file_that_shares_its_rows_is_kept() -> None:
    kept = alone_or_together(ENTRIES, lambda file: file.file_name == "next")
    assert {entry.file.file_name for entry in kept} == {"whole", "column", "next"}


def test_splits_never_part_files_of_the_same_rows() -> None:
    one = list(data_evolution_splits(3, ENTRIES, SplitOptions(1, 1)))
    names = [(tuple(file.file_name for file in split.files), split.raw) for split in one]
    assert names == [(("column", "whole"), False), (("next",), True), (("last",), True)]
    (everything,) = data_evolution_splits(3, ENTRIES, SplitOptions(10**9, 1))
    assert (len(everything.files), everything.raw, everything.snapshot_id) == (4, False, 3)
