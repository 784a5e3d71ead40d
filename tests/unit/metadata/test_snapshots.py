"""Snapshots: hints, gaps, what vanishes meanwhile, publishing and retiring."""

import shutil
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from maintenance.errors import CorruptFileError, ExpiredError, NotFoundError
from maintenance.format.metadata.snapshot import serialize_snapshot
from maintenance.fs.file_io import FileIO, FileStatus
from maintenance.metadata import snapshots as module
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.paths import TablePaths
from maintenance.metadata.snapshots import Snapshots
from tests.unit.metadata.states import FILE_IO, snapshot_of


@dataclass(frozen=True)
class Noting(FileIO):
    """The local disk, which notes what is done and can answer otherwise."""

    calls: list[tuple[str, str]] = field(default_factory=list, compare=False)
    instead: dict[str, Callable[[str], object]] = field(default_factory=dict, compare=False)

    def _noted(self, call: str, path: str) -> None:
        self.calls.append((call, path.rpartition("/")[2]))
        if call in self.instead:
            self.instead[call](path)

    def exists(self, path: str) -> bool:
        self._noted("exists", path)
        return super().exists(path)

    def list_names(self, folder: str) -> list[str]:
        names = super().list_names(folder)
        self._noted("list_names", folder)
        return names

    def list_files(self, folder: str) -> list[FileStatus]:
        self._noted("list_files", folder)
        return super().list_files(folder)

    def read_bytes(self, path: str) -> bytes:
        self._noted("read", path)
        return super().read_bytes(path)

    def read_if_changed(self, path: str, version: Hashable | None) -> tuple[bytes | None, Hashable | None]:
        self._noted("read", path)
        return super().read_if_changed(path, version)

    def prevent(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._noted("prevent", path)


@pytest.fixture
def snapshots(tmp_path: Path) -> Snapshots:
    return Snapshots(Noting(), TablePaths(str(tmp_path)))


def publish(snapshots: Snapshots, *numbers: int) -> None:
    """Snapshots without hints."""
    for number in numbers:
        FILE_IO.overwrite(snapshots.paths.snapshot(number), serialize_snapshot(snapshot_of(number)))


def remove(snapshots: Snapshots, *numbers: int) -> None:
    for number in numbers:
        Path(snapshots.paths.snapshot(number)).unlink()


def calls_of(snapshots: Snapshots) -> list[tuple[str, str]]:
    assert isinstance(snapshots.file_io, Noting)
    return snapshots.file_io.calls


def instead(snapshots: Snapshots, call: str, act: Callable[[str], object]) -> None:
    assert isinstance(snapshots.file_io, Noting)
    snapshots.file_io.instead[call] = act


def test_a_table_without_any(snapshots: Snapshots) -> None:
    assert (snapshots.latest_id(), snapshots.earliest_id(), snapshots.list_ids()) == (None, None, [])
    assert (snapshots.latest(), snapshots.earliest(), snapshots.find(1)) == (None, None, None)
    assert (list(snapshots.newest_first()), snapshots.retired(), snapshots.find_many([1])) == ([], {}, {})
    with pytest.raises(NotFoundError, match="snapshot 1 does not exist"):
        snapshots.get(1)


def test_they_are_listed_by_number(snapshots: Snapshots) -> None:
    publish(snapshots, 10, 1, 9)
    for other in ("snapshot-x", "snapshot-", "other-3", "retired-5"):
        Path(snapshots.paths.snapshot_folder(), other).touch()
    assert snapshots.list_ids() == [1, 9, 10]
    assert (snapshots.latest_id(), snapshots.earliest_id()) == (10, 1)
    assert (snapshots.exists(9), snapshots.exists(8)) == (True, False)
    assert snapshots.get(9) == snapshot_of(9)
    with pytest.raises(NotFoundError, match="Use one of 1 to 10"):
        snapshots.get(2)


@pytest.mark.parametrize(
    ("there", "hint", "latest"),
    [
        ([1, 2, 3], 3, 3),
        ([1], 1, 1),
        ([1, 2, 3], 2, 3),
        ([1, 2], 4, 2),
        ([1, 2, 5], 2, 2),
        ([2, 3], 0, 3),
        ([2, 3], -1, 3),
    ],
    ids=["right", "first", "behind", "ahead", "before a gap", "zero", "negative"],
)
def test_when_the_latest_hint_counts(snapshots: Snapshots, there: list[int], hint: int, latest: int) -> None:
    publish(snapshots, *there)
    snapshots.write_hint(LATEST, hint)
    assert snapshots.latest_id() == latest
    assert snapshots.latest() == snapshot_of(latest)


def test_a_hint_that_counts_saves_the_listing(snapshots: Snapshots) -> None:
    publish(snapshots, 1, 2)
    snapshots.write_hint(LATEST, 2)
    snapshots.write_hint(EARLIEST, 1)
    assert (snapshots.latest_id(), snapshots.latest(), snapshots.earliest_id()) == (2, snapshot_of(2), 1)
    assert "list_names" not in [call for call, _ in calls_of(snapshots)]


@pytest.mark.parametrize(("hint", "earliest"), [(2, 2), (3, 3), (1, 2), (9, 2)])
def test_when_the_earliest_hint_counts(snapshots: Snapshots, hint: int, earliest: int) -> None:
    """If its snapshot exists, also where an interrupted expiry left older ones."""
    publish(snapshots, 2, 3)
    snapshots.write_hint(EARLIEST, hint)
    assert snapshots.earliest_id() == earliest
    assert snapshots.earliest() == snapshot_of(earliest)


def test_another_snapshot_under_the_name(snapshots: Snapshots) -> None:
    publish(snapshots, 2)
    shutil.copy(snapshots.paths.snapshot(2), snapshots.paths.snapshot(1))
    for read in (snapshots.get, snapshots.find):
        with pytest.raises(CorruptFileError, match="expected snapshot 1, found snapshot 2"):
            read(1)


def test_the_newest_one_that_vanishes_is_looked_up_again(snapshots: Snapshots) -> None:
    publish(snapshots, 1, 2, 3)
    instead(snapshots, "list_names", lambda _: Path(snapshots.paths.snapshot(3)).unlink(missing_ok=True))
    assert snapshots.latest() == snapshot_of(2)


def test_the_last_one_vanishes(snapshots: Snapshots) -> None:
    publish(snapshots, 1)
    instead(snapshots, "list_names", lambda _: Path(snapshots.paths.snapshot(1)).unlink(missing_ok=True))
    assert snapshots.latest() is None


def test_it_is_looked_up_ten_times(snapshots: Snapshots) -> None:
    def vanish(_: str) -> None:
        remove(snapshots, max(Snapshots(FILE_IO, snapshots.paths).list_ids()))

    publish(snapshots, *range(1, 12))
    instead(snapshots, "list_names", vanish)
    with pytest.raises(ExpiredError, match="snapshot 2 was the newest one"):
        snapshots.latest()
    assert [call for call, _ in calls_of(snapshots)].count("list_names") == 10


def test_the_earliest_that_can_be_read(snapshots: Snapshots) -> None:
    publish(snapshots, 1, 2, 3)
    instead(snapshots, "read", lambda path: Path(path).unlink() if path.endswith(("-1", "-2")) else None)
    assert snapshots.earliest() == snapshot_of(3)


@pytest.mark.parametrize(("last", "found"), [(301, True), (302, False)])
def test_how_large_a_gap_is_passed_over(snapshots: Snapshots, last: int, found: bool) -> None:
    publish(snapshots, 1, last)
    instead(snapshots, "read", lambda path: Path(path).unlink() if path.endswith("-1") else None)
    assert snapshots.earliest() == (snapshot_of(last) if found else None)


def test_backwards_up_to_a_gap(snapshots: Snapshots) -> None:
    publish(snapshots, 1, 2, 4, 5)
    assert [snapshot.id for snapshot in snapshots.newest_first()] == [5, 4]
    assert [snapshot.id for snapshot in snapshots.newest_first(snapshot_of(2))] == [2, 1]
    assert "snapshot-0" not in [name for _, name in calls_of(snapshots)], "there is none before the first"


@pytest.mark.parametrize("store", [False, True])
def test_the_newest_first_read_at_most_twice_as_many_as_are_asked_for(
    snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch, *, store: bool
) -> None:
    """On a store more and more are read at once, and at most twice as many as are asked for."""
    monkeypatch.setattr(module, "is_local", lambda path: not store)
    publish(snapshots, *range(3, 203))
    assert [snapshot.id for snapshot in snapshots.newest_first()] == list(range(202, 2, -1))
    calls_of(snapshots).clear()
    history = snapshots.newest_first()
    assert [next(history).id for _ in range(10)] == list(range(202, 192, -1))
    assert len([name for call, name in calls_of(snapshots) if call == "read" and name != LATEST]) == (
        16 if store else 10
    )


@pytest.mark.parametrize("asked", [[1, 3], [3, 2, 1, 7]])
def test_many_are_found_at_once_without_a_listing(snapshots: Snapshots, asked: list[int]) -> None:
    publish(snapshots, 1, 3)
    assert snapshots.find_many(asked) == {number: snapshot_of(number) for number in asked if number in (1, 3)}
    assert "list_files" not in [call for call, _ in calls_of(snapshots)], "on a disk it saves nothing"


@pytest.mark.parametrize(("asked", "listed"), [([1, 2], False), ([1, 2, 3], True)])
def test_many_at_once_of_a_store(asked: list[int], listed: bool) -> None:
    snapshots = Snapshots(Noting(), TablePaths(f"memory://snapshots-{len(asked)}"))
    publish(snapshots, 1, 2, 3)
    expected = {number: snapshot_of(number) for number in asked}
    assert snapshots.find_many(asked) == expected
    assert ("list_files" in [call for call, _ in calls_of(snapshots)]) is listed


class Versioned(Noting):
    """The local disk as a store, whose listings tell the version of each file."""

    def list_files(self, folder: str) -> list[FileStatus]:
        return [replace(status, version=self.version(status.path)) for status in super().list_files(folder)]


def test_what_is_known_already_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One listing tells what has changed."""
    monkeypatch.setattr(module, "is_local", lambda _: False)
    snapshots = Snapshots(Versioned(), TablePaths(str(tmp_path)))
    publish(snapshots, 1, 2, 3)
    expected = {number: snapshot_of(number) for number in (1, 2, 3)}
    assert snapshots.find_many([1, 2, 3]) == expected
    calls_of(snapshots).clear()
    assert snapshots.find_many([1, 2, 3]) == expected
    assert calls_of(snapshots) == [("list_files", "snapshot")]
    changed = snapshot_of(2, commit_user="another")
    FILE_IO.overwrite(snapshots.paths.snapshot(2), serialize_snapshot(changed))
    assert snapshots.find_many([1, 2, 3]) == {**expected, 2: changed}
    assert [name for call, name in calls_of(snapshots) if call == "read"] == ["snapshot-2"]


def test_what_was_read_is_kept_until_it_changes(snapshots: Snapshots) -> None:
    publish(snapshots, 1)
    first = snapshots.get(1)
    assert snapshots.get(1) is first
    changed = snapshot_of(1, total_record_count=5, commit_user="another")
    FILE_IO.overwrite(snapshots.paths.snapshot(1), serialize_snapshot(changed))
    assert snapshots.get(1) == changed
    assert snapshots.find(1) == changed
    remove(snapshots, 1)
    assert snapshots.find(1) is None


def test_one_that_is_just_being_written_is_waited_for(snapshots: Snapshots) -> None:
    whole = serialize_snapshot(snapshot_of(1))
    path = Path(snapshots.paths.snapshot(1))
    path.parent.mkdir()
    path.write_bytes(whole[:9])
    reads: list[str] = []

    def finish(read: str) -> None:
        reads.append(read)
        if len(reads) > 1:
            path.write_bytes(whole)

    instead(snapshots, "read", finish)
    assert snapshots.get(1) == snapshot_of(1)


def test_a_number_is_given_once(snapshots: Snapshots) -> None:
    assert snapshots.publish(snapshot_of(1))
    assert snapshots.read_hint(LATEST) == 1
    assert snapshots.publish(snapshot_of(1)), "the same one is there, as after a lost answer"
    assert not snapshots.publish(snapshot_of(1, commit_user="another"))
    assert snapshots.get(1) == snapshot_of(1)
    assert snapshots.publish(snapshot_of(2))
    assert snapshots.read_hint(LATEST) == 2


def test_one_that_may_not_appear(snapshots: Snapshots) -> None:
    with snapshots.stage(snapshot_of(1)):
        assert snapshots.list_ids() == []
    with snapshots.stage(snapshot_of(1)) as staged:
        assert staged.create()
        staged.withdraw()
    assert (snapshots.list_ids(), snapshots.read_hint(LATEST)) == ([], None)
    assert snapshots.publish(snapshot_of(1))


def test_one_that_java_replaces_is_not_there(snapshots: Snapshots) -> None:
    with snapshots.stage(snapshot_of(1)) as staged:
        assert staged.create()
        Path(snapshots.paths.snapshot(1)).write_bytes(serialize_snapshot(snapshot_of(1, commit_user="java")))
        assert not staged.confirm()
    with snapshots.stage(snapshot_of(2)) as staged:
        assert staged.create()
        remove(snapshots, 2)
        assert staged.confirm(), "it was there, and has gone since"


def test_a_store_is_not_asked_again() -> None:
    snapshots = Snapshots(Noting(), TablePaths("memory://published"))
    assert snapshots.publish(snapshot_of(1))
    assert ("read", "snapshot-1") not in calls_of(snapshots)


def test_nobody_can_create_what_is_prevented(snapshots: Snapshots) -> None:
    snapshots.prevent([3, 4])
    assert calls_of(snapshots) == [("prevent", "snapshot-3"), ("prevent", "snapshot-4")]


def test_retired_ones_are_out_of_sight_and_on_record(snapshots: Snapshots) -> None:
    publish(snapshots, 1, 2, 10)
    snapshots.retire([2, 10, 7])
    for other in ("retired-x", "retired-"):
        Path(snapshots.paths.snapshot_folder(), other).touch()
    assert snapshots.list_ids() == [1]
    assert list(snapshots.retired().items()) == [(2, snapshot_of(2)), (10, snapshot_of(10))]


def test_one_whose_move_was_interrupted_is_in_sight(snapshots: Snapshots) -> None:
    publish(snapshots, 1)
    shutil.copy(snapshots.paths.snapshot(1), snapshots.paths.retired_snapshot(1))
    assert snapshots.retired() == {}
    another = snapshot_of(1, commit_user="another")
    FILE_IO.overwrite(snapshots.paths.snapshot(1), serialize_snapshot(another))
    assert snapshots.retired() == {1: snapshot_of(1)}, "a later commit has its number"
    remove(snapshots, 1)
    assert snapshots.retired() == {1: snapshot_of(1)}


def test_a_record_that_goes_meanwhile_is_left_out(snapshots: Snapshots) -> None:
    publish(snapshots, 1, 2)
    snapshots.retire([1, 2])
    instead(snapshots, "list_names", lambda _: Path(snapshots.paths.retired_snapshot(1)).unlink())
    assert snapshots.retired() == {2: snapshot_of(2)}
