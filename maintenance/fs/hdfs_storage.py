"""Files of HDFS, through WebHDFS: neither Java nor Hadoop's libraries are needed.

A file is published in two steps: it is written under a hidden name beside its own, whole and on all replicas, and then
renamed. The namenode renames atomically and never over another file, so of several that publish a name one wins. After
an unclear answer the hidden file tells: while it is there, nothing was published, and once it could be deleted nothing
will be.
"""

import errno
import os
import posixpath
import tempfile
import time
import uuid
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import pyarrow as pa

from maintenance.fs.object_file import WHOLE_BYTES, ObjectInput
from maintenance.fs.storage import FileStatus
from maintenance.fs.webhdfs import ATTEMPTS, UnclearAnswerError, WebHdfs, pause
from maintenance.fs.write_only import WriteOnly
from maintenance.threads import map_in_threads

T = TypeVar("T")

_THREADS = 16
_IN_MEMORY = 32 << 20
_LASTING = "never changes"


@dataclass(frozen=True, slots=True)
class HdfsStorage:
    """A cluster; see `Storage`."""

    renames_at_once: ClassVar[bool] = True

    hdfs: WebHdfs

    def exists(self, path: str) -> bool:
        return self._found(path) is not None

    def size(self, path: str) -> int:
        return int(self._status(path)["length"])

    def version(self, path: str) -> Hashable | None:
        return _version(self._status(path))

    def lasting_version(self, path: str) -> Hashable | None:
        del path
        return _LASTING

    def read_bytes(self, path: str) -> bytes:
        return self.hdfs.request("GET", "OPEN", path).data

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        return map_in_threads(self.read_bytes, paths, _THREADS)

    def read_part(self, path: str, offset: int, length: int) -> tuple[bytes, int]:
        size = self.size(path)
        wanted = min(length, size - offset)
        return (self._read(path, offset, wanted) if wanted > 0 else b""), size

    def read_if_changed(self, path: str, version: Hashable | None) -> tuple[bytes | None, Hashable | None]:
        # The version is asked for first: of a file that changes in between, the content is seen once more.
        current = self.version(path)
        return (None if current == version else self.read_bytes(path)), current

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Parts of a file, each from a first byte up to before another one, fetched at the same time."""
        return map_in_threads(lambda part: self._read(path, part[0], part[1] - part[0]), ranges, _THREADS)

    def open_input(self, path: str, size: int | None) -> pa.NativeFile:
        size_there = self.size(path) if size is None or size > WHOLE_BYTES else 0
        if size_there > WHOLE_BYTES:
            return pa.PythonFile(ObjectInput.opened(self, path, size_there), mode="r")
        return pa.BufferReader(self.read_bytes(path))

    def open_output(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(_Output(self, path), mode="w")

    def write_bytes(self, path: str, data: bytes) -> None:
        self.create(path, data)

    def create(self, path: str, content: Any) -> None:
        """Write a file, with the folders above it. `content`: bytes or a file. What stands there is replaced."""
        self.hdfs.request("PUT", "CREATE", path, {"overwrite": "true"}, content)

    def overwrite(self, path: str, data: bytes, *, flushed: bool) -> None:
        del flushed
        temporary = _temporary(path)
        self.create(temporary, data)
        self._renamed(temporary, path, "OVERWRITE")

    def stage(self, path: str, data: bytes) -> "_Unrenamed":
        temporary = _temporary(path)
        self.create(temporary, data)
        return _Unrenamed(self, path, temporary, data)

    def list_files(self, folder: str) -> list[FileStatus]:
        items = (item for page in self._pages(folder) for item in page if item["type"] == "FILE")
        files = [_file(f"{folder}/{item['pathSuffix']}", item) for item in items]
        return [status for status in files if not status.name.startswith(".")]

    def list_names(self, folder: str) -> list[str]:
        return [status.name for status in self.list_files(folder)]

    def list_tree(self, folder: str) -> list[FileStatus]:
        return [status for page in self.tree_pages(folder) for status in page]

    def tree_pages(self, folder: str) -> Iterator[Sequence[FileStatus]]:
        """Level by level, some folders at the same time."""
        level = [""]
        while level:
            below: list[str] = []
            for start in range(0, len(level), _THREADS):
                some = level[start : start + _THREADS]
                listed = map_in_threads(lambda name: list(self._pages(f"{folder}/{name}".rstrip("/"))), some, _THREADS)
                for name, pages in zip(some, listed, strict=True):
                    for page in pages:
                        files = [item for item in page if item["type"] == "FILE"]
                        yield [_file(posixpath.join(name, item["pathSuffix"]), item) for item in files]
                        folders = (item["pathSuffix"] for item in page if item["type"] == "DIRECTORY")
                        below += [posixpath.join(name, suffix) for suffix in folders]
            level = below

    def list_folders(self, folder: str) -> Mapping[str, int]:
        folders = (item for page in self._pages(folder) for item in page if item["type"] == "DIRECTORY")
        return {item["pathSuffix"]: int(item["modificationTime"]) for item in folders}

    def make_folder(self, folder: str) -> None:
        self.hdfs.request("PUT", "MKDIRS", folder)

    def folder_exists(self, folder: str) -> bool:
        found = self._found(folder)
        return found is not None and found["type"] == "DIRECTORY"

    def delete(self, path: str) -> None:
        self._deleted(path, recursive=False)

    def delete_many(self, paths: Sequence[str]) -> None:
        map_in_threads(self.delete, paths, _THREADS)

    def delete_empty_folder(self, folder: str) -> bool:
        if not self.folder_exists(folder):
            return True
        try:
            self._deleted(folder, recursive=False)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            return False
        return True

    def delete_folder(self, folder: str) -> None:
        """Raises: FileNotFoundError: there is nothing."""
        if not self._deleted(folder, recursive=True):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)

    def move_file(self, source: str, target: str) -> None:
        self.make_folder(target.rpartition("/")[0])
        self.hdfs.request("PUT", "SETTIMES", source, {"modificationtime": str(time.time_ns() // 1_000_000)})
        self._renamed(source, target, "OVERWRITE")

    def move_files(self, targets: Mapping[str, str]) -> None:
        for source, target in targets.items():
            with suppress(FileNotFoundError):
                self._renamed(source, target, "OVERWRITE")

    def copy_files(self, targets: Mapping[str, str]) -> None:
        for source, target in targets.items():
            self.overwrite(target, self.read_bytes(source), flushed=True)

    def rename_folder(self, source: str, target: str) -> None:
        self._renamed(source, target, "NONE")

    def _read(self, path: str, offset: int, length: int) -> bytes:
        return self.hdfs.request("GET", "OPEN", path, {"offset": str(offset), "length": str(length)}).data

    def _renamed(self, source: str, target: str, options: str) -> None:
        """Give a file or folder another name.

        Raises: FileNotFoundError; FileExistsError; UnclearAnswerError: it has not got the name, but may still get it.
        """
        query = {"destination": self.hdfs.name(target), "renameoptions": options}
        unclear = False
        for attempt in range(1, ATTEMPTS + 1):
            try:
                self.hdfs.request("PUT", "RENAME", source, query, same_twice=False)
            except UnclearAnswerError:
                unclear = True
                if attempt == ATTEMPTS:
                    if self.exists(source):
                        raise
                    return
                pause(attempt)
            except FileNotFoundError:
                # An attempt whose answer was lost has moved it: nobody else does.
                if not unclear:
                    raise
                return
            else:
                return

    def _holds(self, path: str, data: bytes) -> bool:
        """Whether the file that has a name is the same."""
        try:
            return self.read_bytes(path) == data
        except FileNotFoundError:
            return False

    def _deleted(self, path: str, *, recursive: bool) -> bool:
        """Delete what is there. Returns whether there was something."""
        try:
            answer = self.hdfs.request("DELETE", "DELETE", path, {"recursive": str(recursive).lower()})
        except FileNotFoundError:
            return False
        return bool(answer.json().get("boolean"))

    def _found(self, path: str) -> Mapping[str, Any] | None:
        try:
            return self._status(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _status(self, path: str) -> Mapping[str, Any]:
        status: Mapping[str, Any] = self.hdfs.request("GET", "GETFILESTATUS", path).json()["FileStatus"]
        return status

    def _pages(self, folder: str) -> Iterator[Sequence[Mapping[str, Any]]]:
        """What is directly in a folder, a page at a time; nothing if it is missing or a file."""
        query: dict[str, str] = {}
        while True:
            try:
                listing = self.hdfs.request("GET", "LISTSTATUS_BATCH", folder, query).json()["DirectoryListing"]
            except FileNotFoundError:
                return
            page = [item for item in listing["partialListing"]["FileStatuses"]["FileStatus"] if item["pathSuffix"]]
            yield page
            if not listing["remainingEntries"] or not page:
                return
            query = {"startAfter": page[-1]["pathSuffix"]}


@dataclass(frozen=True, slots=True)
class _Unrenamed:
    """A file under a temporary name."""

    storage: HdfsStorage
    path: str
    temporary: str
    data: bytes

    def publish(self) -> bool:
        storage = self.storage
        try:
            storage._renamed(self.temporary, self.path, "NONE")
        except FileExistsError:
            storage.delete(self.temporary)
            return storage._holds(self.path, self.data)
        except UnclearAnswerError:
            if storage._deleted(self.temporary, recursive=False):
                raise
            return storage._holds(self.path, self.data)
        return True

    def discard(self) -> None:
        self.storage.delete(self.temporary)


class _Output(WriteOnly):
    """A file that is written once; it is there when this is closed. Large ones wait in a temporary file."""

    def __init__(self, storage: HdfsStorage, path: str) -> None:
        self._storage, self._path = storage, path
        self._content = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with this

    def write(self, data: Any) -> int:
        return self._content.write(memoryview(data).cast("B"))

    def tell(self) -> int:
        return self._content.tell()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            try:
                self._storage.create(self._path, self._content)
            finally:
                self._content.close()


def _temporary(path: str) -> str:
    """A hidden name beside a file, for what is to become it."""
    above, _, name = path.rpartition("/")
    return f"{above}/.{name}.{uuid.uuid4()}.tmp"


def _version(status: Mapping[str, Any]) -> Hashable:
    return status["fileId"], status["modificationTime"], status["length"]


def _file(path: str, item: Mapping[str, Any]) -> FileStatus:
    return FileStatus(path, item["pathSuffix"], int(item["length"]), int(item["modificationTime"]), _version(item))
