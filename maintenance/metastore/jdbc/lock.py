"""The lock table of a JDBC catalog: a row per lock that is held, with the moment since when and how long it counts.

A row that is older than its own time is deleted by whoever wants the lock next. Java's holders do not notice that;
one of this project looks once more before it publishes, and releases only what is still its own. All times are of the
server's clock. Source: Java `JdbcCatalogLock`, `AbstractDistributedLockDialect`.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from maintenance.commit.lock import LockTimeoutError
from maintenance.errors import AlreadyExistsError, CommitError, InfrastructureError, UnsupportedError
from maintenance.fs.location import is_local
from maintenance.metastore.identifier import Identifier
from maintenance.metastore.jdbc.connections import Connections, connections_of
from maintenance.metastore.jdbc.rows import LOCK_TABLE
from maintenance.metastore.jdbc.server import Server
from maintenance.options import catalog as catalog_options

_LOG = logging.getLogger(__name__)
_FIRST_SLEEP = 0.1
_HDFS = ("hdfs://", "viewfs://")
_AGE: Mapping[str, str] = {
    "sqlite": "strftime('%s', 'now') - strftime('%s', acquired_at)",
    "postgresql": "EXTRACT(EPOCH FROM AGE(NOW(), acquired_at))",
    "mysql": "TIMESTAMPDIFF(SECOND, acquired_at, NOW())",
}


def locks_tables(options: Mapping[str, str], warehouse: str) -> bool:
    """Whether a catalog locks its tables: as its option says, else where storage cannot rename without a race."""
    enabled = catalog_options.LOCK_ENABLED.of(options)
    return not is_local(warehouse) and not warehouse.startswith(_HDFS) if enabled is None else enabled


@dataclass(frozen=True, slots=True)
class LockSettings:
    """`timeout`: how long a lock counts, and how long one waits for it; `longest_sleep`: between two attempts."""

    timeout: timedelta
    longest_sleep: timedelta

    @classmethod
    def of(cls, options: Mapping[str, str], server: Server) -> "LockSettings":
        """Raises: UnsupportedError: the kind of database has no lock."""
        if server.protocol not in _AGE:
            raise UnsupportedError(
                f"'lock.enabled' with a database of kind '{server.protocol}' is not supported",
                server.place,
                "Use jdbc:mysql: for MariaDB too, as with Apache Paimon.",
            )
        return cls(catalog_options.LOCK_ACQUIRE_TIMEOUT.of(options), catalog_options.LOCK_CHECK_MAX_SLEEP.of(options))


@dataclass(frozen=True, slots=True)
class JdbcLock:
    """The lock of one table or view. It cannot be taken twice by the same holder."""

    server: Server
    lock_id: str
    settings: LockSettings

    @classmethod
    def on(cls, server: Server, catalog_key: str, name: Identifier, settings: LockSettings) -> "JdbcLock":
        return cls(server, f"{catalog_key}.{name.database}.{name.table}", settings)

    @contextmanager
    def held(self) -> Iterator["HeldRow"]:
        """Hold the lock. Raises: LockTimeoutError."""
        row = self._acquired()
        try:
            yield row
        finally:
            row.release()

    def _acquired(self) -> "HeldRow":
        started, sleep = time.monotonic(), _FIRST_SLEEP
        while True:
            since = self._try()
            if since is not None:
                return HeldRow(self, since, time.monotonic())
            if time.monotonic() - started > self.settings.timeout.total_seconds():
                raise LockTimeoutError(
                    f"lock '{self.lock_id}' was not free within {self.settings.timeout.total_seconds():g} seconds",
                    f"{LOCK_TABLE} of {self.server.place}",
                    "Wait for its holder, or delete the row if that process is gone.",
                )
            time.sleep(min(sleep, self.settings.longest_sleep.total_seconds()))
            sleep *= 2

    def _try(self) -> object | None:
        """Take the lock if it is free. Returns since when it is held, by the server's clock."""
        expired = f"lock_id = ? AND {_AGE[self.server.protocol]} > expire_time_seconds"
        try:
            self._sql.change(f"DELETE FROM {LOCK_TABLE} WHERE {expired}", self.lock_id)
            insert = f"INSERT INTO {LOCK_TABLE} (lock_id, expire_time_seconds) VALUES (?, ?)"
            self._sql.change(insert, self.lock_id, int(self.settings.timeout.total_seconds()))
        except AlreadyExistsError:
            return None
        rows = self._sql.query(f"SELECT acquired_at FROM {LOCK_TABLE} WHERE lock_id = ?", self.lock_id)
        return rows[0][0] if rows else None

    def still_held(self, since: object) -> bool:
        """Whether the row of that moment is there, and counts."""
        counts = f"{_AGE[self.server.protocol]} <= expire_time_seconds"
        sql = f"SELECT 1 FROM {LOCK_TABLE} WHERE lock_id = ? AND acquired_at = ? AND {counts}"
        return bool(self._sql.query(sql, self.lock_id, since))

    def delete(self, since: object) -> None:
        self._sql.change(f"DELETE FROM {LOCK_TABLE} WHERE lock_id = ? AND acquired_at = ?", self.lock_id, since)

    @property
    def _sql(self) -> Connections:
        return connections_of(self.server)


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A lock that is held. `since`: by the server's clock; `started`: by this process's monotonic clock."""

    lock: JdbcLock
    since: object
    started: float

    def check(self) -> None:
        """Raises: CommitError: the lock was held for longer than it counts. Nothing was published."""
        late = time.monotonic() - self.started > self.lock.settings.timeout.total_seconds()
        if late or not self.lock.still_held(self.since):
            raise CommitError(
                f"lock '{self.lock.lock_id}' was lost: it was held for longer than it counts",
                f"{LOCK_TABLE} of {self.lock.server.place}",
                f"Run again, or raise '{catalog_options.LOCK_ACQUIRE_TIMEOUT.key}'.",
            )

    def release(self) -> None:
        """Give the lock back. If the server does not answer, it frees itself once its time is over."""
        try:
            self.lock.delete(self.since)
        except InfrastructureError as error:
            _LOG.warning("lock %s stays until its time is over: %s", self.lock.lock_id, error)
