"""Statements on the database of a catalog, each committed by itself, through connections that a process keeps.

They belong to the process that opened them, which closes them at its end at the latest: a forked one opens its own, and
leaves those of its parent alone.
"""

import os
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any

from maintenance.errors import AlreadyExistsError, InfrastructureError, OptionError
from maintenance.metastore.jdbc.server import Server, first_line, is_of_driver

Row = tuple[Any, ...]
_IDLE_SECONDS = 30.0
_TOO_LONG = ("value too long", "data too long")
_AGAIN = "Check the server, and run again."


class Connections:
    """Runs statements; safe to use from several threads.

    There are as many as `pool_size` says at most: who finds none free waits. Those that are not in use are closed by
    `close`, when nobody holds this object any more, and when the process ends.
    """

    def __init__(self, server: Server) -> None:
        self.server = server
        self._idle: list[_Connection] = []
        weakref.finalize(self, _close_own, self._idle, os.getpid())
        self._guard = Lock()
        self._free = BoundedSemaphore(max(1, server.pool_size))
        self._memory = Lock()  # a database in memory is its connection, so there is one

    def query(self, sql: str, *values: object) -> list[Row]:
        """The rows of a SELECT. Parameters are written ``?``. Raises: InfrastructureError."""
        with self._cursor() as cursor:
            self._execute(cursor, sql, values)
            return [tuple(row) for row in cursor.fetchall()]

    def change(self, sql: str, *values: object) -> int:
        """Run a statement that changes rows. Returns how many.

        Raises: AlreadyExistsError: a key is taken; OptionError: a value is too long; InfrastructureError.
        """
        with self._cursor() as cursor:
            self._execute(cursor, sql, values)
            return int(cursor.rowcount)

    def close(self) -> None:
        """Close the connections that are not in use."""
        with self._guard:
            idle = self._idle.copy()
            self._idle.clear()
        for connection in idle:
            connection.close()

    def _execute(self, cursor: Any, sql: str, values: Sequence[object]) -> None:
        text = sql if self.server.protocol == "sqlite" else sql.replace("?", "%s")
        try:
            cursor.execute(text, values)
        except Exception as error:
            if not is_of_driver(error):
                raise
            raise self._meaning(error) from error

    def _meaning(self, error: Exception) -> Exception:
        reason, where = first_line(error), self.server.place
        if any(kind.__name__ == "IntegrityError" for kind in type(error).__mro__):
            return AlreadyExistsError(f"a row of the catalog exists: {reason}", where, "Choose another name.")
        if any(text in reason.lower() for text in _TOO_LONG):
            return OptionError(
                f"a value is longer than the catalog's database takes: {reason}", where, "Use at most 1000 characters."
            )
        return InfrastructureError(f"the database of the catalog failed: {reason}", where, _AGAIN)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        if self.server.in_memory:
            with self._memory, self._borrowed() as connection:
                yield connection.own.cursor()
            return
        with self._free, self._borrowed() as connection:
            cursor = connection.own.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    @contextmanager
    def _borrowed(self) -> Iterator["_Connection"]:
        connection = self._take()
        try:
            yield connection
        except (AlreadyExistsError, OptionError):
            self._give_back(connection)
            raise
        except BaseException:
            if self.server.in_memory:
                self._give_back(connection)
            else:
                connection.close()
            raise
        self._give_back(connection)

    def _take(self) -> "_Connection":
        with self._guard:
            connection = self._idle.pop() if self._idle else None
        if connection is not None and connection.leads_to(self.server):
            return connection
        if connection is not None:
            connection.close()
        # Looked at first: if another file takes its place meanwhile, the connection is not used again.
        file = _file_of(self.server)
        return _Connection(self.server.connect(), file)

    def _give_back(self, connection: "_Connection") -> None:
        connection.used = time.monotonic()
        with self._guard:
            if len(self._idle) < self.server.pool_size:
                self._idle.append(connection)
                return
        connection.close()


@dataclass(slots=True)
class _Connection:
    """Attributes: `own`: the driver's; `file`: which one SQLite has opened; `used`: when it was given back."""

    own: Any
    file: tuple[int, int] | None
    used: float = 0.0

    def leads_to(self, server: Server) -> bool:
        """Whether it still does: a server may have closed it, and a file may be another one by now."""
        if server.in_memory or server.is_file:
            return self.file == _file_of(server)
        return time.monotonic() - self.used < _IDLE_SECONDS or _answers(self.own)

    def close(self) -> None:
        with suppress(Exception):
            self.own.close()


def _file_of(server: Server) -> tuple[int, int] | None:
    """Which file a database of SQLite is; None: it is not there, or it is none."""
    with suppress(OSError):
        found = Path(server.database).stat() if server.is_file else None
        return found and (found.st_dev, found.st_ino)
    return None


def connections_of(server: Server) -> Connections:
    """The connections of this process to a database."""
    return _connections(server, 0 if server.in_memory else os.getpid())


@lru_cache(maxsize=64)
def _connections(server: Server, process: int) -> Connections:
    del process  # of which the connections are
    server.warn_of_unknown()
    return Connections(server)


def _close_own(idle: list[_Connection], process: int) -> None:
    """Close connections in the process that opened them: another one would end them for it."""
    while idle and os.getpid() == process:
        idle.pop().close()


def _answers(connection: Any) -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            cursor.fetchall()
    except Exception as error:
        if not is_of_driver(error):
            raise
        return False
    return True
