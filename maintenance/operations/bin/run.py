"""Runs of the bin: what one operation has deleted from one table.

A run is the folder `_maintenance/bin/<run>` of the warehouse. Before files are moved, a journal in it says which: so a
run that died can still be restored. Files keep the path that they had below the table, under `files/`. On a disk they
are renamed, on a store copied by the store and then deleted. `closed` is written when the operation has ended, and
`emptying` before the run is destroyed.
"""

import json
import uuid
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from maintenance.errors import CorruptFileError, NotFoundError, UnsupportedError
from maintenance.fs.file_io import FileIO
from maintenance.table.folder_table import FolderTable
from maintenance.table.table import Table

BIN = "_maintenance/bin"
CLOSED, EMPTYING = "closed", "emptying"
_JOURNAL = "journal-"
_THREADS = 8
_FORMAT = "%Y%m%dT%H%M%S"


@dataclass(frozen=True, slots=True)
class BinnedFile:
    """A file of a journal.

    Attributes:
        path: that it comes back to, relative to the table.
        bytes: None if they were not known.
        stage: files of a lower one come back first: what names others comes after these.
    """

    path: str
    bytes: int | None
    stage: int = 0


@dataclass(frozen=True, slots=True)
class RunHead:
    """What a run is about.

    Attributes:
        location: of the table, in journals relative to the warehouse.
        began: UTC.
        definition: of a table that goes as a whole, the bytes of a schema file as text; else empty.
    """

    run: str
    table: str
    location: str
    operation: str
    began: datetime
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Going:
    """A file that goes into the bin. `path`: where it is; `back_to`: the path that it comes back to, if another one."""

    path: str
    bytes: int | None = None
    stage: int = 0
    back_to: str | None = None


@dataclass(slots=True)
class BinRun:
    """Takes the files that one operation deletes."""

    file_io: FileIO
    warehouse: str
    head: RunHead
    taken_files: int = 0
    taken_bytes: int = 0
    _journals: int = 0

    @classmethod
    def begin(cls, table: Table | FolderTable, warehouse: str, operation: str) -> "BinRun":
        """A run of its own for an operation on a table. Nothing is written before the first file goes."""
        now = datetime.now(UTC)
        run = f"{now:{_FORMAT}}-{uuid.uuid4().hex[:8]}"
        return cls(
            table.file_io,
            warehouse.rstrip("/"),
            RunHead(run, table.identifier, table.location.rstrip("/"), operation, now),
        )

    @classmethod
    def of(cls, file_io: FileIO, warehouse: str, run: str) -> "BinRun":
        """A run that has begun, to go on with. Raises: as of `read_run`."""
        head, _ = read_run(file_io, warehouse, run)
        root = warehouse.rstrip("/")
        journals = [name for name in file_io.list_names(run_folder(root, run)) if name.startswith(_JOURNAL)]
        return cls(file_io, root, head, _journals=len(journals))

    @property
    def folder(self) -> str:
        return run_folder(self.warehouse, self.head.run)

    def take(self, files: Sequence[Going], *, in_order: bool = False) -> None:
        """Move files into the bin; those that are gone already are left out. `in_order`: one by one.

        Raises: UnsupportedError: a file is not below the table.
        """
        if not files:
            return
        binned = [BinnedFile(self._relative(file.back_to or file.path), file.bytes, file.stage) for file in files]
        self._write_journal(binned)
        with ThreadPoolExecutor(1 if in_order else _THREADS) as pool:
            list(pool.map(self._move, files, binned))
        self.taken_files += len(files)
        self.taken_bytes += sum(file.bytes or 0 for file in files)

    def close(self) -> None:
        """Say that nothing more comes. A run without files leaves no trace."""
        if self._journals:
            self.file_io.overwrite(f"{self.folder}/{CLOSED}", b"{}")

    def _write_journal(self, binned: Iterable[BinnedFile]) -> None:
        self._journals += 1
        place = self.head.location.removeprefix(f"{self.warehouse}/")
        head = {**asdict(self.head), "location": place, "began": self.head.began.isoformat()}
        form = {**head, "files": [[file.path, file.bytes, file.stage] for file in binned]}
        self.file_io.make_folder(self.folder)
        self.file_io.overwrite(f"{self.folder}/{_JOURNAL}{self._journals:06}.json", json.dumps(form).encode())

    def _move(self, file: Going, binned: BinnedFile) -> None:
        with suppress(FileNotFoundError):
            self.file_io.move_file(file.path, f"{self.folder}/files/{binned.path}")

    def _relative(self, path: str) -> str:
        root = f"{self.head.location}/"
        if not path.startswith(root):
            raise UnsupportedError(
                "a file outside of the table's folder cannot go into the bin",
                path,
                "Turn the bin off for this table; then the file is deleted at once.",
            )
        return path.removeprefix(root)


def run_folder(warehouse: str, run: str) -> str:
    """The folder of a run."""
    return f"{warehouse.rstrip('/')}/{BIN}/{run}"


def list_runs(file_io: FileIO, warehouse: str) -> list[str]:
    """All runs, oldest first."""
    return sorted(file_io.list_folders(f"{warehouse.rstrip('/')}/{BIN}"))


def _whole(location: str, warehouse: str) -> str:
    """A location of a journal: whole, or relative to the warehouse, which may have moved since."""
    is_whole = location.startswith("/") or ":/" in location
    return location if is_whole else f"{warehouse.rstrip('/')}/{location}"


def began(run: str) -> datetime | None:
    """When a run began, by its name; None if the name is not one of a run."""
    try:
        return datetime.strptime(run.partition("-")[0], _FORMAT).replace(tzinfo=UTC)
    except ValueError:
        return None


def read_run(file_io: FileIO, warehouse: str, run: str) -> tuple[RunHead, list[BinnedFile]]:
    """What a run took. Raises: NotFoundError: there is no such run; CorruptFileError: a journal cannot be read."""
    folder = run_folder(warehouse, run)
    names = sorted(name for name in file_io.list_names(folder) if name.startswith(_JOURNAL))
    if "/" in run or not names:
        known = ", ".join(list_runs(file_io, warehouse)[-5:]) or "none"
        raise NotFoundError(f"there is no run '{run}' in the bin", folder, f"The newest ones are: {known}.")
    files: dict[str, BinnedFile] = {}
    for name in names:
        path = f"{folder}/{name}"
        try:
            form = json.loads(file_io.read_bytes(path))
            head = RunHead(
                form["run"],
                form["table"],
                _whole(form["location"], warehouse),
                form["operation"],
                datetime.fromisoformat(form["began"]),
                form.get("definition", ""),
            )
            files |= {binned[0]: BinnedFile(*binned) for binned in form["files"]}
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFileError("this is not a journal of the bin", path, "Move the files back by hand.") from error
    return head, list(files.values())
