"""Counts, sizes, times and durations in sentences."""

from datetime import UTC, datetime

_SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def number_of(count: int, noun: str, plural: str = "") -> str:
    """``1 file``, ``2,000 files``. `plural`: of a noun that takes more than an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def size_text(size: int) -> str:
    """Bytes in the largest unit that fits: ``1.4 GiB``."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_SIZES) - 1:
        value, unit = value / 1024, unit + 1
    return number_of(size, "byte") if unit == 0 else f"{value:,.1f} {_SIZES[unit]}"


def seconds_text(seconds: float) -> str:
    """``0.3 s``, ``12 s``, ``4 min 5 s``, ``3 h 20 min``, ``30 days``."""
    if round(seconds) < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def time_text(time: datetime) -> str:
    """A moment to the minute, in UTC: ``2026-01-31 04:05 UTC``. `time`: with a time zone."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def part_of(part: int, whole: int, noun: str, verbs: tuple[str, str]) -> str:
    """``1 of 8 tables needs``, ``3 of 8 tables need``. `verbs`: of one and of several."""
    return f"{part:,} of {number_of(whole, noun)} {verbs[part != 1]}"
