"""Values as people read them: what the templates call.

On hover, sizes show their bytes and times their exact moment.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from markupsafe import Markup

from maintenance.amounts import number_of, seconds_text, size_text, time_text

_HEADING = re.compile(r'<th scope="col"[^>]*>(.*?)</th>', re.DOTALL)
_CELL = re.compile(r"<(td|th)([ >])")
_EMPTY = re.compile(r">\s+</td>")
_TAG = re.compile(r"<[^>]+>")
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


def day(value: datetime) -> Markup:
    """``3 December 2026`` as a time of HTML."""
    at = value.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(f"{at:%Y-%m-%d}", f"{at.day} {at:%B %Y}")


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


def labelled(part: str) -> Markup:
    """A table whose cells name their columns, for screens too narrow for columns; anything else as it is.

    `part`: what a template has made, so its texts are escaped already.
    """
    head, _, body = part.partition("<tbody>")
    names = [_TAG.sub("", name) for name in _HEADING.findall(head)]
    rows = [_labelled_row(row, names) for row in body.split("<tr")]
    return Markup(f"{head}<tbody>{'<tr'.join(rows)}" if body else part)


def _labelled_row(row: str, names: Sequence[str]) -> str:
    left = iter(names)

    def cell(found: re.Match[str]) -> str:
        name = next(left, "")
        return f'<td data-label="{name}"{found[2]}' if name and found[1] == "td" else found[0]

    return _EMPTY.sub("></td>", _CELL.sub(cell, row))


FILTERS = {
    "labelled": labelled,
    "size": size,
    "count": count,
    "counted": number_of,
    "seconds": seconds,
    "moment": moment,
    "day": day,
    "millis": millis,
    "setting": setting,
}
