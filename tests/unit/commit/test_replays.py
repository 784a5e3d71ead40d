"""Which numbered commits are known, by snapshots and by records, and what is said where nothing is known."""

import logging
from pathlib import Path
from typing import Any

import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.replays import already_committed, last_committed, limit_text, remember, unknown_user
from maintenance.commit.rules import NO_RULES, CommitRules, ExcludedPartitions
from maintenance.errors import DataError
from maintenance.format.metadata.snapshot import BATCH_IDENTIFIER, CommitKind, Snapshot
from maintenance.metadata import commit_records
from maintenance.metadata.commit_records import CommitRecords, Dropped
from maintenance.metadata.snapshots import Snapshots
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.rollback_to import rollback_to
from tests.tables import create_table, keyed
from tests.unit.commit.entries import add, delete
from tests.unit.metadata.states import snapshot_of


def write(table: CatalogTable, user: str, identifier: int) -> None:
    table.write_arrow(keyed({1: user}), commit_user=user, commit_identifier=identifier)


@pytest.fixture
def table(tmp_path: Path) -> CatalogTable:
    """Snapshots 1 and 3 are of user a with numbers 4 and 7, snapshot 2 is b's, the last has no number."""
    table = create_table(tmp_path)
    for user, number in (("a", 4), ("b", 9), ("a", 7)):
        write(table, user, number)
    table.write_arrow(keyed({2: "x"}))
    return table


@pytest.mark.parametrize(("number", "known"), [(6, True), (7, True), (8, False), (BATCH_IDENTIFIER, False)])
@pytest.mark.parametrize("expired", [False, True])
def test_numbers_up_to_the_last_are_there(table: CatalogTable, number: int, known: bool, expired: bool) -> None:
    """Though their snapshots have expired."""
    if expired:
        expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
        assert table.snapshots.list_ids() == [4]
    assert already_committed(table.commit_target(), CommitIdentity("a", number)) == known


def test_the_last_number_of_a_user(table: CatalogTable) -> None:
    target = table.commit_target()
    assert [last_committed(target, user) for user in "abc"] == [7, 9, None]
    assert last_committed(target, "a", newest=table.snapshots.get(2)) == 4
    # Only what came after a snapshot counts, of records too.
    assert [last_committed(target, "a", after=after) for after in (0, 1, 2, 3, 4)] == [7, 7, 7, None, None]
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)
    assert [last_committed(target, "b", after=after) for after in (0, 1)] == [9, None]


def test_what_may_be_unknown(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    target = table.commit_target()
    new = CommitIdentity("c", 1)
    assert unknown_user(target, new) == ""
    monkeypatch.setattr(CommitRecords, "dropped", lambda _: Dropped(3, 86_400_000))
    said = unknown_user(target, new)
    assert "commit user 'c'" in said
    assert "of 3 users are gone" in said
    assert "1970-01-02 00:00 UTC" in said
    assert unknown_user(target, CommitIdentity("a", 9)) == "", "this one is known"
    assert unknown_user(target, CommitIdentity("c", BATCH_IDENTIFIER)) == "", "nobody repeats it"
    with caplog.at_level(logging.WARNING):
        assert not already_committed(target, CommitIdentity("a", 9))
        assert caplog.text == ""
        assert not already_committed(target, new)
    assert said in caplog.text


@pytest.mark.parametrize(
    ("parts", "noted"),
    [
        ({"commit_identifier": 5}, True),
        ({"commit_identifier": BATCH_IDENTIFIER}, False),
        ({"commit_identifier": 5, "commit_kind": CommitKind.COMPACT}, False),
        ({"commit_identifier": 5, "commit_kind": CommitKind.OVERWRITE}, True),
    ],
)
def test_numbered_commits_are_recorded_and_compactions_are_not(
    tmp_path: Path, parts: dict[str, Any], noted: bool
) -> None:
    table = create_table(tmp_path)
    remember(table.commit_target(), snapshot_of(3, commit_user="z", **parts))
    folder = Path(table.paths.commit_record_folder())
    assert len([*folder.glob("record-*")] if folder.exists() else []) == noted


def test_a_record_that_cannot_be_written_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = create_table(tmp_path)

    def failing(*_: object, **__: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(CommitRecords, "add", failing)
    with caplog.at_level(logging.WARNING):
        write(table, "a", 5)
    assert "commit 5 of user 'a' is in snapshot 1" in caplog.text
    assert "no room" in caplog.text
    assert last_committed(table.commit_target(), "a") == 5


def test_that_the_limit_is_met_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(commit_records, "MAX_USERS", 1)
    table = create_table(tmp_path)
    with caplog.at_level(logging.WARNING):
        write(table, "a", 1)
        assert caplog.text == ""
        write(table, "b", 1)
    assert limit_text() in caplog.text


# Rules


class _Noting(CommitRules):
    def __init__(self) -> None:
        self.asked: list[object] = []

    def check(self, kind: CommitKind, entries: Any, latest: Any) -> None:
        self.asked.append((kind, entries, latest))

    def published(self, snapshot: Any) -> None:
        self.asked.append(snapshot)


def test_partitions_that_are_excluded_from_rows() -> None:
    rules = _Noting()
    kept = ExcludedPartitions(rules, frozenset({b"p", b"q"}), "db.t")
    for entries in ((add("a", partition=b"p"),), (add("a", partition=b"r"), add("b", partition=b"q"))):
        with pytest.raises(DataError, match=r"hide those there.*db\.t"):
            kept.check(CommitKind.APPEND, entries, None)
    assert rules.asked == []
    fine = (delete("a", partition=b"p"), add("b", partition=b"r"))
    kept.check(CommitKind.OVERWRITE, fine, snapshot_of(1))
    kept.published(snapshot_of(2))
    assert rules.asked == [(CommitKind.OVERWRITE, fine, snapshot_of(1)), snapshot_of(2)]
    NO_RULES.check(CommitKind.APPEND, (add("a", partition=b"p"),), None)


def test_a_table_is_searched_once_for_a_user_it_does_not_know(
    table: CatalogTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who then commits reads what came since, and what is found later counts."""
    read: list[int] = []
    find = Snapshots.find

    def noted(snapshots: Snapshots, number: int) -> Snapshot | None:
        read.append(number)
        return find(snapshots, number)

    monkeypatch.setattr(Snapshots, "find", noted)
    target = table.commit_target()
    assert last_committed(target, "new") is None
    assert set(read) == {1, 2, 3, 4}
    write(table, "b", 10)
    read.clear()
    assert last_committed(target, "new") is None
    assert set(read) == {4, 5}
    write(table, "new", 3)
    write(table, "b", 11)
    assert last_committed(target, "new") == 3
    # Another history up to a snapshot of this number is searched again.
    assert last_committed(target, "newer") is None
    rollback_to(table, snapshot_id=3)
    write(table, "newer", 8)
    for number in range(20, 23):
        write(table, "b", number)
    assert last_committed(target, "newer") == 8
