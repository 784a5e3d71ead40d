"""Hints: nothing fails for the lack of one, and none misleads."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from maintenance.errors import WriteError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.hints import EARLIEST, LATEST, read_hint
from maintenance.operations.expiry.expire_snapshots import expire_snapshots
from maintenance.operations.refs.rollback_to import rollback_to
from tests.no_room import no_room
from tests.small_tables import put, rows, small_table

HINTS = (EARLIEST, LATEST)


@dataclass(frozen=True, slots=True)
class NoHints(FileIO):
    """Storage that refuses hints. `kept`: it does not let them be deleted either."""

    kept: bool = False

    def overwrite(self, path: str, data: bytes, *, flushed: bool = True) -> None:
        if path.endswith(HINTS):
            raise PermissionError(13, "Permission denied", path)
        FileIO.overwrite(self, path, data, flushed=flushed)

    def delete_quietly(self, paths: Iterable[str]) -> None:
        paths = list(paths)
        if self.kept and any(path.endswith(HINTS) for path in paths):
            raise PermissionError(13, "Permission denied")
        FileIO.delete_quietly(self, paths)


@pytest.mark.parametrize("kept", [False, True])
def test_a_commit_whose_hint_cannot_be_written_is_done_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kept: bool
) -> None:
    table = small_table(tmp_path)
    put(table, {1: "a"})
    refused = replace(table, file_io=NoHints(kept=kept))
    with caplog.at_level(logging.WARNING):
        assert put(refused, {2: "b"}) == 2
        assert put(refused, {3: "c"}) == 3
    assert f"{LATEST} cannot be set to 2" in caplog.text
    assert table.snapshots.read_hint(LATEST) == (1 if kept else None)
    assert table.snapshots.latest_id() == 3
    assert rows(table) == [(1, "a"), (2, "b"), (3, "c")]
    assert put(table, {4: "d"}) == 4
    assert table.snapshots.read_hint(LATEST) == 4


def test_an_expiry_on_a_full_disk_makes_room(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    for number in range(5):
        put(table, {1: f"{number}"})
    with no_room():
        report = expire_snapshots(table, retain_min=1, retain_max=1)
    assert report.expired == (1, 2, 3, 4)
    assert table.snapshots.list_ids() == [5]
    assert [path.name for path in Path(table.location).rglob(".*")] == []
    assert rows(table) == [(1, "4")]


def test_going_back_leaves_no_hint_that_misleads(tmp_path: Path) -> None:
    table = small_table(tmp_path)
    for number in range(3):
        put(table, {1: f"{number}"})
    # Java takes a hint for the newest snapshot if there is no file after it.
    with pytest.raises(WriteError, match="neither be written nor deleted"):
        rollback_to(replace(table, file_io=NoHints(kept=True)), snapshot_id=1)
    assert table.snapshots.list_ids() == [1, 2, 3]
    rollback_to(replace(table, file_io=NoHints()), snapshot_id=1)
    assert table.snapshots.list_ids() == [1]
    assert table.snapshots.read_hint(LATEST) is None
    assert rows(table) == [(1, "0")]


@pytest.mark.parametrize(("content", "said"), [("7", 7), ("7\n", 7), ("", None), ("seven", None)])
def test_a_hint_that_is_not_a_number_says_nothing(tmp_path: Path, content: str, said: int | None) -> None:
    (tmp_path / LATEST).write_text(content)
    assert read_hint(FileIO(), str(tmp_path), LATEST) == said
    assert read_hint(FileIO(), str(tmp_path), EARLIEST) is None
