"""Which actions a budget is spent on: pure rules, no storage and no clock.

Actions are ranked by what a second of them is worth. A gain is worth itself times its square root: a small one can
wait, since it grows, and the fixed part of its time is then paid once for all of it.

What has waited for longer than the *patience* of the budget is overdue. The longest first, overdue actions take a tenth
of what is left; whatever else fits is taken by its rank. An overdue action that takes `n` times the budget is taken
whatever it costs, one in a period, once it has waited for `1 + n` times the patience: what takes more waits longer, so
that it does not take a larger share of the time. So nothing starves: the turn of an action that has waited for so long,
beside `m` actions that have waited as long or longer, comes at the latest in the `m + 1`-th period whose whole budget
is left when it is planned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

_PERIODS = 60
_FOR_OVERDUE = 0.1


@dataclass(frozen=True, slots=True)
class Candidate:
    """An action to rank.

    Attributes:
        key: names it, and decides between equal ones.
        gain: weighted, more than 0. seconds: that it takes; bytes: that it rewrites.
        waited: seconds since it could have been done.
    """

    key: str
    gain: float
    seconds: float
    bytes: int = 0
    waited: float = 0.0

    @property
    def worth(self) -> float:
        """Of its gain."""
        return float(self.gain**1.5)

    @property
    def rate(self) -> float:
        """Gain per second."""
        return self.gain / max(self.seconds, 1e-3)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be spent. None: there is no such limit."""

    seconds: float | None = None
    bytes: int | None = None

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return (self.seconds is not None and self.seconds <= 0) or (self.bytes is not None and self.bytes <= 0)

    def less(self, seconds: float, size: int) -> "Allowance":
        """What is left behind some work; never less than nothing."""
        return Allowance(
            None if self.seconds is None else max(0.0, self.seconds - seconds),
            None if self.bytes is None else max(0, self.bytes - size),
        )

    def part(self, share: float) -> "Allowance":
        """A share of it."""
        return Allowance(
            None if self.seconds is None else self.seconds * share,
            None if self.bytes is None else int(self.bytes * share),
        )

    def times(self, candidate: Candidate) -> float:
        """How many times as much an action takes."""
        in_time = 0.0 if self.seconds is None else candidate.seconds / self.seconds
        return max(in_time, 0.0 if self.bytes is None else candidate.bytes / self.bytes)

    def holds(self, candidate: Candidate) -> bool:
        """Whether an action fits."""
        in_time = self.seconds is None or candidate.seconds <= self.seconds
        return in_time and (self.bytes is None or candidate.bytes <= self.bytes)


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those of which a second is worth most, first."""
    return sorted(candidates, key=lambda one: (-one.worth / max(one.seconds, 1e-3), one.key))


def spend(candidates: Sequence[Candidate], allowed: Allowance, patience: float) -> list[Candidate]:
    """The actions that the budget is spent on, in their order.

    Where no action is overdue, and seconds alone are limited, they are worth at least half of the best choice.
    """
    if allowed.is_spent:
        return []
    overdue = sorted((one for one in candidates if one.waited >= patience), key=lambda one: (-one.waited, one.key))
    starved = next((one for one in overdue if one.waited >= (1 + allowed.times(one)) * patience), None)
    chosen: list[Candidate] = []
    left, reserved = allowed, allowed.part(_FOR_OVERDUE)
    for one in overdue if starved is None else [starved, *(one for one in overdue if one is not starved)]:
        if one is starved or (reserved.holds(one) and left.holds(one) and not left.is_spent):
            chosen.append(one)
            left, reserved = left.less(one.seconds, one.bytes), reserved.less(one.seconds, one.bytes)
    taken = {one.key for one in chosen}
    order = [one for one in ranked(candidates) if one.key not in taken]
    for one in order:
        if not left.is_spent and left.holds(one):
            chosen.append(one)
            left = left.less(one.seconds, one.bytes)
    if overdue:
        return chosen
    # Many small actions may have taken the room of one that brings more than all of them.
    most = max((one for one in order if allowed.holds(one)), key=lambda one: one.worth, default=None)
    return [most] if most is not None and most.worth > sum(one.worth for one in chosen) else chosen


def turns(
    candidates: Sequence[Candidate], now: Allowance, full: Allowance, *, patience: float, period: float
) -> Mapping[str, int]:
    """In which period each action has its turn, if no others come: 0 = now. Of those that come later, nothing.

    Args: `now`: what is left of this period; `full`: of each later one; `period`: how long one is, in seconds.
    """
    found: dict[str, int] = {}
    waiting = list(candidates)
    for number in range(_PERIODS):
        aged = [replace(one, waited=one.waited + number * period) for one in waiting]
        chosen = {one.key for one in spend(aged, full if number else now, patience)}
        found |= dict.fromkeys(chosen, number)
        waiting = [one for one in waiting if one.key not in chosen]
        if not waiting:
            break
    return found
