"""A writer that stands still just before its snapshot is created: the number that it will use may be free again."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pytest

from maintenance.catalog import CatalogTable
from maintenance.errors import InfrastructureError
from maintenance.fs.file_io import FileIO
from maintenance.fs.staged import StagedFile
from maintenance.operations.compaction.compact import compact
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.indexes.analyze_table import analyze_table
from maintenance.operations.refs.rollback_to import rollback_to
from maintenance.operations.rows.delete import delete
from maintenance.operations.rows.drop_partitions import drop_partitions
from tests.tables import create_table, data_files, files_on_disk, keyed, state

Event = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Halting(FileIO):
    """Storage whose process stands still around the creation of a snapshot file, once each: `before` its last look at
    the table, `between` that and the creation, `after` it."""

    before: list[Event] = field(default_factory=list)
    between: list[Event] = field(default_factory=list)
    after: list[Event] = field(default_factory=list)

    def stage(self, path: str, data: bytes) -> StagedFile:
        if "/snapshot/" not in path:
            return FileIO.stage(self, path, data)
        if self.before:
            self.before.pop()()
        return StagedFile(path, HaltedFile(FileIO.stage(self, path, data), self.between, self.after))


@dataclass(frozen=True, slots=True)
class HaltedFile:
    """A file of such a process, which has had its last look at the table."""

    file: StagedFile
    between: list[Event]
    after: list[Event]

    def publish(self) -> bool:
        if self.between:
            self.between.pop()()
        published = self.file.publish()
        if self.after:
            self.after.pop()()
        return published

    def discard(self) -> None:
        self.file.file.discard()


def expire_all_but_the_last(table: CatalogTable) -> None:
    expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=1, retain_max=1)


def halted(
    table: CatalogTable, *, before: Event | None = None, between: Event | None = None, after: Event | None = None
) -> CatalogTable:
    once = [[event] if event else [] for event in (before, between, after)]
    storage = Halting(before=once[0], between=once[1], after=once[2])
    return replace(table, file_io=storage)


@dataclass(frozen=True, slots=True)
class Careless(FileIO):
    """Storage of an engine whose expiry does not think of writers that have looked for the last time."""

    def prevent(self, paths: Collection[str]) -> None:
        pass


def rivals(table: CatalogTable, count: int, *, kept: int = 1, careless: bool = False) -> Event:
    """Others commit so many snapshots; all but the last ones expire."""

    def event() -> None:
        for number in range(count):
            table.write_arrow(keyed({1: f"rival {number}"}))
        own = replace(table, file_io=Careless()) if careless else table
        expire_snapshots(own.copy({"snapshot.time-retained": "0 s"}), retain_min=kept, retain_max=kept)

    return event


def check_history(table: CatalogTable) -> None:
    """Ids follow one another, the last one is found, and nothing is left over."""
    ids = table.snapshots.list_ids()
    assert ids == list(range(ids[0], ids[-1] + 1))
    assert table.snapshots.latest_id() == ids[-1]
    compact(None, table, full=True)
    expire_all_but_the_last(table)
    assert files_on_disk(table) == data_files(table)


@pytest.mark.parametrize("careless", [False, True], ids=["ours", "careless"])
@pytest.mark.parametrize("moment", ["before", "between"])
@pytest.mark.parametrize("first", [False, True], ids=["later", "first"])
@pytest.mark.parametrize("kept", [1, 2, 4])
def test_a_number_that_expired_meanwhile_is_not_used(
    tmp_path: Path, kept: int, first: bool, moment: str, careless: bool
) -> None:
    table = create_table(tmp_path)
    if not first:
        table.write_arrow(keyed({1: "a"}))
        table.write_arrow(keyed({2: "b"}))
    before = 0 if first else 2
    (made,) = halted(table, **{moment: rivals(table, 5, kept=kept, careless=careless)}).write_arrow(keyed({3: "mine"}))
    assert made == before + 6 == table.snapshots.latest_id()
    assert table.snapshots.list_ids() == list(range(made - kept, made + 1))
    assert state(table) == {1: "rival 4", 3: "mine"} | ({} if first else {2: "b"})
    check_history(table)


def test_a_compaction_does_not_use_an_expired_number_either(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    for v in "abc":
        table.write_arrow(keyed({1: v}))
    report = compact(None, halted(table, before=rivals(table, 5, kept=3)), full=True)
    assert report.snapshot_ids == (9,) == (table.snapshots.latest_id(),)
    assert state(table) == {1: "rival 4"}
    check_history(table)


@pytest.mark.parametrize("kept", [1, 3])
def test_a_writer_that_dies_before_it_looks_leaves_nothing_lasting(tmp_path: Path, kept: int) -> None:
    """Its snapshot is below the others: nobody reads it, commits go on after the newest, and expiry deletes it."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    dying = halted(table, between=rivals(table, 5, kept=kept, careless=True), after=lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        dying.write_arrow(keyed({3: "mine"}))
    assert table.snapshots.list_ids() == [2, *range(7 - kept, 7)]
    assert state(table) == {1: "rival 4"}
    assert table.write_arrow(keyed({4: "next"})) == (7,)
    expire_all_but_the_last(table)
    assert table.snapshots.list_ids() == [7]
    assert state(table) == {1: "rival 4", 4: "next"}
    assert files_on_disk(table) == data_files(table)


