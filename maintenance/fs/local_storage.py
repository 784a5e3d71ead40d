"""Files of the local disk."""

import os
import shutil
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from maintenance.fs import local_disk
from maintenance.fs.location import local_path
from maintenance.fs.storage import FileStatus

# Who only lists names needs no Arrow, which takes longer to import than all else.
if TYPE_CHECKING:
    import pyarrow as pa

_PAGE = 10_000


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """The local disk; see `Storage`."""

    renames_at_once: ClassVar[bool] = True

    def exists(self, path: str) -> bool:
        try:
            return os.path.exists(local_path(path))
        except FileNotFoundError:
            return False

    def size(self, path: str) -> int:
        return os.stat(local_path(path)).st_size

    def version(self, path: str) -> Hashable | None:
        stat = os.stat(local_path(path))
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    def lasting_version(self, path: str) -> Hashable | None:
        return self.version(path)

    def read_bytes(self, path: str) -> bytes:
        with open(local_path(path), "rb") as file:
            return file.read()

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        return [self.read_bytes(path) for path in paths]

    def read_part(self, path: str, offset: int, length: int) -> tuple[bytes, int]:
        with open(local_path(path), "rb") as file:
            file.seek(offset)
            return file.read(length), os.fstat(file.fileno()).st_size

    def read_if_changed(self, path: str, version: Hashable | None) -> tuple[bytes | None, Hashable | None]:
        current = self.version(path)
        return (None if current == version else self.read_bytes(path)), current

    def open_input(self, path: str, size: int | None) -> "pa.NativeFile":
        del size
        import pyarrow as pa

        return pa.OSFile(local_path(path))

    def open_output(self, path: str) -> "pa.NativeFile":
        plain = local_path(path)
        os.makedirs(os.path.dirname(plain), exist_ok=True)
        import pyarrow as pa

        return pa.OSFile(plain, "wb")

    def write_bytes(self, path: str, data: bytes) -> None:
        plain = local_path(path)
        os.makedirs(os.path.dirname(plain), exist_ok=True)
        local_disk.write_new(plain, data, flushed=False)

    def overwrite(self, path: str, data: bytes, *, flushed: bool) -> None:
        local_disk.replace(local_path(path), data, flushed=flushed)

    def stage(self, path: str, data: bytes) -> local_disk.Unlinked:
        return local_disk.stage(local_path(path), data)

    def list_files(self, folder: str) -> list[FileStatus]:
        found = []
        for entry in _entries(folder):
            if entry.name.startswith(".") or not entry.is_file():
                continue
            with suppress(FileNotFoundError):
                stat = entry.stat()
                found.append(FileStatus(f"{folder}/{entry.name}", entry.name, stat.st_size, int(stat.st_mtime * 1000)))
        return found

    def list_names(self, folder: str) -> list[str]:
        return [entry.name for entry in _entries(folder) if not entry.name.startswith(".") and entry.is_file()]

    def list_tree(self, folder: str) -> list[FileStatus]:
        return [status for page in self.tree_pages(folder) for status in page]

    def tree_pages(self, folder: str) -> Iterator[Sequence[FileStatus]]:
        root = local_path(folder)
        for above, _, names in os.walk(root):
            for start in range(0, len(names), _PAGE):
                yield _statuses(root, above, names[start : start + _PAGE])

    def list_folders(self, folder: str) -> Mapping[str, int]:
        return {entry.name: int(entry.stat().st_mtime * 1000) for entry in _entries(folder) if entry.is_dir()}

    def make_folder(self, folder: str) -> None:
        local_disk.make_folders(local_path(folder))

    def folder_exists(self, folder: str) -> bool:
        try:
            return os.path.isdir(local_path(folder))
        except FileNotFoundError:
            return False

    def delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(local_path(path))

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)

    def delete_folder(self, folder: str) -> None:
        from pyarrow import fs as pafs

        pafs.LocalFileSystem().delete_dir(local_path(folder))

    def delete_empty_folder(self, folder: str) -> bool:
        try:
            os.rmdir(local_path(folder))
        except OSError as error:
            return isinstance(error, FileNotFoundError)
        return True

    def move_file(self, source: str, target: str) -> None:
        local_disk.make_folders(os.path.dirname(local_path(target)))
        with suppress(PermissionError):  # another user's file keeps its time
            os.utime(local_path(source))
        self.rename_folder(source, target)

    def move_files(self, targets: Mapping[str, str]) -> None:
        for source, target in targets.items():
            with suppress(FileNotFoundError):
                os.rename(local_path(source), local_path(target))
        for folder in sorted({os.path.dirname(local_path(target)) for target in targets.values()}):
            local_disk.flush_folder(folder)

    def copy_files(self, targets: Mapping[str, str]) -> None:
        for source, target in targets.items():
            os.makedirs(os.path.dirname(local_path(target)), exist_ok=True)
            shutil.copyfile(local_path(source), local_path(target))

    def rename_folder(self, source: str, target: str) -> None:
        os.rename(local_path(source), local_path(target))
        local_disk.flush_folder(os.path.dirname(local_path(target)))


def _statuses(root: str, above: str, names: Sequence[str]) -> list[FileStatus]:
    """Files of one folder, with paths relative to `root`; those that vanish meanwhile are left out."""
    found = []
    for name in names:
        path = os.path.join(above, name)
        with suppress(FileNotFoundError):
            stat = os.stat(path)
            found.append(FileStatus(os.path.relpath(path, root), name, stat.st_size, int(stat.st_mtime * 1000)))
    return found


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """What is in a folder, nothing if it is missing."""
    try:
        with os.scandir(local_path(folder)) as entries:
            yield from entries
    except FileNotFoundError:
        return
