"""Read, list, write, publish and delete files, wherever they are.

The only access to storage. Each path says which kind of storage it belongs to (`storages.storage_of`); what all kinds
share, above all what errors mean, is here.

Publishing (`publish`) creates a file atomically and only if it is absent. On a local disk that is a hard link, safe
between processes, and the file and its name are flushed (`local_disk`). On an object store it is a conditional request.
Elsewhere it is the driver's exclusive creation; one that only looks before it writes is safe for one writer at a time.
"""

import logging
import os
import time
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from maintenance.errors import ROLL_BACK, MissingFileError
from maintenance.fs import local_disk
from maintenance.fs.location import is_local, local_path
from maintenance.fs.reported import reported
from maintenance.fs.settings import settings_of
from maintenance.fs.staged import StagedFile
from maintenance.fs.storage import FileStatus, Storage
from maintenance.fs.storages import storage_of
from maintenance.options.catalog import CacheSettings

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FileIO", "FileStatus"]

_LOG = logging.getLogger(__name__)
_SETTLED_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class FileIO:
    """Access to storage; a small value that travels to Spark's tasks.

    Attributes:
        settings: of the store, sorted pairs.
        cache: how much metadata read through it each process keeps.
    """

    settings: tuple[tuple[str, str], ...] = ()
    cache: CacheSettings = field(default_factory=CacheSettings)

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "FileIO":
        """Storage access with the settings of stores and the `cache*` ones among catalog options."""
        return cls(settings_of(options), CacheSettings.of(options))

    def _storage(self, path: str) -> Storage:
        return storage_of(path, self.settings)

    @reported("read")
    def exists(self, path: str) -> bool:
        return self._storage(path).exists(path)

    @reported("read")
    def read_bytes(self, path: str) -> bytes:
        """The content of a file. Raises: FileNotFoundError."""
        return self._storage(path).read_bytes(path)

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """The content of some small files of one storage, together where each costs a round trip.

        Raises: FileNotFoundError.
        """
        if not paths or is_local(paths[0]):
            return [self.read_bytes(path) for path in paths]
        return self._read_many(paths[0], paths)

    @reported("read")
    def _read_many(self, first: str, paths: Sequence[str]) -> list[bytes]:
        return self._storage(first).read_many(paths)

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Bytes of a file from `offset` on, fewer than `length` where it ends. Raises: FileNotFoundError."""
        return self.read_part(path, offset, length)[0]

    @reported("read")
    def read_part(self, path: str, offset: int, length: int) -> tuple[bytes, int]:
        """As `read_range`, and the size of the file."""
        return self._storage(path).read_part(path, offset, length)

    @reported("read")
    def read_if_changed(self, path: str, version: Hashable | None) -> tuple[bytes | None, Hashable | None]:
        """The content of a file and its version. No content, if it has the version given; asks storage once.

        Raises: FileNotFoundError.
        """
        return self._storage(path).read_if_changed(path, version)

    @reported("read")
    def open_input(self, path: str, size: int | None = None) -> "pa.NativeFile":
        """A file opened for reading at any position. Raises: MissingFileError.

        `size`: bytes that it should have, where that is known; `size()` of the file tells how many it has.
        """
        try:
            return self._storage(path).open_input(path, size)
        except FileNotFoundError as error:
            raise MissingFileError("a file that the metadata names is missing", path, ROLL_BACK) from error

    @reported("write", missing_is_fault=True)
    def open_output(self, path: str) -> "pa.NativeFile":
        """A new file opened for writing; its folder is made where the store has folders."""
        return self._storage(path).open_output(path)

    @reported("write", missing_is_fault=True)
    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file whose name nobody else uses; `flush` it before another file relies on it.

        On an error nothing of it stays on a local disk.
        """
        self._storage(path).write_bytes(path, data)

    def write_back(self, path: str) -> None:
        """Begin to bring to the disk what was written to a file, where a later `flush` would wait for it: a hint."""
        if is_local(path):
            local_disk.write_back(local_path(path))

    @reported("flush")
    def flush(self, paths: Iterable[str], root: str) -> None:
        """Make files safe from a power cut, with the folders that name them up to `root`.

        Files of object stores are safe when they are written. Raises: OSError, also for a file that is missing.
        """
        local = [local_path(path) for path in paths if is_local(path)]
        if local:
            local_disk.flush(local, local_path(root) if is_local(root) else "")

    @reported("flush")
    def flush_folders(self, folders: Iterable[str]) -> None:
        """Make deletions in folders safe from a power cut. A folder that does not exist needs nothing."""
        local_disk.flush_folders([local_path(folder) for folder in folders if is_local(folder)])

    @reported("write", missing_is_fault=True)
    def stage(self, path: str, data: bytes) -> StagedFile:
        """Make a file ready to get its name, so that one step is left. Raises: WriteError: as of `publish`."""
        return StagedFile(path, self._storage(path).stage(path, data))

    def publish(self, path: str, data: bytes) -> bool:
        """Create a file atomically, safe from a power cut. Returns False, and writes nothing, if its name is taken.

        Raises: WriteError: it cannot be written to the local disk, and is not there.
        """
        with self.stage(path, data) as staged:
            return staged.publish()

    @reported("write")
    def prevent(self, paths: Collection[str]) -> None:
        """See to it that files of local disks that are staged here do not appear."""
        for folder, group in groupby(sorted(path for path in paths if is_local(path)), os.path.dirname):
            local_disk.prevent(local_path(folder), {os.path.basename(path) for path in group})

    @reported("write", missing_is_fault=True)
    def overwrite(self, path: str, data: bytes, *, flushed: bool = True) -> None:
        """Replace a small file as a whole; readers see the old or the new content. On an error the old one stays.

        `flushed`: the new content survives a power cut; else the file may be empty after one.
        """
        self._storage(path).overwrite(path, data, flushed=flushed)

    @reported("list")
    def list_files(self, folder: str) -> list[FileStatus]:
        """The files directly in a folder, without those that start with a dot; a missing folder is empty."""
        return self._storage(folder).list_files(folder)

    @reported("list")
    def list_tree(self, folder: str) -> list[FileStatus]:
        """All files below a folder, hidden ones too, by path. `path` of each is relative to the folder.

        A missing folder is empty.
        """
        return sorted(self._storage(folder).list_tree(folder), key=lambda status: status.path)

    def tree_pages(self, folder: str) -> Iterator[Sequence[FileStatus]]:
        """As `list_tree` in any order, a part at a time, so that a large folder need not fit in memory."""
        pages = self._storage(folder).tree_pages(folder)
        while page := self._next_page(folder, pages):
            yield page

    @reported("list")
    def _next_page(self, folder: str, pages: Iterator[Sequence[FileStatus]]) -> Sequence[FileStatus]:
        """The next part that has files, an empty one at the end."""
        return next((page for page in pages if page), ())

    @reported("list")
    def list_names(self, folder: str) -> list[str]:
        """Names of the files directly in a folder, without those that start with a dot; a missing folder is empty."""
        return self._storage(folder).list_names(folder)

    @reported("list")
    def list_folders(self, folder: str) -> list[str]:
        """Names of the folders directly in a folder; a missing folder is empty."""
        return sorted(self._storage(folder).list_folders(folder))

    @reported("list")
    def folder_times(self, folder: str) -> dict[str, int]:
        """Last change of each folder directly in a folder, milliseconds since 1970 UTC; 0 where a store knows none."""
        return dict(self._storage(folder).list_folders(folder))

    @reported("write", missing_is_fault=True)
    def make_folder(self, folder: str) -> None:
        self._storage(folder).make_folder(folder)

    @reported("read")
    def folder_exists(self, folder: str) -> bool:
        return self._storage(folder).folder_exists(folder)

    @reported("delete")
    def delete_quietly(self, paths: Iterable[str]) -> None:
        """Delete files one by one, in order; missing ones are fine, so that a deletion can be repeated."""
        for path in paths:
            self._storage(path).delete(path)

    @reported("delete")
    def delete_unordered(self, paths: Sequence[str]) -> None:
        """Delete files in any order, many with one request where the store can; missing ones are fine.

        An interrupted call may have deleted any of them.
        """
        for storage, of_storage in groupby(sorted(paths, key=_place), _place):
            del storage
            these = list(of_storage)
            self._storage(these[0]).delete_many(these)

    def discard(self, paths: Iterable[str]) -> None:
        """Delete what is of no use any more. What cannot be deleted stays, with a warning in the log."""
        for path in paths:
            try:
                self.delete_quietly([path])
            except Exception as error:  # noqa: BLE001 - stores have errors of their own, and the caller has one to raise
                _LOG.warning("%s is not needed and cannot be deleted: %s", path, error)

    @reported("move")
    def move_file(self, source: str, target: str) -> None:
        """Give a file another path on the same storage, where it counts as new; missing folders are made."""
        self._storage(source).move_file(source, target)

    @reported("move")
    def move_files(self, targets: Mapping[str, str]) -> None:
        """Give files of one storage other paths in folders that exist; those that are missing are left out.

        Args: `targets`: by the path that each has.
        """
        if targets:
            self._storage(next(iter(targets))).move_files(targets)

    @reported("copy")
    def copy_files(self, targets: Mapping[str, str]) -> None:
        """Copy files of one storage, each by the store itself where it can; a target that exists is replaced.

        Args: `targets`: by the path that each has. Raises: FileNotFoundError: one is missing; others may be copied.
        """
        if targets:
            self._storage(next(iter(targets))).copy_files(targets)

    @reported("delete")
    def delete_folder(self, folder: str) -> None:
        """Delete a folder with everything in it."""
        self._storage(folder).delete_folder(folder)

    @reported("delete")
    def delete_empty_folder(self, folder: str) -> bool:
        """Delete a folder if nothing is in it. Returns whether it is gone now."""
        return self._storage(folder).delete_empty_folder(folder)

    @reported("move")
    def rename_folder(self, source: str, target: str) -> None:
        self._storage(source).rename_folder(source, target)

    def renames_at_once(self, folder: str) -> bool:
        """Whether `rename_folder` is one step there: everybody sees the folder under the old name or the new one."""
        return self._storage(folder).renames_at_once

    @reported("read")
    def size(self, path: str) -> int | None:
        """Bytes of a file, None if it is missing."""
        try:
            return self._storage(path).size(path)
        except FileNotFoundError:
            return None

    @reported("read")
    def version(self, path: str) -> Hashable | None:
        """What changes when the file does; None when it is missing or the store does not tell. Asks storage once."""
        try:
            return self._storage(path).version(path)
        except FileNotFoundError:
            return None

    @reported("read")
    def lasting_version(self, path: str) -> Hashable | None:
        """As `version`, of a file whose name is given once, such as a manifest. Object stores are not asked."""
        try:
            return self._storage(path).lasting_version(path)
        except FileNotFoundError:
            return None

    def read_settled(self, path: str, attempts: int = 10, wait_seconds: float = 0.2) -> bytes:
        """Read a small JSON file that its writer may just be writing: one without an end is read again for a while.

        A local file that nobody has changed for some seconds is not waited for: it stays as it is.
        """
        for _ in range(attempts - 1):
            data = self.read_bytes(path)
            if is_whole(data) or self._is_settled(path):
                return data
            time.sleep(wait_seconds)
        return self.read_bytes(path)

    def _is_settled(self, path: str) -> bool:
        if not is_local(path):
            return False
        return time.time() - os.stat(local_path(path)).st_mtime > _SETTLED_SECONDS


def _place(path: str) -> str:
    """What all paths of one storage have in common: scheme and authority, nothing on the local disk."""
    return "" if is_local(path) else "/".join(path.split("/", 3)[:3])


def is_whole(data: bytes) -> bool:
    """Whether a small JSON file has its end."""
    return data.rstrip().endswith(b"}")
