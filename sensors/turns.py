"""Looks at many tables within one tick: side by side, in turn, within a time limit.

A tick that comes near its limit leaves the rest to the next one, which begins with them. A table that cannot be read
is left alone for a while, twice as long each time, so that it neither slows the others nor fills the log.
"""

import time
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from maintenance.project.config import TableConfig
from paimon_maintenance.assets.runs.pauses import pause
from paimon_maintenance.sensors.cursor import Cursor, Kept, Trouble

SECONDS = 25.0  # of the 30 between two ticks, and of the 60 that the code server allows one
_READERS = 16
_CHUNK = 4 * _READERS
# By default a table that cannot be read is looked at again at least this often.
AGAIN_SECONDS = 300.0
Found = TypeVar("Found")
_NOT_READY = object()


@dataclass(frozen=True, slots=True)
class Turn(Generic[Found]):
    """What a tick saw.

    Attributes:
        found: what the look at each table yielded, without those where it yielded None.
        errors: of the tables that could not be read this time.
        troubles: of all that could not be read when last tried, for the cursor.
        first: the table that the next tick begins with.
        looked: how many tables it came to.
        aside: those of `found` that were looked at out of turn.
    """

    found: Mapping[str, Found]
    errors: Mapping[str, Exception]
    troubles: Mapping[str, Trouble]
    first: str
    looked: int
    aside: frozenset[str] = frozenset()

    def and_then(self, other: "Turn[Found]") -> "Turn[Found]":
        """This and a look at further tables in the same tick, which do not decide with which the next one begins."""
        return Turn(
            {**self.found, **other.found},
            {**self.errors, **other.errors},
            {**self.troubles, **other.troubles},
            self.first,
            self.looked + other.looked,
            self.aside | other.found.keys(),
        )

    def only(self, names: Container[str], before: Mapping[str, Trouble]) -> "Turn[Found]":
        """The same without what was found of other tables.

        The next tick begins with the first of these that had its turn.

        Args: `before`: the troubles of which the tick began.
        """
        others = [name for name in self.found if name not in names]
        if not others:
            return self
        found = {name: found for name, found in self.found.items() if name in names}
        troubles = {name: trouble for name, trouble in self.troubles.items() if name not in others}
        troubles |= {name: before[name] for name in others if name in before}
        first = next((name for name in others if name not in self.aside), self.first)
        return Turn(found, self.errors, troubles, first, self.looked, self.aside)

    def cursor(self, tables: Mapping[str, Kept]) -> Cursor[Kept]:
        """What the next tick is left. `tables`: what is remembered of each."""
        return Cursor(self.first, tables, self.troubles)


@dataclass(slots=True)
class Turns(Generic[Found, Kept]):
    """One tick's way through the tables.

    Attributes:
        look: called in threads, with a table.
        cursor: what the tick before has left.
        now: seconds since 1970.
        ready: whether to look at a table now, which may be in trouble; called in threads. By default one that could
            not be read is left alone until its pause is over.
        broken: whether what a look yielded says that the table cannot be read, as an error of the look does.
        longest_pause: seconds after which a table that cannot be read is looked at again, however often that failed.
    """

    look: Callable[[TableConfig], Found | None]
    cursor: Cursor[Kept]
    now: float
    seconds: float = SECONDS
    ready: Callable[[TableConfig, Trouble | None], bool] | None = None
    broken: Callable[[Found], bool] | None = None
    longest_pause: float = AGAIN_SECONDS

    def take(self, tables: Sequence[TableConfig], busy: Container[str] = ()) -> Turn[Found]:
        """Look at the tables, beginning where the last tick stopped, until all are seen or the time is up.

        Those that are `busy` are left out, and stay in trouble if they were.
        """
        started = time.monotonic()
        queue = in_turn([table for table in tables if table.identifier not in busy], self.cursor.first)
        looks: dict[str, Found] = {}
        errors: dict[str, Exception] = {}
        names = {table.identifier for table in tables}
        troubles = {name: trouble for name, trouble in self.cursor.troubles.items() if name in names}
        looked = 0
        with ThreadPoolExecutor(_READERS) as pool:
            while looked < len(queue) and (looked == 0 or time.monotonic() - started < self.seconds):
                chunk = queue[looked : looked + _CHUNK]
                looked += len(chunk)
                for name, future in [(table.identifier, pool.submit(self._seen, table)) for table in chunk]:
                    try:
                        seen = future.result()
                    except Exception as error:  # noqa: BLE001 - one broken table must not hide the others
                        errors[name] = error
                        troubles[name] = self._after(troubles.get(name))
                        continue
                    if seen is _NOT_READY:
                        continue
                    before = troubles.pop(name, None)
                    if seen is not None:
                        looks[name] = seen
                        if self.broken is not None and self.broken(seen):
                            troubles[name] = self._after(before)
        following = queue[looked % len(queue)].identifier if queue else ""
        return Turn(looks, errors, troubles, following, looked)

    def _seen(self, table: TableConfig) -> Any:
        """What the look at a table yields; _NOT_READY where it is not its time."""
        trouble = self.cursor.troubles.get(table.identifier)
        ready = self._is_due(trouble) if self.ready is None else self.ready(table, trouble)
        return self.look(table) if ready else _NOT_READY

    def _after(self, trouble: Trouble | None) -> Trouble:
        """What is remembered of a table that could not be read (again)."""
        times = trouble.times + 1 if trouble else 1
        return Trouble(times, self.now + pause(times, self.longest_pause))

    def _is_due(self, trouble: Trouble | None) -> bool:
        return trouble is None or trouble.again <= self.now


def in_turn(tables: Sequence[TableConfig], first: str) -> list[TableConfig]:
    """The tables, beginning with the one named."""
    names = [table.identifier for table in tables]
    start = names.index(first) if first in names else 0
    return [*tables[start:], *tables[:start]]


def unread(errors: Mapping[str, Exception]) -> str:
    """The tables that could not be read, for a tick's page; empty if there are none.

    A tick does not fail over them: it would lose its cursor, and with it what it knows of them and of all the others.
    """
    listed = "; ".join(f"{table}: {error}" for table, error in errors.items())
    return f"Cannot read {len(errors)} of the tables: {listed}" if errors else ""
