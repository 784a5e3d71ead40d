"""Delete the files of a rewrite that was interrupted while its tasks wrote: no snapshot names them.

The names of all files of one rewrite begin alike, with its stamp, so that they can be found among those of other
writers and deleted. A Spark of this process tells when the tasks of an interrupted job have ended; their Python workers
are killed a moment later. A Connect server does not tell, and kills the workers within about four seconds. So the
folders are looked through until nothing has come for longer than that.
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
# How many looks in a row must find nothing.
AFTER_TASKS, WHILE_TASKS_END = 2, 6

Place = tuple[bytes, int]


def new_stamp() -> str:
    """How the names of one rewrite's files begin, after their prefix."""
    return str(uuid.uuid4())[:_STAMP_LENGTH]


@contextmanager
def cleared_if_interrupted(table: Table, places: Collection[Place], stamp: str, *, quiet_looks: int) -> Iterator[None]:
    """Delete the files of a rewrite that did not finish. Files that its tasks reported belong to the caller.

    Args: `places`: partitions and buckets that it writes to; `quiet_looks`: how many in a row must find nothing; 0: its
        tasks have ended when it does, so one look is enough.
    """
    try:
        yield
    except BaseException:
        quiet = 0
        for _ in range(_ROUNDS):
            quiet = 0 if _clear(table, places, stamp) else quiet + 1
            if quiet >= quiet_looks:
                break
            time.sleep(_PAUSE_SECONDS)
        raise


def _clear(table: Table, places: Collection[Place], stamp: str) -> int:
    """Returns how many files there were."""
    file_io, paths = table.file_io, table.paths
    folders = sorted({folder for place in places for folder in paths.bucket_folders(*place)})
    if paths.external is None:
        leftovers = [f"{folder}/{name}" for folder in folders for name in file_io.list_names(folder) if stamp in name]
    else:
        files = ((folder, status) for folder in folders for status in file_io.list_tree(folder))
        leftovers = [f"{folder}/{status.path}" for folder, status in files if stamp in status.name]
    file_io.delete_quietly(leftovers)
    return len(leftovers)
