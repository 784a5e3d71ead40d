"""How often a commit is tried, how long it waits between attempts, and what it says when it gives up.

Pauses double from `commit.min-retry-wait` to `commit.max-retry-wait`, and each is up to a fifth longer by chance, so
that writers which lost the same race do not meet again. Source: Java `RetryWaiter`, `FileStoreCommitImpl`.
"""

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from maintenance.errors import CommitError
from maintenance.options import table as table_options
from maintenance.options.model import TableModel

# Beyond that many doublings every pause is the longest one.
_MAX_DOUBLINGS = 62


@dataclass(slots=True)
class Backoff:
    """The attempts of one commit.

    Attributes:
        retries: how often a failed attempt may be repeated.
        shortest, longest: the first pause, and the largest.
        timeout: after this time no further attempt is made; None = no limit.
        made: attempts so far.
    """

    retries: int
    shortest: timedelta
    longest: timedelta
    timeout: timedelta | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    made: int = 0
    _started: float = 0.0

    @classmethod
    def of(cls, options: TableModel) -> "Backoff":
        return cls(
            table_options.COMMIT_MAX_RETRIES.of(options),
            table_options.COMMIT_MIN_RETRY_WAIT.of(options),
            table_options.COMMIT_MAX_RETRY_WAIT.of(options),
            table_options.COMMIT_TIMEOUT.of(options),
        )

    def attempts(self) -> Iterator[int]:
        """Numbers of the attempts from 1, with a growing pause before each further one; none after the last."""
        self._started, self.made = self.clock(), 1
        while True:
            yield self.made
            if self._timed_out or self.made > self.retries:
                return
            self.sleep(self._pause())
            self.made += 1

    def gave_up(self, where: str) -> CommitError:
        """The error for a commit whose attempts are used up. It names the limit that was met."""
        times = "1 attempt" if self.made == 1 else f"{self.made} attempts"
        if self.made > self.retries:
            fix = f"Run again, or raise 'commit.max-retries' (now {max(self.retries, 0)})."
            return CommitError(f"other writers published first in {times}", where, fix)
        seconds = self.clock() - self._started
        fix = f"Run again, or raise 'commit.timeout' (now {self.timeout})."
        return CommitError(f"other writers published first in {times}, for {seconds:.1f} seconds", where, fix)

    @property
    def _timed_out(self) -> bool:
        return self.timeout is not None and self.clock() - self._started > self.timeout.total_seconds()

    def _pause(self) -> float:
        """Seconds before the next attempt."""
        doubled = self.shortest.total_seconds() * 2.0 ** min(self.made - 1, _MAX_DOUBLINGS)
        return min(doubled, self.longest.total_seconds()) * (1 + 0.2 * random.random())
