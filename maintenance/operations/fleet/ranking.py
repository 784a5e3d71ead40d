"""Which actions a budget is spent on: pure rules, no storage and no clock.

Actions are ranked by what a second of them is worth. A gain is worth itself times its square root: a small one can
wait, since it grows, and the fixed part of its time is then paid once for all of it.

An action is begun if it fits into what is left. One that takes more than half of a whole budget is begun while half of
it fits, and what it takes beyond the budget is taken off the following periods: over some periods a budget is kept to.
If it had to fit, what brings most, and takes about a whole period, would wait beside many actions that bring less.

What has waited for longer than the *patience* of the budget is overdue. The longest first, overdue actions take a
twentieth of what is left; whatever else fits is taken by its rank. The one that has waited longest, where it takes more
than a twentieth, comes first whatever it costs: in every period, where all that is overdue takes no more than ten
budgets, else in every period whose number is a multiple of the twentieths that it takes. So about a twentieth of the
time goes to what has waited longest, however much of that there is, and nothing starves: an overdue action has its turn
at the latest after as many periods as it and those that have waited as long or longer take twentieths together, of
periods of which anything is left when they are planned.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

_PERIODS = 60
_FOR_OVERDUE = 0.05
# Of a large action, which takes more than this part of a whole budget, what is left holds this part, at least.
_LARGE, _FITS = 0.5, 0.5
# Budgets that all overdue actions may take together for the first of them to have its turn at once.
_FEW_OVERDUE = 10.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """An action to rank.

    Attributes:
        key: names it, and decides between equal ones.
        gain: weighted. seconds: that it takes; bytes: that it rewrites.
        waited: seconds since it could have been done.
        is_urgent: whether it comes before all that are not.
    """

    key: str
    gain: float
    seconds: float
    bytes: int = 0
    waited: float = 0.0
    is_urgent: bool = False

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

    def begins(self, candidate: Candidate, full: "Allowance") -> bool:
        """Whether so much of an action fits that it is begun. `full`: what may be spent in a whole period."""
        is_large = full.times(candidate) > _LARGE
        return not self.is_spent and (self.holds(candidate) or (is_large and _FITS * self.times(candidate) <= 1))

    def holds(self, candidate: Candidate) -> bool:
        """Whether an action fits."""
        in_time = self.seconds is None or candidate.seconds <= self.seconds
        return in_time and (self.bytes is None or candidate.bytes <= self.bytes)


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of work, and bytes that were rewritten."""

    seconds: float = 0.0
    bytes: int = 0

    @classmethod
    def of(cls, work: Sequence[Candidate]) -> "Spent":
        return cls(sum(one.seconds for one in work), sum(one.bytes for one in work))

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.seconds + other.seconds, self.bytes + other.bytes)

    def beyond(self, allowed: Allowance) -> "Spent":
        """What is more than may be spent."""
        return Spent(
            0.0 if allowed.seconds is None else max(0.0, self.seconds - allowed.seconds),
            0 if allowed.bytes is None else max(0, self.bytes - allowed.bytes),
        )


def owed(periods: Iterable[tuple[Spent, Spent]], full: Allowance) -> Spent:
    """What is taken off a period, since the plans of those before it went beyond the budget.

    `periods`: of each, the oldest first, what plans have spent, and what others have, which leaves less to plans. What
    others take beyond a budget is not owed.
    """
    found = Spent()
    for planned, others in periods:
        found = (found + planned).beyond(full.less(others.seconds, others.bytes))
    return found


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Urgent ones first, and those of which a second is worth most."""
    return sorted(candidates, key=lambda one: (not one.is_urgent, -one.worth / max(one.seconds, 1e-3), one.key))


def twentieths(times: float) -> int:
    """How many twentieths an action takes that takes so many times a budget. Of a budget that is none: one."""
    return max(1, math.ceil(times / _FOR_OVERDUE)) if math.isfinite(times) else 1


def spend(
    candidates: Sequence[Candidate],
    allowed: Allowance,
    patience: float,
    full: Allowance | None = None,
    number: int = 0,
) -> list[Candidate]:
    """The actions that `allowed` is spent on, in their order.

    `full`: of a whole period; None: the same. `number`: of the period, which decides what has its turn now.

    Where no action is overdue or urgent, and seconds alone are limited, they are worth at least half of the best choice
    that keeps within them.
    """
    if allowed.is_spent:
        return []
    whole = allowed if full is None else full
    overdue = sorted((one for one in candidates if one.waited >= patience), key=lambda one: (-one.waited, one.key))
    chosen: list[Candidate] = []
    left, reserved = allowed, allowed.part(_FOR_OVERDUE)
    are_few = sum(whole.times(one) for one in overdue) <= _FEW_OVERDUE
    for place, one in enumerate(overdue):
        has_its_turn = place == 0 and (are_few or number % twentieths(whole.times(one)) == 0)
        if has_its_turn or (reserved.holds(one) and not left.is_spent):
            chosen.append(one)
            left, reserved = left.less(one.seconds, one.bytes), reserved.less(one.seconds, one.bytes)
    taken = {one.key for one in chosen}
    for one in ranked(one for one in candidates if one.key not in taken):
        if left.begins(one, whole):
            chosen.append(one)
            left = left.less(one.seconds, one.bytes)
    return chosen


def turns(
    candidates: Sequence[Candidate], now: Allowance, full: Allowance, *, patience: float, period: float, first: int = 0
) -> Mapping[str, int]:
    """In which period each action has its turn, if no others come: 0 = now. Of those that come later, nothing.

    Args: `now`: what is left of this period; `full`: of each later one; `period`: how long one is, in seconds;
        `first`: the number of this period.
    """
    found: dict[str, int] = {}
    waiting, allowed, owed = list(candidates), now, Spent()
    for number in range(_PERIODS):
        aged = [replace(one, waited=one.waited + number * period) for one in waiting] if number else waiting
        work = spend(aged, allowed, patience, full, first + number)
        owed = (owed + Spent.of(work)).beyond(full if number else now)
        allowed = full.less(owed.seconds, owed.bytes)
        chosen = {one.key for one in work}
        found |= dict.fromkeys(chosen, number)
        waiting = [one for one in waiting if one.key not in chosen]
        if not waiting:
            break
    return found
