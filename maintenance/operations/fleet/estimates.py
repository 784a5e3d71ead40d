"""How long an action takes, learnt from the history: of this table, and of those like it. Pure: no storage, no clock.

An operation takes a fixed time and a time for each byte. Both are fitted to the runs of the table, and to those of
tables of its kind; the more runs the table has of its own, the more these count.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from maintenance.amounts import number_of
from maintenance.operations.history import SUCCEEDED

# What the history calls the same work.
_SAME: Mapping[str, str] = {"compact_database": "compact", "produce_changelog": "compact", "file_index": "file_index"}
# So many runs of other tables count as much as one run of its own counts for each further one.
_KIN = 3
_NEWEST = 20
_ASSUMED_SECONDS, _ASSUMED_RATE = 2.0, 50e6
Sample = tuple[float, float]
"""Bytes and seconds of a run."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How long something takes, and how that is known."""

    seconds: float
    basis: str


@dataclass(frozen=True, slots=True)
class Line:
    """`fixed` seconds, and `rate` seconds for each byte."""

    fixed: float
    rate: float

    def at(self, size: int) -> float:
        return self.fixed + self.rate * size


ASSUMED = Line(_ASSUMED_SECONDS, 1 / _ASSUMED_RATE)


def fitted(samples: Sequence[Sample]) -> Line:
    """The line through some samples that misses them least, neither part of it negative. Of none: what is assumed."""
    if not samples:
        return ASSUMED
    count = len(samples)
    mean_size = sum(size for size, _ in samples) / count
    mean_seconds = sum(seconds for _, seconds in samples) / count
    spread = sum((size - mean_size) ** 2 for size, _ in samples)
    slope = sum((size - mean_size) * (seconds - mean_seconds) for size, seconds in samples) / spread if spread else 0.0
    if spread == 0 and mean_size:
        # All are of one size: as much of it is fixed as is assumed of others.
        return Line(min(_ASSUMED_SECONDS, mean_seconds), max(0.0, mean_seconds - _ASSUMED_SECONDS) / mean_size)
    if slope <= 0:
        return Line(mean_seconds, 0.0)
    fixed = mean_seconds - slope * mean_size
    if fixed >= 0:
        return Line(fixed, slope)
    return Line(0.0, sum(size * seconds for size, seconds in samples) / sum(size * size for size, _ in samples))


@dataclass
class Experience:
    """What the history tells. `kinds`: of tables, those of one kind are alike."""

    kinds: Mapping[str, str]
    _own: dict[tuple[str, str], list[Sample]] = field(default_factory=lambda: defaultdict(list))
    _alike: dict[tuple[str, str], tuple[Line, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], kinds: Mapping[str, str]) -> "Experience":
        """`rows`: of the history, newest first; the newest of each table count."""
        made = cls(kinds)
        for row in rows:
            operation = _SAME.get(row["operation"], row["operation"])
            known = made._own[row["table_name"], operation]
            if row["outcome"] == SUCCEEDED and row["seconds"] and len(known) < _NEWEST:
                known.append((float(row["input_bytes"] or 0), float(row["seconds"])))
        return made

    def seconds(self, table: str, operation: str, size: int) -> Estimate:
        """How long an operation on so many bytes of a table takes."""
        own = self._own.get((table, operation), [])
        alike, others = self._like(table, operation)
        if not own and not others:
            return Estimate(ASSUMED.at(size), "assumed, nothing like it was run before")
        kin = alike.at(size)
        share = len(own) / (len(own) + _KIN) if others else 1.0
        seconds = share * fitted(own).at(size) + (1 - share) * kin if own else kin
        said = [f"{number_of(len(own), 'run')} of this table"] if own else []
        said += [f"{number_of(others, 'run')} of tables like it"] if others else []
        return Estimate(max(0.1, seconds), " and ".join(said))

    def _like(self, table: str, operation: str) -> tuple[Line, int]:
        """What runs of all tables of its kind say, or of all tables where there are none."""
        kind = self.kinds.get(table, "")
        key = (kind, operation)
        if key not in self._alike:
            of_operation = {name: found for (name, done), found in self._own.items() if done == operation}
            same = [found for name, found in of_operation.items() if self.kinds.get(name, "") == kind]
            samples = [one for found in same or of_operation.values() for one in found]
            self._alike[key] = fitted(samples), len(samples)
        return self._alike[key]
