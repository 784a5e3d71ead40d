"""Dates, times and timestamps as texts, read as Spark's casts read them with the session time zone UTC.

Unlike there, the 7th to 9th digit of a second count, since TIMESTAMP(9) columns have them. Zones by region name, years
outside 1 to 9999 and timestamps without a date are refused.
"""

import datetime as dt
import re
from collections.abc import Sequence

NANOS_PER_SECOND = 10**9
NANOS_PER_DAY = 86_400 * NANOS_PER_SECOND

_DAY = r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})%s)?)?"
_DATE = re.compile(_DAY % r"(?:[ T].*)?", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    _DAY % r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?\s*(Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?)?",
    re.ASCII,
)
_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII)
_EPOCH = dt.date(1970, 1, 1)


def days_of_text(text: str) -> int:
    """Days since 1970-01-01 of a text such as ``2024-02-29``; a time behind it is ignored, as in Spark.

    Raises: ValueError saying what it expected.
    """
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a date such as 2024-02-29")
    return _days(match, text)


def nanos_of_text(text: str) -> tuple[int, bool]:
    """Nanoseconds since 1970-01-01 of a text such as ``2024-02-29 12:30:00.5+02:00``, and whether it names a zone.

    With a zone: of the instant. Without: of the clock's reading, which is the instant in UTC.
    Raises: ValueError saying what it expected.
    """
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a timestamp such as 2024-02-29 12:30:00.5, with or without Z or +02:00")
    nanos = _nanos_of_day(match.group(4, 5, 6, 7), text)
    return _days(match, text) * NANOS_PER_DAY + nanos - _offset(match[8], text), match[8] is not None


def nanos_of_clock(text: str) -> int:
    """Nanoseconds of the day of a text such as ``12:30:00.5``. Raises: ValueError saying what it expected."""
    match = _CLOCK.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"'{text}' is not a time such as 12:30:00.5")
    return _nanos_of_day(match.groups(), text)


def _nanos_of_day(parts: Sequence[str | None], text: str) -> int:
    """`parts`: hour, minute, second and its fraction, each None where it is left out."""
    hour, minute, second = (int(part or 0) for part in parts[:3])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"'{text}' is not a time of day")
    return int((parts[3] or "").ljust(9, "0")) + (hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND


def text_of_clock(nanos: int) -> str:
    """``12:30:00.500000000`` of nanoseconds of the day."""
    seconds, fraction = divmod(nanos, NANOS_PER_SECOND)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:09d}"


def text_of_days(days: int) -> str:
    """``2024-02-29``. Raises: OverflowError outside the years 1 to 9999."""
    return (_EPOCH + dt.timedelta(days=days)).isoformat()


def text_of_nanos(nanos: int) -> str:
    """``2024-02-29 12:30:00.500000000``, in UTC. Raises: OverflowError outside the years 1 to 9999."""
    days, clock = divmod(nanos, NANOS_PER_DAY)
    return f"{text_of_days(days)} {text_of_clock(clock)}"


def nanos_of_datetime(moment: dt.datetime) -> int:
    """Nanoseconds since 1970-01-01 of a datetime: of its instant if it has a zone, else of its reading."""
    zone = dt.UTC if moment.tzinfo is not None else None
    past = moment - dt.datetime(1970, 1, 1, tzinfo=zone)
    return (past // dt.timedelta(microseconds=1)) * 1000


def _days(match: re.Match[str], text: str) -> int:
    try:
        day = dt.date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError as error:
        raise ValueError(f"'{text}': {error}") from None
    return (day - _EPOCH).days


def _offset(zone: str | None, text: str) -> int:
    if zone is None or zone in ("Z", "UTC", "GMT"):
        return 0
    digits = zone[1:].replace(":", "")
    hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
    if hours * 60 + minutes > 18 * 60 or minutes > 59:
        raise ValueError(f"'{text}': the zone {zone} is out of range")
    return (-1 if zone[0] == "-" else 1) * (hours * 60 + minutes) * 60 * NANOS_PER_SECOND
