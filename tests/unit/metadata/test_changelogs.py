"""Long-lived changelogs: kept, found, listed."""

import shutil
from pathlib import Path

import pytest

from maintenance.errors import CorruptFileError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.changelogs import Changelogs
from maintenance.metadata.hints import EARLIEST, LATEST, read_hint
from maintenance.metadata.paths import TablePaths
from tests.unit.metadata.states import FILE_IO, snapshot_of


@pytest.fixture
def changelogs(tmp_path: Path) -> Changelogs:
    return Changelogs(FILE_IO, TablePaths(str(tmp_path)))


def hint(changelogs: Changelogs, name: str) -> int | None:
    return read_hint(FILE_IO, changelogs.paths.changelog_folder(), name)


def test_without_any_changelog_nothing_is_listed_or_found(changelogs: Changelogs) -> None:
    assert (changelogs.list_ids(), changelogs.all(), changelogs.find(1)) == ([], [], None)


def test_what_is_kept_is_found(changelogs: Changelogs, tmp_path: Path) -> None:
    for number in (1, 10, 9):
        changelogs.keep(snapshot_of(number))
        assert hint(changelogs, LATEST) == number
    for other in ("changelog-x", "other-3", "changelog-"):
        (tmp_path / "changelog" / other).touch()
    assert changelogs.list_ids() == [1, 9, 10]
    assert changelogs.all() == [snapshot_of(number) for number in (1, 9, 10)]
    assert changelogs.find(9) == snapshot_of(9)
    assert changelogs.find(2) is None


def test_another_one_under_the_name(changelogs: Changelogs) -> None:
    changelogs.keep(snapshot_of(2))
    shutil.copy(changelogs.paths.changelog(2), changelogs.paths.changelog(1))
    with pytest.raises(CorruptFileError, match="expected changelog 1, found changelog 2"):
        changelogs.find(1)


def test_hints_are_deleted_together(changelogs: Changelogs) -> None:
    assert changelogs.write_hint(EARLIEST, 1)
    assert changelogs.write_hint(LATEST, 2)
    changelogs.delete_hints()
    assert (hint(changelogs, EARLIEST), hint(changelogs, LATEST)) == (None, None)


def test_changelogs_and_the_earliest_hint_are_flushed(tmp_path: Path) -> None:
    """A hint must outlive a power cut where files are deleted next, and need not where one is only kept."""
    flushes: list[tuple[str, bool]] = []

    class Noting(FileIO):
        def overwrite(self, path: str, data: bytes, *, flushed: bool = True) -> None:
            flushes.append((path.rpartition("/")[2], flushed))
            super().overwrite(path, data, flushed=flushed)

    changelogs = Changelogs(Noting(), TablePaths(str(tmp_path)))
    changelogs.keep(snapshot_of(1))
    changelogs.write_hint(EARLIEST, 1)
    assert flushes == [("changelog-1", True), (LATEST, False), (EARLIEST, True)]