@pytest.mark.parametrize("kept", [1, 3])
def test_nobody_sees_a_snapshot_below_those_that_expired(tmp_path: Path, kept: int) -> None:
    """Between its last look and the creation of the file an expiry takes its temporary file away."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    slow = halted(table, between=rivals(table, 5, kept=kept), after=lambda: seen.append(table.snapshots.list_ids()))
    seen: list[list[int]] = []
    assert slow.write_arrow(keyed({3: "mine"})) == (7,)
    assert seen == [list(range(7 - kept, 7))], "nothing was published at the first attempt"


@pytest.mark.parametrize("kept", [1, 2])
def test_a_snapshot_that_others_followed_at_once_counts(tmp_path: Path, kept: int) -> None:
    """The previous one has expired when the writer wakes up: its rows must not be written twice."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    slow = halted(table, after=rivals(table, 1, kept=kept))
    assert slow.write_arrow(keyed({2: "mine"}), commit_user="me", commit_identifier=4) == (2,)
    assert [table.snapshots.get(i).commit_user for i in table.snapshots.list_ids()].count("me") == kept - 1
    assert state(table) == {1: "rival 0", 2: "mine"}
    check_history(table)


def test_deletion_vectors_that_others_followed_count(tmp_path: Path) -> None:
    """No file came or went: the index manifest shows that the later snapshot was made after this one."""
    table = create_table(tmp_path, primary_keys=(), options={"deletion-vectors.enabled": "true"})
    table.write_arrow(keyed({1: "a", 2: "b", 3: "c"}))
    report = delete(None, halted(table, after=rivals(table, 1)), "id = 2")
    assert report.snapshot_ids == (2,)
    assert table.snapshots.list_ids() == [3]
    assert sorted(table.to_arrow()["v"].to_pylist()) == ["a", "c", "rival 0"]
    check_history(table)


def test_rows_that_nothing_followed_count(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    slow = halted(table, after=lambda: expire_all_but_the_last(table))
    assert slow.write_arrow(keyed({2: "mine"})) == (2,)
    assert state(table) == {1: "a", 2: "mine"}
    check_history(table)


def test_what_was_rolled_back_meanwhile_is_no_base(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    for key in range(4):
        table.write_arrow(keyed({key: "a"}))
    (made,) = halted(table, before=lambda: rollback_to(table, snapshot_id=2)).write_arrow(keyed({9: "mine"}))
    assert made == 3
    assert state(table) == {0: "a", 1: "a", 9: "mine"}
    assert table.snapshots.list_ids() == [1, 2, 3]


def test_deletions_alone_show_that_they_were_too_late(tmp_path: Path) -> None:
    fields = [("p", "INT NOT NULL"), ("id", "INT NOT NULL")]
    table = create_table(tmp_path, fields, ("p", "id"), partition_keys=["p"])

    def write(partition: int, key: int) -> None:
        table.write_arrow(pa.table({"p": pa.array([partition], pa.int32()), "id": pa.array([key], pa.int32())}))

    def rows() -> set[tuple[int, int]]:
        return {(row["p"], row["id"]) for row in table.to_arrow().to_pylist()}

    write(1, 1)
    write(2, 1)

    def meanwhile() -> None:
        for key in range(2, 6):
            write(1, key)
        expire_snapshots(table.copy({"snapshot.time-retained": "0 s"}), retain_min=3, retain_max=3)

    report = drop_partitions(halted(table, before=meanwhile), [{"p": "2"}])
    assert report.snapshot_id == 7 == table.snapshots.latest_id()
    assert rows() == {(1, key) for key in range(1, 6)}


def test_what_cannot_be_told_is_said(tmp_path: Path) -> None:
    """New statistics change no file that later snapshots would show."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    with pytest.raises(InfrastructureError, match="is unknown"):
        analyze_table(halted(table, after=rivals(table, 1)))
    assert state(table) == {1: "rival 0"}
