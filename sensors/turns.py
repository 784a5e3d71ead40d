"""Looks at many tables within one tick: side by side, in turn, within a time limit.

A tick that comes near its limit leaves the rest to the next one, which begins with them. A table that cannot be read
is left alone for a while, twice as long each time, so that it neither slows the others nor fills the log; a repair is
noticed within five minutes.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from assets.project.config import TableConfig

SECONDS = 40.0  # of the 60 that the code server allows a tick
_READERS = 8
_CHUNK = 8 * _READERS
_FIRST_PAUSE = 30.0
_LONGEST_PAUSE = 3600.0
# A table that cannot be read is looked at again at the least so often.
AGAIN_SECONDS = 300.0
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class Trouble:
    """A table that could not be read. `times`: in a row; `again`: when to look next, seconds since 1970."""

    times: int
    again: float


@dataclass(frozen=True, slots=True)
class Turn(Generic[Found]):
    """What a tick saw.

    Attributes:
        found: what the look at each table yielded, without those where it yielded None.
        errors: of the tables that could not be read this time.
        troubles: of all that could not be read when last tried, for the cursor.
        first: the table that the next tick begins with.
        looked: how many tables were come to.
    """

    found: Mapping[str, Found]
    errors: Mapping[str, Exception]
    troubles: Mapping[str, Trouble]
    first: str
    looked: int


@dataclass(slots=True)
class Turns(Generic[Found]):
    """One tick's way through the tables. `look`: called in threads, with a table; `now`: seconds since 1970."""

    look: Callable[[TableConfig], Found | None]
    now: float
    seconds: float = SECONDS
    troubles: Mapping[str, Trouble] = field(default_factory=dict)

    def take(self, tables: Sequence[TableConfig], first: str) -> Turn[Found]:
        """Look at the tables, beginning with the one named `first`, until all are seen or the time is up."""
        started = time.monotonic()
        queue = in_turn(tables, first)
        found: dict[str, Found] = {}
        errors: dict[str, Exception] = {}
        names = {table.identifier for table in tables}
        troubles = {name: trouble for name, trouble in self.troubles.items() if name in names}
        looked = 0
        with ThreadPoolExecutor(_READERS) as pool:
            while looked < len(queue) and (looked == 0 or time.monotonic() - started < self.seconds):
                some = queue[looked : looked + _CHUNK]
                looked += len(some)
                ready = [table for table in some if self._is_due(table.identifier)]
                for table, future in [(table, pool.submit(self.look, table)) for table in ready]:
                    name = table.identifier
                    try:
                        seen = future.result()
                    except Exception as error:  # noqa: BLE001 - one broken table must not hide the others
                        errors[name] = error
                        troubles[name] = after(troubles.get(name), self.now)
                        continue
                    troubles.pop(name, None)
                    if seen is not None:
                        found[name] = seen
        following = queue[looked % len(queue)].identifier if queue else ""
        return Turn(found, errors, troubles, following, looked)

    def _is_due(self, name: str) -> bool:
        trouble = self.troubles.get(name)
        return trouble is None or trouble.again <= self.now


def in_turn(tables: Sequence[TableConfig], first: str) -> list[TableConfig]:
    """The tables, beginning with the one named."""
    names = [table.identifier for table in tables]
    start = names.index(first) if first in names else 0
    return [*tables[start:], *tables[:start]]


def after(trouble: Trouble | None, now: float) -> Trouble:
    """What is remembered once a table could not be read (again)."""
    times = trouble.times + 1 if trouble else 1
    return Trouble(times, now + pause(times, AGAIN_SECONDS))


def unread(errors: Mapping[str, Exception]) -> str:
    """The tables that could not be read, for a tick's page; empty if there are none.

    A tick does not fail over them: it would lose its cursor, and with it what it knows of them and of all the others.
    """
    listed = "; ".join(f"{table}: {error}" for table, error in errors.items())
    return f"Cannot read {len(errors)} of the tables: {listed}" if errors else ""


def pause(times: int, longest: float = _LONGEST_PAUSE) -> float:
    """Seconds to wait after this many failures in a row, at least one."""
    return float(min(longest, _FIRST_PAUSE * 2 ** min(times - 1, 20)))
