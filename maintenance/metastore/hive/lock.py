"""Locks of a Hive metastore on tables. Source: Java `HiveCatalogLock`.

The metastore forgets a lock that nobody asked about for `hive.txn.timeout`. A holder asks once more before it
publishes, and publishes nothing if its lock is gone.
"""

import getpass
import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from maintenance.commit.lock import LockTimeoutError
from maintenance.errors import CommitError, InfrastructureError
from maintenance.metastore.hive.client import HiveMetastore, thrift
from maintenance.metastore.jdbc.lock import LockSettings

_LOG = logging.getLogger(__name__)
_FIRST_SLEEP = 0.1
_ACQUIRED, _WAITING = 1, 2
_EXCLUSIVE, _TABLE = 3, 2


@dataclass(frozen=True, slots=True)
class HiveLock:
    """The lock of one table. It cannot be taken twice by the same holder."""

    metastore: HiveMetastore
    database: str
    table: str
    settings: LockSettings

    @contextmanager
    def held(self) -> Iterator["HeldHiveLock"]:
        """Hold the lock. Raises: LockTimeoutError."""
        held = HeldHiveLock(self, self._acquired())
        try:
            yield held
        finally:
            self._unlock(held.lock_id)

    def _acquired(self) -> int:
        hive = thrift()
        component = hive.LockComponent(type=_EXCLUSIVE, level=_TABLE, dbname=self.database, tablename=self.table)
        request = hive.LockRequest(
            component=[component], user=getpass.getuser(), hostname=socket.gethostname(), agentInfo="Unknown"
        )
        started, sleep = time.monotonic(), _FIRST_SLEEP
        answer = self.metastore.change("lock", request)
        lock_id = int(answer.lockid)
        try:
            while answer.state == _WAITING and time.monotonic() - started < self.settings.timeout.total_seconds():
                time.sleep(min(sleep, self.settings.longest_sleep.total_seconds()))
                sleep *= 2
                answer = self.metastore.change("check_lock", hive.CheckLockRequest(lockid=lock_id))
        except BaseException:
            self._unlock(lock_id)
            raise
        if answer.state == _ACQUIRED:
            return lock_id
        self._unlock(lock_id)
        raise LockTimeoutError(
            f"the lock of table '{self.database}.{self.table}' was not free within "
            f"{self.settings.timeout.total_seconds():g} seconds",
            self.metastore.place,
            "Wait for its holder; SHOW LOCKS in Hive names it.",
        )

    def _unlock(self, lock_id: int) -> None:
        hive = thrift()
        try:
            self.metastore.change("unlock", hive.UnlockRequest(lockid=lock_id))
        except hive.NoSuchLockException:
            return
        except (InfrastructureError, hive.TxnOpenException) as error:
            _LOG.warning("lock %s stays until the metastore forgets it: %s", lock_id, error)


@dataclass(frozen=True, slots=True)
class HeldHiveLock:
    """A lock that is held."""

    lock: HiveLock
    lock_id: int

    def check(self) -> None:
        """Raises: CommitError: the metastore does not know the lock any more. Nothing was published."""
        hive = thrift()
        try:
            answer = self.lock.metastore.change("check_lock", hive.CheckLockRequest(lockid=self.lock_id))
        except hive.NoSuchLockException:
            answer = None
        if answer is None or answer.state != _ACQUIRED:
            raise CommitError(
                f"lock {self.lock_id} of table '{self.lock.database}.{self.lock.table}' was lost",
                self.lock.metastore.place,
                "Run again, or raise 'hive.txn.timeout' of the metastore.",
            )
