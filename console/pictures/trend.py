"""The size of a table over a week, as the history knows it."""

from collections.abc import Mapping, Sequence
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
        known.sort(key=lambda point: point[0])
        most = max(size for _, size in known) or 1
        points = [
            f"{(1 - (now - time) / _SPAN) * WIDTH:.1f},{1 + (1 - size / most) * (HEIGHT - 2):.1f}"
            for time, size in known
        ]
        return cls(" ".join(points), f"live data in 7 days: {size_text(known[0][1])} to {size_text(known[-1][1])}")
