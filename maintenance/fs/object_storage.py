"""Objects of S3, OSS, Google Cloud Storage and Azure, through Rust's object_store (package obstore).

A store has no folders: there is one while an object is below it. `make_folder` therefore leaves the hidden object
`.folder` in it. Hadoop's stores leave an empty object whose key ends with a slash instead; it counts, too, and
goes with the folder.

The driver sends a request again that was answered with 429 or 5xx, or whose connection was cut where that is safe, with
growing waits within a minute. What it does not repeat although it has the same effect twice, is repeated here.
A publish is a conditional request: create if absent. After any other answer than yes, what is there decides.
"""

import errno
import logging
import os
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, TypeVar

import obstore
import pyarrow as pa
from obstore import exceptions

from maintenance.fs.markers import delete_markers
from maintenance.fs.object_errors import is_behind_the_end, is_refused, is_worth_repeating, store_error
from maintenance.fs.object_file import WHOLE_BYTES, ObjectInput, ObjectOutput
from maintenance.fs.staged import InMemory
from maintenance.fs.storage import FileStatus
from maintenance.threads import map_in_threads

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

_ATTEMPTS = 5
_PUBLISH_ATTEMPTS = 10
_LONGEST_WAIT = 2
_WAIT_SECONDS = 0.1
_THREADS = 16
_FOLDER = ".folder"
_LASTING = "never changes"


