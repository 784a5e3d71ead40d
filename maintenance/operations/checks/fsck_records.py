"""Examine the small files of a table: hints, schemas, snapshots, tags, changelogs and consumers of each branch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from maintenance.errors import RESTORE
from maintenance.format.metadata.schema import TableSchema, parse_schema
from maintenance.format.metadata.snapshot import Snapshot, parse_snapshot
from maintenance.format.metadata.tag import parse_tag
from maintenance.fs.file_io import FileIO
from maintenance.metadata.branch_root import MAIN_BRANCH
from maintenance.metadata.branches import Branches
from maintenance.metadata.consumers import Consumers
from maintenance.metadata.hints import EARLIEST, LATEST
from maintenance.metadata.paths import RETIRED, TablePaths
from maintenance.metadata.snapshots import Snapshots
from maintenance.operations.checks.faults import FaultKind, Faults

_HARMLESS = "Nothing: readers list the folder, and the next commit or expiry writes the hint again."
_MISLEADING = "Delete the hint: Paimon's own readers believe it, and find no such file."
_HINTS = (LATEST, EARLIEST)
_UNFINISHED = "Run the expiry again: it finishes the work."
_BELOW = f"{_UNFINISHED} If the EARLIEST hint is wrong, delete it."
_NOT_OURS = "Delete it if no program needs it: Paimon's own readers may fail over it."


@dataclass(frozen=True, slots=True)
class State:
    """A state of the table that something keeps.

    Attributes:
        name: for messages, such as ``tag 'a' of branch b``.
        is_changelog: its own data may be gone, only its changelog must be there.
        newest: the latest snapshot of its branch.
    """

    name: str
    branch: str
    path: str
    snapshot: Snapshot
    is_changelog: bool = False
    newest: bool = False


@dataclass(frozen=True, slots=True)
class SmallFiles:
    """What the small files say. `schemas`: by branch, then by id; those that can be read."""

    schemas: Mapping[str, Mapping[int, TableSchema]]
    states: tuple[State, ...]


def examine_records(file_io: FileIO, root: str, faults: Faults) -> SmallFiles:
    """Read every small file of every branch. `root`: of the table."""
    paths = TablePaths(root)
    schemas: dict[str, dict[int, TableSchema]] = {}
    states: list[State] = []
    names = faults.attempt(f"{root}/branch", "the table", Branches(file_io, paths).names)
    for branch in names or [MAIN_BRANCH]:
        of_branch = _Branch(file_io, replace(paths, branch=branch), faults)
        where = of_branch.paths
        branch_schemas = faults.attempt(where.schema_folder(), "the table", of_branch.schemas) or {}
        schemas[branch] = branch_schemas
        for folder, read in (
            (where.snapshot_folder(), lambda b=of_branch, s=branch_schemas: b.snapshots(s)),
            (where.tag_folder(), lambda b=of_branch, s=branch_schemas: b.tags(s)),
            (where.changelog_folder(), of_branch.changelogs),
        ):
            states += faults.attempt(folder, "the table", read) or []
        faults.attempt(where.consumer_folder(), "streaming readers", of_branch.consumers)
    return SmallFiles(schemas, tuple(states))


@dataclass(frozen=True, slots=True)
class _Branch:
    file_io: FileIO
    paths: TablePaths
    faults: Faults

    @property
    def _where(self) -> str:
        return "" if self.paths.branch == MAIN_BRANCH else f" of branch {self.paths.branch}"

    def schemas(self) -> dict[int, TableSchema]:
        folder = self.paths.schema_folder()
        schemas: dict[int, TableSchema] = {}
        for number, path in self._numbered(folder, "schema-").items():
            schema = self.faults.attempt(path, f"the table{self._where}", self._schema_parser(path), listed=True)
            if schema is not None:
                self._check_number(path, number, schema.id)
                schemas[number] = schema
        if not schemas:
            self.faults.add(FaultKind.MISSING, folder, "there is no readable schema", "Restore the schema files.")
        return schemas

    def snapshots(self, schemas: Mapping[int, TableSchema]) -> list[State]:
        folder = self.paths.snapshot_folder()
        retired = [name for name in self.file_io.list_names(folder) if name.startswith(RETIRED)]
        for name in retired:
            self.faults.note(FaultKind.STRAY, f"{folder}/{name}", "an expiry of snapshots was interrupted", _UNFINISHED)
        files = self._numbered(folder, "snapshot-", (*_HINTS, *retired))
        self._check_hints(f"{folder}/snapshot-", sorted(files))
        for number in self._gaps(files):
            if f"{RETIRED}{number}" in retired:
                continue
            self.faults.add(
                FaultKind.MISSING,
                f"{folder}/snapshot-{number}",
                f"there are snapshots {min(files)} to {max(files)}{self._where}, and this file is not one of them",
                "Restore the file. Else expire up to it: readers of changes stop here.",
            )
        given_up = self._given_up(files)
        states = []
        for number, path in files.items():
            if number < given_up:
                self.faults.note(FaultKind.STRAY, path, f"an interrupted expiry gave it up{self._where}", _BELOW)
                continue
            snapshot = self.faults.attempt(path, f"snapshot {number}{self._where}", self._parser(path), listed=True)
            if snapshot is not None:
                self._check_number(path, number, snapshot.id)
                states.append(self._state(f"snapshot {number}", path, snapshot, schemas, newest=number == max(files)))
        return states

    def _gaps(self, files: Mapping[int, str]) -> list[int]:
        """Numbers that are missing between the others, also by a second look: an expiry may delete files meanwhile."""
        missing = [number for number in range(min(files, default=0), max(files, default=0)) if number not in files]
        if not missing:
            return []
        now = Snapshots(self.file_io, self.paths).list_ids()
        return [number for number in missing if number not in now and number > min(now, default=number)]

    def _given_up(self, files: Mapping[int, str]) -> int:
        """The snapshots below this id no longer count, and may lack files."""
        earliest = Snapshots(self.file_io, self.paths).read_hint(EARLIEST)
        return earliest if earliest is not None and earliest in files else 0

    def tags(self, schemas: Mapping[int, TableSchema]) -> list[State]:
        folder = self.paths.tag_folder()
        states = []
        for name in self.file_io.list_names(folder):
            path = f"{folder}/{name}"
            if name.startswith(RETIRED):
                self.faults.note(FaultKind.STRAY, path, "an expiry of tags was interrupted", _UNFINISHED)
            if not name.startswith("tag-"):
                continue
            text = f"tag '{name.removeprefix('tag-')}'"
            tag = self.faults.attempt(
                path,
                f"{text}{self._where}",
                lambda path=path: parse_tag(self.file_io.read_settled(path), path),  # type: ignore[misc]
                listed=True,
            )
            if tag is not None:
                states.append(self._state(text, path, tag.snapshot, schemas))
        return states

    def changelogs(self) -> list[State]:
        folder = self.paths.changelog_folder()
        files = self._numbered(folder, "changelog-", _HINTS)
        # A rollback writes -1 into the hint of changelogs.
        if self._number_in(f"{folder}/{LATEST}") != -1:
            self._check_hints(f"{folder}/changelog-", sorted(files))
        states = []
        for number, path in files.items():
            snapshot = self.faults.attempt(path, f"changelog {number}{self._where}", self._parser(path), listed=True)
            if snapshot is not None:
                self._check_number(path, number, snapshot.id)
                name = f"changelog {number}{self._where}"
                states.append(State(name, self.paths.branch, path, snapshot, is_changelog=True))
        return states

    def consumers(self) -> None:
        folder = self.paths.consumer_folder()
        next_snapshots = self.faults.attempt(
            folder, "streaming readers", Consumers(self.file_io, self.paths).next_snapshots
        )
        latest = max(Snapshots(self.file_io, self.paths).list_ids(), default=0)
        for name, following in (next_snapshots or {}).items():
            if following > latest + 1:
                self.faults.add(
                    FaultKind.MISMATCH,
                    f"{folder}/consumer-{name}",
                    f"the next snapshot is {following}, and the newest{self._where} is {latest}",
                    "Reset the consumer: else it waits, and then skips snapshots, as after a rollback.",
                )

    def _state(
        self, name: str, path: str, snapshot: Snapshot, schemas: Mapping[int, TableSchema], *, newest: bool = False
    ) -> State:
        # Schemas were listed before, and a new one may have come with this snapshot.
        if snapshot.schema_id not in schemas and not self.file_io.exists(self.paths.schema(snapshot.schema_id)):
            self.faults.add(
                FaultKind.MISSING,
                self.paths.schema(snapshot.schema_id),
                f"needed by {name}{self._where}",
                "Restore the schema file.",
            )
        return State(f"{name}{self._where}", self.paths.branch, path, snapshot, newest=newest)

    def _schema_parser(self, path: str) -> Callable[[], TableSchema]:
        return lambda: parse_schema(self.file_io.read_settled(path), path)

    def _parser(self, path: str) -> Callable[[], Snapshot]:
        return lambda: parse_snapshot(self.file_io.read_settled(path), path)

    def _numbered(self, folder: str, prefix: str, besides: tuple[str, ...] = ()) -> dict[int, str]:
        """The files of a folder by the number in their names."""
        path_by_number: dict[int, str] = {}
        for name in self.file_io.list_names(folder):
            number = name.removeprefix(prefix)
            if name.startswith(prefix) and number.isdecimal():
                path_by_number[int(number)] = f"{folder}/{name}"
            elif name not in besides:
                self.faults.add(FaultKind.STRAY, f"{folder}/{name}", f"the name is not {prefix}<number>", _NOT_OURS)
        return dict(sorted(path_by_number.items()))

    def _check_number(self, path: str, number: int, id_: int) -> None:
        if number != id_:
            self.faults.add(FaultKind.MISMATCH, path, f"the file contains number {id_}", RESTORE)

    def _check_hints(self, prefix: str, numbers: list[int]) -> None:
        """Check the hints of a folder. `prefix`: path of its files without their `numbers`."""
        folder = prefix.rpartition("/")[0]
        for name, right in ((LATEST, numbers[-1:]), (EARLIEST, numbers[:1])):
            path = f"{folder}/{name}"
            if not self.file_io.exists(path):
                continue
            hint = self._number_in(path)
            if hint is not None and hint not in numbers and self.file_io.exists(f"{prefix}{hint}"):
                # It was written after the folder was listed.
                continue
            if hint is None:
                self.faults.note(FaultKind.HINT, path, "it does not contain a number", _HARMLESS)
            elif hint not in numbers or (name == LATEST and [hint] != right):
                expected = right[0] if right else "none"
                detail = f"it says {hint}, correct is {expected}"
                if name == LATEST and hint > max(numbers, default=0):
                    # Java takes a hint for the latest where no file follows it, and does not look whether it is there.
                    self.faults.add(FaultKind.HINT, path, detail, _MISLEADING)
                else:
                    self.faults.note(FaultKind.HINT, path, detail, _HARMLESS)

    def _number_in(self, path: str) -> int | None:
        try:
            return int(self.file_io.read_bytes(path))
        except (FileNotFoundError, ValueError):
            return None
