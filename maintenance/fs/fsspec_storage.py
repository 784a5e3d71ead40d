"""Storages with an fsspec driver that are not object stores here: HDFS, memory, and what users register.

Some of fsspec's methods take ``*``, ``?`` and ``[`` in a path for patterns: `rm` of a table called ``*`` deletes every
table beside it. What deletes or moves a folder here takes each path for what it is.
"""

import contextlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, ClassVar

import pyarrow as pa
from pyarrow import fs as pafs

from maintenance.fs.staged import InMemory
from maintenance.fs.storage import FileStatus

_PATTERNS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class FsspecStorage:
    """A file system of fsspec; see `Storage`.

    Publishing is the driver's exclusive creation. One that looks before it writes is safe for one writer at a time.
    """

    renames_at_once: ClassVar[bool] = False

    fs: Any

    def exists(self, path: str) -> bool:
        return bool(self.fs.exists(path))

    def size(self, path: str) -> int:
        return int(self.fs.size(path))

    def version(self, path: str) -> Hashable | None:
        info = self.fs.info(path)
        stamp = info.get("ETag") or info.get("etag") or info.get("LastModified") or info.get("mtime")
        return None if stamp is None else (str(stamp), info.get("size"))

    def lasting_version(self, path: str) -> Hashable | None:
        return self.version(path)

    def read_bytes(self, path: str) -> bytes:
        content: bytes = self.fs.cat_file(path)
        return content

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        return [self.read_bytes(path) for path in paths]

    def read_part(self, path: str, offset: int, length: int) -> tuple[bytes, int]:
        # A store may refuse a range that begins behind the end, and fsspec takes the end for exclusive.
        size = self.size(path)
        if offset >= size:
            return b"", size
        return self.fs.cat_file(path, start=offset, end=min(size, offset + length)), size

    def read_if_changed(self, path: str, version: Hashable | None) -> tuple[bytes | None, Hashable | None]:
        current = self.version(path)
        return (None if current is not None and current == version else self.read_bytes(path)), current

    def open_input(self, path: str, size: int | None) -> pa.NativeFile:
        del size
        return pafs.PyFileSystem(pafs.FSSpecHandler(self.fs)).open_input_file(_bare(path))

    def open_output(self, path: str) -> pa.NativeFile:
        return pafs.PyFileSystem(pafs.FSSpecHandler(self.fs)).open_output_stream(_bare(path))

    def write_bytes(self, path: str, data: bytes) -> None:
        self.fs.pipe_file(path, data)

    def overwrite(self, path: str, data: bytes, *, flushed: bool) -> None:
        del flushed
        self.fs.pipe_file(path, data)

    def stage(self, path: str, data: bytes) -> InMemory:
        return InMemory(self, path, data)

    def create_absent(self, path: str, data: bytes) -> bool:
        try:
            self.fs.pipe_file(path, data, mode="create")
        except Exception as error:  # noqa: BLE001 - drivers have errors of their own; raised again below
            try:
                # The driver may have sent the request again after a lost answer: then our own file is in the way.
                return bool(self.fs.cat_file(path) == data)
            except FileNotFoundError:
                raise error from None
        return True

    def list_files(self, folder: str) -> list[FileStatus]:
        files = [item for item in self._listed(folder) if item["type"] == "file"]
        return [_status(folder, item) for item in files if not _name(item).startswith(".")]

    def list_names(self, folder: str) -> list[str]:
        return [status.name for status in self.list_files(folder)]

    def list_tree(self, folder: str) -> list[FileStatus]:
        try:
            files = self.fs.find(folder, detail=True)
        except FileNotFoundError:
            return []
        root = self._plain(folder) + "/"
        return [replace(_status(folder, item), path=name.removeprefix(root)) for name, item in files.items()]

    def tree_pages(self, folder: str) -> Iterator[Sequence[FileStatus]]:
        yield self.list_tree(folder)

    def list_folders(self, folder: str) -> Mapping[str, int]:
        folders = [item for item in self._listed(folder) if item["type"] == "directory"]
        return {_name(item): _status(folder, {**item, "size": 0}).mtime_ms for item in folders}

    def make_folder(self, folder: str) -> None:
        self.fs.makedirs(folder, exist_ok=True)

    def folder_exists(self, folder: str) -> bool:
        return bool(self.fs.isdir(folder))

    def delete(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self.fs.rm_file(path)

    def delete_many(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.delete(path)

    def delete_empty_folder(self, folder: str) -> bool:
        if not self.fs.isdir(folder):
            return True
        if self._listed(folder):
            return False
        self.fs.rmdir(folder)
        return True

    def delete_folder(self, folder: str) -> None:
        """Raises: FileNotFoundError: there is nothing."""
        if not _PATTERNS & set(folder):
            self.fs.rm(folder, recursive=True)
            return
        files, folders = self._tree(folder)
        for name in files:
            self.fs.rm_file(name)
        for name in (*reversed(folders), folder):
            # A store without folders has none to delete; one that has them may list some twice.
            with contextlib.suppress(OSError):
                self.fs.rmdir(name)

    def move_file(self, source: str, target: str) -> None:
        self.fs.cp_file(source, target)
        self.fs.rm_file(source)

    def move_files(self, targets: Mapping[str, str]) -> None:
        for source, target in targets.items():
            with contextlib.suppress(FileNotFoundError):
                self.move_file(source, target)

    def copy_files(self, targets: Mapping[str, str]) -> None:
        for source, target in targets.items():
            self.fs.makedirs(self._plain(target).rpartition("/")[0], exist_ok=True)
            self.fs.cp_file(source, target)

    def rename_folder(self, source: str, target: str) -> None:
        if not _PATTERNS & set(source + target):
            self.fs.mv(source, target, recursive=True)
            return
        files, folders = self._tree(source)
        root, moved = self._plain(source), self._plain(target)
        for name in (source, *folders):
            self.fs.makedirs(moved + self._plain(name).removeprefix(root), exist_ok=True)
        for name in files:
            self.fs.cp_file(name, moved + name.removeprefix(root))
        self.delete_folder(source)

    def _plain(self, path: str) -> str:
        return str(self.fs._strip_protocol(path)).rstrip("/")

    def _listed(self, folder: str) -> list[dict[str, Any]]:
        try:
            items: list[dict[str, Any]] = self.fs.ls(folder, detail=True, refresh=True)
        except FileNotFoundError:
            return []
        return items

    def _tree(self, folder: str) -> tuple[list[str], list[str]]:
        """The files below a folder, and the folders, parents first. Raises: FileNotFoundError: there is nothing."""
        items = self.fs.find(folder, withdirs=True, detail=True)
        files = sorted(name for name, item in items.items() if item["type"] == "file")
        folders = sorted(name for name, item in items.items() if item["type"] == "directory")
        if not files and not folders and not self.fs.isdir(folder):
            raise FileNotFoundError(folder)
        return files, folders


def _bare(path: str) -> str:
    return path.split("://", 1)[1]


def _name(item: Mapping[str, Any]) -> str:
    return PurePosixPath(item["name"].rstrip("/")).name


def _status(folder: str, item: Mapping[str, Any]) -> FileStatus:
    changed = item.get("LastModified") or item.get("mtime") or item.get("modified") or item.get("created") or 0
    stamp = changed.timestamp() if hasattr(changed, "timestamp") else float(changed)
    return FileStatus(f"{folder}/{_name(item)}", _name(item), int(item["size"]), int(stamp * 1000))
