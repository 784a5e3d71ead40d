"""Runs of the bin: what one operation has deleted from one table.

A run is the folder `_maintenance/bin/<run>` of the warehouse. Before files are moved, a journal in it says which: so a
run that died can still be restored. Files keep the path that they had below the table, under `files/`. On a disk they
are renamed, on a store copied by the store and then deleted. Files of an external path stay on its storage: they go to
the same folder below that path, which `outside.json` of the run names. `closed` is written when the operation has
ended, and `emptying` before the run is destroyed.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache

from maintenance.errors import CorruptFileError, NotFoundError, UnsupportedError
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branches import Branches
from maintenance.metadata.external_folders import roots_ever
from maintenance.metadata.external_paths import root_of
from maintenance.table.folder_table import FolderTable
from maintenance.table.table import Table
from maintenance.threads import map_in_threads

BIN = "_maintenance/bin"
CLOSED, EMPTYING = "closed", "emptying"
OUTSIDE = "outside.json"
_JOURNAL = "journal-"
_THREADS = 8
_FORMAT = "%Y%m%dT%H%M%S"


@dataclass(frozen=True, slots=True)
class BinnedFile:
    """A file of a journal.

    Attributes:
        path: that it comes back to, relative to the table, or to `root`.
        bytes: None if they were not known.
        stage: files of a lower one come back first: what names others comes after these.
        root: the external path that it is below; None = it is below the table.
    """

    path: str
    bytes: int | None
    stage: int = 0
    root: str | None = None

    @property
    def key(self) -> str:
        """What no other file of the run has."""
        return self.path if self.root is None else f"{self.root}/{self.path}"


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

    def home(self, file: BinnedFile) -> str:
        """The whole path that a file comes back to."""
        return f"{self.location if file.root is None else file.root}/{file.path}"


@dataclass(frozen=True, slots=True)
class Going:
    """A file that goes into the bin. `path`: where it is; `back_to`: the path that it comes back to, if another one."""

    path: str
    bytes: int | None = None
    stage: int = 0
    back_to: str | None = None


@dataclass(slots=True)
class BinRun:
    """Takes the files that one operation deletes. `external`: tells which paths files may be below, too."""

    file_io: FileIO
    warehouse: str
    head: RunHead
    external: Callable[[], tuple[str, ...]] = tuple
    taken_files: int = 0
    taken_bytes: int = 0
    _journals: int = 0
    _outside: frozenset[str] = frozenset()

    @classmethod
    def begin(cls, table: Table | FolderTable, warehouse: str, operation: str) -> "BinRun":
        """A run of its own for an operation on a table. Nothing is written before the first file goes."""
        now = datetime.now(UTC)
        run = f"{now:{_FORMAT}}-{uuid.uuid4().hex[:8]}"
        return cls(
            table.file_io,
            warehouse.rstrip("/"),
            RunHead(run, table.identifier, table.location.rstrip("/"), operation, now),
            lru_cache(lambda: _external_roots(table)),
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

        Raises: UnsupportedError: a file is neither below the table nor below one of its external paths.
        """
        if not files:
            return
        binned = [self._binned(file) for file in files]
        self._say_outside(binned)
        self._write_journal(binned)
        map_in_threads(lambda move: self._move(*move), zip(files, binned, strict=True), 1 if in_order else _THREADS)
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
        form = {**head, "files": [_listed(file) for file in binned]}
        self.file_io.make_folder(self.folder)
        self.file_io.overwrite(f"{self.folder}/{_JOURNAL}{self._journals:06}.json", json.dumps(form).encode())

    def _move(self, file: Going, binned: BinnedFile) -> None:
        with suppress(FileNotFoundError):
            self.file_io.move_file(file.path, path_in_bin(self.folder, self.head.run, binned))

    def _binned(self, file: Going) -> BinnedFile:
        path = file.back_to or file.path
        if path.startswith(f"{self.head.location}/"):
            return BinnedFile(path.removeprefix(f"{self.head.location}/"), file.bytes, file.stage)
        root = root_of(path, self.external())
        if root is None:
            raise UnsupportedError(
                "a file outside of the table's folder cannot go into the bin",
                path,
                "Turn the bin off for this table; then the file is deleted at once.",
            )
        return BinnedFile(path.removeprefix(f"{root}/"), file.bytes, file.stage, root)

    def _say_outside(self, binned: Iterable[BinnedFile]) -> None:
        roots = self._outside | {file.root for file in binned if file.root is not None}
        if roots != self._outside:
            self.file_io.make_folder(self.folder)
            self.file_io.overwrite(f"{self.folder}/{OUTSIDE}", json.dumps(sorted(roots)).encode())
            self._outside = frozenset(roots)


def _listed(file: BinnedFile) -> list[str | int | None]:
    """A file in a journal."""
    return [file.path, file.bytes, file.stage, *([] if file.root is None else [file.root])]


def path_in_bin(folder: str, run: str, file: BinnedFile) -> str:
    """Where a file of a run is while it is in the bin. `folder`: of the run."""
    return f"{folder if file.root is None else run_folder(file.root, run)}/files/{file.path}"


def outside_folders(file_io: FileIO, warehouse: str, run: str) -> list[str]:
    """The folders below external paths that have files of a run. Raises: CorruptFileError."""
    path = f"{run_folder(warehouse, run)}/{OUTSIDE}"
    try:
        return [run_folder(str(root), run) for root in json.loads(file_io.read_bytes(path))]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError) as error:
        raise CorruptFileError("this does not name folders of the bin", path, "Restore it, or delete it.") from error


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


def _external_roots(table: Table | FolderTable) -> tuple[str, ...]:
    """A table of plain files has all of them below its folder."""
    return roots_ever(Branches(table.file_io, table.paths)) if isinstance(table, Table) else ()


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
            files |= {file.key: file for file in (BinnedFile(*binned) for binned in form["files"])}
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptFileError("this is not a journal of the bin", path, "Move the files back by hand.") from error
    return head, list(files.values())
