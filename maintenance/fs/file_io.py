"""Read, list, write, publish and delete files, on a local disk or an object store.

What is not local goes through fsspec; further settings of a store are given as catalog options `fs.<name>` and reach
its fsspec file system as `<name>`.

Publishing (`publish`) creates a file atomically and only if it is absent. On a local disk that is a hard link, safe
between processes, and the file and its name are flushed (`local_disk`). On an object store it is fsspec's exclusive
creation, which S3, GCS and Azure turn into a conditional put; a store whose fsspec driver only checks before it writes
is safe for one writer at a time.
"""

import logging
import os
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
from pyarrow import fs as pafs

from maintenance.errors import MissingFileError
from maintenance.fs import local_disk
from maintenance.fs.location import is_local, local_path
from maintenance.fs.reported import reported
from maintenance.fs.settings import settings_of, store_kind
from maintenance.fs.store_errors import check_bucket, is_busy
from maintenance.fs.stores import delete_files, delete_tree, make_marker, move_tree, store_of
from maintenance.options.catalog import CacheSettings

_LOG = logging.getLogger(__name__)
_SETTLED_SECONDS = 10
_PUBLISH_ATTEMPTS = 5
_BUSY_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file of a listing. `mtime_ms`: last change, milliseconds since 1970 UTC."""

    path: str
    name: str
    size: int
    mtime_ms: int


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

    def _fs(self, path: str) -> Any:
        return store_of(path, self.settings)

    @reported("read")
    def exists(self, path: str) -> bool:
        if not is_local(path):
            return bool(self._fs(path).exists(path))
        try:
            return os.path.exists(local_path(path))
        except FileNotFoundError:
            return False

    @reported("read")
    def read_bytes(self, path: str) -> bytes:
        """The content of a file. Raises: FileNotFoundError."""
        if is_local(path):
            with open(local_path(path), "rb") as file:
                return file.read()
        content: bytes = self._fs(path).cat_file(path)
        return content

    @reported("read")
    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Bytes of a file from `offset` on, fewer than `length` where it ends. Raises: FileNotFoundError."""
        if is_local(path):
            with open(local_path(path), "rb") as file:
                file.seek(offset)
                return file.read(length)
        # A store may refuse a range that begins behind the end, and fsspec takes the end for exclusive.
        size = int(self._fs(path).size(path))
        if offset >= size:
            return b""
        content: bytes = self._fs(path).cat_file(path, start=offset, end=min(size, offset + length))
        return content

    @reported("read")
    def open_input(self, path: str) -> pa.NativeFile:
        """A file opened for reading at any position. Raises: MissingFileError."""
        try:
            if is_local(path):
                return pa.OSFile(local_path(path))
            return pafs.PyFileSystem(pafs.FSSpecHandler(self._fs(path))).open_input_file(_bare(path))
        except FileNotFoundError as error:
            raise MissingFileError(
                "a file that the metadata names is missing", path, "Roll back to a snapshot or tag that is whole."
            ) from error

    @reported("write", missing_is_fault=True)
    def open_output(self, path: str) -> pa.NativeFile:
        """A new file opened for writing; its folder is made where the store has folders."""
        if is_local(path):
            plain = local_path(path)
            os.makedirs(os.path.dirname(plain), exist_ok=True)
            return pa.OSFile(plain, "wb")
        return pafs.PyFileSystem(pafs.FSSpecHandler(self._fs(path))).open_output_stream(_bare(path))

    @reported("write", missing_is_fault=True)
    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file whose name nobody else uses; `flush` it before another file relies on it.

        On an error nothing of it stays on a local disk.
        """
        if not is_local(path):
            self._fs(path).pipe_file(path, data)
            return
        plain = local_path(path)
        os.makedirs(os.path.dirname(plain), exist_ok=True)
        local_disk.write_new(plain, data, flushed=False)

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
    def publish(self, path: str, data: bytes) -> bool:
        """Create a file atomically, safe from a power cut. Returns False, and writes nothing, if its name is taken.

        Raises: WriteError: it cannot be written to the local disk, and is not there.
        """
        if not is_local(path):
            return self._publish_remote(path, data)
        return local_disk.publish(local_path(path), data)

    def _publish_remote(self, path: str, data: bytes) -> bool:
        """Create an object if it is absent. After an unclear answer, what is there decides."""
        store = self._fs(path)
        for attempt in range(1, _PUBLISH_ATTEMPTS + 1):
            try:
                store.pipe_file(path, data, mode="create")
            except Exception as error:  # noqa: BLE001 - drivers have errors of their own; raised again below
                try:
                    # The driver may have sent the request again after a lost answer: then our own object is in the way.
                    return bool(store.cat_file(path) == data)
                except FileNotFoundError:
                    if not is_busy(error) or attempt == _PUBLISH_ATTEMPTS:
                        raise error from None
                    time.sleep(_BUSY_SECONDS * attempt)
            else:
                return True
        raise AssertionError("the loop ends with an answer")

    @reported("write", missing_is_fault=True)
    def overwrite(self, path: str, data: bytes, *, flushed: bool = True) -> None:
        """Replace a small file as a whole; readers see the old or the new content. On an error the old one stays.

        `flushed`: the new content survives a power cut; else the file may be empty after one.
        """
        if not is_local(path):
            self._fs(path).pipe_file(path, data)
            return
        local_disk.replace(local_path(path), data, flushed=flushed)

    @reported("list")
    def list_files(self, folder: str) -> list[FileStatus]:
        """The files directly in a folder, without those that start with a dot; a missing folder is empty."""
        if is_local(folder):
            return _list_local(folder)
        store = self._fs(folder)
        try:
            found = store.ls(folder, detail=True, refresh=True)
        except FileNotFoundError as error:
            check_bucket(error, folder)
            return []
        files = [item for item in found if item["type"] == "file" and not item["name"].endswith("/")]
        return [_status(folder, item) for item in files if not _name(item).startswith(".")]

    @reported("list")
    def list_tree(self, folder: str) -> list[FileStatus]:
        """All files below a folder, hidden ones too, by path. `path` of each is relative to the folder.

        A missing folder is empty.
        """
        if is_local(folder):
            return sorted(_tree_local(folder), key=lambda status: status.path)
        store = self._fs(folder)
        try:
            found = store.find(folder, detail=True)
        except FileNotFoundError as error:
            check_bucket(error, folder)
            return []
        root = str(store._strip_protocol(folder)).rstrip("/") + "/"
        files = [
            replace(_status(folder, item), path=name.removeprefix(root))
            for name, item in found.items()
            if not name.endswith("/")  # what stands for a folder
        ]
        return sorted(files, key=lambda status: status.path)

    @reported("list")
    def list_names(self, folder: str) -> list[str]:
        """Names of the files directly in a folder, without those that start with a dot; a missing folder is empty."""
        if is_local(folder):
            try:
                with os.scandir(local_path(folder)) as entries:
                    return [entry.name for entry in entries if not entry.name.startswith(".") and entry.is_file()]
            except FileNotFoundError:
                return []
        return [status.name for status in self.list_files(folder)]

    @reported("list")
    def list_folders(self, folder: str) -> list[str]:
        """Names of the folders directly in a folder; a missing folder is empty."""
        if is_local(folder):
            try:
                with os.scandir(local_path(folder)) as entries:
                    return sorted(entry.name for entry in entries if entry.is_dir())
            except FileNotFoundError:
                return []
        try:
            found = self._fs(folder).ls(folder, detail=True, refresh=True)
        except FileNotFoundError as error:
            check_bucket(error, folder)
            return []
        return sorted(_name(item) for item in found if item["type"] == "directory")

    @reported("list")
    def folder_times(self, folder: str) -> dict[str, int]:
        """Last change of each folder directly in a folder, milliseconds since 1970 UTC; 0 where a store knows none."""
        if is_local(folder):
            try:
                with os.scandir(local_path(folder)) as entries:
                    return {entry.name: int(entry.stat().st_mtime * 1000) for entry in entries if entry.is_dir()}
            except FileNotFoundError:
                return {}
        try:
            found = self._fs(folder).ls(folder, detail=True, refresh=True)
        except FileNotFoundError as error:
            check_bucket(error, folder)
            return {}
        return {
            _name(item): _status(folder, {**item, "size": 0}).mtime_ms for item in found if item["type"] == "directory"
        }

    @reported("write", missing_is_fault=True)
    def make_folder(self, folder: str) -> None:
        if is_local(folder):
            local_disk.make_folders(local_path(folder))
        elif store_kind(folder.partition("://")[0]) is None:
            self._fs(folder).makedirs(folder, exist_ok=True)
        else:
            make_marker(self._fs(folder), folder)

    @reported("read")
    def folder_exists(self, folder: str) -> bool:
        if not is_local(folder):
            return bool(self._fs(folder).isdir(folder))
        try:
            return os.path.isdir(local_path(folder))
        except FileNotFoundError:
            return False

    @reported("delete")
    def delete_quietly(self, paths: Iterable[str]) -> None:
        """Delete files one by one, in order; missing ones are fine, so that a deletion can be repeated."""
        for path in paths:
            with suppress(FileNotFoundError):
                if is_local(path):
                    os.unlink(local_path(path))
                else:
                    self._fs(path).rm_file(path)

    @reported("delete")
    def delete_unordered(self, paths: Sequence[str]) -> None:
        """Delete files of one storage in any order, many with one request where the store can; missing ones are fine.

        An interrupted call may have deleted any of them.
        """
        if not paths or is_local(paths[0]):
            self.delete_quietly(paths)
        else:
            delete_files(self._fs(paths[0]), paths)

    def discard(self, paths: Iterable[str]) -> None:
        """Delete what is of no use any more. What cannot be deleted stays, with a warning in the log."""
        for path in paths:
            try:
                self.delete_quietly([path])
            except Exception as error:  # noqa: BLE001 - stores have errors of their own, and the caller has one to raise
                _LOG.warning("%s is of no use and cannot be deleted: %s", path, error)

    @reported("move")
    def move_file(self, source: str, target: str) -> None:
        """Give a file another path on the same storage; folders of the path are made where the store has folders."""
        if is_local(source):
            local_disk.make_folders(os.path.dirname(local_path(target)))
            os.rename(local_path(source), local_path(target))
            local_disk.flush_folder(os.path.dirname(local_path(target)))
        else:
            store = self._fs(source)
            store.cp_file(source, target)
            store.rm_file(source)

    @reported("delete")
    def delete_folder(self, folder: str) -> None:
        """Delete a folder with everything in it."""
        if is_local(folder):
            pafs.LocalFileSystem().delete_dir(local_path(folder))
        else:
            delete_tree(self._fs(folder), folder)

    @reported("move")
    def rename_folder(self, source: str, target: str) -> None:
        if is_local(source):
            os.rename(local_path(source), local_path(target))
            local_disk.flush_folder(os.path.dirname(local_path(target)))
        else:
            move_tree(self._fs(source), source, target)

    @reported("read")
    def size(self, path: str) -> int | None:
        """Bytes of a file, None if it is missing."""
        try:
            if is_local(path):
                return os.stat(local_path(path)).st_size
            return int(self._fs(path).size(path))
        except FileNotFoundError:
            return None

    @reported("read")
    def version(self, path: str) -> Hashable | None:
        """What changes when the file does; None when it is missing or the store does not tell. Asks storage once."""
        try:
            if is_local(path):
                stat = os.stat(local_path(path))
                return stat.st_mtime_ns, stat.st_size, stat.st_ino
            info = self._fs(path).info(path)
        except FileNotFoundError:
            return None
        stamp = info.get("ETag") or info.get("etag") or info.get("LastModified") or info.get("mtime")
        return None if stamp is None else (str(stamp), info.get("size"))

    def read_settled(self, path: str, attempts: int = 10, wait_seconds: float = 0.2) -> bytes:
        """Read a small JSON file that its writer may just be writing: one without an end is read again for a while.

        A local file that nobody has changed for some seconds is not waited for: it stays as it is.
        """
        for _ in range(attempts - 1):
            data = self.read_bytes(path)
            if data.rstrip().endswith(b"}") or self._is_settled(path):
                return data
            time.sleep(wait_seconds)
        return self.read_bytes(path)

    def _is_settled(self, path: str) -> bool:
        if not is_local(path):
            return False
        return time.time() - os.stat(local_path(path)).st_mtime > _SETTLED_SECONDS


def _list_local(folder: str) -> list[FileStatus]:
    found = []
    try:
        with os.scandir(local_path(folder)) as entries:
            for entry in entries:
                if entry.name.startswith(".") or not entry.is_file():
                    continue
                try:
                    stat = entry.stat()
                except FileNotFoundError:
                    continue
                found.append(FileStatus(f"{folder}/{entry.name}", entry.name, stat.st_size, int(stat.st_mtime * 1000)))
    except FileNotFoundError:
        return []
    return found


def _tree_local(folder: str) -> Iterator[FileStatus]:
    root = local_path(folder)
    for above, _, names in os.walk(root):
        for name in names:
            path = os.path.join(above, name)
            with suppress(FileNotFoundError):
                stat = os.stat(path)
                yield FileStatus(os.path.relpath(path, root), name, stat.st_size, int(stat.st_mtime * 1000))


def _bare(path: str) -> str:
    return path.split("://", 1)[1]


def _name(item: Mapping[str, Any]) -> str:
    return PurePosixPath(item["name"].rstrip("/")).name


def _status(folder: str, item: Mapping[str, Any]) -> FileStatus:
    changed = item.get("LastModified") or item.get("mtime") or item.get("created") or 0
    stamp = changed.timestamp() if hasattr(changed, "timestamp") else float(changed)
    return FileStatus(f"{folder}/{_name(item)}", _name(item), int(item["size"]), int(stamp * 1000))
