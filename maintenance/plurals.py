"""Counts in sentences."""


def number_of(count: int, noun: str, plural: str = "") -> str:
    """``1 file``, ``2,000 files``. `plural`: of a noun that takes more than an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
