"""Numbers as people read them: files, times."""

from datetime import UTC, datetime

from maintenance.amounts import number_of, size_text


def files_text(files: int, size: int) -> str:
    """``1.4 GiB in 12 files``."""
    return f"{size_text(size)} in {number_of(files, 'file')}"


def millis_text(millis: int) -> str:
    """A time in milliseconds since 1970 UTC, to the second."""
    return f"{datetime.fromtimestamp(millis / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
