"""Calls of a Hive metastore over Thrift, through a few connections that each process keeps.

A connection that fails is not used again. Calls that only read are then repeated once on a new one.
"""

import getpass
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from maintenance.errors import InfrastructureError, UnsupportedError

Struct = Any

_IDL = Path(__file__).parent / "metastore.thrift"
_TIMEOUT_MILLIS = 600_000
_IDLE_SECONDS = 60.0


@lru_cache(maxsize=1)
def thrift() -> Any:
    """The metastore's structs and exceptions. Raises: UnsupportedError: the driver is not installed."""
    try:
        import thriftpy2
    except ImportError as error:
        raise UnsupportedError(
            "the driver of Hive metastores is not installed: thriftpy2",
            "metastore=hive",
            "Install it where this runs: pip install 'paimon-maintenance[hive]'.",
        ) from error
    return thriftpy2.load(str(_IDL), module_name="hive_metastore_thrift")


@dataclass(frozen=True, slots=True)
class HiveMetastore:
    """A metastore and how to reach it; a small value that travels to Spark's tasks.

    Attributes:
        addresses: (host, port) of its servers; the first one that answers is used.
        pool_size: connections that a process has at most; who needs one more waits, as in Java.
    """

    addresses: tuple[tuple[str, int], ...]
    pool_size: int = 2

    @property
    def place(self) -> str:
        return ",".join(f"thrift://{host}:{port}" for host, port in self.addresses)

    def read(self, method: str, *arguments: Any) -> Any:
        """Call a method that changes nothing. Raises: exceptions of `thrift`; InfrastructureError."""
        try:
            return self.change(method, *arguments)
        except _LostConnectionError:
            return self.change(method, *arguments)

    def change(self, method: str, *arguments: Any) -> Any:
        """Call a method. Raises: exceptions of `thrift`; InfrastructureError: not reached, or not answered."""
        with self._connection() as client:
            return getattr(client, method)(*arguments)

    @contextmanager
    def _connection(self) -> Iterator[Any]:
        pool = _pool(self, os.getpid())
        with pool.room:
            yield from self._borrowed(pool)

    def _borrowed(self, pool: "_Pool") -> Iterator[Any]:
        from thriftpy2.thrift import TApplicationException, TException
        from thriftpy2.transport import TTransportException

        client = pool.take() or self._connect()
        try:
            yield client
        except (TTransportException, OSError, EOFError) as error:
            client.close()
            raise _LostConnectionError(
                f"the Hive metastore did not answer: {_reason(error)}", self.place, "Check that it runs, and run again."
            ) from error
        except TApplicationException as error:
            client.close()
            raise InfrastructureError(
                f"the Hive metastore failed: {_reason(error)}", self.place, "Look into the log of the Hive metastore."
            ) from error
        except TException:
            pool.give(client)
            raise
        except BaseException:
            client.close()
            raise
        pool.give(client)

    def _connect(self) -> Any:
        from thriftpy2.rpc import make_client
        from thriftpy2.thrift import TApplicationException, TException

        service, reasons = thrift().ThriftHiveMetastore, []
        for host, port in self.addresses:
            client = None
            try:
                client = make_client(service, host, port, timeout=_TIMEOUT_MILLIS)
                # The metastore makes folders as this user, if it is set up so; one that is not refuses the call.
                with suppress(TApplicationException, thrift().MetaException):
                    client.set_ugi(getpass.getuser(), [])
            except (TException, OSError, EOFError) as error:
                reasons.append(_reason(error))
                if client is not None:
                    client.close()
                continue
            return client
        raise InfrastructureError(
            f"the Hive metastore cannot be reached: {'; '.join(reasons)}", self.place, "Check 'uri' and that it runs."
        )


class _LostConnectionError(InfrastructureError):
    """The connection ended during a call."""


@dataclass(slots=True)
class _Pool:
    """Connections of this process: `room` for those in use, and the idle ones with when they were last used."""

    size: int
    room: threading.Semaphore = field(init=False)
    idle: list[tuple[float, Any]] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.room = threading.Semaphore(self.size)

    def take(self) -> Any | None:
        with self.guard:
            while self.idle:
                used, client = self.idle.pop()
                if time.monotonic() - used < _IDLE_SECONDS:
                    return client
                client.close()
        return None

    def give(self, client: Any) -> None:
        with self.guard:
            self.idle.append((time.monotonic(), client))

    def close(self) -> None:
        with self.guard:
            for _, client in self.idle:
                client.close()
            self.idle.clear()


@lru_cache(maxsize=32)
def _pool(metastore: HiveMetastore, process: int) -> _Pool:
    del process
    return _Pool(metastore.pool_size)


def close_connections(metastore: HiveMetastore) -> None:
    """Close the idle connections of this process."""
    _pool(metastore, os.getpid()).close()


def _reason(error: BaseException) -> str:
    message = getattr(error, "message", None) or str(error)
    return (str(message).strip().splitlines() or [type(error).__name__])[0]
