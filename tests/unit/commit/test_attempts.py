"""How the attempts of a commit end, and what is left on storage then."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from maintenance.catalog import CatalogTable
from maintenance.commit import attempts as module
from maintenance.commit.attempts import CommitAttempts
from maintenance.commit.changes import Changes
from maintenance.commit.commit import append_or_abort
from maintenance.commit.conflicts import Conflict
from maintenance.commit.identity import CommitIdentity
from maintenance.commit.outcome import Lost, Published
from maintenance.commit.rules import CommitRules
from maintenance.errors import CommitError, ConflictError, ExpiredError, InfrastructureError, ReplayedError, WriteError
from maintenance.format.metadata.snapshot import CommitKind
from maintenance.fs.file_io import FileIO
from maintenance.fs.staged import StagedFile
from maintenance.write.message import CommitMessage
from maintenance.write.rows import conform
from maintenance.write.table_write import TableWrite
from tests.tables import create_table, data_files, files_on_disk, keyed, state

NOTHING = Changes(CommitKind.ANALYZE, ())
ME = CommitIdentity("me")


def manifests(table: CatalogTable) -> set[str]:
    folder = Path(table.location, "manifest")
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def written(table: CatalogTable, rows: dict[int, str | None]) -> list[CommitMessage]:
    context = table.write_context()
    writer = TableWrite(context, table.write_state("u"))
    writer.write(conform(keyed(rows), None, context))
    return writer.finish()


def tried(table: CatalogTable, *conflicts: Conflict | None) -> CommitAttempts:
    work, found = CommitAttempts(table.commit_target(), ME), iter(conflicts)
    for attempt in work:
        with attempt:
            attempt.commit(NOTHING, next(found, None))
    return work


@dataclass(frozen=True, slots=True)
class Answering(FileIO):
    """Storage whose snapshots get their names, or do not, and another answer than the right one is given."""

    answer: Callable[[StagedFile], bool] = StagedFile.publish
    asked: list[str] = field(default_factory=list)

    def stage(self, path: str, data: bytes) -> StagedFile:
        staged = FileIO.stage(self, path, data)
        if "/snapshot/" not in path:
            return staged
        self.asked.append(path)
        return StagedFile(path, _Answered(staged, self.answer))


@dataclass(frozen=True, slots=True)
class _Answered:
    file: StagedFile
    answer: Callable[[StagedFile], bool]

    def publish(self) -> bool:
        return self.answer(self.file)

    def discard(self) -> None:
        self.file.file.discard()


def answering(table: CatalogTable, answer: Callable[[StagedFile], bool]) -> CatalogTable:
    options = {"commit.max-retries": "2", "commit.min-retry-wait": "1 ms"}
    return replace(table, file_io=Answering(answer=answer), dynamic_options=options)


def test_one_that_is_published(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    work = tried(table)
    assert work.outcome == Published(table.snapshots.get(1), 1)
    assert (work.snapshot(), work.snapshot_id(), work.may_be_published) == (table.snapshots.get(1), 1, True)


def test_one_that_has_lost(tmp_path: Path) -> None:
    """To the newest snapshot. Nothing of it stays, and whoever needs all of it gets the error."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    before, conflict = manifests(table), Conflict("the rows have moved", frozenset())
    work = tried(table, conflict)
    assert work.outcome == Lost(conflict, table.snapshots.get(1), 1)
    assert (work.snapshot_id(), work.may_be_published, manifests(table)) == (None, False, before)
    with pytest.raises(ConflictError, match=r"the rows have moved.*table .*db\.t"):
        work.snapshot()


def test_a_repetition_is_told_before_other_conflicts(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}), commit_user="me", commit_identifier=4)
    work = CommitAttempts(table.commit_target(), CommitIdentity("me", 4))
    for attempt in work:
        with attempt:
            attempt.commit(Changes(CommitKind.APPEND, ()), Conflict("something else", frozenset()))
    with pytest.raises(ReplayedError, match="commit 4 of user 'me' is in the table already"):
        work.snapshot()


