"""Numbers as people read them: sizes, counts, times."""

from datetime import UTC, datetime

_SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def size_text(size: int) -> str:
    """Bytes in the largest unit that fits: ``1.4 GiB``."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_SIZES) - 1:
        value, unit = value / 1024, unit + 1
    return f"{size:,} bytes" if unit == 0 else f"{value:,.1f} {_SIZES[unit]}"


def files_text(files: int, size: int) -> str:
    """``1.4 GiB in 12 files``."""
    return f"{size_text(size)} in {files:,} {'file' if files == 1 else 'files'}"


def time_text(time: datetime) -> str:
    """To the minute, in UTC."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def millis_text(millis: int) -> str:
    """A time in milliseconds since 1970 UTC, to the second."""
    return f"{datetime.fromtimestamp(millis / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
