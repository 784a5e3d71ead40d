"""By how much files are renumbered, and how old new files may be at most."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from maintenance.commit.newest import Newest
from maintenance.commit.order import OrderedFiles
from maintenance.commit.target import CommitTarget
from maintenance.errors import CommitError, StorageError, WriteError
from maintenance.format.metadata.data_file import DataFileMeta
from maintenance.format.metadata.snapshot import Snapshot
from maintenance.format.rows.binary_row import EMPTY_ROW
from maintenance.table.table import Table
from maintenance.write.message import CommitMessage
from tests.tables import create_table, keyed, live
from tests.unit.commit.entries import add

KEYLESS = (("a", "INT"),)


def new_file(name: str, lowest: int = 0, made: int | None = 0) -> DataFileMeta:
    return replace(add(name).file, min_sequence_number=lowest, max_sequence_number=lowest + 9, creation_time=made)


def message(*files: DataFileMeta, bucket: int = 0, changelog: Sequence[DataFileMeta] = ()) -> CommitMessage:
    return CommitMessage(EMPTY_ROW, bucket, 1, new_files=files, changelog_files=tuple(changelog))


class Held(Newest):
    """Knows what there is without looking."""

    def advance(self, latest: Snapshot | None) -> None:
        del latest


def holding(
    target: CommitTarget,
    messages: Sequence[CommitMessage],
    sequences: dict[tuple[bytes, int], int],
    created: dict[bytes, int] | None = None,
) -> OrderedFiles:
    newest = Held(target.snapshots, target.manifests, {EMPTY_ROW}, sequences, created or {})
    return OrderedFiles(target, messages, messages, newest)


def lowest(messages: Sequence[CommitMessage]) -> list[int]:
    return [file.min_sequence_number for message in messages for file in message.new_files]


@pytest.fixture
def keyless(tmp_path: Path) -> CommitTarget:
    """Of an append table with buckets, whose manifest entries alone say numbers."""
    return create_table(tmp_path, KEYLESS, (), {"bucket": "2", "bucket-key": "a"}).commit_target()


def test_files_that_are_newer_stay_as_they_are(keyless: CommitTarget) -> None:
    messages = [message(new_file("a", 5))]
    files = holding(keyless, messages, {(EMPTY_ROW, 0): 4, (EMPTY_ROW, 1): 99})
    assert files.upon(None) is messages
    assert holding(keyless, messages, {}).upon(None) is messages


def test_room_is_left_below_files_that_were_overtaken(keyless: CommitTarget) -> None:
    """2 to the power of 20 numbers at first, 64 times as many each further time, 2 to the power of 40 at most."""
    files = holding(keyless, [message(new_file("a", 5), new_file("b", 15))], {(EMPTY_ROW, 0): 5})
    expected = 0
    held = 5
    for bits in (20, 26, 32, 38, 40, 40):
        files.newest.sequences[EMPTY_ROW, 0] = held
        expected = held + 1 + (1 << bits)
        assert lowest(files.upon(None)) == [expected, expected + 10], "files keep their order among each other"
        held = expected + 3


@pytest.mark.parametrize(("held", "room"), [((1 << 62) - 1, 1 << 20), (1 << 62, 0)])
def test_no_room_is_left_where_numbers_run_out(keyless: CommitTarget, held: int, room: int) -> None:
    files = holding(keyless, [message(new_file("a"))], {(EMPTY_ROW, 0): held})
    assert lowest(files.upon(None)) == [held + 1 + room]


def test_only_buckets_that_were_overtaken_are_renumbered(keyless: CommitTarget) -> None:
    messages = [message(new_file("a")), message(new_file("b"), bucket=1), message(new_file("c", 50))]
    files = holding(keyless, messages, {(EMPTY_ROW, 1): 0})
    assert lowest(files.upon(None)) == [0, (1 << 20) + 1, 50]
    assert files.messages[0] is messages[0]
    files.discard()
    assert files.messages is files.written


@pytest.mark.parametrize(
    ("options", "numbered"),
    [
        ({}, True),
        ({"sequence.snapshot-ordering": "true"}, False),
        ({"sequence.field": "v", "sequence.auto-padding": "row-kind-flag"}, False),
    ],
)
def test_tables_whose_files_are_not_renumbered(tmp_path: Path, options: dict[str, str], numbered: bool) -> None:
    columns = [("id", "INT NOT NULL"), ("v", "INT")]
    target = create_table(tmp_path, columns, ("id",)).commit_target()
    target = replace(target, options={**target.options, **options})
    messages = [message(new_file("a"))]
    if not numbered:
        assert holding(target, messages, {(EMPTY_ROW, 0): 7}).upon(None) is messages
        return
    with pytest.raises(CommitError):
        holding(target, messages, {(EMPTY_ROW, 0): 7}).upon(None)


def test_append_tables_without_buckets_are_not_renumbered(tmp_path: Path) -> None:
    target = create_table(tmp_path, KEYLESS, (), {"bucket": "-1"}).commit_target()
    messages = [message(new_file("a"))]
    assert holding(target, messages, {(EMPTY_ROW, 0): 7}).upon(None) is messages


@pytest.mark.parametrize(
    ("error", "kind"), [(StorageError("full", "disk", "Make room."), WriteError), (KeyError("x"), CommitError)]
)
def test_files_that_cannot_be_written_again(tmp_path: Path, error: Exception, kind: type[CommitError]) -> None:
    """The first error says whether the storage is to blame."""
    table = create_table(tmp_path)
    table.write_arrow(keyed({1: "a"}))
    (entry,) = live(table)
    target = table.commit_target()
    files = holding(target, [message(entry.file), message(new_file("b"))], {(EMPTY_ROW, 0): 7})

    def failing(_work: Any, tasks: Sequence[Any]) -> list[Any]:
        return [error, KeyError("later")][: len(tasks)]

    files.run = failing
    with pytest.raises(CommitError, match="could not be written again with higher sequence numbers") as caught:
        files.upon(None)
    assert type(caught.value) is kind
    assert caught.value.__cause__ is error


# Files that wait for a bucket


def waiting(folder: Path, messages: Sequence[CommitMessage], created: dict[bytes, int]) -> Sequence[CommitMessage]:
    table: Table = create_table(folder, options={"bucket": "-2"})
    return holding(table.commit_target(), messages, {}, created).upon(None)


@pytest.mark.parametrize(("made", "dated"), [(7, 8), (8, 8), (9, 9), (None, 8), (0, 8)])
def test_no_file_is_as_old_as_those_that_are_there(tmp_path: Path, made: int | None, dated: int) -> None:
    messages = [message(new_file("a", made=made), new_file("b", made=100), bucket=-2)]
    actual = waiting(tmp_path, messages, {EMPTY_ROW: 7})
    assert [file.creation_time for file in actual[0].new_files] == [dated, 100]
    assert (actual is messages) == (made == dated)


def test_in_an_empty_partition_any_time_will_do(tmp_path: Path) -> None:
    messages = [message(new_file("a", made=1), bucket=-2)]
    assert waiting(tmp_path, messages, {b"elsewhere": 7}) is messages
    (actual,) = waiting(tmp_path / "b", [message(new_file("a", made=0), bucket=-2)], {})
    assert actual.new_files[0].creation_time == 1
