"""The file systems of stores, which are fsspec's, one for each scheme and settings in a process.

Some of fsspec's methods take ``*``, ``?`` and ``[`` in a path for patterns: `rm` of a table called ``*`` deletes every
table beside it. What deletes or moves a folder here takes each path for what it is.
"""

import contextlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import fsspec
from fsspec.registry import available_protocols, known_implementations

from maintenance.errors import StorageAccessError
from maintenance.fs.settings import driver_settings, store_kind

_DRIVERS = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs", "oss": "ossfs",
    "oci": "ocifs",
}  # fmt: skip
_HDFS = "Install Java and Hadoop's native client (libhdfs), and set JAVA_HOME, HADOOP_HOME and CLASSPATH."
_SHOWN = 200
_PATTERNS = frozenset("*?[")


def store_of(path: str, settings: tuple[tuple[str, str], ...]) -> Any:
    """The file system that a path with a scheme belongs to.

    Raises: StorageAccessError: its driver is not installed or does not start, or nothing reads that scheme.
    """
    scheme = path.split("://", 1)[0]
    try:
        return _opened(scheme, settings)
    except (ImportError, OSError, ValueError, TypeError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:_SHOWN]
        raise StorageAccessError(
            f"'{scheme}://' cannot be opened: {reason}", path, _fix(scheme, error, [key for key, _ in settings])
        ) from error


def make_marker(store: Any, folder: str) -> None:
    """Leave an empty object that stands for a folder, where the driver can: `folder/`, as Hadoop's stores do."""
    if hasattr(store, "call_s3"):
        bucket, key, _ = store.split_path(folder)
        store.call_s3("put_object", Bucket=bucket, Key=f"{key.rstrip('/')}/", Body=b"")
    else:
        store.makedirs(folder, exist_ok=True)


def delete_tree(store: Any, folder: str) -> None:
    """Delete a folder with everything in it. Raises: FileNotFoundError: there is nothing."""
    if not _PATTERNS & set(folder):
        store.rm(folder, recursive=True)
        return
    files, folders = _tree(store, folder)
    for name in files:
        store.rm_file(name)
    for name in (*reversed(folders), folder):
        # A store without folders has none to delete; one that has them may list some twice.
        with contextlib.suppress(OSError):
            store.rmdir(name)


def move_tree(store: Any, source: str, target: str) -> None:
    """Give a folder another path, file by file where the store does it so.

    An object store has no folders: its objects are copied, several at a time, and deleted once all copies are there.
    """
    if store_kind(source.partition("://")[0]) is not None:
        _move_objects(store, source, target)
        return
    if not _PATTERNS & set(source + target):
        store.mv(source, target, recursive=True)
        return
    files, folders = _tree(store, source)
    root, moved = (str(store._strip_protocol(path)).rstrip("/") for path in (source, target))
    for name in (source, *folders):
        store.makedirs(moved + str(store._strip_protocol(name)).removeprefix(root), exist_ok=True)
    for name in files:
        store.cp_file(name, moved + name.removeprefix(root))
    delete_tree(store, source)


def _move_objects(store: Any, source: str, target: str) -> None:
    root, moved = (str(store._strip_protocol(path)).rstrip("/") for path in (source, target))
    found = store.find(source)
    if not found:
        raise FileNotFoundError(source)
    store.copy(found, [moved + name.removeprefix(root) for name in found])
    delete_tree(store, source)


def delete_files(store: Any, paths: Sequence[str]) -> None:
    """Delete files; missing ones are fine. A store with a request for many gets few requests."""
    in_bulk = [path for path in paths if hasattr(store, "_bulk_delete") and not _PATTERNS & set(path)]
    if in_bulk:
        store.rm(in_bulk)
    left = set(paths) - set(in_bulk)
    for path in paths:
        if path in left:
            with contextlib.suppress(FileNotFoundError):
                store.rm_file(path)


def _tree(store: Any, folder: str) -> tuple[list[str], list[str]]:
    """The files below a folder, and the folders, parents first. Raises: FileNotFoundError: there is nothing."""
    found = store.find(folder, withdirs=True, detail=True)
    files = sorted(name for name, item in found.items() if item["type"] == "file")
    folders = sorted(name for name, item in found.items() if item["type"] == "directory")
    if not files and not folders and not store.isdir(folder):
        raise FileNotFoundError(folder)
    return files, folders


@lru_cache(maxsize=64)
def _opened(scheme: str, settings: tuple[tuple[str, str], ...]) -> Any:
    return fsspec.filesystem(scheme, **driver_settings(scheme, dict(settings)))


def _fix(scheme: str, error: Exception, settings: Sequence[str]) -> str:
    if scheme not in available_protocols():
        return "Use a path on disk, or one of s3://, gs://, abfs://, oss:// and hdfs:// with its driver installed."
    if isinstance(error, ImportError) and scheme in _DRIVERS:
        return f"Install its driver where this runs, on executors too: pip install {_DRIVERS[scheme]}."
    if scheme == "hdfs":
        return _HDFS
    if isinstance(error, ImportError):
        return f"Install its fsspec driver: {known_implementations.get(scheme, {}).get('class', scheme)}."
    given = ", ".join(f"fs.{key}" for key in settings)
    return (
        f"Check the catalog options {given}." if given else "Check the store and its settings, catalog options 'fs.*'."
    )