def test_each_attempt_sees_the_newest_snapshot(tmp_path: Path) -> None:
    """What was staged for one that another writer has overtaken is deleted."""
    table = create_table(tmp_path)
    seen: list[int] = []

    def overtaken(staged: StagedFile) -> bool:
        if len(seen) < 3:
            table.write_arrow(keyed({1: f"rival {len(seen)}"}))
        return staged.publish()

    slow = answering(table, overtaken)
    work = CommitAttempts(slow.commit_target(), ME)
    for attempt in work:
        with attempt:
            seen.append(0 if attempt.latest is None else attempt.latest.id)
            attempt.commit(NOTHING)
    assert (seen, work.outcome) == ([0, 1, 2], Published(table.snapshots.get(3), 3))
    named = {name for i in (1, 2, 3) for name in _lists(table, i)}
    assert {name for name in manifests(table) if name.startswith("manifest-list")} == named


def _lists(table: CatalogTable, snapshot_id: int) -> set[str]:
    snapshot = table.snapshots.get(snapshot_id)
    return {snapshot.base_manifest_list, snapshot.delta_manifest_list}


def test_one_that_is_always_overtaken(tmp_path: Path) -> None:
    table = create_table(tmp_path)
    with pytest.raises(CommitError, match="other writers published first in 3 attempts"):
        tried(answering(table, lambda _: False))
    assert (table.snapshots.list_ids(), manifests(table)) == ([], set())


def test_a_state_that_expires_under_an_attempt_is_looked_up_again(tmp_path: Path) -> None:
    table = create_table(tmp_path, options={"commit.min-retry-wait": "1 ms"})
    work, failures = CommitAttempts(table.commit_target(), ME), iter((True, False))
    for attempt in work:
        with attempt:
            if next(failures):
                raise ExpiredError("it has expired", "a test", "Read again.")
            attempt.commit(NOTHING)
    assert work.outcome == Published(table.snapshots.get(1), 2)


def test_an_answer_that_is_lost_leaves_all_files(tmp_path: Path) -> None:
    """The snapshot may be there, and is here: what it names must stay. The error is that of the storage."""
    table = create_table(tmp_path)
    lost = InfrastructureError("no answer", "a store", "Look whether it is there.")

    def published_and_silent(staged: StagedFile) -> bool:
        staged.publish()
        raise lost

    slow = answering(table, published_and_silent)
    messages = written(slow, {1: "a"})
    with pytest.raises(InfrastructureError) as caught:
        append_or_abort(slow.commit_target(), messages, ME)
    assert caught.value is lost
    assert isinstance(slow.file_io, Answering)
    assert len(slow.file_io.asked) == 1, "in doubt nothing is tried again"
    assert state(table) == {1: "a"}
    assert files_on_disk(table) == data_files(table)


@pytest.mark.parametrize("error", [WriteError("no room", "a disk", "Make room."), CommitError("refused", "x", "Wait.")])
def test_a_refusal_leaves_nothing(tmp_path: Path, error: CommitError) -> None:
    table = create_table(tmp_path)

    def refused(_: StagedFile) -> bool:
        raise error

    slow = answering(table, refused)
    messages = written(slow, {1: "a"})
    with pytest.raises(type(error)) as caught:
        append_or_abort(slow.commit_target(), messages, ME)
    assert caught.value is error
    assert (table.snapshots.list_ids(), manifests(table), files_on_disk(table)) == ([], set(), set())


def test_a_disk_that_fails_before_anything_is_published(tmp_path: Path) -> None:
    work = CommitAttempts(create_table(tmp_path).commit_target(), ME)

    def failing() -> None:
        for attempt in work:
            with attempt:
                raise OSError("broken")

    with pytest.raises(WriteError, match="the commit cannot be prepared: broken"):
        failing()
    assert not work.may_be_published


def test_an_interruption_behind_a_commit_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = create_table(tmp_path)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "remember", interrupted)
    with pytest.raises(KeyboardInterrupt):
        append_or_abort(table.commit_target(), written(table, {1: "a"}), ME)
    assert state(table) == {1: "a"}
    assert files_on_disk(table) == data_files(table)


def test_what_fails_after_a_commit_takes_nothing_of_it_back(tmp_path: Path) -> None:
    """Whatever the error is: the rows are there."""

    class Failing(CommitRules):
        def published(self, snapshot: object) -> None:
            raise CommitError("the other branch is busy", "a test", "Run again.")

    table = create_table(tmp_path)
    target = replace(table.commit_target(), rules=Failing())
    with pytest.raises(CommitError, match="the other branch is busy"):
        append_or_abort(target, written(table, {1: "a"}), ME)
    assert state(table) == {1: "a"}
    assert files_on_disk(table) == data_files(table)
