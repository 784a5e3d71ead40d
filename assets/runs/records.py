"""Dagster's databases of SQLite, kept open while a run writes its events into them.

Dagster opens a database for each event and closes it behind it. SQLite then waits for the disk three times: when the
event is committed, and twice when the last connection is closed, which moves the log into the database. With one more
connection that stays open nothing is moved, and a commit need not wait: in a power cut a database with such a log is
never damaged, it lacks its last events. A process that is killed has lost none.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

_LOGGED = "PRAGMA journal_mode"
_NO_WAITING = "PRAGMA synchronous = NORMAL"
# Of the many that an instance has, those of runs that are over are not opened again.
_MOST = 16


@contextmanager
def records_kept_open() -> Iterator[None]:
    """While this lasts, events of runs in databases of SQLite do not wait for the disk."""
    kept: dict[str, sqlite3.Connection] = {}
    lock = threading.Lock()

    def connected(connection: Any, _: Any) -> None:
        # Without a log a commit that does not wait could damage the database.
        if not isinstance(connection, sqlite3.Connection) or connection.execute(_LOGGED).fetchone() != ("wal",):
            return
        connection.execute(_NO_WAITING).close()
        file = connection.execute("PRAGMA database_list").fetchone()[2]
        with lock:
            kept[file] = kept.pop(file) if file in kept else _opened(file)
            if len(kept) > _MOST:
                kept.pop(next(iter(kept))).close()

    event.listen(Engine, "connect", connected)
    try:
        yield
    finally:
        event.remove(Engine, "connect", connected)
        with lock:
            for each in kept.values():
                each.close()


def _opened(file: str) -> sqlite3.Connection:
    connection = sqlite3.connect(file, check_same_thread=False)
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # what has read nothing has not opened it
    return connection
