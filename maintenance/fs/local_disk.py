"""Changes of a local disk that survive a power cut.

A file is safe once it and the folder that names it are flushed; a new folder is safe once its parent is. So a file that
others rely on is published in this order: everything that it names is flushed with its folders (`flush`, several files
at a time, which a disk does together), the file is written under another name and flushed, it gets its name, and the
folder is flushed. What fails on the way leaves no file behind.
"""

import ctypes
import errno
import logging
import os
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial

from maintenance.errors import WriteError, storage_fix

_LOG = logging.getLogger(__name__)
_THREADS, _NAME = 32, "flushing"
# File systems that cannot flush a folder, or do not need it, answer so.
_CANNOT_FLUSH_FOLDERS = frozenset((errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM))
_BEGIN_WRITING = 2  # SYNC_FILE_RANGE_WRITE of Linux


def write_new(path: str, data: bytes, *, flushed: bool) -> None:
    """Write a file whose name nobody else uses. On an error nothing of it stays."""
    try:
        with open(path, "wb") as file:
            file.write(data)
            if flushed:
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        _remove_quietly(path)
        raise


@dataclass(frozen=True, slots=True)
class Unlinked:
    """A flushed file under a temporary name. Who calls `prevent` takes that away, and with it the name to come."""

    path: str
    temporary: str

    def publish(self) -> bool:
        """Give it its name, atomically and flushed. Returns False if a file of that name exists, or was prevented.

        Raises: WriteError: certainly there is no file of that name because of this call.
        """
        try:
            linked = _link(self.temporary, self.path)
        finally:
            _remove_quietly(self.temporary)
        if linked:
            try:
                flush_folder(os.path.dirname(self.path))
            except OSError as error:
                lost = "its folder cannot be flushed"
                _LOG.warning("%s is published, but a power cut now may lose it: %s: %s", self.path, lost, error)
        return linked

    def discard(self) -> None:
        _remove_quietly(self.temporary)


def stage(path: str, data: bytes) -> Unlinked:
    """Write and flush a file, so that only its name is missing.

    Raises: WriteError: certainly there is no file of that name because of this call.
    """
    temporary = _temporary(path)
    try:
        make_folders(os.path.dirname(path))
        write_new(temporary, data, flushed=True)
    except OSError as error:
        raise WriteError(f"a file cannot be written: {error.strerror}", path, storage_fix(error)) from error
    return Unlinked(path, temporary)


def _link(temporary: str, path: str) -> bool:
    """Give a file its name. False if the name is taken, or if somebody prevented it."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError as error:
        if isinstance(error, FileNotFoundError) and os.path.isdir(os.path.dirname(path)):
            return False
        # A network file system may lose the answer to a link that it has made: then the file has two names.
        if not _has_two_names(temporary):
            raise WriteError(
                f"a file cannot be published: {error.strerror}", path, "Use a disk with hard links, or an object store."
            ) from error
    return True


def prevent(folder: str, names: Collection[str]) -> None:
    """See to it that files that are being published under these names do not appear.

    Their temporary files are deleted, without which a file that is staged cannot get its name.
    """
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for entry in entries:
            # As `_temporary` makes them: a dot, the name, a dot, a UUID.
            if entry.name.startswith(".") and entry.name.endswith(".tmp") and entry.name[1:].rsplit(".", 2)[0] in names:
                _remove_quietly(entry.path)


def replace(path: str, data: bytes, *, flushed: bool) -> None:
    """Replace a small file as a whole; readers see the old or the new content. On an error the old one stays."""
    temporary = _temporary(path)
    make_folders(os.path.dirname(path))
    write_new(temporary, data, flushed=flushed)
    try:
        os.replace(temporary, path)
    except BaseException:
        _remove_quietly(temporary)
        raise
    if flushed:
        flush_folder(os.path.dirname(path))


def flush(paths: Iterable[str], root: str) -> None:
    """Flush files, their folders, and those between them and `root`. Raises: OSError, also for a missing file."""
    files = list(dict.fromkeys(paths))
    folders = {folder for path in files for folder in _folders_up_to(os.path.dirname(path), root)}
    _at_once([*(partial(_flush_file, path) for path in files), *(partial(flush_folder, path) for path in folders)])


def write_back(path: str) -> None:
    """Begin to bring to the disk what was written to a file, so that its flush waits for little. A hint: never fails.

    Not by a flush in another thread: it would be told of a failure that the flush before a commit must see.
    """
    begin = _sync_file_range()
    if begin is None:
        return
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            begin(descriptor, 0, 0, _BEGIN_WRITING)
        finally:
            os.close(descriptor)


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    """The call of Linux; None on other systems."""
    with suppress(AttributeError, OSError):
        call = ctypes.CDLL(None).sync_file_range
        call.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
        return call
    return None


def flush_folder(folder: str) -> None:
    """Make the names in a folder safe."""
    descriptor = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_FLUSH_FOLDERS:
            raise
    finally:
        os.close(descriptor)


def flush_folders(folders: Iterable[str]) -> None:
    """Make the names in folders safe; those that do not exist are passed over."""

    def flush_one(folder: str) -> None:
        with suppress(FileNotFoundError):
            flush_folder(folder)

    _at_once([partial(flush_one, folder) for folder in dict.fromkeys(folders)])


def _at_once(flushes: Sequence[Callable[[], None]]) -> None:
    """Several at the same time, which a disk writes together. Raises: OSError of the first one that fails."""
    # A thread of these that waited for another could wait for ever: there may be none left.
    if len(flushes) == 1 or threading.current_thread().name.startswith(_NAME):
        for flush in flushes:
            flush()
        return
    for done in [_threads(os.getpid()).submit(flush) for flush in flushes]:
        done.result()


@cache
def _threads(_: int) -> ThreadPoolExecutor:
    """Those of a process, by its id: to start some for each commit takes longer than a flush. A fork needs its own."""
    return ThreadPoolExecutor(_THREADS, _NAME)


def make_folders(folder: str) -> None:
    """Make a folder with those above it; new ones are flushed into their parents."""
    missing = []
    above = folder
    while above and not os.path.isdir(above):
        missing.append(above)
        above = os.path.dirname(above)
    if not missing:
        return
    os.makedirs(folder, exist_ok=True)
    for path in reversed(missing):
        flush_folder(os.path.dirname(path))


def _flush_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _folders_up_to(folder: str, root: str) -> list[str]:
    """A folder and those above it up to `root`; alone if it is elsewhere."""
    if folder != root and not folder.startswith(f"{root}/"):
        return [folder]
    found = [folder]
    while found[-1] != root:
        found.append(os.path.dirname(found[-1]))
    return found


def _temporary(path: str) -> str:
    """A hidden name beside a file, for what is to become it."""
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{uuid.uuid4()}.tmp")


def _has_two_names(path: str) -> bool:
    try:
        return os.stat(path).st_nlink > 1
    except OSError:
        return False


def _remove_quietly(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
