"""The processes of a campaign: started, killed at random, halted for a while, and started again.

A writer that is halted is sometimes taken for dead: another one starts in its place, and then the first one wakes up
and goes on beside it for a while.
"""

import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.chaos.injected import FULL, HANG, KILL, TORN, Injected
from tests.chaos.worker import Place, run, stop_file
from tests.chaos.workload import JAVA

_PRELOADED = ["tests.chaos.roles", "maintenance.metastore.filesystem", "polars", "pyarrow.parquet", "pyarrow.orc"]
# Seconds that a process of a role lives on average before it is killed from outside.
_LIFE = {
    "write": 5.0,
    "compact": 5.0,
    "expire": 4.0,
    "tag": 5.0,
    "sweep": 8.0,
    "read": 20.0,
    "audit": 20.0,
    "follow": 6.0,
    JAVA: 25.0,
}
_HALTED_EVERY = 15.0
_INJECTED = 0.4
_MOST_STEPS = 90
_TAKEN_FOR_DEAD = 0.4
_END_SECONDS = 180.0
TICK_SECONDS = 0.05


@dataclass(slots=True)
class Incarnation:
    """A running process, and when things will happen to it. Times are of the monotonic clock, in seconds."""

    place: Place
    process: BaseProcess
    dies: float
    halts: float
    goes_on: float | None = None


@dataclass(frozen=True, slots=True)
class Death:
    """A process that did not end by itself. Times: nanoseconds since 1970."""

    name: str
    incarnation: int
    wall: int


@dataclass
class Processes:
    """All processes of a campaign. `mischief`: 0 = nothing goes wrong, 1 = as usual."""

    folder: Path
    scenario: str
    seed: int
    mischief: float = 1.0
    running: dict[str, Incarnation] = field(default_factory=dict)
    waiting: dict[str, tuple[float, Place]] = field(default_factory=dict)
    woken: list[Incarnation] = field(default_factory=list)
    deaths: list[Death] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(f"{self.seed} processes")
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(_PRELOADED)

    def start(self, role: str, name: str, *, finish: bool = False) -> None:
        """Start the first incarnation of a process, or, with `finish`, the one that ends what was begun."""
        known = self.running.get(name)
        number = 1 if known is None else known.place.incarnation + 1
        self._start(Place(self.folder, self.scenario, self.seed, role, name, number, finish=finish))

    def _start(self, place: Place) -> None:
        if not place.finish:
            place = replace(place, injected=self._injected(place))
        process = self.context.Process(target=run, args=(place,), daemon=True)
        process.start()
        self.waiting.pop(place.name, None)
        now = time.monotonic()
        life = self._drawn(_LIFE[place.role])
        # Java takes a while to start: one that dies before it has done anything tests nothing.
        life += 8.0 if place.role == JAVA else 0.0
        self.running[place.name] = Incarnation(place, process, now + life, now + self._drawn(_HALTED_EVERY))

    def _drawn(self, mean: float) -> float:
        return self.dice.expovariate(self.mischief / mean) if self.mischief else float("inf")

    def _injected(self, place: Place) -> Injected | None:
        dice = self.dice
        if place.role == JAVA or dice.random() >= _INJECTED * self.mischief:
            return None
        kind = dice.choices((KILL, TORN, HANG, FULL), (6, 2, 3, 2))[0]
        step = dice.randint(1, _MOST_STEPS)
        return Injected(kind, step, seconds=dice.uniform(0.2, 3.0), refused=dice.randint(1, 4))

    def tick(self) -> None:
        """Let happen what is due."""
        now = time.monotonic()
        for name, one in list(self.running.items()):
            if name in self.waiting:
                continue
            if not one.process.is_alive():
                self._ended(one)
                self.waiting[name] = (now + self.dice.uniform(0, 0.7), replace(one.place, incarnation=_next(one)))
            elif one.dies <= now:
                self._kill(one)
            elif one.goes_on is not None and one.goes_on <= now:
                os.kill(_pid(one), signal.SIGCONT)
                one.goes_on, one.halts = None, now + self._drawn(_HALTED_EVERY)
            elif one.goes_on is None and one.halts <= now:
                self._halt(one, now)
        self._wake(now)
        for name, (due, place) in list(self.waiting.items()):
            if due <= now:
                del self.waiting[name]
                self._start(place)

    def _halt(self, one: Incarnation, now: float) -> None:
        os.kill(_pid(one), signal.SIGSTOP)
        self.counts["halted"] += 1
        one.goes_on = now + self.dice.uniform(0.2, 4.0)
        if one.place.role == "write" and self.dice.random() < _TAKEN_FOR_DEAD:
            self.counts["taken for dead"] += 1
            one.goes_on = now + self.dice.uniform(0.2, 2.0)
            one.dies = one.goes_on + self.dice.uniform(0.5, 4.0)
            self.woken.append(one)
            self._start(replace(one.place, incarnation=_next(one)))

    def _wake(self, now: float) -> None:
        """Let those that were taken for dead go on, and kill them after a while."""
        for one in list(self.woken):
            if not one.process.is_alive():
                self._ended(one)
                self.woken.remove(one)
            elif one.dies <= now:
                self._kill(one)
            elif one.goes_on is not None and one.goes_on <= now:
                os.kill(_pid(one), signal.SIGCONT)
                one.goes_on = None

    def _kill(self, one: Incarnation) -> None:
        os.kill(_pid(one), signal.SIGKILL)
        one.process.join()
        self.counts["killed"] += 1

    def _ended(self, one: Incarnation) -> None:
        """A process is gone: by a kill, or by an error that it should have noted."""
        one.process.join()
        code = one.process.exitcode
        if code == -signal.SIGKILL:
            self.deaths.append(Death(one.place.name, one.place.incarnation, time.time_ns()))
        elif code != 0:
            self.faults.append(f"{one.place.name} ended with {code}: see journals/{one.place.name}.log")

    def stop(self, look: Callable[[], None]) -> None:
        """Ask all to end, and wait until they have. `look`: called again and again meanwhile."""
        stop_file(self.folder).touch()
        for one in (*self.running.values(), *self.woken):
            if one.process.is_alive() and one.goes_on is not None:
                os.kill(_pid(one), signal.SIGCONT)
                one.goes_on = None
        self.wait(look)
        self.waiting.clear()

    def wait(self, look: Callable[[], None]) -> None:
        """Wait until every process has ended; what does not end by itself is killed and counts as a fault."""
        deadline = time.monotonic() + _END_SECONDS
        everyone = [*self.running.values(), *self.woken]
        while any(one.process.is_alive() for one in everyone) and time.monotonic() < deadline:
            look()
            time.sleep(TICK_SECONDS)
        for one in self.woken:
            if one.process.is_alive():
                self._kill(one)
            self._ended(one)
        self.woken.clear()
        for name, one in self.running.items():
            if one.process.is_alive():
                self.faults.append(f"{name} did not end within {_END_SECONDS:.0f} s")
                self._kill(one)
            if name not in self.waiting:
                self._ended(one)
            self.waiting[name] = (0.0, one.place)
        look()

    def close(self) -> None:
        """End whatever still runs."""
        for one in (*self.running.values(), *self.woken):
            if one.process.is_alive():
                one.process.kill()
                one.process.join()


def _pid(one: Incarnation) -> int:
    pid = one.process.pid
    assert pid is not None
    return pid


def _next(one: Incarnation) -> int:
    return one.place.incarnation + 1
