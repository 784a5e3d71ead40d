"""Destroy what has been in the bin for long enough: the only step that destroys what a deletion with a bin took.

A run goes as a whole. First it is marked, so that nobody restores half of it; then its files go, and its journals last:
a run whose destruction was interrupted is finished by the next one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from maintenance.amounts import number_of
from maintenance.errors import OptionError
from maintenance.fs.file_io import FileIO
from maintenance.operations.bin.run import CLOSED, EMPTYING, OUTSIDE, began, list_runs, outside_folders, run_folder
from maintenance.operations.operation import Operation, OperationReport, Plan, Run, Shown, Warehouse
from maintenance.operations.parameters import Param
from maintenance.operations.plan_store import PlannedGroup

WINDOW = timedelta(days=7)
# A run that was not closed may still be going on for so long.
_OPEN = timedelta(days=1)
_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class EmptyBinReport(OperationReport):
    """What was destroyed, or would be.

    Attributes:
        runs: names, oldest first.
        files, bytes: in these, with their journals.
        run_bytes: of each of the runs.
        remaining_runs, remaining_bytes: what stays.
        notes: runs that stay because they may still be going on.
    """

    runs: tuple[str, ...]
    files: int
    bytes: int
    remaining_runs: int
    remaining_bytes: int
    notes: tuple[str, ...] = ()
    run_bytes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """`paths`: in its folder; `outside`: whole ones, of the files below external paths."""

    name: str
    began: datetime
    paths: tuple[str, ...]
    outside: tuple[str, ...]
    bytes: int
    closed: bool
    emptying: bool


@dataclass(frozen=True, slots=True)
class EmptyBin:
    """What is destroyed."""

    window: Annotated[timedelta, Param("How long deleted files can be restored, such as 7 d.")] = WINDOW
    max_bytes: Annotated[int | None, Param("Maximum size of the bin; the oldest runs are deleted first.", least=0)] = (
        None
    )


def plan(run: Run, place: Warehouse, request: EmptyBin) -> Plan[EmptyBin, EmptyBinReport]:
    """The runs that are past their window, and the oldest until the rest fits."""
    window, max_bytes = request.window, request.max_bytes
    if window < timedelta(0) or (max_bytes or 0) < 0:
        problem = f"window {window} or max_bytes {max_bytes} is below 0"
        raise OptionError(problem, "empty_bin", "Set window and max_bytes to 0 or more.")
    file_io, moment = place.file_io, run.moment
    found = (_measured(file_io, place.path, name) for name in list_runs(file_io, place.path))
    runs = [each for each in found if each]
    open_runs = [each for each in runs if not (each.closed or each.emptying) and moment - each.began < _OPEN]
    going = _chosen([each for each in runs if each not in open_runs], runs, moment - window, max_bytes)
    size = sum(each.bytes for each in going)
    report = EmptyBinReport(
        runs=tuple(each.name for each in going),
        files=sum(len(each.paths) + len(each.outside) for each in going),
        bytes=size,
        remaining_runs=len(runs) - len(going),
        remaining_bytes=sum(each.bytes for each in runs) - size,
        notes=tuple(f"run {each.name} was not closed and may still be going on" for each in open_runs),
        run_bytes=tuple(each.bytes for each in going),
    )

    def groups() -> Iterator[PlannedGroup]:
        for each in going:
            yield PlannedGroup(f"run {each.name}", (each.name,), each.bytes, 0, f"began {each.began:%FT%TZ}")

    return Plan(request, report, groups, going)


def apply(run: Run, place: Warehouse, planned: Plan[EmptyBin, EmptyBinReport]) -> EmptyBinReport:
    """Destroy the planned runs."""
    for each in planned.work:
        count = len(each.paths) + len(each.outside)
        run.progress(f"{each.name}: {number_of(count, 'file')}, {each.bytes} bytes")
        _destroy(place.file_io, place.path, each)
    return planned.report


OPERATION = Operation(
    "empty_bin",
    "Delete files that have been in the bin for long enough.",
    EmptyBin,
    plan,
    apply,
    shown=lambda report: Shown.texts(("run",), [(name,) for name in report.runs]),
    of_warehouse=True,
    has_job=False,
)


def _measured(file_io: FileIO, warehouse: str, name: str) -> _Run | None:
    """A run with its files; None for a folder that is not one."""
    moment = began(name)
    if moment is None:
        return None
    files = file_io.list_tree(run_folder(warehouse, name))
    paths = tuple(status.path for status in files)
    folders = outside_folders(file_io, warehouse, name) if OUTSIDE in paths else []
    outside = [(f"{folder}/{status.path}", status.size) for folder in folders for status in file_io.list_tree(folder)]
    size = sum(status.size for status in files) + sum(size for _, size in outside)
    return _Run(name, moment, paths, tuple(path for path, _ in outside), size, CLOSED in paths, EMPTYING in paths)


def _chosen(closed: Sequence[_Run], runs: Sequence[_Run], before: datetime, max_bytes: int | None) -> list[_Run]:
    """Which runs go, oldest first: those that began before a moment or are half gone, and more to keep to a size."""
    going = [run for run in closed if run.began < before or run.emptying]
    size = sum(run.bytes for run in runs) - sum(run.bytes for run in going)
    for run in closed:
        if max_bytes is not None and size > max_bytes and run not in going:
            going.append(run)
            size -= run.bytes
    return sorted(going, key=lambda run: run.name)


def _destroy(file_io: FileIO, warehouse: str, run: _Run) -> None:
    folder = run_folder(warehouse, run.name)
    file_io.overwrite(f"{folder}/{EMPTYING}", b"{}")
    files = [*run.outside, *(f"{folder}/{path}" for path in run.paths if path.startswith("files/"))]
    for start in range(0, len(files), _CHUNK):
        file_io.delete_unordered(files[start : start + _CHUNK])
    for outside in outside_folders(file_io, warehouse, run.name) if OUTSIDE in run.paths else ():
        file_io.delete_folder(outside)
    file_io.flush_folders([folder])
    # The marker goes with the folder, after the journals.
    file_io.delete_quietly(f"{folder}/{path}" for path in run.paths if not path.startswith(("files/", EMPTYING)))
    file_io.delete_folder(folder)


empty_bin = OPERATION.function(
    """Delete runs of the bin that are older than the window, then the oldest ones until the rest fits.

    Args:
        progress: called with a line for each run.
    Raises: OptionError: a limit below 0.
    """,
    takes=("progress", "now"),
)
