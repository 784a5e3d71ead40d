"""What new files have to come after, followed from snapshot to snapshot."""

from dataclasses import replace
from pathlib import Path

import pytest

from maintenance.commit import newest as module
from maintenance.commit.newest import Newest
from maintenance.format.metadata.manifest import ManifestEntry
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW
from tests.unit.commit.entries import add, delete
from tests.unit.metadata.states import HandMade

HERE = (EMPTY_ROW, 0)


def numbered(name: str, number: int, made: int | None = 0, bucket: int = 0) -> ManifestEntry:
    entry = add(name, bucket=bucket)
    return replace(entry, file=replace(entry.file, max_sequence_number=number, creation_time=made))


class History:
    """A table whose commits are made by hand."""

    def __init__(self, folder: Path) -> None:
        self.table = HandMade(folder)
        self.live: list[ManifestEntry] = []

    def commit(self, number: int, *delta: ManifestEntry) -> Snapshot:
        snapshot = self.table.state(number, base=self.live, delta=delta)
        assert self.table.snapshots.publish(snapshot)
        self.live += delta
        return snapshot

    def newest(self, snapshot: Snapshot | None = None) -> Newest:
        return Newest(self.table.snapshots, self.table.manifests, {EMPTY_ROW}, snapshot=snapshot)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


def test_what_the_newest_snapshot_holds(history: History) -> None:
    other = replace(numbered("c", 99, 99), partition=b"elsewhere")
    latest = history.commit(1, numbered("a", 5, 30), numbered("b", 3, 40), numbered("d", 8, None, bucket=1), other)
    newest = history.newest()
    newest.advance(latest)
    assert newest.sequences == {HERE: 5, (EMPTY_ROW, 1): 8}
    assert newest.created == {EMPTY_ROW: 40}
    newest.advance(None)
    assert (newest.sequences, newest.created) == ({}, {})


def test_numbers_and_times_begin_at_0(history: History) -> None:
    newest = history.newest()
    newest.advance(history.commit(1, numbered("a", 0, 0)))
    assert (newest.sequences, newest.created) == ({HERE: 0}, {EMPTY_ROW: 0})


def test_changes_are_added_to_what_was_known(history: History) -> None:
    """Also what is gone by now: its rows may have been merged into others."""
    newest = history.newest()
    newest.advance(history.commit(1, numbered("a", 5)))
    newest.sequences[HERE] = 50
    history.commit(2, numbered("b", 60))
    latest = history.commit(3, delete("b"), numbered("c", 7))
    newest.advance(latest)
    assert newest.sequences == {HERE: 60}


def test_where_snapshots_in_between_are_gone_the_files_count(history: History) -> None:
    newest = history.newest()
    newest.advance(history.commit(1, numbered("a", 5)))
    newest.sequences[HERE] = 50
    history.commit(2, numbered("b", 6))
    latest = history.commit(3, numbered("c", 7))
    Path(history.table.paths.snapshot(2)).unlink()
    newest.advance(latest)
    assert newest.sequences == {HERE: 7}


def test_after_a_rollback_the_files_count(history: History) -> None:
    """Other snapshots have the same ids, or the newest is an older one."""
    first = history.commit(1, numbered("a", 5))
    second = history.commit(2, numbered("b", 50))
    newest = history.newest()
    newest.advance(second)
    newest.advance(first)
    assert newest.sequences == {HERE: 5}
    newest = history.newest(replace(first, commit_user="someone else"))
    newest.sequences[HERE] = 99
    newest.advance(second)
    assert newest.sequences == {HERE: 50}


def test_changes_of_too_many_snapshots_are_not_read(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SNAPSHOTS", 2)
    first = history.commit(1, numbered("a", 5))
    snapshots = [first, *(history.commit(number, numbered(f"f{number}", number)) for number in (2, 3, 4))]
    for latest, known in ((snapshots[2], 99), (snapshots[3], 5)):
        newest = history.newest(first)
        newest.sequences[HERE] = 99
        newest.advance(latest)
        assert newest.sequences == {HERE: known}