@dataclass(frozen=True, slots=True)
class ObjectStorage:
    """A bucket or container; see `Storage`.

    Attributes:
        store: obstore's.
        root: of the paths in it, such as ``s3://bucket``.
        settings: that the store was opened with.
    """

    renames_at_once: ClassVar[bool] = False

    store: Any
    root: str
    settings: Mapping[str, Any]

    def key(self, path: str) -> str:
        """The name of an object by its path."""
        return path[len(self.root) :].strip("/")

    def exists(self, path: str) -> bool:
        try:
            self._head(path)
        except FileNotFoundError:
            return False
        return True

    def size(self, path: str) -> int:
        return int(self._head(path)["size"])

    def version(self, path: str) -> Hashable | None:
        return _version(self._head(path))

    def lasting_version(self, path: str) -> Hashable | None:
        del path
        return _LASTING

    def read_bytes(self, path: str) -> bytes:
        return self._get(path)[0]

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        return map_in_threads(self.read_bytes, paths, _THREADS)

    def read_part(self, path: str, offset: int, length: int) -> tuple[bytes, int]:
        if length <= 0:
            return b"", self.size(path)
        try:
            data, meta = self._get(path, range=(offset, offset + length))
        except exceptions.BaseError as error:
            if not is_behind_the_end(error):
                raise
            return b"", self.size(path)
        return data, int(meta["size"])

    def read_if_changed(self, path: str, version: Hashable | None) -> tuple[bytes | None, Hashable | None]:
        tag = version[0] if isinstance(version, tuple) else None
        try:
            data, meta = self._get(path, **({"if_none_match": tag} if tag else {}))
        except exceptions.NotModifiedError:
            return None, version
        return data, _version(meta)

    def open_input(self, path: str, size: int | None) -> pa.NativeFile:
        if size is not None and size > WHOLE_BYTES:
            return pa.PythonFile(ObjectInput.opened(self, path, size), mode="r")
        data, found = (self.read_bytes(path), -1) if size is not None else self.read_part(path, 0, WHOLE_BYTES)
        if found > len(data):
            return pa.PythonFile(ObjectInput.opened(self, path, found), mode="r")
        return pa.BufferReader(data)

    def open_output(self, path: str) -> pa.NativeFile:
        return pa.PythonFile(ObjectOutput(obstore.open_writer(self.store, self._valid_key(path)), path), mode="w")

    def write_bytes(self, path: str, data: bytes) -> None:
        self._call(path, obstore.put, self._valid_key(path), data)

    def overwrite(self, path: str, data: bytes, *, flushed: bool) -> None:
        del flushed
        self.write_bytes(path, data)

    def stage(self, path: str, data: bytes) -> InMemory:
        self._valid_key(path)
        return InMemory(self, path, data)

    def create_absent(self, path: str, data: bytes) -> bool:
        """Create an object if it is absent. After an unclear answer, what is there decides."""
        key = self._valid_key(path)
        if self.root.startswith("oss:"):
            _warn_of_oss(self.root)
        for attempt in range(1, _PUBLISH_ATTEMPTS + 1):
            try:
                obstore.put(self.store, key, data, mode="create", use_multipart=False)
            except exceptions.BaseError as error:
                if is_refused(error):
                    raise
                try:
                    # The request may have been carried out and its answer lost: then our own object is in the way.
                    return self.read_bytes(path) == data
                except FileNotFoundError:
                    if attempt == _PUBLISH_ATTEMPTS:
                        raise error from None
                    time.sleep(min(_WAIT_SECONDS * 2**attempt, _LONGEST_WAIT))
            else:
                return True
        raise AssertionError("the loop ends with an answer")

    def list_files(self, folder: str) -> list[FileStatus]:
        objects = self._listed(folder)["objects"]
        files = [_status(f"{folder}/{_name(meta['path'])}", meta) for meta in objects if self._is_below(meta, folder)]
        return [status for status in files if not status.name.startswith(".")]

    def list_names(self, folder: str) -> list[str]:
        return [status.name for status in self.list_files(folder)]

    def list_tree(self, folder: str) -> list[FileStatus]:
        above = f"{self.key(folder)}/".lstrip("/")
        metas = [meta for meta in self._all(folder) if self._is_below(meta, folder)]
        return [_status(str(meta["path"]).removeprefix(above), meta) for meta in metas]

    def tree_pages(self, folder: str) -> Iterator[Sequence[FileStatus]]:
        above = f"{self.key(folder)}/".lstrip("/")
        pages = self._call(folder, obstore.list, self.key(folder))
        while True:
            # A request for the next page is repeated by the driver alone: here the place in the listing is not known.
            page = next(pages, None)
            if page is None:
                return
            below = (meta for meta in page if self._is_below(meta, folder))
            yield [_status(str(meta["path"]).removeprefix(above), meta) for meta in below]

    def list_folders(self, folder: str) -> Mapping[str, int]:
        return {_name(path): 0 for path in self._listed(folder)["common_prefixes"]}

    def make_folder(self, folder: str) -> None:
        self.write_bytes(f"{folder}/{_FOLDER}", b"")

    def folder_exists(self, folder: str) -> bool:
        def first(store: Any, key: str) -> bool:
            return any(len(page) for page in obstore.list(store, key))

        return bool(self._call(folder, first, self.key(folder)))

    def delete(self, path: str) -> None:
        try:
            self._call(path, obstore.delete, self.key(path))
        except FileNotFoundError:
            return

    def delete_many(self, paths: Sequence[str]) -> None:
        if not paths:
            return
        try:
            self._call(paths[0], obstore.delete, [self.key(path) for path in paths])
        except FileNotFoundError:
            # Stores but for S3 stop at what is missing.
            map_in_threads(self.delete, paths, _THREADS)

    def delete_empty_folder(self, folder: str) -> bool:
        """Such stores have no folders: one that has no files is gone."""
        del folder
        return False

    def delete_folder(self, folder: str) -> None:
        """Raises: FileNotFoundError: there is nothing."""
        metas = self._all(folder)
        if not metas:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
        below = [meta for meta in metas if self._is_below(meta, folder)]
        self.delete_many([f"{self.root}/{meta['path']}" for meta in below])
        self._delete_markers(folder, metas)

    def move_file(self, source: str, target: str) -> None:
        self._call(source, obstore.copy, self.key(source), self._valid_key(target))
        self.delete(source)

    def move_files(self, targets: Mapping[str, str]) -> None:
        def copy(source: str) -> None:
            with suppress(FileNotFoundError):
                self._call(source, obstore.copy, self.key(source), self._valid_key(targets[source]))

        map_in_threads(copy, list(targets), _THREADS)
        self.delete_many(list(targets))

    def copy_files(self, targets: Mapping[str, str]) -> None:
        def copy(source: str) -> None:
            self._call(source, obstore.copy, self.key(source), self._valid_key(targets[source]))

        map_in_threads(copy, list(targets), _THREADS)

    def rename_folder(self, source: str, target: str) -> None:
        """Objects are copied, several at a time, and deleted once all copies are there. Raises: FileNotFoundError."""
        metas = self._all(source)
        if not metas:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        names = [str(meta["path"]) for meta in metas if self._is_below(meta, source)]
        root, moved = self.key(source), self.key(target)

        def copy(name: str) -> None:
            try:
                self._call(f"{self.root}/{name}", obstore.copy, name, moved + name.removeprefix(root))
            except FileNotFoundError:
                if name not in markers:
                    raise

        markers = {str(meta["path"]) for meta in metas if not meta["size"]}
        map_in_threads(copy, names, _THREADS)
        self.delete_many([f"{self.root}/{name}" for name in names])
        self._delete_markers(source, metas)

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Parts of an object, each from a first byte up to before another one, fetched at the same time."""
        starts, ends = [start for start, _ in ranges], [end for _, end in ranges]

        def get(store: Any, key: str) -> list[bytes]:
            return [bytes(part) for part in obstore.get_ranges(store, key, starts=starts, ends=ends)]

        return self._call(path, get, self.key(path))

    def _get(self, path: str, **options: Any) -> tuple[bytes, Mapping[str, Any]]:
        def get(store: Any, key: str) -> tuple[bytes, Mapping[str, Any]]:
            answer = obstore.get(store, key, options=options or None)
            meta = answer.meta
            return bytes(answer.bytes()), meta

        return self._call(path, get, self.key(path))

    def _head(self, path: str) -> Mapping[str, Any]:
        return self._call(path, obstore.head, self.key(path))

    def _listed(self, folder: str) -> Mapping[str, Any]:
        return self._call(folder, obstore.list_with_delimiter, self.key(folder))

    def _all(self, folder: str) -> list[Mapping[str, Any]]:
        """All objects below a folder. One with the folder's own name is what stands for it."""

        def collect(store: Any, key: str) -> list[Mapping[str, Any]]:
            return [meta for page in obstore.list(store, key) for meta in page]

        return self._call(folder, collect, self.key(folder))

    def _delete_markers(self, folder: str, found: Sequence[Mapping[str, Any]]) -> None:
        """Delete what stands for folders below one. `found`: what was below it, and is deleted but for these."""
        if any(not meta["size"] and _name(meta["path"]) != _FOLDER for meta in found):
            delete_markers(self.root, self.settings, [str(meta["path"]) for meta in self._all(folder)])

    def _is_below(self, meta: Mapping[str, Any], folder: str) -> bool:
        return bool(meta["path"] != self.key(folder))

    def _valid_key(self, path: str) -> str:
        key = self.key(path)
        if not key:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return key

    def _call(self, path: str, request: Callable[..., T], *args: Any) -> T:
        """Carry out a request that has the same effect twice. Raises: FileNotFoundError; the driver's errors."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return request(self.store, *args)
            except FileNotFoundError as error:
                raise store_error(error, path) from None
            except exceptions.BaseError as error:
                if attempt == _ATTEMPTS or not is_worth_repeating(error):
                    raise
                time.sleep(_WAIT_SECONDS * 2**attempt)
            except ValueError as error:
                # Names with `//` or `..` in them, which no object has here.
                raise FileNotFoundError(errno.ENOENT, str(error).splitlines()[0], path) from None
        raise AssertionError("the loop ends with an answer")


@cache
def _warn_of_oss(root: str) -> None:
    _LOG.warning(
        "%s: whether OSS honours 'create if absent' is not known. Two writers at once may lose a commit, unless "
        "their catalog has a lock, as a JDBC catalog does",
        root,
    )


def _version(meta: Mapping[str, Any]) -> Hashable | None:
    tag = meta.get("e_tag")
    return None if tag is None else (tag, meta["size"])


def _status(path: str, meta: Mapping[str, Any]) -> FileStatus:
    return FileStatus(
        path, _name(meta["path"]), int(meta["size"]), int(meta["last_modified"].timestamp() * 1000), _version(meta)
    )


def _name(key: str) -> str:
    return key.rstrip("/").rpartition("/")[2]
