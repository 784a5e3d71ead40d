"""The time zone of this process: its name, and conversions to its local time."""

import os
import time
import zoneinfo
from datetime import datetime
from functools import cache
from pathlib import Path

_LOCAL = Path("/etc/localtime")


def local_zone() -> str:
    """Name of the time zone as the time zone database has it; by its offset where no name is to be found.

    Paimon takes the zone of the JVM that reads. Source: Java `TimeZone.getDefault`.
    """
    named = os.environ.get("TZ", "").removeprefix(":")
    return _zone_of(named) if named else _zone_at(os.readlink(_LOCAL) if _LOCAL.is_symlink() else "")


# Whoever opens a table asks for it, and following links takes long; another zone means another link.
@cache
def _zone_at(_: str) -> str:
    return _zone_of(str(_LOCAL.resolve()).rpartition("zoneinfo/")[2] if _LOCAL.exists() else "")


def _zone_of(name: str) -> str:
    try:
        return zoneinfo.ZoneInfo(name).key if name else _by_offset()
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return _by_offset()


def local_time(moment: datetime | None) -> datetime:
    """A moment, None = now, on the local clock and without a zone, as tags store it."""
    if moment is None or moment.tzinfo is None:
        return moment or datetime.now()
    return moment.astimezone().replace(tzinfo=None)


def _by_offset() -> str:
    hours = time.timezone // 3600
    return f"Etc/GMT{hours:+d}" if hours else "UTC"
