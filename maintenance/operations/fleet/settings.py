"""What the work on all tables may take, what its gains are worth, and what it costs: settings of a warehouse."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from maintenance.operations.expiry.rules import RetentionChoice
from maintenance.operations.fleet.ranking import Allowance
from maintenance.options.option import duration, memory_size

GIB = 1 << 30
_PERIODS: Mapping[str, timedelta] = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}
PERIODS = tuple(_PERIODS)
_WINDOW = re.compile(r"(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Gain:
    """What an action brings. `files`: that readers open no more; `bytes`: freed; `runs`: sorted runs less to merge."""

    files: int = 0
    bytes: int = 0
    runs: int = 0

    def __add__(self, other: "Gain") -> "Gain":
        return Gain(self.files + other.files, self.bytes + other.bytes, self.runs + other.runs)


@dataclass(frozen=True, slots=True)
class Weights:
    """What a gain is worth: of one file, of one GiB, and of one sorted run."""

    files: float = 1.0
    bytes: float = 8.0
    runs: float = 1.0

    def __post_init__(self) -> None:
        values = [getattr(self, each.name) for each in fields(self)]
        if not all(isinstance(value, int | float) and value >= 0 for value in values) or not any(values):
            raise ValueError("weights are numbers from 0 on, and one of them is more than 0")

    def of(self, gain: Gain) -> float:
        """A gain as one number."""
        return self.files * gain.files + self.bytes * gain.bytes / GIB + self.runs * gain.runs


@dataclass(frozen=True, slots=True)
class Budget:
    """What work may take in a period.

    Attributes:
        seconds: of work; `bytes`: that are rewritten; None = no limit.
        per: hour, day or week, as calendars have them in the time zone; a week begins on Monday.
        windows: hours in which work may begin, ``22:00-06:00``; none = any.
        patience: what has waited for so long is overdue, and a part of each period is for it.
    """

    seconds: float | None = None
    bytes: int | None = None
    per: str = "day"
    windows: Sequence[str] = ()
    patience: timedelta = timedelta(days=14)
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        for name in ("seconds", "bytes"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name} of a budget are more than 0")
        if self.per not in PERIODS:
            raise ValueError(f"a budget is per {', '.join(PERIODS)}, and not per {self.per}")
        if self.patience <= timedelta(0):
            raise ValueError("the patience of a budget is more than 0 s")
        for window in self.windows:
            _hours(window)
        try:
            ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError(f"'{self.time_zone}' is not a time zone") from None

    @property
    def allowance(self) -> Allowance:
        """Of a whole period."""
        return Allowance(self.seconds, self.bytes)

    @property
    def length(self) -> timedelta:
        return _PERIODS[self.per]

    def number(self, now: datetime) -> int:
        """Of the period of a moment, counted from 1970."""
        return round(self.begins(now).timestamp() / self.length.total_seconds())

    def begins(self, now: datetime, later: int = 0) -> datetime:
        """When the period of a moment begins, or one that is some periods later, in UTC."""
        zone = ZoneInfo(self.time_zone)
        local = now.astimezone(zone).replace(minute=0, second=0, microsecond=0, tzinfo=None)
        if self.per == "hour":
            return now.replace(minute=0, second=0, microsecond=0).astimezone(UTC) + later * self.length
        day = local.replace(hour=0) - (timedelta(days=local.weekday()) if self.per == "week" else timedelta(0))
        return (day + later * self.length).replace(tzinfo=zone).astimezone(UTC)

    def opens(self, moment: datetime) -> datetime:
        """When work may begin, at that moment or after it."""
        if not self.windows:
            return moment
        zone = ZoneInfo(self.time_zone)
        local = moment.astimezone(zone)
        starts = []
        for begin, end in map(_hours, self.windows):
            clock = local.time()
            inside = begin <= clock < end if begin < end else clock >= begin or clock < end
            if inside or begin == end:
                return moment
            day = local.date() if clock < begin else local.date() + timedelta(days=1)
            starts.append(datetime.combine(day, begin, zone).astimezone(UTC))
        return min(starts)


def _hours(window: str) -> tuple[time, time]:
    """Raises: ValueError: it is not one."""
    match = _WINDOW.fullmatch(window.strip())
    try:
        if match is None:
            raise ValueError
        return time(int(match[1]), int(match[2])), time(int(match[3]) % 24, int(match[4]))
    except ValueError:
        raise ValueError(f"'{window}' is not a window: write it as 22:00-06:00") from None


@dataclass(frozen=True, slots=True)
class Prices:
    """Of 1 GiB that is stored for a month, of a million requests to the store, and of an hour of work on one core."""

    gb_month: float = 0.0
    million_requests: float = 0.0
    core_hour: float = 0.0
    currency: str = "USD"

    def __post_init__(self) -> None:
        if min(self.gb_month, self.million_requests, self.core_hour) < 0:
            raise ValueError("prices are numbers from 0 on")

    def of_work(self, core_seconds: float, requests: int) -> float:
        return self.core_hour * core_seconds / 3600 + self.million_requests * requests / 1e6

    def of_month(self, size: int) -> float:
        """Of bytes that are stored for a month."""
        return self.gb_month * size / GIB


def by_options(_: str) -> RetentionChoice:
    """The retention of every table is as its own options say."""
    return RetentionChoice()


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """All of it. `retention`: what replaces a table's own options when its snapshots expire, by the table's name."""

    budget: Budget = Budget()
    weights: Weights = Weights()
    prices: Prices | None = None
    retention: Callable[[str], RetentionChoice] = by_options


def budget_of(given: Mapping[str, Any], time_zone: str = "UTC") -> Budget:
    """A budget as it is written: bytes and patience may be texts with units. Raises: ValueError: what is wrong."""
    _only(given, Budget, "budget")
    values = dict(given)
    if isinstance(values.get("bytes"), str):
        values["bytes"] = memory_size(values["bytes"])
    if isinstance(values.get("patience"), str):
        values["patience"] = duration(values["patience"])
    if isinstance(values.get("windows"), str):
        values["windows"] = (values["windows"],)
    return Budget(**{"time_zone": time_zone, **values, "windows": tuple(values.get("windows") or ())})


def weights_of(given: Mapping[str, Any]) -> Weights:
    """Weights as they are written. Raises: ValueError: what is wrong."""
    _only(given, Weights, "weight")
    return Weights(**given)


def prices_of(given: Mapping[str, Any]) -> Prices:
    """Prices as they are written. Raises: ValueError: what is wrong."""
    _only(given, Prices, "price")
    return Prices(**given)


def _only(given: Mapping[str, Any], kind: Any, what: str) -> None:
    known = [each.name for each in fields(kind)]
    other = next((name for name in given if name not in known), None)
    if other is not None:
        raise ValueError(f"'{other}' is not a {what}: there are {', '.join(known)}")
