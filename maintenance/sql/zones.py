"""The time zone of a session: in it instants are written and shown, and become dates and local times.

It is what the setting of the dialect's engine says, else that of the Spark session, else that of the process, as in
these engines. Names are those of the time zone database, or distances from UTC such as ``+05:30``.
"""

import re
from collections.abc import Callable, Mapping
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from maintenance.errors import SqlError
from maintenance.predicate.moments import nanos_of_text, text_of_nanos
from maintenance.spark.zone import SESSION_ZONE
from maintenance.types.casts.zones import UTC, instants_of

SETTINGS: Mapping[str, str] = {"flink": "table.local-time-zone", "spark": SESSION_ZONE}
"""The settings of the zone, by the dialect."""

_UTC = ("Z", "UTC", "GMT", "UT", "Etc/UTC", "Etc/GMT", "Etc/UCT", "Etc/Zulu", "Zulu", "Universal", "Etc/Universal")
_DISTANCE = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
_FURTHEST = 18


def named_zone(text: str, setting: str) -> str:
    """The name of a zone as all engines have it. Raises: SqlError: there is none of this name."""
    name = text.strip()
    if name in _UTC:
        return UTC
    distance = _DISTANCE.fullmatch(name)
    if distance is not None and int(distance[2]) <= _FURTHEST and int(distance[3] or 0) < 60:
        hours, minutes = int(distance[2]), int(distance[3] or 0)
        return f"{distance[1]}{hours:02d}:{minutes:02d}" if hours or minutes else UTC
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SqlError(
            f"'{text}' is not a time zone", f"setting '{setting}'", "Write a name such as 'Asia/Shanghai', or '+08:00'."
        ) from None


def has_changes(zone: str) -> bool:
    """Whether the clock of a zone is ever set back or forward."""
    return zone != UTC and zone[0] not in "+-"


def duck_zone(zone: str) -> str:
    """The same name for DuckDB."""
    return f"GMT{zone}" if zone[0] in "+-" else zone


def instant_of_text(text: str, zone: str) -> int:
    """Nanoseconds since 1970-01-01 UTC of a text, which is of the zone if it names none. Raises: ValueError."""
    nanos, is_zoned = nanos_of_text(text)
    if is_zoned:
        return nanos
    micros, rest = divmod(nanos, 1000)
    instant = instants_of(pa.array([micros], pa.timestamp("us")), zone)[0]
    return int(instant.value) * 1000 + rest


def in_utc(text: str, zone: str) -> str:
    """A text of the same instant in UTC, which it names. Raises: ValueError; OverflowError: outside years 1 to 9999."""
    return text_of_nanos(instant_of_text(text, zone)) + "Z"


def shown_in(rows: pa.Table, zone: Callable[[], str]) -> pa.Table:
    """Rows whose columns of instants show the zone, which is asked for where there are some."""
    for number, part in enumerate(rows.schema):
        if pa.types.is_timestamp(part.type) and part.type.tz is not None:
            kind = pa.timestamp(part.type.unit, zone())
            rows = rows.set_column(number, part.with_type(kind), rows.column(number).cast(kind))
    return rows
