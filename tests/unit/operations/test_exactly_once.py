"""A numbered commit is written once, however long ago it was and whoever committed or expired since."""

import errno
import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import CommitError
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.fs.file_io import FileIO
from maintenance.metadata import commit_records
from maintenance.metadata.snapshots import Snapshots, StagedSnapshot
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.ingestion.ingest import ingest
from maintenance.operations.ingestion.stream_sink import check_known
from maintenance.operations.refs.create_branch import create_branch
from maintenance.operations.refs.create_tag import create_tag
from maintenance.operations.refs.fast_forward import fast_forward
from maintenance.operations.refs.rollback_to import rollback_to
from tests.no_room import no_room
from tests.small_tables import batch, put, rows, small_table
from tests.tables import data_files, files_on_disk

WRITERS: dict[str, Callable[[CatalogTable, int], object]] = {
    "write_arrow": lambda table, number: table.write_arrow(
        batch({number: "feed"}), commit_user="feed", commit_identifier=number
    ),
    "ingest": lambda table, number: (
        ingest(None, table, batch({number: "feed"}), commit_user="feed", commit_identifier=number).snapshot_ids
    ),
    "overwrite_arrow": lambda table, number: table.overwrite_arrow(
        batch({number: "feed"}), commit_user="feed", commit_identifier=number
    ),
}


def write(table: CatalogTable, number: int, user: str = "feed") -> tuple[int, ...]:
    return table.write_arrow(batch({number: user}), commit_user=user, commit_identifier=number)


def expire(table: CatalogTable, kept: int = 1) -> None:
    expire_snapshots(table, retain_min=kept, retain_max=kept, older_than=datetime.now(UTC))


def expired_by_others(table: CatalogTable) -> None:
    """What Paimon's own expiry leaves: the newest snapshot, and whatever it does not know."""
    for snapshot_id in table.snapshots.list_ids()[:-1]:
        Path(table.paths.snapshot(snapshot_id)).unlink()
    table.snapshots.write_hint("EARLIEST", table.snapshots.list_ids()[0])


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("expiry", [expire, expired_by_others])
def test_repeated_after_its_snapshot_expired(tmp_path: Path, name: str, expiry: Callable[[CatalogTable], None]) -> None:
    table = small_table(tmp_path, primary_key=False)
    assert WRITERS[name](table, 7) == (1,)
    for number in range(3):
        put(table, {number: "other"})
    expiry(table)
    assert table.snapshots.list_ids() == [4]
    before = rows(table)
    for number in (7, 6, 0):
        assert WRITERS[name](table, number) == ()
    assert rows(table) == before
    assert WRITERS[name](table, 8) == (5,)


