"""The lock of a catalog on one table: who holds it publishes. Without one the store's own create-if-absent decides."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from maintenance.errors import CommitError


class LockTimeoutError(CommitError):
    """Another holder kept the lock for longer than `lock-acquire-timeout`. Nothing was published."""


class HeldLock(Protocol):
    """A lock while it is held."""

    def check(self) -> None:
        """Raises: CommitError: it was held for longer than its timeout, so that another may hold it now."""


class TableLock(Protocol):
    """The lock of one table; a small value that travels to Spark's tasks."""

    def held(self) -> AbstractContextManager[HeldLock]:
        """Hold the lock in a `with` block. Raises: LockTimeoutError."""


@dataclass(frozen=True, slots=True)
class NoLock:
    """For catalogs without locks."""

    def held(self) -> AbstractContextManager[HeldLock]:
        return nullcontext(self)

    def check(self) -> None:
        """There is nothing to lose."""


NO_LOCK = NoLock()
