"""Values as people read them: what the templates call.

On hover, sizes show their bytes and times their exact moment.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from markupsafe import Markup

from maintenance.amounts import number_of, size_text
from paimon_maintenance.assets.pages.durations import seconds_text
from paimon_maintenance.assets.units import time_text

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


def size(value: int | None) -> Markup:
    """``1.4 GiB``, with the bytes as a title; empty where it is not known."""
    if value is None:
        return Markup("")
    return Markup('<span class="size" title="{} bytes">{}</span>').format(f"{value:,}", size_text(value))


def count(value: int | None) -> str:
    """``12,345``; empty where it is not known."""
    return "" if value is None else f"{value:,}"


def seconds(value: float | None) -> str:
    """``4 min 5 s``; empty where it is not known."""
    return "" if value is None else seconds_text(value)


def moment(value: datetime | None) -> Markup:
    """``2026-01-31 04:05 UTC`` as a time of HTML; empty where it is not known."""
    if value is None:
        return Markup("")
    exact = value.astimezone(UTC).isoformat(timespec="seconds")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(exact, exact, time_text(value))


def millis(value: int) -> datetime:
    """The moment of milliseconds since 1970."""
    return datetime.fromtimestamp(value / 1000, UTC)


def ago(value: datetime, now: datetime) -> str:
    """``12 s ago``, ``5 min ago``, ``3 h ago``, ``4 days ago``."""
    age = now - value
    if age < timedelta(minutes=1):
        return f"{max(0, int(age.total_seconds()))} s ago"
    if age < 2 * _HOUR:
        return f"{age // timedelta(minutes=1)} min ago"
    return f"{age // _HOUR} h ago" if age < 2 * _DAY else f"{age // _DAY} days ago"


def setting(value: Any) -> str:
    """A value of tables.yaml as it is written there."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ", ".join(setting(part) for part in value) or "[]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


FILTERS = {
    "size": size,
    "count": count,
    "counted": number_of,
    "seconds": seconds,
    "moment": moment,
    "millis": millis,
    "setting": setting,
}