def test_snapshots_of_other_writers_are_recorded_before_they_expire(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    write(table, 7)
    shutil.rmtree(table.paths.commit_record_folder())  # as if Paimon itself had written it
    for number in range(3):
        put(table, {number: "other"})
    expire(table, kept=2)
    assert write(table, 7) == ()
    assert write(table, 8) != ()


def meanwhile(monkeypatch: pytest.MonkeyPatch, first: Callable[[], object]) -> None:
    """Let another process act after a commit was prepared, and before it is published for the first time."""
    real = Snapshots.stage

    def stage(self: Snapshots, snapshot: Snapshot) -> StagedSnapshot:
        monkeypatch.setattr(Snapshots, "stage", real)
        first()
        return real(self, snapshot)

    monkeypatch.setattr(Snapshots, "stage", stage)


@pytest.mark.parametrize("primary_key", [True, False])
@pytest.mark.parametrize("options", [{}, {"write-only": "false", "num-sorted-run.compaction-trigger": "2"}])
@pytest.mark.parametrize("other", [7, 8])
@pytest.mark.parametrize("name", WRITERS)
def test_two_processes_that_hold_the_same_commit(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    other: int,
    primary_key: bool,
    options: dict[str, str],
) -> None:
    table = small_table(tmp_path, options, primary_key=primary_key)
    write(table, 6)
    before = rows(table)

    def restarted() -> None:
        WRITERS[name](table, other)
        write(table, 1, "another")

    meanwhile(monkeypatch, restarted)
    assert WRITERS[name](table, 7) == ()
    assert sorted(rows(table)) == sorted(
        [*(() if name == "overwrite_arrow" else before), (other, "feed"), (1, "another")]
    )
    assert files_on_disk(table) == data_files(table), "the one that came second leaves nothing"


def test_known_over_many_commits_and_expiries(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    write(table, 1, "early")
    for number in range(12):
        write(table, number)
        write(table, number, "second")
        put(table, {number: "other"})
        if number % 4 == 3:
            expire(table)
    before = rows(table)
    for user in ("feed", "second"):
        assert write(table, 11, user) == ()
    assert write(table, 1, "early") == ()
    assert rows(table) == before
    assert len(table.file_io.list_names(table.paths.commit_record_folder())) <= 15


def test_what_a_rollback_undid_is_written_again(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    write(table, 1)
    put(table, {100: "other"})
    expire(table)
    write(table, 2)
    write(table, 3)
    rollback_to(table, snapshot_id=2)
    assert write(table, 1) == (), "its snapshot expired, and it is part of the state"
    assert write(table, 2) == (3,)
    assert write(table, 3) == (4,)
    assert rows(table) == [(1, "feed"), (2, "feed"), (3, "feed"), (100, "other")]


def test_a_rollback_to_a_tag(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    write(table, 1)
    create_tag(table, "held")
    for number in range(2, 12):
        write(table, number)
    expire(table)
    rollback_to(table, tag="held")
    assert write(table, 1) == ()
    assert write(table, 2) == (2,)


def test_branches_know_what_they_began_with(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    write(table, 1)
    put(table, {100: "other"})
    create_tag(table, "begin")
    write(table, 2)
    create_branch(table, "b", tag="begin")
    branch = table.on_branch("b")
    assert write(branch, 1) == ()
    assert write(branch, 2) == (3,)
    put(branch, {101: "other"})
    expire(branch)
    assert write(branch, 2) == ()
    write(table, 3)
    fast_forward(table, "b")
    assert write(table, 2) == ()
    assert write(table, 3) == (5,), "the commit of main that the branch replaced"


@dataclass(frozen=True, slots=True)
class NoRecords(FileIO):
    """Storage that has no room for commit records."""

    def overwrite(self, path: str, data: bytes, *, flushed: bool = True) -> None:
        if "/commit-records/" in path:
            raise OSError(errno.ENOSPC, "No space left on device", path)
        FileIO.overwrite(self, path, data, flushed=flushed)


def test_a_commit_without_room_for_its_record_is_done(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = small_table(tmp_path, primary_key=False)
    full = replace(table, file_io=NoRecords())
    with caplog.at_level(logging.WARNING):
        assert write(full, 7) == (1,)
    assert "no record of it can be written" in caplog.text
    assert write(full, 7) == ()
    put(table, {1: "other"})
    with pytest.raises(OSError, match="No space left"):
        expire(full)
    assert table.snapshots.list_ids() == [1, 2], "the snapshot stays until its commit is on record"
    expire(table)
    assert write(table, 7) == ()


def test_expiry_on_a_full_disk_keeps_what_is_on_record(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    write(table, 7)
    for number in range(3):
        put(table, {number: "other"})
    with no_room():
        expire(table)
    assert table.snapshots.list_ids() == [4]
    assert write(table, 7) == ()


def test_a_user_that_may_have_been_dropped_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(commit_records, "MAX_USERS", 2)
    table = small_table(tmp_path, primary_key=False)
    for number in range(5):
        write(table, number, f"user-{number}")
    with caplog.at_level(logging.WARNING):
        report = ingest(None, table, batch({1: "x"}), commit_user="new", commit_identifier=1)
    assert "nothing is known of commit user 'new'" in report.warning
    assert "3 users" in report.warning
    assert report.warning in caplog.text
    again = ingest(None, table, batch({2: "x"}), commit_user="new", commit_identifier=2)
    assert again.warning == ""
    unnumbered = ingest(None, table, batch({2: "x"}), commit_user="free")
    assert unnumbered.warning == ""


def test_a_stream_goes_on_after_its_snapshots_expired(tmp_path: Path) -> None:
    table = small_table(tmp_path, primary_key=False)
    write(table, 4)
    put(table, {1: "other"})
    expire(table)

    assert check_known(table, "feed", 5, None)
    with pytest.raises(CommitError, match="may be in the table already"):
        check_known(table, "unknown", 5, None)
