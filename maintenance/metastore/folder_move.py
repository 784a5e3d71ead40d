"""A table's folder that gets another path on a store, which has no renaming of folders at once.

All objects are copied first; `schema/renaming_from` in the new folder hides it meanwhile. Then `schema/renaming_to` in
the old one says what was copied, and the removal of the first file is the moment at which the table changes its path:
from then on the old folder is hidden, and goes object by object. A process that dies at any time leaves the table under
one of its names, and whoever moves it again finishes that. Both files are seen in the listing of schemas that everybody
asks for anyway.

Paimon knows neither file. It finds a table by its schemas, so the newest one is copied first and deleted last, and of
them all after and before everything else: at worst an older schema is missing for a moment, and none is taken for the
newest that is not.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from maintenance.errors import AlreadyExistsError, ConflictError
from maintenance.fs.file_io import FileIO
from maintenance.fs.storage import FileStatus

FROM, TO = "renaming_from", "renaming_to"
_SCHEMA, _PREFIX = "schema/", "schema/schema-"
# Where files are whose names are given once.
_LASTING = ("bucket-", "manifest/", "index/", "statistics/")
_METADATA = ("snapshot/", "tag/", "branch/", "schema/")
_ATTEMPTS = 3


def is_hidden(file_io: FileIO, location: str, schema_files: Collection[str]) -> bool:
    """Whether the table is not at this path yet, or not any more. `schema_files`: names in its schema folder."""
    if FROM in schema_files:
        return True
    if TO not in schema_files:
        return False
    target = moved_to(file_io, location)
    return target is not None and not file_io.exists(f"{target}/{_SCHEMA}{FROM}")


def moved_from(file_io: FileIO, location: str) -> str | None:
    """The path of the table that is being copied to here; None if none is."""
    said = _read(file_io, location, FROM)
    return None if said is None else _like(location, said["from"])


def moved_to(file_io: FileIO, location: str) -> str | None:
    """The path that the table of this folder was copied to; None if it was not."""
    said = _read(file_io, location, TO)
    return None if said is None else _like(location, said["to"])


def _bare(path: str) -> str:
    """A path without its scheme: one store may be reached by several."""
    return path.partition("://")[2] or path


def _like(location: str, bare: str) -> str:
    return bare if "://" not in location else f"{location.partition('://')[0]}://{bare}"


def _read(file_io: FileIO, location: str, name: str) -> dict[str, Any] | None:
    try:
        said: dict[str, Any] = json.loads(file_io.read_bytes(f"{location}/{_SCHEMA}{name}"))
    except FileNotFoundError:
        return None
    return said


@dataclass(frozen=True, slots=True)
class FolderMove:
    """The move of a table's folder. `source`, `target`: paths."""

    file_io: FileIO
    source: str
    target: str

    def has_begun(self) -> bool:
        """Whether this move was interrupted."""
        return moved_from(self.file_io, self.target) == self.source or self._is_copied()

    def copy(self) -> None:
        """Copy all that is not in the new folder yet, which is hidden.

        Raises: ConflictError: the table kept changing; AlreadyExistsError: files of others are in the new folder; or
            the table was moved, and something was committed at the old path since.
        """
        if self._is_copied() and moved_from(self.file_io, self.target) is None:
            self._check_unchanged()
            return
        if moved_from(self.file_io, self.target) != self.source:
            self._check_empty()
        self.file_io.overwrite(f"{self.target}/{_SCHEMA}{FROM}", json.dumps({"from": _bare(self.source)}).encode())
        files = self._copied()
        noted = sorted(file.path for file in files if file.path.startswith(_METADATA))
        said = json.dumps({"to": _bare(self.target), "files": noted}).encode()
        self.file_io.overwrite(f"{self.source}/{_SCHEMA}{TO}", said)

    def show(self) -> None:
        """The table is at its new path from now on, and no more at the old one."""
        self.file_io.delete_quietly([f"{self.target}/{_SCHEMA}{FROM}"])
        if moved_from(self.file_io, self.target) is not None:
            raise ConflictError(
                "the new table cannot be shown", self.target, "Run the renaming again, which finishes it."
            )

    def clear(self) -> None:
        """Delete what is left in the old folder."""
        files = self.file_io.list_tree(self.source)
        others = [file for file in files if not file.path.startswith(_SCHEMA)]
        self.file_io.delete_unordered([f"{self.source}/{file.path}" for file in others])
        for path in reversed(_newest_first(files)):
            self.file_io.delete_unordered([f"{self.source}/{path}"])
        self.file_io.delete_folder(self.source)

    def _is_copied(self) -> bool:
        return moved_to(self.file_io, self.source) == self.target

    def _check_empty(self) -> None:
        found = [f.path for f in self.file_io.list_tree(self.target) if not f.name.startswith(".")]
        if found:
            problem = f"{len(found)} files are in the place of the renamed table: {found[0]}"
            raise AlreadyExistsError(problem, self.target, "Move them away, or choose another name.")

    def _check_unchanged(self) -> None:
        said = _read(self.file_io, self.source, TO) or {}
        known = {*said.get("files", ()), f"{_SCHEMA}{TO}"}
        there = {f.path for f in self.file_io.list_tree(self.source) if f.path.startswith(_METADATA)}
        if there - known:
            raise AlreadyExistsError(
                f"the table is at {self.target} since it was renamed, and {len(there - known)} files have come to the "
                f"old path: {min(there - known)}",
                self.source,
                "Stop those who write there; insert their rows into the renamed table, then delete these files.",
            )

    def _copied(self) -> list[FileStatus]:
        """Copy until the source does not change any more. Returns: its files."""
        before: list[FileStatus] | None = None
        for _ in range(_ATTEMPTS):
            files = [f for f in self.file_io.list_tree(self.source) if f.path != f"{_SCHEMA}{TO}"]
            if files == before:
                return files
            self._copy(files)
            before = files
        if [f for f in self.file_io.list_tree(self.source) if f.path != f"{_SCHEMA}{TO}"] == before:
            return before or []
        raise ConflictError(
            "the table kept changing while it was copied", self.source, "Stop its writers, and rename it again."
        )

    def _copy(self, files: list[FileStatus]) -> None:
        there = {file.path: file.size for file in self.file_io.list_tree(self.target)}
        gone = there.keys() - {file.path for file in files} - {f"{_SCHEMA}{FROM}"}
        self.file_io.delete_unordered([f"{self.target}/{path}" for path in sorted(gone)])
        wanted = [f.path for f in files if not (_is_lasting(f.path) and there.get(f.path) == f.size)]
        schemas = [path for path in _newest_first(files) if path in set(wanted)]
        for part in ([path for path in wanted if not path.startswith(_SCHEMA)], *([path] for path in schemas)):
            self.file_io.copy_files({f"{self.source}/{path}": f"{self.target}/{path}" for path in part})


def _is_lasting(path: str) -> bool:
    return any(part in path for part in _LASTING)


def _newest_first(files: list[FileStatus]) -> list[str]:
    """The schema files of main, by their numbers."""
    numbers = {f.path: f.path.removeprefix(_PREFIX) for f in files if f.path.startswith(_PREFIX)}
    return sorted((path for path, text in numbers.items() if text.isdecimal()), key=lambda p: -int(numbers[p]))
