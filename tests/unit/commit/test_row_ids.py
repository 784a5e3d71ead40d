"""Which row ids and sequence numbers a commit gives to its files."""

from dataclasses import replace
from typing import Any

from maintenance.commit.row_ids import with_row_ids
from maintenance.format.metadata.data_file import FileSource
from maintenance.format.metadata.manifest import ManifestEntry
from tests.unit.commit.entries import add, delete


def file(name: str, rows: int, **more: Any) -> ManifestEntry:
    """A new file that has neither numbers nor row ids, except those given."""
    made: dict[str, Any] = {"row_count": rows, "min_sequence_number": 0, "max_sequence_number": 0, **more}
    entry = add(name)
    return replace(entry, file=replace(entry.file, **made))


def ids(entries: list[ManifestEntry]) -> list[int | None]:
    return [entry.file.first_row_id for entry in entries]


def test_files_get_consecutive_ids() -> None:
    made, following = with_row_ids([file("a", 3), file("b", 4)], 7, 100)
    assert (ids(made), following) == ([100, 103], 107)
    assert [(e.file.min_sequence_number, e.file.max_sequence_number) for e in made] == [(7, 7), (7, 7)]


def test_what_compactions_and_changes_write_keeps_its_own() -> None:
    compacted = file("a", 3, file_source=FileSource.COMPACT)
    holding = file("b", 3, write_cols=("v", "_ROW_ID"))
    known = file("c", 3, first_row_id=40, min_sequence_number=2, max_sequence_number=5)
    made, following = with_row_ids([compacted, holding, known], 7, 100)
    assert (ids(made), following) == ([None, None, 40], 100)
    assert (made[2].file.min_sequence_number, made[2].file.max_sequence_number) == (2, 5)


def test_what_is_deleted_stays_as_it_is() -> None:
    gone = delete("a")
    assert with_row_ids([gone, file("b", 2)], 7, 10) == ([gone, *with_row_ids([file("b", 2)], 7, 10)[0]], 12)


def test_files_beside_the_rows_have_their_ids() -> None:
    """Each column from the first row on, in as many files as it has; the next data file begins anew."""
    blobs = [file(f"{name}.blob", rows, write_cols=(column,)) for name, rows, column in
             (("a", 2, "x"), ("b", 1, "x"), ("c", 3, "y"))]  # fmt: skip
    entries = [file("rows.parquet", 3), *blobs, file("more.parquet", 2), file("d.blob", 2, write_cols=("x",))]
    made, following = with_row_ids(entries, 7, 100)
    assert (ids(made), following) == ([100, 100, 102, 100, 103, 103], 105)
    assert made[1].file.max_sequence_number == 7


def test_a_file_that_ends_later_decides_what_follows() -> None:
    made, following = with_row_ids([file("a", 3, first_row_id=200), file("b", 1)], 7, 100)
    assert (ids(made), following) == ([200, 203], 204)


def test_a_file_without_its_last_sequence_number_keeps_the_first() -> None:
    made, _ = with_row_ids([file("a", 1, min_sequence_number=2), file("b", 1, max_sequence_number=5)], 7, 0)
    assert [(e.file.min_sequence_number, e.file.max_sequence_number) for e in made] == [(2, 7), (7, 7)]
