"""What the bin of a warehouse holds of one table."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from maintenance.errors import CorruptFileError, NotFoundError
from maintenance.fs.file_io import FileIO
from maintenance.operations.bin.empty_bin import EmptyBin
from maintenance.operations.bin.empty_bin import plan as plan_emptying
from maintenance.operations.bin.run import RunHead, list_runs, outside_folders, read_run, run_folder
from maintenance.operations.operation import Run, Warehouse
from maintenance.table.table import Table
from maintenance.threads import map_in_threads

_RUNS_READ = 1000
_THREADS = 8


@dataclass(frozen=True, slots=True)
class BytesInBin:
    """`runs`: that took files of the table and still have some; `files`, `bytes`: that are there."""

    runs: int = 0
    files: int = 0
    bytes: int = 0

    def __add__(self, other: "BytesInBin") -> "BytesInBin":
        return BytesInBin(self.runs + other.runs, self.files + other.files, self.bytes + other.bytes)


def bytes_in_bin(table: Table, warehouse: str) -> BytesInBin | None:
    """What can be restored of a table, from all runs. None: the bin has too many runs to look through."""
    location = table.location.rstrip("/")
    found = _by_table(table.file_io, warehouse, lambda head: head.location.rstrip("/") == location)
    # It may have had another name.
    return None if found is None else sum(found.values(), BytesInBin())


def bytes_by_table(file_io: FileIO, warehouse: str) -> dict[str, BytesInBin] | None:
    """As `bytes_in_bin`, of every table, by the name that the runs say."""
    return _by_table(file_io, warehouse, lambda _: True)


def due_in_bin(table: Table, warehouse: str, request: EmptyBin, now: datetime) -> BytesInBin | None:
    """What the next emptying of the bin frees of a table. None: as of `bytes_in_bin`."""
    location = table.location.rstrip("/")
    due = _due(table.file_io, warehouse, request, now)
    own = (part for head, part in due or () if head.location.rstrip("/") == location)
    return None if due is None else sum(own, BytesInBin())


def due_by_name(file_io: FileIO, warehouse: str, request: EmptyBin, now: datetime) -> dict[str, BytesInBin] | None:
    """As `due_in_bin`, of every table, by the name that the runs say."""
    due = _due(file_io, warehouse, request, now)
    found: dict[str, BytesInBin] = {}
    for head, part in due or ():
        found[head.table] = found.get(head.table, BytesInBin()) + part
    return None if due is None else found


def _due(file_io: FileIO, warehouse: str, request: EmptyBin, now: datetime) -> list[tuple[RunHead, BytesInBin]] | None:
    """The runs that go next; without those of which so much is gone that nobody knows whose they were."""
    if len(list_runs(file_io, warehouse)) > _RUNS_READ:
        return None
    found = []
    for run in plan_emptying(Run(now=now), Warehouse(file_io, warehouse), request).work:
        with suppress(NotFoundError, CorruptFileError):
            head, _ = read_run(file_io, warehouse, run.name)
            found.append((head, BytesInBin(1, len(run.paths) + len(run.outside), run.bytes)))
    return found


def _by_table(file_io: FileIO, warehouse: str, is_asked: Callable[[RunHead], bool]) -> dict[str, BytesInBin] | None:
    runs = list_runs(file_io, warehouse)
    if len(runs) > _RUNS_READ:
        return None
    found: dict[str, BytesInBin] = {}
    for table, sizes in map_in_threads(lambda run: _sizes(file_io, warehouse, run, is_asked), runs, _THREADS):
        if sizes:
            found[table] = found.get(table, BytesInBin()) + BytesInBin(1, len(sizes), sum(sizes))
    return found


def _sizes(file_io: FileIO, warehouse: str, run: str, is_asked: Callable[[RunHead], bool]) -> tuple[str, Sequence[int]]:
    """The table of a run, and the sizes of its files; none where nobody asks for it."""
    try:
        head, _ = read_run(file_io, warehouse, run)
        folders = [run_folder(warehouse, run), *outside_folders(file_io, warehouse, run)]
    except (NotFoundError, CorruptFileError):
        return "", ()  # it is being emptied, or is not a run at all
    if not is_asked(head):
        return head.table, ()
    return head.table, [status.size for folder in folders for status in file_io.list_tree(f"{folder}/files")]
