"""How the health of tables was: what each tick of the sensor `check_radar` saw, kept in Dagster's storage, bounded.

Of the last day a point is kept for each ten minutes, of the last week for each two hours, before that for each day, for
90 days. Through them go a line and, where it rises to the target, the date at which it is there.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg
import numpy as np

from maintenance.monitor.score import MEASURES, HealthRecord, Part

_PREFIX = "paimon/health/"
SCORE = "score"
_MINUTE = 60.0
# Points up to this age are this far apart.
_STEPS = (
    (timedelta(days=1), timedelta(minutes=10)),
    (timedelta(days=7), timedelta(hours=2)),
    (timedelta(days=90), timedelta(days=1)),
)
WEEK = timedelta(days=7)
_LEAST_POINTS, _LEAST_SPAN, _FARTHEST = 4, timedelta(hours=1), timedelta(days=365)


@dataclass(frozen=True, slots=True)
class Point:
    """What was seen at a moment. `values`: by name of the part, and the score."""

    at: datetime
    values: Mapping[str, float]

    @classmethod
    def of(cls, record: HealthRecord) -> "Point":
        return cls(record.at, {SCORE: record.score, **{part.name: part.value for part in record.parts}})


@dataclass(frozen=True, slots=True)
class HealthPast:
    """The points of a table, the oldest first."""

    points: tuple[Point, ...] = ()

    @classmethod
    def parse(cls, text: str | None) -> "HealthPast":
        """What `serialize` gave, maybe in another version of the project; nothing of what makes no sense."""
        try:
            stored = json.loads(text or "{}")
            names = stored.get("names", [])
            return cls(
                tuple(
                    Point(
                        datetime.fromtimestamp(minute * _MINUTE, UTC),
                        {name: value for name, value in zip(names, values, strict=True) if value is not None},
                    )
                    for minute, *values in stored.get("points", [])
                )
            )
        except (ValueError, TypeError, AttributeError):
            return cls()

    def serialize(self) -> str:
        """The points in little space."""
        names = [SCORE, *MEASURES]
        rows = [
            [round(point.at.timestamp() / _MINUTE), *(_short(point.values.get(name)) for name in names)]
            for point in self.points
        ]
        return json.dumps({"names": names, "points": rows}, separators=(",", ":"))

    def with_point(self, point: Point) -> "HealthPast":
        """With what was seen now, without what is too near to its neighbours or too old."""
        kept: list[Point] = []
        for one in sorted((*self.points, point), key=lambda each: each.at):
            slot = _slot(one.at, point.at)
            if slot is None:
                continue
            if kept and _slot(kept[-1].at, point.at) == slot:
                kept.pop()  # the newest of a slot counts
            kept.append(one)
        return HealthPast(tuple(kept))

    def series(self, name: str, now: datetime, span: timedelta = WEEK) -> list[tuple[datetime, float]]:
        """The values of a part, or of the score, within a span of time."""
        return [(p.at, p.values[name]) for p in self.points if name in p.values and now - span <= p.at <= now]

    def reaches(self, part: Part, now: datetime) -> datetime | None:
        """When a line through the values of a week is at the target. None: it does not rise, is there, or is far."""
        series = self.series(part.name, now)
        if part.value > part.target or len(series) < _LEAST_POINTS or series[-1][0] - series[0][0] < _LEAST_SPAN:
            return None
        hours = np.array([(at - now) / timedelta(hours=1) for at, _ in series])
        slope, level = np.polyfit(hours, np.array([value for _, value in series]), 1)
        if slope <= 0:
            return None
        after = max(0.0, (part.target - level) / slope)
        return now + timedelta(hours=after) if after <= _FARTHEST / timedelta(hours=1) else None


def _short(value: float | None) -> float | None:
    return None if value is None else int(value) if value == int(value) else round(value, 4)


def _slot(at: datetime, now: datetime) -> tuple[timedelta, int] | None:
    """Of the points in one slot one is kept. None: too old."""
    for age, step in _STEPS:
        if now - at <= age:
            return step, int(at.timestamp() // step.total_seconds())
    return None


def past_of(instance: dg.DagsterInstance, tables: Iterable[str]) -> dict[str, HealthPast]:
    """What is known of tables, by name."""
    names = list(tables)
    stored = instance.daemon_cursor_storage.get_cursor_values({_PREFIX + name for name in names}) if names else {}
    return {name: HealthPast.parse(stored.get(_PREFIX + name)) for name in names}


def remember(instance: dg.DagsterInstance, records: Mapping[str, HealthRecord]) -> None:
    """Keep what was seen of tables."""
    past = past_of(instance, records)
    found = {name: past[name].with_point(Point.of(record)) for name, record in records.items()}
    news = {_PREFIX + name: each.serialize() for name, each in found.items()}
    if news:
        instance.daemon_cursor_storage.set_cursor_values(news)
