"""Commit records: what stays, what a rollback undoes, damage, and the limit."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maintenance.catalog import CatalogTable
from maintenance.fs.file_io import FileIO
from maintenance.metadata import commit_records
from maintenance.metadata.commit_records import CommitRecord, CommitRecords, newest_of, superseded
from maintenance.metadata.paths import TablePaths
from maintenance.operations.refs.rollback_to import rollback_to
from tests.small_tables import batch, put, small_table
from tests.unit.metadata.states import HandMade, snapshot_of


def write(table: CatalogTable, user: str, identifier: int) -> None:
    table.write_arrow(batch({identifier: user}), commit_user=user, commit_identifier=identifier)


def names(table: CatalogTable) -> list[str]:
    return sorted(table.file_io.list_names(table.paths.commit_record_folder()))


@given(st.sets(st.integers(1, 60)), st.integers(0, 61), st.integers(1, 60))
def test_what_a_rollback_needs_stays(ids: set[int], earliest: int, target: int) -> None:
    left = ids - set(superseded(sorted(ids), earliest))
    assert max(left, default=None) == max(ids, default=None)
    # Snapshots from the earliest on tell for themselves; before it the newest record counts.
    if target >= earliest:
        expired = [number for number in ids if number < earliest]
        assert not expired or max(expired) in left
    assert len(left) <= 5


def test_unnumbered_commits_and_compactions_leave_no_record(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    assert names(table) == []
    write(table, "feed", 1)
    assert len(names(table)) == 1
    assert table.commit_records.last("feed") == CommitRecord("feed", 1, 2, table.snapshots.get(2).time_millis)
    assert table.commit_records.last("other") is None


def last_of(table: CatalogTable) -> int:
    """The last number of the user `feed` that is on record."""
    record = table.commit_records.last("feed")
    assert record is not None
    return record.identifier


def test_a_writer_leaves_few_records(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    for number in range(30):
        write(table, "feed", number)
        write(table, "other", number)
    assert len(names(table)) <= 2 * 9
    assert last_of(table) == 29


class _DeletedMeanwhile(FileIO):
    """The local disk, where another process deletes a file right before it is flushed."""

    def flush(self, paths: Iterable[str], root: str) -> None:
        listed = list(paths)
        for path in listed:
            Path(path).unlink()
        super().flush(listed, root)


def test_a_record_that_another_process_deletes_is_written_again(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    write(table, "feed", 1)
    record = table.commit_records.last("feed")
    assert record is not None
    CommitRecords(_DeletedMeanwhile(table.file_io.settings), table.paths).add(record, flushed=True)
    assert table.commit_records.last("feed") == record


def test_a_record_that_is_damaged_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = small_table(tmp_path)
    write(table, "feed", 1)
    write(table, "feed", 2)
    newest = Path(table.paths.commit_record_folder(), names(table)[-1])
    for damage in (b"", b"[]", b'{"commitUser": "feed"}', newest.read_bytes().replace(b": 2", b": 1e99")):
        newest.write_bytes(damage)
        with caplog.at_level(logging.WARNING):
            assert last_of(table) == 1
        assert newest.name in caplog.text


def test_a_commit_that_another_took_the_place_of_is_forgotten(tmp_path: Path) -> None:
    """As after a rollback by another engine, which leaves the records as they are."""
    table = small_table(tmp_path)
    write(table, "feed", 1)
    write(table, "feed", 2)
    Path(table.paths.snapshot(2)).unlink()
    assert last_of(table) == 1
    put(table, {9: "another"})
    assert last_of(table) == 1
    table.commit_records.tidy(earliest=1)
    assert len(names(table)) == 1


def test_a_rollback_forgets_the_commits_that_it_undoes(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    for number in range(4):
        write(table, "feed", number)
    rollback_to(table, snapshot_id=2)
    assert last_of(table) == 1
    assert len(names(table)) == 2


def test_only_so_many_users_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(commit_records, "MAX_USERS", 3)
    table = small_table(tmp_path)
    for number, user in enumerate(["a", "b", "c"]):
        write(table, user, number)
    assert table.commit_records.dropped() is None
    with caplog.at_level(logging.WARNING):
        write(table, "a", 10)
        assert caplog.text == ""
        write(table, "d", 11)
    assert "numbered their commits" in caplog.text
    dropped = table.commit_records.dropped()
    assert dropped is not None
    assert dropped.users == 1
    records = CommitRecords(table.file_io, table.paths)
    known = {user for user in "abcd" if records.last(user) is not None}
    assert len(known) == 3
    assert {"a", "d"} <= known


@pytest.mark.parametrize(
    ("ids", "earliest", "gone"),
    [
        ([], 1, []),
        ([1, 2, 3, 4], 0, []),
        ([1, 2, 3, 4, 5], 0, [1]),
        ([1, 2, 3, 4, 5, 6, 7], 4, [2, 1]),
        ([1, 2, 3, 4, 5, 6, 7], 3, [3, 1]),
    ],
)
def test_which_records_are_of_no_use(ids: list[int], earliest: int, gone: list[int]) -> None:
    assert superseded(ids, earliest) == gone


def records_in(folder: Path) -> CommitRecords:
    return CommitRecords(FileIO(), TablePaths(str(folder)))


def record(user: str, snapshot_id: int) -> CommitRecord:
    return CommitRecord.of(snapshot_of(snapshot_id, commit_user=user))


def test_the_newest_of_each_user() -> None:
    batch_write = snapshot_of(9, commit_user="a", commit_identifier=2**63 - 1)
    mixed = [snapshot_of(2, commit_user="a"), snapshot_of(1, commit_user="a"), snapshot_of(3, commit_user="b")]
    assert newest_of([*mixed, batch_write]) == [record("a", 2), record("b", 3)]
    assert newest_of([*reversed(mixed)]) == [record("b", 3), record("a", 2)]
    assert newest_of([]) == []


def test_what_is_known_at_a_snapshot(tmp_path: Path) -> None:
    records, table = records_in(tmp_path), HandMade(tmp_path)
    for number, user in ((1, "a"), (2, "b"), (3, "a"), (5, "b")):
        records.add(record(user, number))
    table.published(snapshot_of(4, commit_user="a"))
    table.published(snapshot_of(5, commit_user="b"))
    assert sorted(records.known_at(5), key=lambda known: known.user) == [record("a", 4), record("b", 5)]
    assert sorted(records.known_at(4), key=lambda known: known.user) == [record("a", 4), record("b", 2)]
    assert records.known_at(3) == [record("a", 3), record("b", 2)]
    assert records.known_at(1) == [record("a", 1)]
    assert records.known_at(0) == []


def test_what_is_part_of_the_history(tmp_path: Path) -> None:
    """Up to the newest snapshot, and what that says itself."""
    records, table = records_in(tmp_path), HandMade(tmp_path)
    records.add(record("a", 1))
    assert records.last("a") is None, "nothing is left of any history"
    table.published(snapshot_of(2, commit_user="b"))
    assert records.last("a") == record("a", 1)
    records.add(record("a", 2))
    assert records.last("a") == record("a", 1), "snapshot 2 is another user's"
    records.add(record("a", 3))
    assert records.last("a") == record("a", 1), "there is no snapshot 3 yet"
    records.tidy(earliest=2)
    assert records.file_io.list_names(records.paths.commit_record_folder()) == [record("a", 1).name]


def test_later_records_are_forgotten(tmp_path: Path) -> None:
    records = records_in(tmp_path)
    for number in (1, 2, 3):
        records.add(record("a", number))
    records.forget_after(2)
    actual = records.file_io.list_names(records.paths.commit_record_folder())
    assert sorted(actual) == [record("a", 1).name, record("a", 2).name]


def test_a_writer_deletes_its_older_records_beyond_eight(tmp_path: Path) -> None:
    records = records_in(tmp_path)
    for number in range(1, 9):
        records.add(record("a", number))
    assert len(records.file_io.list_names(records.paths.commit_record_folder())) == 8
    records.add(record("a", 9))
    assert len(records.file_io.list_names(records.paths.commit_record_folder())) == 4


def test_a_record_that_is_missing_is_written_whether_it_must_be_flushed_or_not(tmp_path: Path) -> None:
    records = records_in(tmp_path)
    records.add(record("a", 1))
    records.add(record("b", 2), flushed=True)
    assert set(records.file_io.list_names(records.paths.commit_record_folder())) == {
        record("a", 1).name, record("b", 2).name,
    }  # fmt: skip


def test_a_record_is_waited_for_only_where_it_must_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    right = FileIO.overwrite

    def overwrite(self: FileIO, path: str, data: bytes, *, flushed: bool = True) -> None:
        asked.append(flushed)
        right(self, path, data, flushed=flushed)

    monkeypatch.setattr(FileIO, "overwrite", overwrite)
    records = records_in(tmp_path)
    records.add(record("a", 1))
    records.add(record("b", 2), flushed=True)
    assert asked == [False, True]


def test_a_record_that_is_there_is_flushed_and_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which needs no room on the disk. One that says something else is written anew."""
    records = records_in(tmp_path)
    records.add(record("a", 1))
    flushed: list[list[str]] = []
    written: list[str] = []
    right = FileIO.overwrite

    def overwrite(self: FileIO, path: str, data: bytes, *, flushed: bool = True) -> None:
        written.append(path)
        right(self, path, data, flushed=flushed)

    monkeypatch.setattr(FileIO, "flush", lambda _, paths, root: flushed.append([*paths]))
    monkeypatch.setattr(FileIO, "overwrite", overwrite)
    path = f"{records.paths.commit_record_folder()}/{record('a', 1).name}"
    records.add(record("a", 1), flushed=True)
    assert (flushed, written) == ([[path]], [])
    other = replace(record("a", 1), identifier=99)
    records.add(other, flushed=True)
    assert (flushed, written) == ([[path]], [path])
    records.add(other)
    assert (flushed, written) == ([[path]], [path, path])
