"""The LATEST and EARLIEST hints of a folder of numbered files.

Hints only save a listing, so nothing fails without one. A reader that finds none lists the folder. One that is
behind does no harm while the file after it exists; one that names a file which is gone misleads Java. So a hint that
cannot be written is deleted instead, which a full disk allows. Source: Java `HintFileUtils`.
"""

import logging
import time

from maintenance.fs.file_io import FileIO

EARLIEST = "EARLIEST"
LATEST = "LATEST"

_ATTEMPTS = 3
_LOG = logging.getLogger(__name__)


def read_hint(file_io: FileIO, folder: str, name: str) -> int | None:
    """The number in a hint file; None if it is missing, empty, torn, not a number or cannot be read.

    One that is missing is not waited for: many tables have none, and the listing instead takes less than waiting.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(0.001)
        try:
            return int(file_io.read_bytes(f"{folder}/{name}"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            pass
    return None


def write_hint(file_io: FileIO, folder: str, name: str, number: int, *, flushed: bool = True) -> bool:
    """Let a hint say a number, or delete it if that fails. False, and a warning in the log, if neither can be done.

    `flushed`: the hint survives a power cut, as it must where files are deleted next.
    """
    path = f"{folder}/{name}"
    try:
        file_io.overwrite(path, str(number).encode(), flushed=flushed)
    except Exception as error:  # noqa: BLE001 - stores have errors of their own, and none of them may matter here
        return _given_up(file_io, path, number, error)
    return True


def _given_up(file_io: FileIO, path: str, number: int, error: Exception) -> bool:
    try:
        file_io.delete_quietly([path])
    except Exception as further:  # noqa: BLE001 - as above
        _LOG.warning("hint %s cannot be set to %d (%s), nor deleted: %s", path, number, error, further)
        return False
    _LOG.warning("hint %s cannot be set to %d, so it is deleted and readers list the folder: %s", path, number, error)
    return True
