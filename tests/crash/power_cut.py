"""`python -m tests.crash.power_cut <scenario> <folder>`: what is left after a power cut at each step of an operation.

A disk keeps what was flushed. Of the rest two extremes are tried: *names only*, where every new name, renaming and
deletion has reached the disk and contents only where they were flushed; and *flushed only*, where a folder is as it was
when it was last flushed. In both the table must read as before or as after, and once the operation has returned, as
after. Files that an expiry deleted may be back; then running again deletes them. Prints at how many steps that was
looked at.

What is flushed is seen where Python asks for it (`os.fsync`). Everything that was flushed is held open, so that its
number on the disk stays its own.
"""

import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maintenance.fs.file_io import FileIO
from tests.crash.scenarios import SCENARIOS, Reading, Scenario
from tests.flushing import number_of
from tests.small_tables import table_in

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_CHANGES = {"os.link": 1, "os.remove": 0, "os.rename": 1, "os.mkdir": 0, "os.rmdir": 0}

_EXPIRING = ("expire_snapshots", "expire_tags", "expire_both", "replace_tag")

Listing = dict[str, int]


class Disk:
    """What was flushed of a folder: contents and listings by the numbers of files and folders on the disk.

    `before_change`: called before each change while `watching`.
    """

    def __init__(self, folder: Path, before_change: Callable[[], None]) -> None:
        self.folder = folder
        self.contents: dict[int, bytes] = {}
        self.listings: dict[int, Listing] = {}
        self.watching = False
        self._lock = threading.RLock()
        self._busy = False
        self._before_change = before_change
        for path in (folder, *folder.rglob("*")):
            self._keep(str(path))

    def _keep(self, path: str) -> None:
        """Note what a file or folder holds now."""
        status = os.stat(path)
        os.open(path, os.O_RDONLY)  # and held open
        if stat.S_ISDIR(status.st_mode):
            self.listings[status.st_ino] = listing(path)
        else:
            self.contents[status.st_ino] = Path(path).read_bytes()

    def flushed(self, descriptor: int) -> None:
        path = os.readlink(f"/proc/self/fd/{descriptor}")
        self._act(path, lambda: self._keep(path))

    def heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str) and (arguments[2] or 0) & _WRITING:
            self.change(arguments[0])
        elif event in _CHANGES:
            self.change(os.fspath(arguments[_CHANGES[event]]))

    def change(self, path: str) -> None:
        self._act(path, self._before_change)

    def _act(self, path: str, act: Callable[[], None]) -> None:
        with self._lock:
            if not self.watching or self._busy or not path.startswith(str(self.folder)):
                return
            self._busy = True
            try:
                act()
            finally:
                self._busy = False

    def after_power_cut(self, target: Path, *, names_only: bool) -> None:
        """Make a folder as the disk would have it."""
        root = os.stat(self.folder).st_ino
        self._restore(root, str(self.folder), target, names_only=names_only)

    def _restore(self, number: int, path: str, target: Path, *, names_only: bool) -> None:
        actual = listing(path) if names_only else self.listings.get(number, {})
        target.mkdir()
        for name, child in actual.items():
            there = f"{path}/{name}"
            if child in self.listings or (names_only and os.path.isdir(there)):
                self._restore(child, there, target / name, names_only=names_only)
            else:
                (target / name).write_bytes(self.contents.get(child, b""))


def listing(path: str) -> Listing:
    with os.scandir(path) as entries:
        return {entry.name: entry.inode() for entry in entries}


def watch(disk: Disk) -> None:
    """From now on the disk hears of each change, and of what is flushed."""
    opened, fsync = FileIO.open_output, os.fsync

    def open_output(file_io: FileIO, path: str) -> pa.NativeFile:
        disk.change(path)
        return opened(file_io, path)

    def flush(fd: "FileDescriptorLike") -> None:
        fsync(fd)
        disk.flushed(number_of(fd))

    FileIO.open_output = open_output  # type: ignore[method-assign]
    os.fsync = flush
    sys.addaudithook(disk.heard)


def cut_at_each_step(scenario: Scenario, folder: Path) -> int:
    """Returns the number of steps."""
    prepared, live = folder / "prepared", folder / "live"
    scenario.prepare(prepared)
    shutil.copytree(prepared, live)
    before = Reading.of(table_in(prepared))
    cuts: list[tuple[Path, Path]] = []

    def cut() -> None:
        pair = (folder / f"names-{len(cuts)}", folder / f"flushed-{len(cuts)}")
        disk.after_power_cut(pair[0], names_only=True)
        disk.after_power_cut(pair[1], names_only=False)
        cuts.append(pair)

    disk = Disk(live, cut)
    watch(disk)
    disk.watching = True
    scenario.operate(table_in(live))
    disk.watching = False
    cut()
    for step, pair in enumerate(cuts):
        for path in pair:
            try:
                scenario.check_between(before, table_in(path))
                if step == len(cuts) - 1:
                    for again in scenario.again if scenario.name in _EXPIRING else ():
                        again(table_in(path))
                    scenario.check_whole(table_in(path))
            except BaseException as error:
                error.add_note(f"{scenario.name}, power cut before step {step + 1} of {len(cuts)}; see {path}")
                raise
    return len(cuts)


if __name__ == "__main__":
    scenario_name, where = sys.argv[1:]
    print(cut_at_each_step(SCENARIOS[scenario_name], Path(where)))
