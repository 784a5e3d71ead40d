"""What the bin of a warehouse holds of one table."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from maintenance.errors import CorruptFileError, NotFoundError
from maintenance.operations.bin.run import list_runs, outside_folders, read_run, run_folder
from maintenance.table.table import Table

_RUNS_READ = 1000
_THREADS = 8


@dataclass(frozen=True, slots=True)
class BytesInBin:
    """`runs`: that took files of the table and still have some; `files`, `bytes`: that are there."""

    runs: int = 0
    files: int = 0
    bytes: int = 0


def bytes_in_bin(table: Table, warehouse: str) -> BytesInBin | None:
    """What can be restored of a table, from all runs. None: the bin has too many runs to look through."""
    runs = list_runs(table.file_io, warehouse)
    if len(runs) > _RUNS_READ:
        return None
    with ThreadPoolExecutor(_THREADS) as pool:
        sizes = [of_run for of_run in pool.map(lambda run: list(_sizes(table, warehouse, run)), runs) if of_run]
    return BytesInBin(len(sizes), sum(map(len, sizes)), sum(map(sum, sizes)))


def _sizes(table: Table, warehouse: str, run: str) -> Iterator[int]:
    try:
        head, _ = read_run(table.file_io, warehouse, run)
        folders = [run_folder(warehouse, run), *outside_folders(table.file_io, warehouse, run)]
    except (NotFoundError, CorruptFileError):
        return  # it is being emptied, or is not a run at all
    if head.location.rstrip("/") == table.location.rstrip("/"):
        for folder in folders:
            yield from (status.size for status in table.file_io.list_tree(f"{folder}/files"))
