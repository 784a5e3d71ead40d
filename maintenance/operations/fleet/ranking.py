"""Which actions a budget is spent on: pure rules, no storage and no clock.

Actions are ranked by gain per second. What waits for long gains rank, and after the *patience* of the budget it comes
before all that has not, the longest first. Whatever of this order still fits is taken. The action that has waited
longest of all, and for twice the patience, is taken even if it fits nowhere. So nothing starves: the turn of an action
that has waited for twice the patience, beside `m` actions that have waited as long or longer, comes at the latest in
the `m + 1`-th period of which some budget is left when it is planned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

_PERIODS = 60


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

    def holds(self, candidate: Candidate) -> bool:
        """Whether an action fits."""
        in_time = self.seconds is None or candidate.seconds <= self.seconds
        return in_time and (self.bytes is None or candidate.bytes <= self.bytes)


def ranked(candidates: Sequence[Candidate], patience: float) -> list[Candidate]:
    """The best first: what has waited for longer than `patience` seconds, then by gain per second, raised by age."""

    def rank(one: Candidate) -> tuple[bool, float, str]:
        if one.waited >= patience:
            return False, -one.waited, one.key
        return True, -one.rate * (1 + one.waited / patience), one.key

    return sorted(candidates, key=rank)


def spend(candidates: Sequence[Candidate], allowed: Allowance, patience: float) -> list[Candidate]:
    """The actions that the budget is spent on, in their order.

    Where no action is overdue, and seconds alone are limited, their gain is at least half of the best choice's.
    """
    if allowed.is_spent:
        return []
    order = ranked(candidates, patience)
    chosen: list[Candidate] = []
    left = allowed
    if order and order[0].waited >= 2 * patience and not left.holds(order[0]):
        chosen.append(order[0])
        left = left.less(order[0].seconds, order[0].bytes)
    for one in order[len(chosen) :]:
        if not left.is_spent and left.holds(one):
            chosen.append(one)
            left = left.less(one.seconds, one.bytes)
    if any(one.waited >= patience for one in chosen):
        return chosen
    # Many small actions may have taken the room of one that brings more than all of them.
    most = max((one for one in order if allowed.holds(one)), key=lambda one: one.gain, default=None)
    return [most] if most is not None and most.gain > sum(one.gain for one in chosen) else chosen


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
