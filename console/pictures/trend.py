"""A value over a week as a small line: the size of a table, its health, and the parts of that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self

from maintenance.amounts import size_text

WIDTH, HEIGHT = 100.0, 22.0
_SPAN = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Trend:
    """A line. `points`: as SVG wants them."""

    points: str
    text: str

    @classmethod
    def of(cls, past: Sequence[Mapping[str, Any]], now: datetime) -> Self | None:
        """The line through what the runs of a week left. `past`: rows of the history.

        None: fewer than two runs are known.
        """
        known = [
            (row["finished_at"], row["bytes_after"])
            for row in past
            if row["bytes_after"] is not None and now - _SPAN <= row["finished_at"] <= now
        ]
        if len(known) < 2:
            return None
        return cls.through(known, now, size_text, "live data")

    @classmethod
    def through(
        cls,
        known: Sequence[tuple[datetime, Any]],
        now: datetime,
        shown: Callable[[Any], str],
        what: str,
        *,
        full: float | None = None,
    ) -> Self | None:
        """The line through values of a week. None: fewer than two are known.

        Args: `shown`: a value for people; `what`: it is of; `full`: the value at the top, None = the largest one.
        """
        if len(known) < 2:
            return None
        ordered = sorted(known, key=lambda point: point[0])
        most = full or max(value for _, value in ordered) or 1
        points = [
            f"{(1 - (now - time) / _SPAN) * WIDTH:.1f},{1 + (1 - value / most) * (HEIGHT - 2):.1f}"
            for time, value in ordered
        ]
        return cls(" ".join(points), f"{what} in 7 days: {shown(ordered[0][1])} to {shown(ordered[-1][1])}")
