"""Local wall clock and instants, in whole columns. Zones are names of the time zone database, ``Europe/Berlin``.

A wall clock time that a change of the clock skips is moved on by the length of the gap, one that comes twice is the
earlier one, as in Java's `LocalDateTime.atZone`.

Arrow knows the changes of clocks up to 2037 alone. A later moment is looked up at the same weekday and day of a year
before, for the rules that go on from there repeat with the calendar.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maintenance.types.casts.arrays import array_of, values_of
from maintenance.types.casts.civil import civil_of_days, days_of_civil

UTC = "UTC"

_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_LAST_KNOWN_DAY = 24_837  # 2038-01-01
_YEARS = np.array([year for year in range(2025, 2037) if year % 4])


def wall_clock(instants: pa.Array, zone: str) -> pa.Array:
    """Timestamps with a zone as the local wall clock shows them: timestamps without one."""
    near, moved = _before_2038(instants)
    shown = pc.local_timestamp(near.cast(pa.timestamp(instants.type.unit, zone)))
    return _moved(shown, moved)


def instants_of(wall: pa.Array, zone: str) -> pa.Array:
    """The instants (timestamps in UTC) at which the local wall clock shows the timestamps."""
    in_utc = pa.timestamp(wall.type.unit, UTC)
    if zone == UTC:
        return wall.cast(in_utc)
    near, moved = _before_2038(wall)
    instants = pc.assume_timezone(near, zone, ambiguous="earliest", nonexistent="earliest")
    shown = pc.local_timestamp(instants)
    # For a skipped time `found` is the last moment before the gap: its offset is the one Java goes on with.
    offset = pc.subtract(shown.cast(pa.int64()), instants.cast(pa.int64()))
    return _moved(pc.subtract(near.cast(pa.int64()), offset).cast(in_utc), moved)


def _before_2038(moments: pa.Array) -> tuple[pa.Array, np.ndarray | None]:
    """Moments, late ones moved back, and by how much: int64, shape (n,); None if there are no late ones."""
    values, per_day = values_of(moments), _PER_DAY[moments.type.unit]
    days = values // per_day
    late = days >= _LAST_KNOWN_DAY
    if not late.any():
        return moments, None
    year, month, day = civil_of_days(days)
    # In a year that begins on the same weekday, or whose March does, rules such as "the second Sunday" fall together.
    spring = month > 2
    anchor = np.where(spring, 3, 1)
    weekday = days_of_civil(year, anchor, np.ones_like(year)) % 7
    alike = _YEARS_BY_WEEKDAY[anchor, weekday]
    moved = np.where(late, days - (days_of_civil(alike, month, np.ones_like(day)) + day - 1), 0) * per_day
    return array_of(values - moved, pa.int64(), moments).cast(moments.type), moved


def _moved(moments: pa.Array, moved: np.ndarray | None) -> pa.Array:
    if moved is None:
        return moments
    return array_of(values_of(moments) + moved, pa.int64(), moments).cast(moments.type)


def _years_by_weekday() -> np.ndarray:
    """Shape (4, 7): for a first month (1 or 3) and its first day's weekday a year in which they meet."""
    years = np.zeros((4, 7), np.int64)
    for month in (1, 3):
        first = days_of_civil(_YEARS, np.full_like(_YEARS, month), np.ones_like(_YEARS))
        years[month, first % 7] = _YEARS
    return years


_YEARS_BY_WEEKDAY = _years_by_weekday()
