"""Requests of WebHDFS: sent to the namenode that is active, and again after what passes.

What is read or written goes to a datanode, whose address the namenode answers with. A request whose effect is the same
twice is sent again after an unclear answer; another kind raises, and the caller finds out what has happened.
"""

import errno
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

from maintenance.errors import StorageAccessError, StorageError, storage_fix
from maintenance.fs.hadoop_settings import Cluster

ATTEMPTS = 9
_WAIT_SECONDS, _LONGEST_WAIT = 0.1, 5.0
_CONNECT_SECONDS, _READ_SECONDS = 10.0, 120.0
_PASSING_STATUS = frozenset({408, 429, 502, 503, 504})
# The namenode is not the active one, is just starting, or asks for patience.
_PASSING = frozenset({"StandbyException", "RetriableException", "SafeModeException", "ServerTooBusyException"})
_KINDS: Mapping[str, type[OSError]] = {
    "FileNotFoundException": FileNotFoundError,
    "FileAlreadyExistsException": FileExistsError,
    "AccessControlException": PermissionError,
    "ParentNotDirectoryException": NotADirectoryError,
    "PathIsNotDirectoryException": NotADirectoryError,
    "PathIsNotEmptyDirectoryException": OSError,
}
_NUMBERS = {
    FileNotFoundError: errno.ENOENT, FileExistsError: errno.EEXIST, PermissionError: errno.EACCES,
    NotADirectoryError: errno.ENOTDIR, OSError: errno.ENOTEMPTY,
}  # fmt: skip
# A cluster whose datanodes are late with their reports cannot close a file yet.
_UNREPLICATED = "Unable to close file because the last block"
_REDIRECTS = frozenset({307, 302, 303})
_SHOWN = 300
_NO_PATH = re.compile(r"(^|/)\.{1,2}(/|$)|//")
_KEYS = "Set 'fs.hdfs.user' or HADOOP_USER_NAME to a user of the cluster, or 'fs.hdfs.token' to a delegation token."
_ADDRESS = "Check the namenode and 'dfs.namenode.http-address' (catalog option, or in the folder 'hadoop-conf-dir')."


class UnclearAnswerError(StorageError):
    """A request that changes something was sent and not answered: whether it was carried out is not known."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request brought. `repeated`: an earlier attempt of it may have been carried out."""

    data: bytes
    repeated: bool

    def json(self) -> Any:
        return json.loads(self.data) if self.data else {}


@dataclass(frozen=True, slots=True)
class WebHdfs:
    """The cluster that paths ``root/…`` are in. `root`: such as ``hdfs://host:8020``."""

    cluster: Cluster
    root: str

    def request(
        self,
        method: str,
        operation: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        *,
        same_twice: bool = True,
    ) -> Answer:
        """Carry out an operation.

        `body`: bytes, or a file that is read from its beginning; `same_twice`: has the same effect twice.

        Raises: FileNotFoundError, FileExistsError, NotADirectoryError, PermissionError; OSError with ENOTEMPTY;
            UnclearAnswerError: only if it is not `same_twice`; StorageError.
        """
        asked = {"op": operation, **self._identity(), **(query or {})}
        address = f"/webhdfs/v1{quote(self.name(path), safe='/')}?{urlencode(asked, quote_via=quote)}"
        unclear = False
        for attempt in range(ATTEMPTS * len(self.cluster.addresses)):
            # Each namenode in turn, and a wait after all of them.
            turn, number = divmod(attempt, len(self.cluster.addresses))
            if turn and not number:
                pause(turn)
            try:
                return self._sent(method, self.cluster.addresses[number] + address, path, body, unclear)
            except _PassingError as passed:
                last = passed
                unclear = unclear or passed.unclear
                if unclear and not same_twice:
                    raise UnclearAnswerError(f"HDFS did not answer a change: {passed.reason}", path, _ADDRESS) from None
        raise StorageError(f"HDFS cannot be reached: {last.reason}", path, _ADDRESS)

    def name(self, path: str) -> str:
        """The name of a file in the cluster by its path. Raises: FileNotFoundError: no file can have it."""
        name = "/" + path[len(self.root) :].strip("/")
        if _NO_PATH.search(name) or "\0" in name or not _is_unicode(name):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return name

    def _identity(self) -> dict[str, str]:
        if self.cluster.token is not None:
            return {"delegation": self.cluster.token}
        return {} if self.cluster.user is None else {"user.name": self.cluster.user}

    def _sent(self, method: str, url: str, path: str, body: Any, repeated: bool) -> Answer:
        changes = method != "GET"
        answer = _ask(method, url, None, changes=changes and body is None)
        if answer.status in _REDIRECTS:
            place = answer.headers.get("Location") or ""
            answer = _ask(method, place, body, changes=changes)
        if answer.status >= 300:
            _raise_error(answer.status, answer.data, path)
        return Answer(answer.data, repeated)


class _PassingError(Exception):
    """What may work a moment later. `unclear`: it may have been carried out."""

    def __init__(self, reason: str, *, unclear: bool) -> None:
        super().__init__(reason)
        self.reason, self.unclear = reason, unclear


def _ask(method: str, url: str, body: Any, *, changes: bool) -> Any:
    """Send one request. Raises: _PassingError."""
    import urllib3

    headers = {}
    if body is not None:
        headers["Content-Type"] = "application/octet-stream"
        if hasattr(body, "seek"):
            headers["Content-Length"] = str(body.seek(0, os.SEEK_END))
            body.seek(0)
    try:
        response = _pool(os.getpid()).request(method, url, body=body, headers=headers, retries=False, redirect=False)
    except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as error:
        raise _PassingError(f"no connection ({type(error).__name__})", unclear=False) from None
    except urllib3.exceptions.HTTPError as error:
        raise _PassingError(f"connection lost ({type(error).__name__})", unclear=changes) from None
    if response.status in _PASSING_STATUS:
        raise _PassingError(f"it answered {response.status}", unclear=changes)
    return response


def _raise_error(status: int, data: bytes, path: str) -> None:
    try:
        exception = json.loads(data)["RemoteException"]
        name, message = str(exception.get("exception")), str(exception.get("message")).splitlines()[0][:_SHOWN]
    except (ValueError, KeyError, TypeError, IndexError):
        name, message = "", ""
    if name in _PASSING or (name == "RemoteException" and "StandbyException" in message):
        raise _PassingError(message, unclear=False)
    if message.startswith(_UNREPLICATED):
        raise _PassingError(message, unclear=True)
    kind = _KINDS.get(name)
    if kind is not None:
        number = _NUMBERS[kind]
        raise kind(number, os.strerror(number), path)
    if status == 401 or name in ("SecurityException", "AuthenticationException", "InvalidToken"):
        raise StorageAccessError(f"HDFS does not know this user: {message or f'it answered {status}'}", path, _KEYS)
    if not name and status == 404:
        raise StorageAccessError("what answers is not WebHDFS", path, _ADDRESS)
    raise StorageError(f"HDFS refuses: {message or f'it answered {status}'}", path, storage_fix(OSError()))


def pause(attempt: int) -> None:
    """Wait before the next attempt. `attempt`: how many have failed."""
    time.sleep(min(_WAIT_SECONDS * 2**attempt, _LONGEST_WAIT))


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@lru_cache(maxsize=1)
def _pool(process: int) -> Any:
    """Connections of this process; those of a forked one are its own."""
    import urllib3

    del process
    return urllib3.PoolManager(
        num_pools=32, maxsize=16, timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=_READ_SECONDS)
    )
