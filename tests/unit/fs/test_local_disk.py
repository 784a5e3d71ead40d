"""Changes of a local disk: what fails leaves nothing behind, and what is flushed can be flushed."""

import os
from pathlib import Path

import pytest

from maintenance.errors import WriteError
from maintenance.fs import local_disk
from tests.no_room import no_room

pytestmark = pytest.mark.usefixtures("flushing")


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with no_room(), pytest.raises(OSError, match="too large"):
        local_disk.write_new(str(tmp_path / "manifest-1"), b"content", flushed=True)
    assert names(tmp_path) == []


def test_a_file_that_cannot_be_published_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "snapshot" / "snapshot-1"
    with no_room(), pytest.raises(WriteError, match="cannot be written"):
        local_disk.stage(str(path), b"content").publish()
    assert names(path.parent) == []
    assert local_disk.stage(str(path), b"content").publish()
    assert names(path.parent) == ["snapshot-1"]


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    path = tmp_path / "LATEST"
    local_disk.replace(str(path), b"1", flushed=True)
    with no_room(), pytest.raises(OSError, match="too large"):
        local_disk.replace(str(path), b"2", flushed=True)
    assert path.read_bytes() == b"1"
    assert names(tmp_path) == ["LATEST"]


def test_publishing_where_no_folder_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WriteError):
        local_disk.stage(str(tmp_path / "file" / "snapshot-1"), b"content").publish()


def test_files_are_flushed_and_the_folders_up_to_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "t" / "p=1" / "data"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x")
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.readlink(f"/proc/self/fd/{descriptor}")))
    local_disk.flush([str(file)], str(tmp_path / "t"))
    assert flushed[0] == str(file)
    assert set(flushed[1:]) == {str(tmp_path / "t"), str(tmp_path / "t" / "p=1")}


def test_files_to_flush_must_be_there_and_folders_need_not(tmp_path: Path) -> None:
    files = [tmp_path / "t" / f"p={number}" / "bucket-0" / "data" for number in range(3)]
    for file in files:
        local_disk.make_folders(str(file.parent))
        local_disk.write_new(str(file), b"x", flushed=False)
    local_disk.flush(map(str, files), str(tmp_path / "t"))
    local_disk.flush([str(files[0])], str(tmp_path / "elsewhere"))
    local_disk.flush([], str(tmp_path))
    with pytest.raises(FileNotFoundError):
        local_disk.flush([str(tmp_path / "gone")], str(tmp_path))
    local_disk.flush_folders([str(tmp_path / "t"), str(tmp_path / "gone")])


def test_writing_back_is_a_hint_which_never_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, begun = tmp_path / "data", []

    def begin(descriptor: int, *rest: int) -> int:
        begun.append((os.readlink(f"/proc/self/fd/{descriptor}"), *rest))
        return -1

    file.write_bytes(b"x" * (1 << 20))
    local_disk.write_back(str(file))
    assert file.read_bytes() == b"x" * (1 << 20)
    monkeypatch.setattr(local_disk, "_sync_file_range", lambda: begin)
    local_disk.write_back(str(file))
    local_disk.write_back(str(tmp_path / "gone"))
    monkeypatch.setattr(local_disk, "_sync_file_range", lambda: None)
    local_disk.write_back(str(file))
    assert begun == [(str(file), 0, 0, 2)], "all of the file, without waiting"
