"""What a rewrite leaves that was interrupted while its tasks wrote: files that nothing names and nobody knows of.

The names of all files of one rewrite begin alike, with its stamp, so that they can be told from those of other writers
and deleted. Spark kills the tasks of an interrupted job within seconds, not at once: the folders are looked through
until nothing more comes.
"""

import time
import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from maintenance.table.table import Table

# Of a UUID's 36 characters; the rest is every writer's own.
_STAMP_LENGTH = 18
_PAUSE_SECONDS = 1.0
_ROUNDS = 15
_QUIET_ROUNDS = 4

Place = tuple[bytes, int]


def new_stamp() -> str:
    """How the names of one rewrite's files begin, after their prefix."""
    return str(uuid.uuid4())[:_STAMP_LENGTH]


@contextmanager
def cleared_if_interrupted(table: Table, places: Collection[Place], stamp: str, *, tasks_end: bool) -> Iterator[None]:
    """Delete the files of a rewrite that does not come to its end. What its tasks report stays the caller's.

    Args: `places`: partitions and buckets that it writes to; `tasks_end`: whether its tasks have ended when it does.
    """
    try:
        yield
    except BaseException:
        quiet = 0
        for _ in range(1 if tasks_end else _ROUNDS):
            quiet = 0 if _clear(table, places, stamp) else quiet + 1
            if tasks_end or quiet == _QUIET_ROUNDS:
                break
            time.sleep(_PAUSE_SECONDS)
        raise


def _clear(table: Table, places: Collection[Place], stamp: str) -> int:
    """Returns how many files there were."""
    found = [
        f"{folder}/{name}"
        for folder in sorted({table.paths.bucket_folder(*place) for place in places})
        for name in table.file_io.list_names(folder)
        if stamp in name
    ]
    table.file_io.delete_quietly(found)
    return len(found)
