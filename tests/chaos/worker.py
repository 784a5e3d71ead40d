"""What every process of a campaign has: its place in the campaign, its journal, its dice, and a sign when to stop."""

import ctypes
import fcntl
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from maintenance.catalog import CatalogTable
from tests.chaos.injected import Injected, arm
from tests.chaos.journal import Journal
from tests.chaos.scenarios import SCENARIOS, Scenario, open_table

_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Place:
    """Where a process works and as whom.

    Attributes:
        folder: of the campaign: the warehouse, the journals, the file that says stop.
        role: names the function that it runs; `name`: its own, the same in every incarnation.
        injected: what goes wrong in it by itself, None = nothing.
        finish: only do what an earlier incarnation left undone.
    """

    folder: Path
    scenario_name: str
    seed: int
    role: str
    name: str
    incarnation: int
    injected: Injected | None = None
    finish: bool = False

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse"

    @property
    def journal(self) -> Path:
        return journal_of(self.folder, self.name)


def journal_of(folder: Path, name: str) -> Path:
    return folder / "journals" / f"{name}.jsonl"


def stop_file(folder: Path) -> Path:
    return folder / "stop"


@dataclass
class Worker:
    """A running process. `dice`: other ones in each incarnation."""

    place: Place
    journal: Journal
    scenario: Scenario
    dice: random.Random
    _table: CatalogTable | None = field(default=None)

    @classmethod
    def of(cls, place: Place) -> "Worker":
        dice = random.Random(f"{place.seed} {place.name} {place.incarnation}")
        scenario = SCENARIOS[place.scenario_name](place.seed)
        return cls(place, Journal.open(place.journal, place.incarnation), scenario, dice)

    @property
    def table(self) -> CatalogTable:
        """The table, opened again or as it was opened before."""
        if self._table is None or self.dice.random() < 0.5:
            self._table = open_table(self.place.warehouse)
        return self._table

    @cached_property
    def _stop(self) -> Path:
        return stop_file(self.place.folder)

    @property
    def stopping(self) -> bool:
        return self._stop.exists()

    def pause(self, longest: float) -> None:
        """Wait a moment of up to so many seconds."""
        time.sleep(self.dice.uniform(0, longest))

    @contextmanager
    def nothing_expires(self) -> Iterator[None]:
        """Hold expiry up, as the Java core needs it for a commit: it does not notice that what it follows, and the
        number of its snapshot, have expired meanwhile. Our own writers do without. A killed process lets go."""
        with self._expiry(fcntl.LOCK_SH):
            yield

    @contextmanager
    def may_expire(self) -> Iterator[None]:
        """Wait until Java is not committing, and hold it up."""
        with self._expiry(fcntl.LOCK_EX):
            yield

    @contextmanager
    def _expiry(self, how: int) -> Iterator[None]:
        with (self.place.folder / "expiry.lock").open("w") as file:
            fcntl.flock(file, how)
            yield

    def attempt(self, what: str, do: Callable[[], object], **facts: Any) -> Any:
        """Do something between two entries of the journal; an error is noted, not raised.

        Returns what `do` returns, None after an error. The entries are ``begin`` and then ``done`` with what it
        returned, or ``failed``.
        """
        self.journal.note("begin", task=what, **facts)
        try:
            result = do()
        except Exception as error:  # noqa: BLE001 - whether an error is right is for the judge to say
            self.journal.note("failed", task=what, error=type(error).__name__, text=str(error), **facts)
            return None
        self.journal.note("done", task=what, result=result, **facts)
        return result


def run(place: Place) -> None:
    """A process of the campaign from its start to its end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign ends its processes itself
    output = os.open(place.folder / "journals" / f"{place.name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(output, 1)
    os.dup2(output, 2)
    from tests.chaos.roles import ROLES

    worker = Worker.of(place)
    worker.journal.note("start", pid=os.getpid(), injected=None if place.injected is None else str(place.injected))
    if place.injected is not None:
        arm(place.injected, place.warehouse, worker.journal)
    ROLES[place.role](worker)
    worker.journal.note("end")
