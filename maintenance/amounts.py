"""Counts and sizes in sentences."""

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
